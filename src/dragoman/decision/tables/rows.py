# ruff: noqa: E501  # a pattern is easier to check in one piece
"""Questions that a table answers by comparing its rows: the cheapest, the longest, how many on Sunday, which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

from dragoman.decision.comparisons import Condition, comparisons
from dragoman.decision.moments import clocks, days, spread, weekdays
from dragoman.decision.numerals import normalise
from dragoman.decision.quantities import quantities
from dragoman.text import lazy_re as re
from dragoman.text.analyse import Analyser

Row: TypeAlias = dict[str, str]
Measure: TypeAlias = Literal["money", "length", "duration", "mass", "time", "date", "age", "count"]


@dataclass(frozen=True, slots=True)
class Choice:
    """The rows that answer, and how they were found."""

    kind: Literal["superlative", "count", "list"]
    rows: tuple[str, ...]
    """The chosen rows as they were given."""
    labels: tuple[str, ...]
    """The first cell of each chosen row."""
    answer: str
    """The value of a superlative, the number of a count, or the labels of a list."""
    column: str = ""
    compared: tuple[str, ...] = ()
    """One line for each row that was looked at: what it has, and whether it was kept."""


_SUPERLATIVES: tuple[tuple[str, int, tuple[Measure, ...]], ...] = (
    (r"\bcheapest\b|\bleast expensive\b|\blowest (?:price|fee|fare|cost)\b|\bcosts? (?:the )?least\b|最便宜", -1, ("money",)),
    (r"\bmost expensive\b|\bdearest\b|\bpriciest\b|\bhighest (?:price|fee|fare)\b|\bcosts? (?:the )?most\b|最贵", 1, ("money",)),
    (r"\blongest\b|最长", 1, ("duration", "length")),
    (r"\bshortest\b|最短", -1, ("duration", "length")),
    (r"\b(?:quickest|fastest)\b|最快", -1, ("duration",)),
    (r"\bslowest\b|最慢", 1, ("duration",)),
    (r"\b(?:highest|tallest|deepest|widest)\b|最高|最深|最宽", 1, ("length",)),
    (r"\b(?:lowest|shallowest|nearest|closest)\b|最低|最浅|最近", -1, ("length",)),
    (r"\b(?:farthest|furthest)\b|最远", 1, ("length",)),
    (r"\bheaviest\b|最重", 1, ("mass",)),
    (r"\blightest\b|最轻", -1, ("mass",)),
    (r"\b(?:earliest|first)\b|最早|第一班|首班", -1, ("time", "date")),
    (r"\b(?:latest|last)\b|最晚|末班|最后一班", 1, ("time", "date")),
    (r"\b(?:largest|biggest)\b|\bmost (?:people|seats|places|rooms)\b|最大|最多", 1, ("count",)),
    (r"\bsmallest\b|\bfewest\b|最小|最少", -1, ("count",)),
)  # fmt: skip
_HOW_MANY = re.compile(r"\bhow many\b|\bnumber of\b|几[个班艘条种家场次]|多少[个班艘条种家场次]")
_WHICH = re.compile(
    r"\bwhich\b|\blist\b|\bwhat (?:\w+ )?(?:are|is) there\b|\bwhat \w+ (?:run|go|sail|leave|open)|哪些|哪[个班艘条种家场]"
)
_COUNTED = re.compile(
    r"\bhow many (?:different |kinds of |types of |sorts of )?(?P<what>[\w' -]{2,40}?)(?: options?| kinds| types)?"
    r" (?:are there|are on offer|do you (?:have|offer|run|rent|sell)|can (?:i|we) (?:book|rent|choose from)|exist)\b"
)
"""Asks how many rows there are of a kind: "How many boats are there?"."""
_HEADERS: dict[Measure, re.Pattern[str]] = {
    "money": re.compile(r"price|cost|fee|fare|admission|ticket|rate|€|£|\$|价|费|票"),
    "length": re.compile(r"length|distance|height|depth|width|km|metre|长|距|高|深|宽"),
    "duration": re.compile(r"duration|length|time|takes|hours|minutes|时长|用时|时间"),
    "mass": re.compile(r"weight|mass|kg|重"),
    "time": re.compile(r"time|depart|leave|start|begin|open|arriv|clock|时|点|出发|开始"),
    "date": re.compile(r"date|day|when|日"),
    "age": re.compile(r"\bages?\b|age group|年龄|岁"),
    "count": re.compile(r"people|persons|seats|places|rooms|capacity|size|number|beds|人数|座|容量"),
}
_NUMBER_CELL = re.compile(r"[€£$¥]? ?(\d+(?:\.\d+)?)(?: ?[€£$¥])?")
_FROM_TO = re.compile(r"\d ?(?:-|–|to|till|until|到) ?\d")
_EVERY_DAY = re.compile(r"\b(?:daily|every day|all week)\b|每天|每日")


def pick(question: str, rows: Sequence[str]) -> Choice | None:
    """Answer a question by the rows of a table; None where the table does not hold what is asked for.

    A row is `column: value; column: value` or a line of a Markdown table, whose first line names the columns.
    """
    table = _parse(rows)
    asked = spread(normalise(question)).rstrip(" ?？")
    if len(table) < 2 or not asked:
        return None
    trace: list[str] = []
    kept = _filtered(asked, table, trace)
    if kept is None:
        return None
    for pattern, sign, measures in _SUPERLATIVES:
        if re.search(pattern, asked):
            return _superlative(asked, kept, sign, measures, trace)
    if _HOW_MANY.search(asked):
        kept = kept if trace else _of_kind(asked, kept, trace)
        return _listed("count", kept, str(len(kept)), trace) if trace else None
    if _WHICH.search(asked) and trace and kept:
        return _listed("list", kept, ", ".join(_label(row) for _, row in kept), trace)
    return None


def compared_column(question: str, rows: Sequence[str]) -> tuple[str, list[tuple[str, str]]] | None:
    """The column that a superlative compares, with the label and value of each row; None for every other question.

    For values that cannot be compared, but can all be said: "280 per person" and "340".
    """
    table, asked = _parse(rows), spread(normalise(question))
    for pattern, _, measures in _SUPERLATIVES:
        if len(table) > 1 and re.search(pattern, asked):
            column = next((name for measure in measures if (name := _column(measure, asked, table))), None)
            return (column, [(_label(row), row.get(column, "")) for _, row in table]) if column else None
    return None


def _of_kind(asked: str, table: list[tuple[str, Row]], trace: list[str]) -> list[tuple[str, Row]]:
    """The rows that are of the kind that a question counts, by the first column's name or by their labels."""
    counted = _COUNTED.search(asked)
    what = frozenset(_stems(counted["what"])) if counted is not None else frozenset()
    labels = [_label(row) for _, row in table]
    if not what or len(set(labels)) < len(labels):  # two sailings of one boat are not two boats
        return table
    if not what <= frozenset(_stems(next(iter(table[0][1])).lower())):
        table = [(line, row) for line, row in table if what <= frozenset(_stems(_label(row).lower()))]
    trace.extend(_label(row) for _, row in table)
    return table


