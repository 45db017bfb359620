"""Options shared by commands that use an agent, and opening its assistant with progress bars."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer
from typer.core import TyperCommand

from dragoman.cli.terminal.progress import progress_bars
from dragoman.core.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.agent.assistant import Assistant

DEFAULT_AGENT = "harbour"

Agent = Annotated[
    str | None,
    typer.Option(
        "--agent",
        "-a",
        metavar="AGENT",
        help="An agent's folder, its agent.toml, or the name of a sample agent. "
        f"Default: the current folder if it has an agent.toml, else {DEFAULT_AGENT}.",
        show_default=False,
    ),
]
User = Annotated[str, typer.Option("--user", "-u", metavar="ID", help="User whose memory and dialogues are used.")]
State = Annotated[
    Path | None,
    typer.Option("--state", metavar="DIR", help="Folder for the database and the index.", show_default=False),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Override a value of agent.toml, such as gate.threshold=0.6. Repeatable. "
        "--gate.threshold 0.6 does the same.",
        show_default=False,
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="NAME",
        help="Language model instead of the agent's: a vendor's or server's (ollama:qwen3:4b, openai:gpt-4.1-mini, "
        "NAME@URL), or weights by name or path.",
        show_default=False,
    ),
]
LANGUAGE_MODEL = "models.language"
"""The path that `--model` overrides."""


class Overridable(TyperCommand):
    """A command with dotted options as overrides: `--gate.threshold 0.6` is `--set gate.threshold=0.6`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, fold_overrides(args, ctx))


def fold_overrides(arguments: Sequence[str], context: typer.Context | None = None) -> list[str]:
    """Rewrite dotted options as `--set`. Ordinary options have no dot, so a misspelt one is still an error."""
    folded: list[str] = []
    waiting = iter(arguments)
    for word in waiting:
        if word == "--":
            return [*folded, word, *waiting]
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or "." not in name:
            folded.append(word)
            continue
        if not equals:
            following = next(waiting, None)
            if following is None or following.startswith("--"):
                raise typer.BadParameter(f"{word} needs a value: {word} VALUE.", ctx=context)
            value = following
        folded += ["--set", f"{name}={value}"]
    return folded


def overrides(pairs: Sequence[str] | None) -> dict[str, str]:
    """Parse overrides such as `gate.threshold=0.6` into paths and values."""
    by_path = {}
    for pair in pairs or ():
        path, equals, value = pair.partition("=")
        if not equals or not path.strip():
            raise typer.BadParameter(f"'{pair}' is not PATH=VALUE. Write for instance --set gate.threshold=0.6.")
        by_path[path.strip()] = value.strip()
    return by_path


def with_model(model: str | None, chosen: Mapping[str, str]) -> dict[str, str]:
    """Overrides with another language model, before those that set its options."""
    if model is None:
        return dict(chosen)
    if any(path == LANGUAGE_MODEL or path.startswith(f"{LANGUAGE_MODEL}.") for path in chosen):
        from dragoman.core.model_names import model_table

        options = {f"{LANGUAGE_MODEL}.{key}": str(value) for key, value in model_table(model).items()}
        return options | dict(chosen)
    return {LANGUAGE_MODEL: model, **chosen}


def agent_name(name: str | None) -> str:
    """The agent of a command: the one given, else that of the current folder, else the default."""
    if name is not None:
        return name
    return "." if Path("agent.toml").is_file() else DEFAULT_AGENT


def again(agent: str | None, user: str | None = None) -> str:
    """The options that name the same agent and user in a suggested command."""
    option = "" if agent is None else f" --agent {shlex.quote(agent)}"
    return option if user is None else f"{option} --user {shlex.quote(user)}"


def new_dialogue() -> str:
    """A new, unique dialogue name that sorts by time."""
    from datetime import UTC, datetime
    from secrets import token_hex

    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{token_hex(3)}"


@contextmanager
def opened(
    agent: str | None,
    *,
    settings: Sequence[str] | None = None,
    state: Path | None = None,
    model: str | None = None,
    talks: bool = False,
) -> Iterator[Assistant]:
    """Context manager for the assistant of a command, with progress bars for downloads and ingestion.

    With `talks`, missing models are downloaded, and a missing key is told, now rather than in the middle of a reply.
    """
    chosen, name = with_model(model, overrides(settings)), agent_name(agent)
    if state is not None and state.is_file():
        raise ConfigError(f"--state {state} is a file.", remedy="Give a folder; it is made where it does not exist.")
    from dragoman import load

    with progress_bars() as bars:
        if talks:
            fetch_weights(name, chosen)
        assistant = load(name, overrides=chosen, state=state, progress=bars.reading, warm=talks)
        if assistant.reencoding is not None and assistant.reencoding.total and not assistant.reencoding.is_running:
            bars.notice(assistant.reencoding.message)
    try:
        check_key = getattr(assistant.model, "check_key", None)
        if talks and check_key is not None:
            check_key()
        yield assistant
    finally:
        assistant.close()


def fetch_weights(agent: str, settings: Mapping[str, str]) -> None:
    """Download the missing weights of an agent's models."""
    from dragoman.agent.build import assemble, locate
    from dragoman.config import load_config
    from dragoman.models import weights

    file, state = locate(agent)
    config = load_config(file, settings)
    weights_names = (config.models.encoder.get("weights"), config.models.language.get("weights"))
    missing = [name for name in weights_names if name in weights.CATALOGUE and not weights.CATALOGUE[name].is_present]
    if missing:  # a wrong config is told before anything is fetched for it
        assemble(config, folder=file.parent, state=state, file=str(file)).close()
    for name in missing:
        weights.path(name)
    language = config.models.language
    if str(language.get("kind", "")).partition(".v")[0] in ("llamacpp", "model.llamacpp") and "weights" in language:
        weights.gguf_file(str(language["weights"]))  # a file that is not here is told before the first turn


def interactive() -> bool:
    """Whether standard input and output are both terminals."""
    return at_terminal() and sys.stdout.isatty()


def at_terminal() -> bool:
    """Whether standard input is a terminal; a closed one counts as an empty pipe."""
    return sys.stdin is not None and sys.stdin.isatty()


def piped() -> BinaryIO:
    """Standard input as bytes: the assistant cleans invalid UTF-8, a decoder would refuse it."""
    return BytesIO() if sys.stdin is None else sys.stdin.buffer
