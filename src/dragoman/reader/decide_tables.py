"""Answer from tables: the rows that a question compares, or the row and cell that apply to the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dragoman.core.values import Context, Evidence
from dragoman.decision.applies import applies
from dragoman.decision.choose import Analyse
from dragoman.decision.groups import roots
from dragoman.decision.joint import Option, distinct
from dragoman.decision.tables.cells import (
    cell_for,
    is_named_whole,
    lookup,
    named_row,
    read_row,
    row_for,
    row_sentence,
    row_verdict,
    whom,
)
from dragoman.decision.tables.lists import points
from dragoman.decision.tables.own_group import own_group
from dragoman.decision.tables.rows import compared_column, pick
from dragoman.reader.compose import Answer
from dragoman.text import lazy_re as re
from dragoman.text.sentences import sentences

_MOST_ROWS = 6
_MOST_FITTING = 3
_AS_NEAR = 0.15
"""How much farther than the nearest row of a table another may stand for its value to be said too."""
_ANYTHING = re.compile(
    r"\b(?:any|some)(?:thing| (?:courses?|clubs?|groups?|events?|activit(?:y|ies)|offers?|class(?:es)?))\b[^?]{0,40}\b"
    r"(?:for|suits?|suitable)\b",
    re.IGNORECASE,
)
"""Asks whether there is something for somebody, whatever it is."""
_OF_THEM = re.compile(r"\bof (?:them|those|these|the (?:two|three|four|lot))\b", re.IGNORECASE)


def by_table(
    options: Sequence[Option], facts: Sequence[Evidence], question: str, analyse: Analyse, *, turn: str = ""
) -> Answer | None:
    """Answer from a table by comparing rows, or by the row and column that the question names."""
    best = options[0]
    if read_row(best.sentence) is None:
        return None
    rows = [unit for unit in sentences(best.evidence.text) if read_row(unit) is not None]
    told = [fact.text for fact in facts]
    personal = (row_for(rows, told, turn, analyse) if turn else None) or row_for(rows, told, question, analyse)
    if personal is not None:
        text, decision = personal
        cell = cell_for(question, text, (), analyse)
        used = [fact for fact in facts if fact.text == decision.fact]
        return Answer((replace(best, sentence=cell.text if cell else row_sentence(text)),), tuple(used))
    picked = _picked(question, rows, best)
    if picked is not None:
        return picked
    named = lookup(question, rows, told, analyse, turn=turn)
    if named is None:
        row_named = named_row(question, rows, analyse, turn=turn)
        cell = cell_for(question, best.sentence, told, analyse, turn=turn) if row_named is None else None
        if cell is not None and cell.decision is None:  # the column alone is named
            is_one = compared_column(question, rows) is not None  # "the last boat" is one row
            alike = [] if is_one else _as_near(options, rows, told, question)
            return Answer((replace(best, sentence=_column(alike, cell.column) if len(alike) > 1 else cell.text),))
        other = row_named if row_named is not None and row_named != best.sentence else None
        return Answer((replace(best, sentence=other),)) if other is not None else None
    row, cell = named
    used = [fact for fact in facts if cell.decision is not None and fact.text == cell.decision.fact]
    whole = cell.decision is None and any(is_named_whole(text, row, cell, analyse) for text in (turn, question) if text)
    return Answer((replace(best, sentence=cell.text),), tuple(used), compared=whole)


def by_own_group(
    near: Sequence[Option], options: Sequence[Option], facts: Sequence[Evidence], question: str, analyse: Analyse
) -> Answer | None:
    """Answer by the row or column of the user's group, with the sentence that defines who belongs to the group."""
    best = near[0]
    if not facts or read_row(best.sentence) is None:
        return None
    rows = [unit for unit in sentences(best.evidence.text) if read_row(unit) is not None]
    title = best.evidence.passage.title
    beside = {option.sentence: option for option in options if option.evidence.passage.title == title}
    own = own_group(rows, list(beside), [fact.text for fact in facts], question)
    table = by_table(near, (), f"{question} {own.label}", analyse) if own is not None else None
    if own is None or table is None or own.label not in table.options[0].sentence.lower():
        return None
    used = tuple(fact for fact in facts if fact.text == own.decision.fact)
    said = [replace(each, sentence=f"{row_sentence(each.sentence).rstrip('. ')}.") for each in table.options]
    return replace(table, options=(*said, beside[own.sentence]), facts=used, compared=True)


def _as_near(options: Sequence[Option], rows: Sequence[str], told: Sequence[str], question: str) -> list[str]:
    """Return the rows of a table that score nearly as well as the best one, without rows that are not for the user."""
    scores = {option.sentence: option.score for option in reversed(options)}  # the best of each
    best = max(scores.get(row, 0.0) for row in rows)
    near = [row for row in rows if row in scores and scores[row] >= best - _AS_NEAR]
    decisions = {row: row_verdict(row, told, question) for row in near} if told else {}
    own = [row for row in near if (decision := decisions.get(row)) is None or decision.verdict != "no"]
    return own if len(own) <= _MOST_ROWS else []