def _parse(rows: Sequence[str]) -> list[tuple[str, Row]]:
    """Rows as they were given, each with its cells by column."""
    table: list[tuple[str, Row]] = []
    header: list[str] = []
    for line in rows:
        text = line.strip()
        if text.startswith("|"):
            cells = [cell.strip() for cell in text.strip("|").split("|")]
            if all(re.fullmatch(r":?-+:?", cell) for cell in cells):
                continue
            if not header:
                header = cells
                continue
            table.append((line, dict(zip(header, cells, strict=False))))
            continue
        header = []
        pairs = [cell.partition(": ") for cell in text.split("; ")]
        if len(pairs) > 1 and all(separator for _, separator, _ in pairs):
            table.append((line, {name.strip(): value.strip() for name, _, value in pairs}))
    return table


def _label(row: Row) -> str:
    return next(iter(row.values()), "")


def _filtered(asked: str, table: list[tuple[str, Row]], trace: list[str]) -> list[tuple[str, Row]] | None:
    """The rows that meet what the question demands: a weekday, a bound, a value that some rows have."""
    kept = table
    demanded = frozenset().union(*(named for named, _ in weekdays(asked)))
    if demanded:
        held = [(line, row, _weekdays_of(row)) for line, row in kept]
        if not any(named for _, _, named in held):
            return None
        trace.extend(
            f"{_label(row)}: {'on that day' if demanded <= named else 'not on that day'}" for _, row, named in held
        )
        kept = [(line, row) for line, row, named in held if demanded <= named]
    conditions, _, unreadable = comparisons(asked)
    if unreadable:
        return None
    for condition in conditions:
        if condition.attribute == "weekday":
            continue
        met = _bounded(condition, kept, trace)
        if met is None:
            return None
        kept = met
    kept = _by_flags(asked, kept, trace)
    aged = [quantity for quantity in quantities(asked) if quantity.kind == "age"]
    if aged and not conditions:
        return _aged(aged[0].value / 12, kept, trace)
    return _by_values(asked, kept, trace)


