"""What every command of `dragoman store` is given: the place of a store, its schema, and how to answer."""

from __future__ import annotations

from typing import Annotated

import typer

PLACE = "An SQLite file or the folder it lies in, postgresql://..., or env:NAME, the variable that holds that address."
Store = Annotated[str, typer.Argument(metavar="STORE", help=PLACE, show_default=False)]
Schema = Annotated[str, typer.Option("--schema", metavar="NAME", help="The schema, where the store is a PostgreSQL.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
