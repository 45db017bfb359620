"""`dragoman keys`: API keys of a server."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.agent_options import Agent, agent_name, overrides
from dragoman.core.errors import AccessError, InputError

if TYPE_CHECKING:
    from dragoman.server.access.ledger import UsageLedger

KeysPlace = Annotated[
    str | None,
    typer.Option(
        "--keys",
        metavar="PLACE",
        help="Where keys are stored: a file, or env:NAME, the variable with the address of a "
        "PostgreSQL server. Default: the agent's PostgreSQL database if it uses one, else "
        "server.db in $DRAGOMAN_HOME.",
        show_default=False,
    ),
]
PerMinute = Annotated[
    int | None, typer.Option("--turns-per-minute", min=1, help="Limit of turns per minute and key.", show_default=False)
]
PerDay = Annotated[
    int | None, typer.Option("--tokens-per-day", min=1, help="Limit of tokens per day and key.", show_default=False)
]

app = typer.Typer(no_args_is_help=True)


@app.callback()
def _keys() -> None:
    """Create, list and revoke API keys of a server."""


@app.command()
def create(
    *,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the key.", show_default=False)],
    tenant: Annotated[
        str, typer.Option("--tenant", metavar="ID", help="Tenant whose shared documents it can read.")
    ] = "local",
    user: Annotated[
        str,
        typer.Option("--user", metavar="ID", help="The user it acts for. Default: a new user.", show_default=False),
    ] = "",
    admin: Annotated[
        bool, typer.Option("--admin", help="Allow acting for every user of the tenant and writing shared sources.")
    ] = False,
    turns_per_minute: PerMinute = None,
    tokens_per_day: PerDay = None,
    keys_place: KeysPlace = None,
    agent: Agent = None,
) -> None:
    """Create a key. It is shown only once."""
    from dragoman.server.access.keys import create as make

    limits: dict[str, Any] = {"turns_per_minute": turns_per_minute, "tokens_per_day": tokens_per_day}
    with _ledger(keys_place, agent) as ledger:
        key, text = make(ledger, name, tenant=tenant, user=user, admin=admin, **limits)
    sys.stdout.write(f"{text}\n")
    whom = f"user {key.user}" if key.user else f"user key:{key.id}"
    _say(f"Key {key.id} for {whom} of tenant {key.tenant}{', admin' if admin else ''}. It is not shown again.")
    _say("A server that runs without keys asks for them when it is started anew.")


@app.command(name="list")
def listed(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    keys_place: KeysPlace = None,
    agent: Agent = None,
) -> None:
    """List the keys with their usage today."""
    from dragoman.core.codec import encode

    with _ledger(keys_place, agent) as ledger:
        rows = [(key, ledger.spent(key.id, time.time())) for key in ledger.listed()]
    if as_json:
        entries = [{**_fields(encode(key)), "today": encode(spent)} for key, spent in rows]
        typer.echo(json.dumps(entries, ensure_ascii=False))
        return
    if not rows:
        typer.echo("There are no keys. Make one: dragoman keys create NAME")
        return
    table = rendering.table("id", "name", "tenant", "user", "admin", ">turns today", ">tokens today", "state")
    for key, spent in rows:
        state = "valid" if key.revoked is None else "revoked"
        admin = "yes" if key.admin else ""
        user = key.user or f"key:{key.id}"
        rendering.add_row(table, key.id, key.name, key.tenant, user, admin, str(spent.turns), str(spent.tokens), state)
    rendering.out().print(table)


@app.command()
def revoke(
    *,
    id: Annotated[str, typer.Argument(metavar="ID", help="Id of the key (see: keys list).", show_default=False)],
    keys_place: KeysPlace = None,
    agent: Agent = None,
) -> None:
    """Revoke a key, immediately and permanently."""
    with _ledger(keys_place, agent) as ledger:
        if not ledger.revoke(id, time.time()):
            raise InputError(f"There is no valid key '{id}'.", remedy="List them with: dragoman keys list")
        left = [key for key in ledger.listed() if key.revoked is None]
    typer.echo(f"Revoked: {id}.")
    if not left:
        _say("It was the last valid one: nobody is answered, and no server starts, until there is another.")


def ledger_of(place: str | None, agents: Sequence[str], settings: list[str] | None = None) -> UsageLedger:
    """Open the ledger of keys: the given place, else the first agent's PostgreSQL database, else a file."""
    from dragoman.server.access.sqlite_ledger import SqliteLedger, default_path
    from dragoman.stores.postgres.address import is_postgres

    if place is not None and not is_postgres(place):
        return SqliteLedger(Path(place))
    store = {"url": place} if place is not None else _server_of(agents, settings)
    if store is None:
        return SqliteLedger(default_path())
    from dragoman.server.access.postgres_ledger import postgres_ledger

    return postgres_ledger(str(store["url"]), schema=str(store.get("schema", "dragoman")))


def refuse_stray_keys(place: str | None, ledger: UsageLedger) -> None:
    """Raise an error if the default file has keys and the database, which takes precedence, has none."""
    from dragoman.server.access.sqlite_ledger import SqliteLedger, default_path

    if place is not None or isinstance(ledger, SqliteLedger) or not default_path().exists() or ledger.listed():
        return
    if SqliteLedger(default_path()).listed():
        raise AccessError(
            f"The keys of a store on a server are kept in its database, where there are none; '{default_path()}' has.",
            remedy=f"Make new ones: dragoman keys create NAME. Or serve with the old ones: --keys {default_path()}.",
        )


def _server_of(agents: Sequence[str], settings: list[str] | None) -> Mapping[str, object] | None:
    """The store options of the first agent that uses PostgreSQL."""
    from dragoman.agent.build import locate
    from dragoman.config import load_config

    for agent in agents:
        store = load_config(locate(agent)[0], overrides(settings)).store
        if str(store.get("kind", "")).removeprefix("store.") in ("postgres", "postgres.v1") and store.get("url"):
            return store
    return None


@contextmanager
def _ledger(place: str | None, agent: str | None) -> Iterator[UsageLedger]:
    ledger = ledger_of(place, [agent_name(agent)])
    try:
        yield ledger
    finally:
        ledger.close()


def _fields(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
