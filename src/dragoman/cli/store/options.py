"""Options shared by the `dragoman store` commands."""

from __future__ import annotations

from typing import Annotated

import typer

PLACE = "An SQLite file or its folder, postgresql://..., or env:NAME, the variable with that address."
Store = Annotated[str, typer.Argument(metavar="STORE", help=PLACE, show_default=False)]
Schema = Annotated[str, typer.Option("--schema", metavar="NAME", help="Schema of the store on PostgreSQL.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
