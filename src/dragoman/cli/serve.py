"""`dragoman serve` and `dragoman keys`: agents behind HTTP, and who may call them."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli import show
from dragoman.cli.progress import progress_bars
from dragoman.cli.session import Overridable, Set, agent_name, fetch_weights, overrides
from dragoman.core.errors import AccessError, ConfigError, InputError, MissingExtraError

if TYPE_CHECKING:
    from dragoman.agent.assistant import Assistant
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

_OTEL_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")

keys = typer.Typer(no_args_is_help=True)


def add_to(app: typer.Typer) -> None:
    """Register this file's commands."""
    app.command(cls=Overridable)(serve)
    app.add_typer(keys, name="keys", help="Make, list and revoke the keys of a server.")


def serve(
    *,
    agents: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[AGENT]...",
            help="Folders of agents, or names of shipped ones. "
            "Default: the current folder where it has an agent.toml, else harbour.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", "-p", min=0, max=65535, help="0 takes a free one.")] = 8000,
    keys_file: KeysFile = None,
    turns_per_minute: PerMinute = None,
    tokens_per_day: PerDay = None,
    workers: Annotated[int, typer.Option("--workers", min=1, max=512, help="Turns that run at once.")] = 8,
    queue: Annotated[int, typer.Option("--queue", min=0, help="Turns that may wait; others get 503.")] = 64,
    turn_seconds: Annotated[float, typer.Option("--turn-seconds", min=1.0, help="What a turn may take.")] = 120.0,
    grace: Annotated[float, typer.Option("--grace", min=0.0, help="Seconds to finish turns when stopped.")] = 30.0,
    runs: Annotated[Path, typer.Option("--runs", metavar="DIR", help="Runs of `dragoman evaluate` to show.")] = Path(
        "runs"
    ),
    otel: Annotated[
        bool, typer.Option("--otel", help="Send OpenTelemetry spans; OTEL_* variables say where to, and switch it on.")
    ] = False,
    otel_content: Annotated[
        bool, typer.Option("--otel-content", help="Put what users say, and what they are told, into the spans.")
    ] = False,
    settings: Set = None,
) -> None:
    """Serve agents: a page to talk to them, OpenAI's API and our own.

    Without any key it listens on 127.0.0.1 only, for whoever sits at this machine.
    """
    serving = _serving()
    from dragoman.cli.runs import FolderRuns
    from dragoman.server.app import make_app, with_door
    from dragoman.server.caller import Limits
    from dragoman.server.house import House, Settings
    from dragoman.server.page import add_page, preload

    ledger = ledger_of(keys_file)
    has_keys = any(key.revoked is None for key in ledger.listed())
    if not has_keys and not serving.is_loopback(host):
        raise AccessError(
            f"On {host} others can reach the server, and there is no key.",
            remedy="Make one first: dragoman keys create NAME. Or listen on 127.0.0.1.",
        )
    listening = serving.bind(host, port)
    preload()
    with ExitStack() as opened:
        opened.callback(listening.close)
        wanted = named(agents or [agent_name(None)])
        loaded = {name: load_agent(given, settings, opened) for name, given in wanted.items()}
        limits = Limits(turns_per_minute, tokens_per_day)
        house = House(
            loaded,
            ledger=ledger if has_keys else None,
            settings=Settings(workers, queue, turn_seconds, grace, limits),
        )
        app = make_app(house, runs_of=FolderRuns(runs))
        add_page(app)
        door = with_door(app, house)
        spans = _spans(otel or otel_content, content=otel_content)
        if spans is not None:
            opened.callback(spans.close)
            house.watchers.append(spans)
            door = spans.around(door)

        def started() -> None:
            shown = f"[{host}]" if ":" in host else host
            address = f"http://{shown}:{listening.getsockname()[1]}"
            _say(f"Serving {', '.join(loaded)} on {address}")
            if not has_keys:
                _say("Without keys: only this machine is answered. `dragoman keys create NAME` makes a key.")
            _say(f"The page: {address}/")
            _say(f"OpenAI's API: {address}/v1   All of it: {address}/openapi.json   Stop: Ctrl-C")
            if spans is not None:
                _say(f"Spans of every turn are sent, {'with' if otel_content else 'without'} what is said in it.")

        serving.serve(door, listening, grace=grace, started=started)
    _say("Stopped; every turn that was taken in is done.")


@keys.callback()
def _keys() -> None:
    """Make, list and revoke the keys of a server."""


@keys.command()
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


@keys.command(name="list")
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


@keys.command()
def revoke(
    *,
    id: Annotated[str, typer.Argument(metavar="ID", help="As `dragoman keys list` shows it.", show_default=False)],
    keys_file: KeysFile = None,
) -> None:
    """Make a key invalid, at once and for good."""
    if not ledger_of(keys_file).revoke(id, time.time()):
        raise InputError(f"There is no valid key '{id}'.", remedy="See them: dragoman keys list")
    typer.echo(f"Revoked: {id}.")


def _serving() -> Any:
    try:
        from dragoman.server import serving
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"The server needs the package '{error.name}', which is not installed.",
            remedy="Install it: pip install 'dragoman[server]'",
        ) from error
    return serving


def _spans(asked: bool, *, content: bool) -> Any:
    """What sends spans, where it was asked for here or by the environment."""
    named = [os.environ.get(name) for name in ("OTEL_TRACES_EXPORTER", *_OTEL_ENDPOINTS)]
    if not asked and not any(named):
        return None  # without loading anything
    try:
        from dragoman.server.spans import Spans, wanted
    except ModuleNotFoundError as error:
        if not asked:
            return None  # variables that were set for others
        raise MissingExtraError(
            f"Spans need the package '{error.name}', which is not installed.",
            remedy="Install it: pip install 'dragoman[otel]'",
        ) from error
    return Spans.exporting(os.environ, content=content) if asked or wanted(os.environ) else None


def ledger_of(file: Path | None) -> SqliteLedger:
    """The file of the keys."""
    from dragoman.server.sqlite_ledger import SqliteLedger, default_path

    return SqliteLedger(file or default_path())


def named(given: Sequence[str]) -> dict[str, str]:
    """Agents by the name under which they are served: a shipped one's own, a folder's name otherwise."""
    from dragoman.agent.build import locate, shipped

    agents: dict[str, str] = {}
    for agent in given:
        name = agent if agent in shipped() else locate(agent)[0].resolve().parent.name
        if name in agents:
            raise ConfigError(f"Two agents are called '{name}'.", remedy="Rename one of the folders.")
        agents[name] = agent
    return agents


def load_agent(agent: str, settings: list[str] | None, opened: ExitStack) -> tuple[Assistant, Path]:
    """An assistant and the folder of its state, closed with `opened`."""
    from dragoman import load
    from dragoman.agent.build import locate

    chosen = overrides(settings)
    with progress_bars() as bars:
        fetch_weights(agent, chosen)
        assistant = load(agent, overrides=chosen, progress=bars.reading, warm=True)
    opened.callback(assistant.close)
    return assistant, locate(agent)[1]


def _fields(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