def _weekdays_of(row: Row) -> frozenset[int]:
    named: frozenset[int] = frozenset()
    for value in row.values():
        text = normalise(value)
        if _EVERY_DAY.search(text):
            named |= frozenset(range(7))
        excepted = re.search(r"\bexcept|除", text)
        for days_named, span in weekdays(text):
            named = named - days_named if excepted and span.start > excepted.start() else named | days_named
    return named


def _bounded(condition: Condition, table: list[tuple[str, Row]], trace: list[str]) -> list[tuple[str, Row]] | None:
    measure: Measure | None = {"amount": "money", "time": "time", "duration": "duration", "weight": "mass"}.get(
        condition.attribute
    )  # type: ignore[assignment]  # values of Measure
    column = _column(measure, "", table) if measure else None
    if measure is None or column is None:
        return None
    kept = []
    for line, row in table:
        value = _value(row.get(column, ""), measure)
        if value is None:
            continue
        number, unit = value
        if unit and condition.unit and unit != condition.unit:
            return None
        above = condition.low is None or (number > condition.low if condition.low_open else number >= condition.low)
        below = condition.high is None or (number < condition.high if condition.high_open else number <= condition.high)
        trace.append(f"{_label(row)}: {row[column]} {'meets' if above and below else 'fails'} {condition.text}")
        if above and below:
            kept.append((line, row))
    return kept


def _aged(years: float, table: list[tuple[str, Row]], trace: list[str]) -> list[tuple[str, Row]] | None:
    kept = []
    read = 0
    for line, row in table:
        for name, value in row.items():
            if not _HEADERS["age"].search(name.lower()):
                continue
            text = normalise(value)
            if re.fullmatch(r"\d+ ?(?:to|-|到) ?\d+", text):
                text = f"aged {text}"
            conditions, _, _ = comparisons(text)
            for condition in conditions[:1]:
                read += 1
                low, high = (condition.low or 0) / 12, (condition.high / 12 if condition.high is not None else None)
                holds = years >= low and (high is None or (years < high if condition.high_open else years <= high))
                trace.append(f"{_label(row)}: {value} {'covers' if holds else 'does not cover'} {years:g}")
                if holds:
                    kept.append((line, row))
    return kept if read == len(table) else None


_YES = frozenset(("yes", "allowed", "welcome", "available", "included", "✓", "✔", "是", "有", "可", "可以"))
_NO = frozenset(
    ("no", "none", "not allowed", "not available", "not included", "–", "-", "✗", "✘", "否", "无", "不可", "不可以")
)


def flag(cell: str) -> bool | None:
    """Read a cell as yes or no; None if it says something else."""
    value = cell.strip().casefold()
    return True if value in _YES else False if value in _NO else None


def _by_flags(asked: str, table: list[tuple[str, Row]], trace: list[str]) -> list[tuple[str, Row]]:
    """Keep the rows that say yes in a column of yes and no that the question names: "which rooms take dogs?"."""
    stems = frozenset(_stems(asked))
    for name in dict.fromkeys(name for _, row in table for name in row):
        flags = [flag(row.get(name, "")) for _, row in table]
        if None in flags or len(set(flags)) < 2 or not frozenset(_stems(name.lower())) & stems:
            continue
        wanted = not re.search(r"\b(?:not|no|without|don't|doesn't)\b|不", asked)
        trace.extend(f"{_label(row)}: {name} {row[name]}" for _, row in table)
        table = [(line, row) for (line, row), held in zip(table, flags, strict=True) if held == wanted]
    return table


