"""`dragoman serve`: serve agents over HTTP."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.keys import KeysPlace, PerDay, PerMinute, ledger_of, refuse_stray_keys
from dragoman.cli.terminal.agent_options import Overridable, Set, agent_name, fetch_weights, overrides
from dragoman.cli.terminal.messages import tell
from dragoman.cli.terminal.progress import progress_bars
from dragoman.core.errors import AccessError, ConfigError, MissingExtraError

if TYPE_CHECKING:
    from dragoman.agent.assistant import Assistant
    from dragoman.server.access.ledger import UsageLedger
    from dragoman.server.service import Service

_OTEL_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def add_to(app: typer.Typer) -> None:
    """Register this file's command."""
    app.command(cls=Overridable)(serve)


def serve(
    *,
    agents: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[AGENT]...",
            help="Agent folders or names of built-in agents. Default: the current folder if it has an "
            "agent.toml, else harbour.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=65535, help="The port to listen on; 0 picks a free one.")
    ] = 8000,
    keys_place: KeysPlace = None,
    without_keys: Annotated[
        bool, typer.Option("--without-keys", help="Require no key even if keys exist. On 127.0.0.1 only.")
    ] = False,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-origin",
            metavar="URL",
            help="Origin of a web page that may call the API from a browser. Repeatable.",
            show_default=False,
        ),
    ] = None,
    allow_model: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-model",
            metavar="NAME",
            help="Language model that users may choose instead of the agent's, as after --model. Repeatable.",
            show_default=False,
        ),
    ] = None,
    turns_per_minute: PerMinute = None,
    tokens_per_day: PerDay = None,
    workers: Annotated[int, typer.Option("--workers", min=1, max=512, help="Maximum number of concurrent turns.")] = 8,
    queue: Annotated[
        int, typer.Option("--queue", min=0, help="Maximum number of waiting turns; more get status 503.")
    ] = 64,
    turn_seconds: Annotated[
        float, typer.Option("--turn-seconds", min=1.0, help="Time limit of a turn in seconds.")
    ] = 120.0,
    grace: Annotated[
        float, typer.Option("--grace", min=0.0, help="Seconds to wait for running turns on shutdown.")
    ] = 30.0,
    drain: Annotated[
        float,
        typer.Option(
            "--drain", min=0.0, help="Seconds to report on /readyz that the server is shutting down before it does."
        ),
    ] = 0.0,
    uploads: Annotated[
        Path | None,
        typer.Option(
            "--uploads",
            metavar="DIR",
            help="Folder for uploaded files; servers that share a database share it. Default: the "
            "agents' state folders.",
            show_default=False,
        ),
    ] = None,
    tenant_megabytes: Annotated[
        int, typer.Option(min=0, help="Limit of uploads per tenant, its users included. 0: no limit.")
    ] = 10240,
    tenant_files: Annotated[
        int, typer.Option(min=0, help="Limit of uploaded files per tenant. 0: no limit.")
    ] = 100_000,
    tenant_passages: Annotated[
        int, typer.Option(min=0, help="Limit of passages in shared sources. 0: no limit.")
    ] = 2_000_000,
    user_megabytes: Annotated[int, typer.Option(min=0, help="Limit of uploads per user. 0: no limit.")] = 1024,
    user_files: Annotated[int, typer.Option(min=0, help="Limit of uploaded files per user. 0: no limit.")] = 10_000,
    user_passages: Annotated[
        int, typer.Option(min=0, help="Limit of passages in a user's private sources. 0: no limit.")
    ] = 200_000,
    user_facts: Annotated[int, typer.Option(min=0, help="Limit of facts per user. 0: no limit.")] = 2000,
    user_chat_megabytes: Annotated[int, typer.Option(min=0, help="Limit of chats per user. 0: no limit.")] = 256,
    runs: Annotated[
        Path, typer.Option("--runs", metavar="DIR", help="Folder of `dragoman evaluate` runs to show.")
    ] = Path("runs"),
    otel: Annotated[
        bool,
        typer.Option("--otel", help="Send OpenTelemetry spans, configured by OTEL_* variables, which also enable it."),
    ] = False,
    otel_content: Annotated[
        bool, typer.Option("--otel-content", help="Include messages and replies in the spans.")
    ] = False,
    settings: Set = None,
) -> None:
    """Serve agents: a web page, an OpenAI-compatible API and our own.

    Without keys it listens on 127.0.0.1 only.
    """
    serving = _serving()
    from dragoman.cli.stored_runs import FolderRuns
    from dragoman.server.access.caller import Limits
    from dragoman.server.access.quota import Quota
    from dragoman.server.http.app import make_app, with_request_limits
    from dragoman.server.http.cors import origin_of
    from dragoman.server.page import add_page, preload
    from dragoman.server.service import Service, ServiceSettings

    origins = [origin_of(url) for url in allow_origin or ()]
    agents_by_name = named(agents or [agent_name(None)])
    with ExitStack() as opened:
        ledger = ledger_of(keys_place, list(agents_by_name.values()), settings)
        opened.callback(ledger.close)
        has_keys = not without_keys and _has_keys(ledger, keys_place)
        if not has_keys and not serving.is_loopback(host):
            lacking = "no key is asked for" if without_keys else "there is no key"
            raise AccessError(
                f"On {host} others can reach the server, and {lacking}.",
                remedy="Create one: dragoman keys create NAME. Or listen on 127.0.0.1.",
            )
        listening = serving.bind(host, port)
        opened.callback(listening.close)
        preload()
        loaded = {
            name: (assistant, state if uploads is None else uploads / name)
            for name, agent_path in agents_by_name.items()
            for assistant, state in [load_agent(agent_path, settings, opened)]
        }
        limits = Limits(turns_per_minute, tokens_per_day)
        tenants = _megabytes(tenant_megabytes), tenant_files or None, tenant_passages or None
        users = _megabytes(user_megabytes), user_files or None, user_passages or None
        quota = Quota(*tenants, *users, facts=user_facts or None, user_chat_bytes=_megabytes(user_chat_megabytes))
        service = Service(
            loaded,
            ledger=ledger if has_keys else None,
            settings=ServiceSettings(workers, queue, turn_seconds, grace, limits, quota),
        )
        _allow_models(service, allow_model or ())
        app = make_app(service, runs_of=FolderRuns(runs))
        add_page(app)
        door = with_request_limits(app, service, origins=origins)
        spans = _spans(otel or otel_content, content=otel_content)
        if spans is not None:
            opened.callback(spans.close)
            service.watchers.append(spans)
            door = spans.around(door)

        def started() -> None:
            shown = f"[{host}]" if ":" in host else host
            address = f"http://{shown}:{listening.getsockname()[1]}"
            tell(f"Serving {', '.join(loaded)} on {address}")
            if not has_keys:
                tell("Without keys: only this machine is answered. `dragoman keys create NAME` makes a key.")
            if origins:
                tell(f"Pages of {', '.join(origins)} may call the API.")
            tell(f"The page: {address}/")
            tell(f"OpenAI's API: {address}/v1   All of it: {address}/openapi.json   Stop: Ctrl-C")
            if spans is not None:
                tell(f"Spans of every turn are sent, {'with' if otel_content else 'without'} what is said in it.")

        serving.serve(
            door,
            listening,
            grace=grace,
            started=started,
            ready=lambda: service.ready,
            drain=drain,
            leaving=service.step_back,
        )
    _leave(service)