def _column(rows: Sequence[str], column: str) -> str:
    """A column of a table in words: "Change fee: Light 60 euros, Classic 30 euros, Flex free"."""
    read = [row for text in rows if (row := read_row(text)) is not None]
    return _listed(column, [(row.label, dict(row.cells).get(column, "")) for row in read])


def _listed(name: str, values: Sequence[tuple[str, str]]) -> str:
    between = "; " if any("," in label + value for label, value in values) else ", "
    return f"{name}: {between.join(f'{label} {value}' for label, value in values if value)}."


def best_row(question: str, options: Sequence[Option], analyse: Analyse) -> Answer | None:
    """Answer a superlative or a count from a table that the question names, even if its rows rank low."""
    asked = roots(analyse(question))
    for option in options[:_MOST_ROWS]:
        row = read_row(option.sentence)
        if row is None:
            continue
        rows = [unit for unit in sentences(option.evidence.text) if read_row(unit) is not None]
        names = " ".join(part.partition(":")[0] for part in option.sentence.split(";"))
        if not roots(analyse(names)) & asked:
            continue
        choice = pick(question, rows)
        if choice is not None and choice.kind != "list":
            return _picked(question, rows, option)
        column = compared_column(question, rows) if choice is None else None
        if column is not None and len(column[1]) <= _MOST_ROWS:
            return Answer((replace(option, sentence=_listed(*column), fact=None),), compared=True)
    return None


def fitting(asked: str, options: Sequence[Option], facts: Sequence[Evidence]) -> Answer | None:
    """Answer with the table rows and list points that suit the person asked about: "Is there anything for my mum?"."""
    if not facts or _ANYTHING.search(asked) is None:
        return None
    told = [fact.text for fact in facts]
    who = whom(told, asked)
    may = "May I take part?" if who == "me" else f"May {who} take part?"
    found: list[tuple[Option, str]] = []
    for option in distinct(options):
        row = read_row(option.sentence)
        if row is None and option.sentence not in points(option.evidence.text):
            continue
        decision = applies(option.sentence, told, may) if row is None else row_verdict(option.sentence, told, may)
        if decision is not None and decision.verdict == "yes" and decision.fact:
            found.append((option, decision.fact))
    reasons = {fact for _, fact in found[:_MOST_FITTING]}
    used = tuple(fact for fact in facts if fact.text in reasons)
    said = tuple(replace(option, fact=None) for option, _ in found[:_MOST_FITTING])
    return Answer(said, used, compared=True) if found else None


def own_row(options: Sequence[Option], facts: Sequence[Evidence], question: str, analyse: Analyse) -> Answer | None:
    """Answer with the user's cell of a table: "my rent" for a user who mentioned a single room."""
    of_table = next((option for option in options if read_row(option.sentence) is not None), None)
    if of_table is None:
        return None
    rows = [unit for unit in sentences(of_table.evidence.text) if read_row(unit) is not None]
    named = lookup(question, rows, [fact.text for fact in facts], analyse)
    if named is None or named[1].decision is None or not roots(analyse(named[1].column)) & roots(analyse(question)):
        return None
    used = tuple(fact for fact in facts if named[1].decision is not None and fact.text == named[1].decision.fact)
    return Answer((replace(of_table, sentence=named[1].text),), used, compared=True)


def _picked(question: str, rows: Sequence[str], option: Option) -> Answer | None:
    """The rows that a question chooses by comparing them: the cheapest, those on Sundays."""
    choice = pick(question, rows)
    if choice is None or len(choice.rows) > _MOST_ROWS:
        return None
    if choice.kind == "count":
        between = "; " if any("," in label for label in choice.labels) else ", "
        named = f": {between.join(choice.labels)}." if choice.labels else "."
        return Answer((replace(option, sentence=f"{choice.answer}{named}", fact=None),), compared=True)
    texts = [row_sentence(row) for row in choice.rows]
    if choice.kind == "superlative" and len(choice.labels) == 1:
        column = f" ({choice.column})" if choice.column else ""
        texts = [f"{choice.labels[0]}: {choice.answer}{column}"]
    return Answer(tuple(replace(option, sentence=text, fact=None) for text in texts), compared=True)


def of_those_said(context: Context, options: Sequence[Option]) -> Answer | None:
    """The answer to "which of them ...?" by the table rows that the last reply listed."""
    before = next((turn.text for turn in reversed(context.turns) if turn.speaker == "agent"), "")
    if not before or not _OF_THEM.search(context.last):
        return None
    rows = {option.sentence: option for option in options if read_row(option.sentence) is not None}
    said = {text: option for text, option in rows.items() if row_sentence(text) in before}
    return _picked(context.last, list(said), next(iter(said.values()))) if len(said) > 1 else None
