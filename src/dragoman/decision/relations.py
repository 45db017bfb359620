"""Compare the numbers, days and times in a user's words with those of a sentence by code, and word the results.

A small model reads wording well and compares numbers badly. It is given each comparison as text behind the sentence
that it reads, `Children under four travel free. [leo: 5 is not under 4]`, in training and in use alike, and decides
what follows from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from dragoman.core.caches import text_cache
from dragoman.decision.facts import segments, supposed_facts
from dragoman.decision.moments import Day, clocks, days, spread, weekdays
from dragoman.decision.numerals import normalise
from dragoman.decision.quantities import LENGTH_OF_TIME, PEOPLE, plain, quantities
from dragoman.decision.subjects import USER, People, people, singular
from dragoman.decision.values import LONGEST_FACT
from dragoman.text import lazy_re as re

Scale: TypeAlias = Literal[
    "age", "length", "mass", "volume", "duration", "money", "count", "percent", "number", "date", "time", "weekday"
]  # fmt: skip

MOST = 5
"""Comparisons that are said of one sentence."""
_OF_THINGS: frozenset[Scale] = frozenset({"length", "mass", "volume"})
"""What a question names of the thing that it asks about, whatever other things the user has: "and one of 38 cm?"."""
_LISTED = re.compile(r" ?(?:,|,? and|,? or|&|/) ?(?:on )?")
"""Between two weekdays of one list."""
_DAY_SECONDS = 86400.0
_DAYS_OF_YEAR = 12 * 30.44
_MONTH_SECONDS = 30.44 * _DAY_SECONDS
_OLDEST = 120
_AMBIGUOUS_HALF = 720
_SAME = 1e-6
_NUMBERED = re.compile(r"(?<![^\s])\d{1,2}\.(?= )")
"""The number of a point of a list."""
_INEXACT = re.compile(
    r"\b(?:almost|nearly|about|around|roughly|approximately|not yet|under|over|more than|less than|at least|between"
    r"|soon|will be|turns?|when i was|when she was|when he was) (?:\d+ (?:to|and) )?$"
)
"""Words before a number that make it inexact."""
_YEARS = range(1500, 2100)
_LIMIT_BEFORE = re.compile(
    r"(?:\b(?:from|to|till|until|and|least|most|than|age|aged|ages|of|between|minimum|maximum|max|min|first|last|for|is|be)"
    r"\b[:. ]?|[-+(:<>≥≤])[ -]?[€£$]?$"
)
_LIMIT_AFTER = re.compile(r" ?(?:to \d|-|and \d|years?|yrs|or\b)")
"""Words around a number that make it a limit, without saying which side of it is meant."""
_SIDE_BEFORE = re.compile(
    r"(?:\b(?P<not>not|no|never) )?(?:(?:be |is |are )?)"
    r"(?:(?P<under>\b(?:under|below|(?:less|fewer|younger|shorter|smaller|lighter|lower|earlier|sooner) than|before)|<)"
    r"|(?P<over>\b(?:over|above|(?:more|older|taller|larger|heavier|higher|longer|later|greater) than|after|past|beyond"
    r"|exceed(?:s|ing)?)|>)"
    r"|(?P<least>\b(?:at least|from|between|minimum(?: \w+)?|min|starting|since|as of|(?:must|have to|need to) be)|≥)"
    r"|(?P<most>\b(?:at most|up to(?: and including)?|maximum(?: \w+)?|max|within|until|till|by"
    r"|between \S{1,12}(?: [a-z]{1,8})? and)|≤|(?<=\w)(?: to|-)))"
    r"[:.-]? ?(?:is |are |of )?(?:the )?(?:ages? )?(?:of )?[€£$]?$"
)
_SIDE_AFTER = re.compile(
    r" ?(?:(?P<least>\+|at least\b|(?:and|or) (?:over|above|older|more|up|upwards?|taller|later|longer)\b|up\b(?! to)"
    r"|upwards?\b|onwards?\b|minimum\b|to (?=\d)|-(?=\d))"
    r"|(?P<most>at most\b|(?:and|or) (?:under|below|younger|less|fewer|shorter|earlier)\b|maximum\b))"
)
"""Words that say which side of a number is meant; `not` turns them round."""
_SIDES: dict[str, tuple[str, bool, bool]] = {
    "under": ("under", False, False),
    "over": ("over", True, False),
    "least": ("at least", True, True),
    "most": ("at most", False, True),
}
"""A side's words, whether it is the upper one, and whether the limit belongs to it."""
_OVER_NEW_YEAR = "over new year"
"""The side of a range of days that ends before it begins: its `low` is the first day, its `high` the last."""
_TURNED = {"under": "least", "over": "most", "least": "under", "most": "over"}
_BACK = 30
"""Characters before a number that are looked at."""
_AGED = re.compile(r"(?:\b(?:am|is|are|turned|aged|now|just)|'m|'s|'re) (?:only |now |just |already )?$")
_YEARS_OR_MONTHS = re.compile(r"\b(?:years?|yrs?|months?)\b|[年月]")
_MOST_YEARS_IN_MONTHS = 4
"""Up to which age a limit in months is compared with it."""
_EARLIEST_MORNING = 7 * 60
"""Times of the user before this hour, without am or pm, are in the afternoon: "we come at three"."""
_WORDS: dict[Scale, tuple[str, str]] = {"date": ("before", "after"), "time": ("earlier than", "later than")}