def _by_values(asked: str, table: list[tuple[str, Row]], trace: list[str]) -> list[tuple[str, Row]]:
    """Keep the rows with a value that the question names, where other rows have another one."""
    stems = frozenset(_stems(asked))
    names = {name for _, row in table for name in row}
    for name in names:
        values = {row.get(name, "") for _, row in table}
        named = {value for value in values if value and _is_named(value, stems)}
        if named and named != values:
            trace.extend(f"{_label(row)}: {name} {row.get(name, '')}" for _, row in table)
            table = [(line, row) for line, row in table if row.get(name, "") in named]
    return table


def _is_named(value: str, stems: frozenset[str]) -> bool:
    words = _stems(normalise(value))
    return bool(words) and all(word in stems for word in words) and not any(word.isdigit() for word in words)


def _superlative(
    asked: str, table: list[tuple[str, Row]], sign: int, measures: Sequence[Measure], trace: list[str]
) -> Choice | None:
    for measure in measures:
        column = _column(measure, asked, table)
        if column is None:
            continue
        values = [(_value(row.get(column, ""), measure, last=sign > 0), line, row) for line, row in table]
        read = [(value[0], value[1], line, row) for value, line, row in values if value is not None]
        if len(read) < len(values) or len({unit for _, unit, _, _ in read}) > 1:
            return None  # a row that cannot be read, or two currencies, might be the one
        best = max(sign * number for number, *_ in read)
        chosen = [(line, row) for number, _, line, row in read if sign * number >= best - 1e-9]
        trace.extend(f"{_label(row)}: {row[column]}" for _, _, _, row in read)
        return Choice(
            "superlative",
            tuple(line for line, _ in chosen),
            tuple(_label(row) for _, row in chosen),
            chosen[0][1][column],
            column,
            tuple(trace),
        )
    return None


def _column(measure: Measure | None, asked: str, table: list[tuple[str, Row]]) -> str | None:
    """The column that holds a measure: the one that the question names, else the only one of its kind."""
    if measure is None:
        return None
    names = list(dict.fromkeys(name for _, row in table for name in row))
    readable = [name for name in names if any(_value(row.get(name, ""), measure, name) is not None for _, row in table)]
    if len(readable) > 1:
        stems = frozenset(_stems(asked))
        shares = {name: len(frozenset(_stems(name.lower())) & stems) for name in readable}
        most = max(shares.values())
        by_question = [name for name in readable if most and shares[name] == most]
        by_header = [name for name in readable if _HEADERS[measure].search(name.lower())]
        readable = by_question or by_header
    return readable[0] if len(readable) == 1 else None


def _value(cell: str, measure: Measure, name: str | None = None, *, last: bool = False) -> tuple[float, str] | None:
    """A cell's number in base units, with the unit; bare numbers count where the header names the measure.

    Of hours from one time to another, the first is meant, or the `last`.
    """
    text = spread(normalise(cell))
    if measure == "time":
        times = clocks(text)
        is_one = len(times) == 1 or (len(times) == 2 and _FROM_TO.search(text) is not None)
        return (float(times[-1 if last else 0][0].minutes), "") if is_one and not _half(text) else None
    if measure == "date":
        named = days(text)
        return (float(named[0][0].year * 366 + named[0][0].first), "") if named else None
    measures = [quantity for quantity in quantities(text) if quantity.kind == measure]
    if len(measures) == 1 or (measures and measure == "money"):
        return measures[0].value, measures[0].unit
    bare = _NUMBER_CELL.fullmatch(text)
    if bare and (name is None or _HEADERS[measure].search(name.lower())):
        return float(bare[1]), ""
    return None


def _half(text: str) -> bool:
    """Whether a time may be of the morning or the evening; a table's `9:30` is of the 24-hour clock."""
    return bool(re.fullmatch(r"\d{1,2} ?o'?clock", text))


def _listed(kind: Literal["count", "list"], table: list[tuple[str, Row]], answer: str, trace: list[str]) -> Choice:
    return Choice(
        kind, tuple(line for line, _ in table), tuple(_label(row) for _, row in table), answer, compared=tuple(trace)
    )


@cache
def analyser() -> Analyser:
    """The analyser of cells and questions, which remembers the words it has seen."""
    return Analyser(language="auto")


def _stems(text: str) -> tuple[str, ...]:
    return analyser()(text)
