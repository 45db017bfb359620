"""`dragoman label`: labelled turns from users' thumbs; `relevance` is in its own file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.label import relevance
from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.agent_options import Agent, State, User, again, opened
from dragoman.core.errors import InputError

if TYPE_CHECKING:
    from dragoman.train.thumb_labels import Thumb

app = typer.Typer(no_args_is_help=True)


@app.callback()
def _label() -> None:
    """Create training labels: for turns, from thumbs; for evidence, its relevance."""


@app.command()
def thumbs(
    *,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="JSON Lines file of thumbs: context, retrieved, thumb or needed. Default: those given with "
            "/good, /bad, /search and /nosearch in a chat.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="OUT", help="JSON Lines file to write.", show_default=False)],
    agent: Agent = None,
    user: User = "me",
    state: State = None,
) -> None:
    """Write a labelled turn for each thumb: thumbs up keeps the gate's decision as label, thumbs down flips it.

    Where a user said whether a turn needed a search, that is the label.
    """
    from dragoman.datasets.writing import write_jsonl
    from dragoman.train.thumb_labels import from_thumbs

    rated = _of_file(file) if file is not None else _of_store(agent, user, state)
    examples = from_thumbs(rated)
    if not examples:
        where = str(file) if file is not None else f"'{user}'"
        raise InputError(
            f"There are no thumbs of {where}.",
            remedy=f"Give some in: dragoman chat{again(agent, user)} (/good, /bad or /nosearch after a reply).",
        )
    written = write_jsonl(examples, out, name=out.stem)
    for problem in written.problems:
        rendering.err().print(f"Left out: {problem}", style="yellow", soft_wrap=True)
    yes = sum(bool(example.gold.retrieve) for example in examples)
    typer.echo(f"{written.rows} turns: {out} (look something up: {yes}, nothing: {len(examples) - yes})")
    typer.echo(f"Next: dragoman train gate-linear --data train={shlex.quote(str(out))} --out gate")


relevance.add_to(app)


def _of_file(file: Path) -> list[Thumb]:
    from dragoman.train.thumb_labels import Thumb, read_thumbs

    rows = list(read_thumbs(file))
    wrong = [each for each in rows if not isinstance(each, Thumb)]
    if wrong:
        more = f" (and {len(wrong) - 1} more lines)" if len(wrong) > 1 else ""
        raise InputError(f"{wrong[0]}{more}", remedy="Fix the file and run the command again.")
    return [each for each in rows if isinstance(each, Thumb)]


def _of_store(agent: str | None, user: str, state: Path | None) -> list[Thumb]:
    from dragoman.agent.feedback import ratings
    from dragoman.train.thumb_labels import Thumb

    with opened(agent, state=state) as assistant:
        return [
            Thumb(rating.context, rating.retrieved, rating.good, rating.better, rating.needed)
            for rating in ratings(assistant.store, assistant.scope(user))
        ]