@dataclass(frozen=True, slots=True)
class Value:
    """A quantity in a text: a number on a scale, a day of the year, a time of day or a set of weekdays."""

    scale: Scale
    low: float
    high: float
    shown: str
    unit: str = ""
    whose: str = ""
    weekdays: frozenset[int] = frozenset()
    is_bound: bool = False
    """Whether the words around it make it a limit: `under 4`, `14 and over`, `8 to 12`."""
    side: str = ""
    """The side of the limit that its words mean: a key of `_SIDES`, or `_OVER_NEW_YEAR`."""


@text_cache(maxsize=1024)
def values(text: str) -> tuple[Value, ...]:
    """Every value that a prepared text names, in its order."""
    placed_values: list[tuple[int, Value]] = []
    taken: set[int] = set()
    for named, start, end in _listed_weekdays(text):
        placed_values.append((start, Value("weekday", 0, 0, text[start:end], weekdays=named)))
        taken.update(range(start, end))
    for day, span in days(text):
        named_day = _day(day, text[span.start : span.end].strip(" ."))
        placed_values.append((span.start, _sided(named_day, text, span.start, span.end)))
        taken.update(range(span.start, span.end))
    for clock, span in clocks(text):
        low, high = clock.minutes, clock.minutes
        if clock.ambiguous:
            high = low + _AMBIGUOUS_HALF
        shown = (
            text[span.start : span.end].strip(" .").removeprefix("at ").removeprefix("around ").removeprefix("about ")
        )
        placed_values.append((span.start, _sided(Value("time", low, high, shown), text, span.start, span.end)))
        taken.update(range(span.start, span.end))
    for quantity in quantities(text):
        if quantity.start in taken:
            continue
        if _NUMBERED.match(text, quantity.start):
            continue
        value, scale = quantity.value, quantity.kind
        if scale == "age":
            value /= 12
        elif scale == "duration":
            value *= _MONTH_SECONDS / _DAY_SECONDS if quantity.unit == "month" else 1 / _DAY_SECONDS
        unit = quantity.unit if scale == "money" else singular(quantity.noun) if scale == "count" else ""
        if scale == "count" and quantity.noun in PEOPLE:
            unit = "people"
        before = _LIMIT_BEFORE.search(text, max(0, quantity.start - _BACK), quantity.start)
        is_bound = bool(before or _LIMIT_AFTER.match(text, quantity.end))
        shown = quantity.shown.strip(" .") if quantity.shown[:1] not in "o " else plain(value)  # "of us"
        named_value = Value(scale, value, value, shown, unit, is_bound=is_bound)
        placed_values.append((quantity.start, _sided(named_value, text, quantity.start, quantity.end)))
    return tuple(value for _, value in sorted(placed_values, key=lambda each: each[0]))


def _listed_weekdays(text: str) -> list[tuple[frozenset[int], int, int]]:
    """The weekdays that a text names, those of one list together: "saturdays and sundays"."""
    lists: list[tuple[frozenset[int], int, int]] = []
    for named, span in weekdays(text):
        if lists and _LISTED.fullmatch(text, lists[-1][2], span.start):
            before, start, _ = lists.pop()
            lists.append((before | named, start, span.end))
        else:
            lists.append((named, span.start, span.end))
    return lists


