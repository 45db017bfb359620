"""Tables and texts that show a data set and its turns on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.messages import printable
from dragoman.core.examples import Example
from dragoman.core.values import Passage

if TYPE_CHECKING:
    from rich.table import Table

    from dragoman.datasets.check import DatasetReport, Spread

_BAR = 24
_MANY = 5


def report_tables(report: DatasetReport) -> Iterator[Table]:
    """Tables of a data set's counts and its label distribution."""
    yield _facts(report)
    balance = rendering.table("label", "value", ">turns", ">share", "", title="Labels")
    _add_balance(balance, "retrieve", report.retrieve)
    _add_balance(balance, "plan", report.plans)
    _add_balance(balance, "evidence", _evidence(report.evidence))
    if balance.row_count:
        yield balance


def _facts(report: DatasetReport) -> Table:
    rows = rendering.table("what", "how much", title=f"{report.name} ({report.language})")
    columns = {
        "dialogues": str(report.dialogues),
        "turns to answer": str(report.turns),
        "labels": ", ".join(report.labels) or "none",
        "sources": ", ".join(source.name for source in report.sources) or "none",
        "shared passages": str(report.passages) if report.passages else "",
        "candidates per turn": _spread(report.candidates),
        "candidates by source": _listed(report.by_source),
        "turns of context": _spread(report.contexts),
        "letters per reply": _spread(report.replies),
        "domains": _listed(report.domains),
        "languages": _listed(report.languages),
        "repeated turns": str(report.duplicates) if report.duplicates else "",
        "errors": str(report.errors),
        "warnings": str(report.warnings),
    }
    for name, value in columns.items():
        if value:
            rendering.add_row(rows, name, value)
    return rows


def _add_balance(rows: Table, label: str, counts: Mapping[str, int]) -> None:
    total = sum(counts.values())
    for value, turns in counts.items():
        share = turns / total
        rendering.add_row(rows, label, value, str(turns), f"{100 * share:.1f} %", "█" * round(_BAR * share))
        label = ""


def _spread(spread: Spread | None) -> str:
    if spread is None:
        return ""
    return f"{spread.least} to {spread.most}, median {spread.median:g}"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _evidence(counts: Mapping[int, int]) -> dict[str, int]:
    """Counts of turns by number of gold passages; large numbers share a row."""
    words: dict[str, int] = {}
    for count, turns in counts.items():
        name = "1 passage" if count == 1 else f"{count or 'no'} passages"
        name = f"{_MANY} passages or more" if count >= _MANY else name
        words[name] = words.get(name, 0) + turns
    return words


def example_text(example: Example, extra: Iterable[Passage] = ()) -> str:
    """A turn as text: context, candidates with gold ones starred, and the gold reply."""
    gold = example.gold
    domain = f" · {example.domain}" if example.domain else ""
    lines = [f"── {example.id} · dialogue {example.context.dialogue} · position {example.position}{domain}"]
    lines += [f"  {turn.speaker}: {turn.text}" for turn in example.context.turns]
    right = set(gold.evidence or ())
    for source in example.sources:
        passages = [passage for passage in (*example.candidates, *extra) if passage.source == source.name]
        if passages:
            lines.append(f"  {source.name}")
            lines += [
                f"    {'*' if passage.id in right else ' '} {passage.id}: {_text(passage)}" for passage in passages
            ]
    if gold.retrieve is not None:
        lines.append(f"  right: {'look something up' if gold.retrieve else 'answer without looking'}")
    if gold.plan is not None:
        lines.append(f"  right plan: {' > '.join(gold.plan) or 'NULL'}")
    if gold.reply is not None:
        lines.append(f"  right reply: {gold.reply}")
    return printable("\n".join(lines)) + "\n"


def _text(passage: Passage) -> str:
    title = f"[{passage.title}] " if passage.title else ""
    return rendering.one_line(f"{title}{passage.text}", 200)
