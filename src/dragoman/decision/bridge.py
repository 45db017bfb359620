"""Answers from two places of the documents: the first names a key, which is looked up in the second.

"How late are you open on the day the book club meets?": a list says that the club meets on Thursday, a table says how
long the house is open on Thursdays. The first sentence speaks of what the question names; it names the label of a row
(a weekday, a course, a kind of bike) that the question does not name; and that row has the value that is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dragoman.decision.choose import Analyse
from dragoman.decision.groups import GENERAL, roots
from dragoman.decision.joint import Option
from dragoman.decision.moments import clocks, days
from dragoman.decision.numerals import normalise
from dragoman.decision.quantities import quantities
from dragoman.decision.tables.cells import Row, cell_for, named_days, read_row
from dragoman.text import lazy_re as re

_PRICE = re.compile(r"\bhow much\b|\bcosts?\b|\bprices?\b|\bfees?\b|\bcharges?\b|\bpay\b|\beuros?\b", re.IGNORECASE)
_TIME = re.compile(
    r"\bhow (?:late|early|long)\b|\bwhat time\b|\bwhen\b|\buntil\b|\bhours?\b|\bopen\b|\bclos(?:e|es|ing)\b|\bstart",
    re.IGNORECASE,
)
_DAY = re.compile(r"\bwhen\b|\b(?:what|which) (?:day|date)\b|\bdate\b", re.IGNORECASE)
_SAME_DAY = re.compile(r"\bsame (?:day|evening|morning|afternoon)\b", re.IGNORECASE)
_FIRSTS = 4
_LEAST_SHARED = 2


@dataclass(frozen=True, slots=True)
class Bridge:
    """The sentence that names the key, and the row that has the value."""

    first: Option
    second: Option


def bridge(question: str, options: Sequence[Option], analyse: Analyse, *, said: str = "") -> Bridge | None:
    """Two sentences that answer together; None unless exactly one cell has the value.

    `said` is the sentence that a reply already quotes; then only it may be the first.
    """
    wanted = _wanted_kinds(question)
    if not wanted:
        return None
    asked = roots(analyse(question)) - GENERAL
    rows = [(option, row) for option in options if (row := read_row(option.sentence)) is not None]
    firsts = [option for option in options if option.sentence == said] if said else _speaking(options, asked, analyse)
    for first in firsts[:_FIRSTS]:
        named = roots(analyse(first.sentence))
        options_by_text: dict[str, Option] = {}
        for option, row in rows:
            if option.sentence == first.sentence or _is_same_table(row, first):
                continue
            text = ""
            if _is_key(option, row, first, asked, question, analyse):
                text = _value(question, option, row, wanted, analyse)
            elif _is_named(row, asked, question, analyse):
                columns = [
                    (name, value)
                    for name, value in row.cells
                    if _is_of(value, wanted, name) and (words := roots(analyse(name))) and words <= named - asked
                ]
                text = f"{row.label}, {columns[0][0]}: {columns[0][1]}" if len(columns) == 1 else ""
            if text:
                options_by_text[text] = replace(option, sentence=text, fact=None)
        if len(options_by_text) == 1:
            return Bridge(first, next(iter(options_by_text.values())))
    return None


def has_value(question: str, sentence: str) -> bool:
    """Whether a sentence has a value of the kind that a question asks for; true where it asks for none."""
    wanted = _wanted_kinds(question)
    return not wanted or _is_of(sentence, wanted)


def _speaking(options: Sequence[Option], asked: frozenset[str], analyse: Analyse) -> list[Option]:
    """The sentences that share most words with the question, two at least."""
    shared = [(len(asked & roots(analyse(_with_place(option)))), option) for option in options]
    close = [(count, option) for count, option in shared if count >= _LEAST_SHARED]
    close.sort(key=lambda pair: -pair[0])
    return [option for _, option in close]


def _with_place(option: Option) -> str:
    passage = option.evidence.passage
    return " ".join((passage.title, *passage.headings, option.sentence))


def _is_same_table(row: Row, first: Option) -> bool:
    other = read_row(first.sentence)
    return other is not None and [name for name, _ in other.cells] == [name for name, _ in row.cells]


def _is_key(  # noqa: PLR0917  # the row, the sentence and the question
    option: Option, row: Row, first: Option, asked: frozenset[str], question: str, analyse: Analyse
) -> bool:
    """Whether a sentence names a row that the question does not name: by its label, or by its one weekday."""
    on = named_days(first.sentence)
    if len(on) == 1 and not named_days(question):
        if named_days(row.label):
            return on == named_days(row.label)
        if _SAME_DAY.search(question):
            kind = " ".join((option.sentence.partition(":")[0], *option.evidence.passage.headings))
            on_day = any(on <= named_days(value) for _, value in row.cells)
            return on_day and bool(roots(analyse(kind)) & asked)
    label = roots(analyse(row.label))
    return bool(label) and not label <= asked and label <= roots(analyse(first.sentence))


def _is_named(row: Row, asked: frozenset[str], question: str, analyse: Analyse) -> bool:
    """Whether a question names a row by its label or weekday."""
    on, label = named_days(row.label), roots(analyse(row.label))
    return bool(on and on == named_days(question)) or bool(label and label <= asked)


def _value(question: str, option: Option, row: Row, wanted: frozenset[str], analyse: Analyse) -> str:
    """The cell that a question asks for; the whole row where that is not clear; empty where it has no such value."""
    cells = [(name, value) for name, value in row.cells if _is_of(value, wanted, name)]
    if not cells:
        return ""
    if _SAME_DAY.search(question):
        return option.sentence
    cell = cell_for(question, option.sentence, (), analyse)
    if cell is not None and _is_of(cell.value, wanted, cell.column):
        return cell.text
    return f"{row.label}, {cells[0][0]}: {cells[0][1]}" if len(cells) == 1 else option.sentence


def _wanted_kinds(question: str) -> frozenset[str]:
    kinds = (("price", _PRICE), ("time", _TIME), ("day", _DAY))
    wanted_kinds = frozenset(kind for kind, pattern in kinds if pattern.search(question))
    return frozenset({"price"}) if "price" in wanted_kinds else wanted_kinds


def _is_of(value: str, wanted: frozenset[str], column: str = "") -> bool:
    plain = normalise(value)
    if "price" in wanted:
        is_money = any(quantity.kind == "money" for quantity in quantities(plain))
        if is_money or "free" in plain or (_PRICE.search(column) and re.search(r"\d", plain)):
            return True
    if "time" in wanted and (clocks(plain) or "closed" in plain):
        return True
    return "day" in wanted and bool(days(plain) or named_days(value))