def _sided(value: Value, text: str, start: int, end: int) -> Value:
    """Return the value with the side of the limit, if the words around it say one."""
    before = _SIDE_BEFORE.search(text[max(0, start - _BACK) : start])
    match = before or _SIDE_AFTER.match(text, end)
    if match is None:
        return value
    side = next(name for name in _SIDES if match.groupdict().get(name) is not None)
    if before and before["not"]:
        side = _TURNED[side]
    return replace(value, is_bound=True, side=side)


def _day(day: Day, shown: str) -> Value:
    return Value("date", day.first, day.last, shown.replace("maymonth", "may"), str(day.year or ""))


def user_values(facts: Sequence[str], question: str) -> list[Value]:
    """Return the values in the question and the user's sentences, the question's first, with their owners."""
    question, facts = question[:LONGEST_FACT], [fact[:LONGEST_FACT] for fact in facts]
    everybody = people(facts, question)
    question_values = [value for segment, _ in segments(question, everybody, frozenset()) for value in _exact(segment)]
    asked = {value.scale for value in question_values} & _OF_THINGS
    replaced = supposed_facts(facts, question) if any(each.scale == "age" for each in question_values) else ()
    for fact in facts:
        for segment, subject in segments(fact, everybody, None):
            named = (
                value
                for value in _exact(segment)
                if value.scale not in asked and not (value.scale == "age" and fact in replaced)
            )
            question_values += [replace(value, whose=_whose(segment, value, subject, everybody)) for value in named]
    return question_values


def is_replaced(fact: str, question: str) -> bool:
    """Whether a question names a measure of its own for a thing, instead of the one that a fact has."""
    asked = [value for value in values(spread(normalise(question[:LONGEST_FACT]))) if value.scale in _OF_THINGS]
    same, scales = {(value.scale, value.low) for value in asked}, {value.scale for value in asked}
    own = [value for value in values(spread(normalise(fact[:LONGEST_FACT]))) if value.scale in scales]
    return any((value.scale, value.low) not in same for value in own)


def _whose(segment: str, value: Value, subject: frozenset[str], everybody: People) -> str:
    """Return the owner of a value: the person named last before it, else the subject of the piece."""
    before = segment[: segment.find(value.shown)]
    named = max(everybody.names, key=before.rfind, default="")
    if named and named in before:
        return named
    keys = sorted(subject - USER, key=lambda key: (key in everybody.names.values(), key))
    return ", ".join(keys) or "user"


def _exact(segment: str) -> list[Value]:
    """The values of a piece of a user's sentence that it names exactly; "I'm 71" is an age."""
    exact = []
    for value in values(segment):
        start = segment.find(value.shown)
        before = max(0, start - _BACK), start
        if value.scale == "number" and value.low <= _OLDEST and _AGED.search(segment, *before):
            exact.append(replace(value, scale="age"))
        elif value.scale == "time" and value.high - value.low == _AMBIGUOUS_HALF and value.low < _EARLIEST_MORNING:
            exact.append(replace(value, low=value.high))
        elif not _INEXACT.search(segment, *before):
            exact.append(value)
    return exact


def relations(sentence: str, own: Sequence[Value]) -> list[str]:
    """Word how the user's values compare with a sentence's: `leo: 5 is not under 4`, `saturday is not in weekdays`."""
    statements: dict[str, None] = {}
    limits = _over_new_year(values(spread(normalise(sentence))))
    pairs = [(mine, limit) for mine in own for limit in limits if mine.scale == limit.scale or limit.is_bound]
    for mine, limit in sorted(pairs, key=lambda pair: (pair[0].scale != pair[1].scale, not pair[1].is_bound)):
        relation = _relation(mine, limit, sentence)
        if relation:
            statements[f"{mine.whose}: {mine.shown} {relation}" if mine.whose else f"{mine.shown} {relation}"] = None
        if len(statements) == MOST:
            break
    return list(statements)


