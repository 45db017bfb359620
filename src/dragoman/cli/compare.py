"""`dragoman compare`: which turns changed between two runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.messages import printable

if TYPE_CHECKING:
    from dragoman.core.trace import Reply
    from dragoman.evaluate.show.compare import Compared, TurnChange

_TEXT_WIDTH = 300


def add_to(app: typer.Typer) -> None:
    """Register this file's command."""
    app.command()(compare)


def compare(
    *,
    a: Annotated[str, typer.Argument(metavar="A", help="A run folder, or RUN:SYSTEM.", show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="A run folder, or RUN:SYSTEM.", show_default=False)],
    data: Annotated[
        str | None, typer.Option("--set", metavar="NAME", help="Compare only this data set.", show_default=False)
    ] = None,
    system: Annotated[
        str | None, typer.Option("--system", metavar="NAME", help="Compare only this system.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=0, metavar="N", help="Number of changed turns to show.")] = 5,
) -> None:
    """Show which turns changed between two runs or two systems.

    Counts changes of gate, plan, evidence and reply, and the turns on which each metric got better or worse, with p of
    a paired bootstrap over dialogues (uncorrected); then shows the turns that changed most.
    """
    from dragoman.evaluate.show.compare import compare_runs

    for compared in compare_runs(a, b, data=data, system=system, limit=limit):
        _print_compared(compared)


def _print_compared(compared: Compared) -> None:
    from dragoman.evaluate.show.compare import WHAT

    console = rendering.out()
    whom = compared.before if compared.before == compared.after else f"{compared.before} > {compared.after}"
    console.print(f"{compared.data}: {whom}", style="bold")
    if not compared.same_data:
        console.print("The runs read other files or another number of turns: only the turns of both are compared.")
    parts = [f"{what} on {compared.changed.get(what, 0)}" for what in WHAT]
    console.print(f"{compared.turns} turns; changed: {', '.join(parts)}; the same on {compared.unchanged}.")
    if compared.counts:
        table = rendering.table("measure", ">better", ">worse", ">same", ">p")
        for count in compared.counts:
            chance = "" if count.p is None else f"{count.p:.4f}"
            rendering.add_row(table, count.column.title, str(count.better), str(count.worse), str(count.same), chance)
        console.print(table)
    for change in compared.biggest:
        _print_change(change, compared)
    console.print()


def _print_change(change: TurnChange, compared: Compared) -> None:
    from dragoman.evaluate.show.compare import scores_text

    console = rendering.out()
    scores = scores_text(change, [count.column for count in compared.counts])
    console.print(
        f"{change.turn.example}: {', '.join(change.what)} changed" + (f" ({scores})" if scores else ""), style="bold"
    )
    question = change.turn.context[-1].text if change.turn.context else ""
    console.print(f"  asked   {rendering.one_line(question, _TEXT_WIDTH)}")
    gold = change.turn.gold
    labels = []
    if gold.retrieve is not None:
        labels.append("look something up" if gold.retrieve else "do not look")
    if gold.plan is not None:
        labels.append(" > ".join(gold.plan) or "no source")
    if gold.evidence is not None:
        labels.append(", ".join(gold.evidence) or "no passage")
    if gold.reply is not None:
        labels.append(f"“{rendering.one_line(gold.reply, _TEXT_WIDTH)}”")
    console.print(f"  gold    {' · '.join(labels) or 'says nothing'}")
    console.print(f"  before  {_reply_text(change.before, change.what)}")
    console.print(f"  after   {_reply_text(change.after, change.what)}")


def _reply_text(reply: Reply, what: Sequence[str]) -> str:
    parts = []
    if "gate" in what:
        parts.append("looks something up" if reply.verdict.retrieve else "does not look")
    if "plan" in what:
        parts.append(rendering.route(reply.plan) or "no source")
    if "evidence" in what:
        parts.append(", ".join(printable(piece.id) for piece in reply.evidence) or "no passage")
    if "reply" in what:
        parts.append(f"“{rendering.one_line(reply.text, _TEXT_WIDTH)}”")
    return " · ".join(parts)
