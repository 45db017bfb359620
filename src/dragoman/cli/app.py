"""The command line application: its commands and root options."""

from __future__ import annotations

import logging
import sys
from copy import copy
from typing import Annotated, Any

import typer
from typer.main import get_command_name
from typer.models import CommandInfo

from dragoman.cli import (
    ask,
    calibrate,
    chat,
    check,
    compare,
    data,
    doctor,
    evaluate,
    ingest,
    init,
    judge,
    keys,
    mcp,
    pack,
    parts,
    report,
    serve,
    train,
)
from dragoman.cli.facts import forget, memory, recall, remember
from dragoman.cli.label import thumbs
from dragoman.cli.models import weights
from dragoman.cli.store import copies
from dragoman.cli.terminal.messages import tell

_EPILOG = "Start with: dragoman chat. For your own files: dragoman init NAME -d FOLDER"


class Application(typer.Typer):
    """A Typer application that builds only the command it is called with: the options of all take 80 ms."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command that the arguments, a list, name."""
        arguments = args[0] if args else sys.argv[1:]
        first = next((word for word in arguments if word not in ("--debug", "--verbose")), "")
        return super(Application, self._with_command(first)).__call__(*args, **kwargs)

    def _with_command(self, name: str) -> Application:
        """The application with one command or group alone; the whole one where none has the name, to suggest one."""
        command = copy(self)
        command.registered_commands = [info for info in self.registered_commands if _name(info) == name]
        command.registered_groups = [info for info in self.registered_groups if info.name == name]
        return command if command.registered_commands or command.registered_groups else self


def _name(info: CommandInfo) -> str | None:
    return info.name or (get_command_name(info.callback.__name__) if info.callback else None)


app = Application(
    name="dragoman",
    help="Chat with agents that know you and your documents, and that explain their replies.",
    epilog=_EPILOG,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
chat.add_to(app)
ask.add_to(app)
ingest.add_to(app)
remember.add_to(app)
recall.add_to(app)
forget.add_to(app)
memory.add_to(app)
serve.add_to(app)
app.add_typer(keys.app, name="keys", help="Create, list and revoke API keys of a server.")
mcp.add_to(app)
init.add_to(app)
check.add_to(app)
doctor.add_to(app)
evaluate.add_to(app)
report.add_to(app)
compare.add_to(app)
train.add_to(app)
calibrate.add_to(app)
app.add_typer(judge.app, name="judge", help="Have people judge replies: export blinded sheets, import the ratings.")
app.add_typer(
    thumbs.app, name="label", help="Create training labels: for turns, from thumbs; for evidence, its relevance."
)
app.add_typer(data.app, name="data", help="Show, check, split and convert data sets.")
app.add_typer(copies.app, name="store", help="Copy, back up, restore, check and index an agent's store.")
pack.add_to(app)
app.add_typer(parts.app, name="parts", help="List trained parts; share them on a model hub.")
app.add_typer(weights.app, name="models", help="List, download and locate model weights; distil an encoder.")


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"dragoman {version('dragoman')}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Write log messages to standard error.")] = False,
) -> None:
    _log_to_stderr(logging.DEBUG if debug else logging.INFO if verbose else logging.WARNING)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


class _Stderr(logging.Handler):
    """Log handler for the current standard error; formats warnings like those of the commands."""

    def emit(self, record: logging.LogRecord) -> None:
        tell(self.format(record))


def _log_to_stderr(level: int) -> None:
    logger = logging.getLogger("dragoman")
    for handler in [handler for handler in logger.handlers if isinstance(handler, _Stderr)]:
        logger.removeHandler(handler)
    handler = _Stderr()
    style = "Warning: %(message)s" if level == logging.WARNING else "%(levelname)s %(name)s: %(message)s"
    handler.setFormatter(logging.Formatter(style))
    logger.addHandler(handler)
    logger.setLevel(level)
    # What a PDF parser mutters about a damaged file is in our own message; --verbose changes nothing about that.
    logging.getLogger("pypdf").addHandler(logging.NullHandler())