def _over_new_year(limits: Sequence[Value]) -> list[Value]:
    """The limits, with a range that goes over the end of the year as one: "from october to march"."""
    joined: list[Value] = []
    for limit in limits:
        before = joined[-1] if joined else None
        if (
            before is not None
            and before.scale == limit.scale == "date"
            and (before.side, limit.side) == ("least", "most")
            and before.low > limit.high
            and not before.unit
            and not limit.unit
        ):
            joined[-1] = replace(before, high=limit.high, shown=f"{before.shown} to {limit.shown}", side=_OVER_NEW_YEAR)
        else:
            joined.append(limit)
    return joined


def with_relations(sentence: str, own: Sequence[Value]) -> str:
    """Append the comparisons by code to a sentence, as the judge was trained to read it."""
    statements = relations(sentence, own)
    return f"{sentence} [{'; '.join(statements)}]" if statements else sentence


def _relation(mine: Value, limit: Value, sentence: str) -> str:
    """Word the comparison of one value with another: `is more than 4`; empty if they cannot be compared."""
    if not _comparable(mine, limit, sentence):
        return ""
    if mine.scale == "weekday":
        some = mine.weekdays & limit.weekdays
        within = "is in" if some == mine.weekdays else "is partly in" if some else "is not in"
        return f"{within} {limit.shown}"
    if limit.side == _OVER_NEW_YEAR:
        inside = mine.low >= limit.low - _SAME or mine.high <= limit.high + _SAME
        return f"is {'' if inside else 'not '}in {limit.shown}"
    limit_shown = limit.shown if mine.scale == limit.scale else plain(limit.low)  # "60 always" is a number
    if (mine.scale, limit.scale) == ("age", "duration"):
        years = limit.low / _DAYS_OF_YEAR
        limit, limit_shown = replace(limit, scale="age", low=years, high=years), limit.shown
    return _against_side(mine, limit, limit_shown) if limit.side else _against(mine, limit, limit_shown)


def _is_limit_of_age(mine: Value, limit: Value, sentence: str) -> bool:
    """Whether a limit in years or months may be one of age: "from 12 years", but not "for at least 2 years"."""
    if mine.scale != "age" or not limit.side or not _YEARS_OR_MONTHS.search(limit.shown):
        return False
    if "month" in limit.shown and mine.low > _MOST_YEARS_IN_MONTHS:
        return False
    return not LENGTH_OF_TIME.search(sentence.lower())


def _against(mine: Value, limit: Value, limit_shown: str) -> str:
    """Word the comparison with a number that is no limit by its words; empty if it is ambiguous."""
    below, above = _WORDS.get(mine.scale, ("less than", "more than"))
    if mine.high < limit.low - _SAME:
        return f"is {below} {limit_shown}"
    if mine.low > limit.high + _SAME:
        return f"is {above} {limit_shown}"
    if abs(mine.low - limit.low) <= _SAME and abs(mine.high - limit.high) <= _SAME:
        return f"is equal to {limit_shown}"
    return f"is in {limit_shown}" if mine.scale == "date" else ""


def _against_side(mine: Value, limit: Value, limit_shown: str) -> str:
    """Word whether a value is within a limit: `is not under 4`; empty if it is ambiguous."""
    words, is_upper, includes = _SIDES[limit.side]
    low, high = (limit.low, limit.low) if is_upper == includes else (limit.high, limit.high)
    slack = _SAME if includes else -_SAME
    if is_upper:
        inside, outside = mine.low >= low - slack, mine.high < low - slack
    else:
        inside, outside = mine.high <= high + slack, mine.low > high + slack
    if inside == outside:
        return ""
    return f"is {words} {limit_shown}" if inside else f"is not {words} {limit_shown}"


def _comparable(mine: Value, limit: Value, sentence: str) -> bool:
    scales = {mine.scale, limit.scale}
    if len(scales) == 1:
        scale = mine.scale
        if scale == "number" and (mine.low in _YEARS) != (limit.low in _YEARS):
            return False
        if scale == "count":
            return mine.unit == limit.unit
        return scale not in ("money", "date") or not (mine.unit and limit.unit) or mine.unit == limit.unit
    if scales == {"age", "duration"}:
        return _is_limit_of_age(mine, limit, sentence)
    if mine.scale == "count" and limit.scale == "number":  # "14 dives" and "Dives: 20"
        return any(word in sentence.lower() for word in mine.shown.split()[1:])
    ages = max(mine.low, limit.low) <= _OLDEST
    return scales in ({"age", "number"}, {"age", "count"}) and ages and "people" not in (mine.unit, limit.unit)
