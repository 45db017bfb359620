"""`dragoman keys`: who may call a server."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli import show
from dragoman.core.errors import InputError

if TYPE_CHECKING:
    from dragoman.server.sqlite_ledger import SqliteLedger

KeysFile = Annotated[
    Path | None,
    typer.Option(
        "--keys",
        metavar="FILE",
        help="The file of the keys. Default: server.db in Dragoman's home.",
        show_default=False,
    ),
]
PerMinute = Annotated[
    int | None, typer.Option("--turns-per-minute", min=1, help="Turns a key may take in a minute.", show_default=False)
]
PerDay = Annotated[
    int | None, typer.Option("--tokens-per-day", min=1, help="Tokens a key may use in a day.", show_default=False)
]

app = typer.Typer(no_args_is_help=True)


@app.callback()
def _keys() -> None:
    """Make, list and revoke the keys of a server."""


@app.command()
def create(
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the key is for.", show_default=False)],
    tenant: Annotated[str, typer.Option("--tenant", metavar="ID", help="Whose shared documents it sees.")] = "local",
    user: Annotated[
        str,
        typer.Option("--user", metavar="ID", help="The user it acts for. Default: one of its own.", show_default=False),
    ] = "",
    admin: Annotated[
        bool, typer.Option("--admin", help="It may act for every user of the tenant, and write shared sources.")
    ] = False,
    turns_per_minute: PerMinute = None,
    tokens_per_day: PerDay = None,
    keys_file: KeysFile = None,
) -> None:
    """Make a key. It is shown once."""
    from dragoman.server.keys import create as make

    limits: dict[str, Any] = {"turns_per_minute": turns_per_minute, "tokens_per_day": tokens_per_day}
    key, text = make(ledger_of(keys_file), name, tenant=tenant, user=user, admin=admin, **limits)
    sys.stdout.write(f"{text}\n")
    whom = f"user {key.user}" if key.user else f"user key:{key.id}"
    _say(f"Key {key.id} for {whom} of tenant {key.tenant}{', admin' if admin else ''}. It is not shown again.")
    _say("A server that runs without keys asks for them when it is started anew.")


@app.command(name="list")
def listed(
    *, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False, keys_file: KeysFile = None
) -> None:
    """List the keys, and what each used today."""
    from dragoman.core.codec import encode

    ledger = ledger_of(keys_file)
    rows = [(key, ledger.spent(key.id, time.time())) for key in ledger.listed()]
    if as_json:
        told = [{**_fields(encode(key)), "today": encode(spent)} for key, spent in rows]
        typer.echo(json.dumps(told, ensure_ascii=False))
        return
    if not rows:
        typer.echo("There are no keys. Make one: dragoman keys create NAME")
        return
    table = show.table("id", "name", "tenant", "user", "admin", ">turns today", ">tokens today", "state")
    for key, spent in rows:
        state = "valid" if key.revoked is None else "revoked"
        admin = "yes" if key.admin else ""
        user = key.user or f"key:{key.id}"
        show.add_row(table, key.id, key.name, key.tenant, user, admin, str(spent.turns), str(spent.tokens), state)
    show.out().print(table)


@app.command()
def revoke(
    *,
    id: Annotated[str, typer.Argument(metavar="ID", help="As `dragoman keys list` shows it.", show_default=False)],
    keys_file: KeysFile = None,
) -> None:
    """Make a key invalid, at once and for good."""
    ledger = ledger_of(keys_file)
    if not ledger.revoke(id, time.time()):
        raise InputError(f"There is no valid key '{id}'.", remedy="See them: dragoman keys list")
    typer.echo(f"Revoked: {id}.")
    if all(key.revoked is not None for key in ledger.listed()):
        _say("It was the last valid one: nobody is answered, and no server starts, until there is another.")


def ledger_of(file: Path | None) -> SqliteLedger:
    """The file of the keys."""
    from dragoman.server.sqlite_ledger import SqliteLedger, default_path

    return SqliteLedger(file or default_path())


def _fields(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