def _allow_models(service: Service, names: Sequence[str]) -> None:
    """Let users choose other language models for every agent."""
    from dragoman.agent.build import other_model

    for hosted in service.agents.values():
        hosted.models = {name: other_model(hosted.assistant, name) for name in names}


def _leave(service: Service) -> None:
    """Print how the server ended."""
    if service.turn_queue.is_busy:
        tell("Stopped; a turn that took longer than --grace was given up, and its reply is not kept.")
    else:
        tell("Stopped; every turn that was taken in is done.")
    if service.threads.is_busy:
        tell("A file was still being read; upload it again.")
    if service.is_left_undone:
        os._exit(0)  # the thread that is busy would keep the process for as long as it takes


def _has_keys(ledger: UsageLedger, place: str | None) -> bool:
    """Whether requests need a key. Revoking all keys does not open the server."""
    refuse_stray_keys(place, ledger)
    stored = ledger.listed()
    if stored and all(key.revoked is not None for key in stored):
        raise AccessError(
            "All keys of this server are revoked; without any, whoever sits at this machine would be let in.",
            remedy="Make one: dragoman keys create NAME. If you want it open on this machine, say --without-keys.",
        )
    return bool(stored)


def _megabytes(number: int) -> int | None:
    return number * 2**20 or None


def _serving() -> Any:
    try:
        from dragoman.server.http import uvicorn_server as serving
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"The server needs the package '{error.name}', which is not installed.",
            remedy="Install it: pip install 'dragoman[server]'; with uvx: uvx --from 'dragoman[server]' dragoman serve",
        ) from error
    return serving


def _spans(asked: bool, *, content: bool) -> Any:
    """The sender of spans, if enabled by an option or the environment."""
    exporters = [os.environ.get(name) for name in ("OTEL_TRACES_EXPORTER", *_OTEL_ENDPOINTS)]
    if not asked and not any(exporters):
        return None  # without loading anything
    try:
        from dragoman.server.observe.spans import Spans, wanted
    except ModuleNotFoundError as error:
        if not asked:
            return None  # variables that were set for others
        raise MissingExtraError(
            f"Spans need the package '{error.name}', which is not installed.",
            remedy="Install it: pip install 'dragoman[otel]'",
        ) from error
    return Spans.exporting(os.environ, content=content) if asked or wanted(os.environ) else None


def named(entries: Sequence[str]) -> dict[str, str]:
    """Agents by the name they are served under: a built-in agent's name, else the folder's name."""
    from dragoman.agent.build import locate, shipped

    agents: dict[str, str] = {}
    for agent in entries:
        name = agent if agent in shipped() else locate(agent)[0].resolve().parent.name
        if name in agents:
            raise ConfigError(f"Two agents are called '{name}'.", remedy="Rename one of the folders.")
        agents[name] = agent
    return agents


def load_agent(agent: str, settings: list[str] | None, opened: ExitStack) -> tuple[Assistant, Path]:
    """Load an assistant and its state folder; `opened` closes it."""
    from dragoman import load
    from dragoman.agent.build import locate

    changes = overrides(settings)
    with progress_bars() as bars:
        fetch_weights(agent, changes)
        assistant = load(agent, overrides=changes, progress=bars.reading, warm=True)
    opened.callback(assistant.close)
    return assistant, locate(agent)[1]
