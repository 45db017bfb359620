"""Grammar of English time expressions: a prefix such as "since" or "until", and an expression after it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial

from dragoman.decision.moments import Day, clocks, days
from dragoman.decision.numerals import normalise
from dragoman.decision.times.english_rules import DAY, PART, RULES
from dragoman.decision.times.grammar import Match, likely_hour, longest_by_rules, range_from
from dragoman.decision.times.spans import Tense, named_day, whole_year
from dragoman.text import lazy_re as re

_ORDINALS = dict(
    zip(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
        "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth".split(),
        range(1, 21),
        strict=True,
    )
)
_ORDINAL_WORD = re.compile(
    rf"\b(?P<tens>20-|30-|20 |30 )?(?P<word>{'|'.join(_ORDINALS)}|thirtieth)\b(?! (?:time|of all))"
)
_MAY = re.compile(r"\bMay\b(?! (?:I|we|he|she|they|you|my|it|the|be|not)\b)")
_LOWER_MAY = re.compile(
    r"\b(since|until|till|last|next|in|of|by|before|after|during|this|\d{1,2}(?:st|nd|rd|th)?) may\b"
)
_DECADES = dict(
    zip(
        "twenties thirties forties fifties sixties seventies eighties nineties".split(), range(20, 100, 10), strict=True
    )
)
_DECADE = re.compile(rf"\b({'|'.join(_DECADES)})\b")
_TWO = re.compile(r"\ba (?=\d)")
_AND_A_HALF = re.compile(r"\b(\d{1,3}|an?) (hour|year)s?(?: and a half)|\b(\d{1,3}) and a half (hour|year)s?")

HINT = re.compile(
    r"\d|day|week|month|year|hour|minute|tonight|morrow|\bnow\b|morning|evening|night|noon|ago\b|fortnight|christmas"
    r"|weekend|spring|summer|autumn|winter|\bfall\b|quarter|decade|easter"
    r"|\b(?:mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
)
"""What a text must hold for an expression to be in it."""
_START = re.compile(r"(?<![\w'-])[\w']")

_SINCE = re.compile(r"(?:(?:ever )?since|starting|as of|beginning)(?: from| on| in| at)?(?: the)? ")
_UNTIL = re.compile(r"(?:until|till|til|up to|through|by|not later than)(?: the)? ")
_BEFORE = re.compile(r"(?:before|prior to|earlier than)(?: the)? ")
_AFTER = re.compile(r"(?:after|later than)(?: the)? (?!next\b)")
_FROM = re.compile(r"(?:from|between)(?: the)? ")
_TO = re.compile(r" ?(?:to|until|till|through|and|-) ?(?:the )?")
_ONWARDS = re.compile(r" (?:on|onwards?)\b")
_WEEKDAY_BEFORE = re.compile(DAY + r",? (?:the )?(?=\d|[a-z]{3})")
_YEAR_AFTER = re.compile(r"(?:,? of)? (?P<way>last|this|next) year\b| '(?P<short>\d\d)\b")
_PART_AFTER = re.compile(rf" (?:in the |at )?{PART}\b")
_NEUTRAL = re.compile(r"(?:in|on|at|during|over|for|around|about|of)(?: the)? |the ")


def prepare(text: str) -> str:
    """A text in the form that `match` reads: lower case, numbers as digits, the month May as `maymonth`."""
    text = _LOWER_MAY.sub(r"\1 maymonth", _MAY.sub("maymonth", text))
    text = _TWO.sub("", normalise(text))
    text = _DECADE.sub(lambda match: f"{_DECADES[match[1]]}s", _AND_A_HALF.sub(_halves, text))
    return _ORDINAL_WORD.sub(_ordinal, text)


def starts(text: str) -> Iterator[int]:
    """Return the positions where an expression may begin: the start of every word."""
    return (match.start() for match in _START.finditer(text))


def match(text: str, place: int, now: datetime, tense: Tense) -> Match | None:
    """The longest expression at a place of a prepared text, and where it ends."""
    for prefix, way, own in ((_SINCE, "since", "past"), (_UNTIL, "until", "future"), (_BEFORE, "before", tense)):
        lead = prefix.match(text, place)
        if lead:
            after = _expression(text, lead.end(), now, own)  # type: ignore[arg-type]  # one of the tenses
            return (getattr(after[0], way)(), after[1]) if after else None
    lead = _AFTER.match(text, place)
    if lead:
        after = _expression(text, lead.end(), now, tense)
        return (after[0].after(), after[1]) if after else None
    lead = _FROM.match(text, place)
    if lead:
        return _from(text, lead.end(), now, tense)
    lead = _NEUTRAL.match(text, place)
    inner = _expression(text, lead.end(), now, tense) if lead else None
    return _longest(inner, _expression(text, place, now, tense))


def _from(text: str, place: int, now: datetime, tense: Tense) -> Match | None:
    first = _expression(text, place, now, tense)
    if first is None:
        return None
    to = _TO.match(text, first[1])
    second = _expression(text, to.end(), now, tense) if to else None
    if second is not None and to is not None:
        return range_from(first[0], second, partial(_expression, text, to.end()), now)
    onwards = _ONWARDS.match(text, first[1])
    return first[0].since(), onwards.end() if onwards else first[1]


def _longest(*matches: Match | None) -> Match | None:
    candidates = [each for each in matches if each is not None]
    return max(candidates, key=lambda each: each[1]) if candidates else None


def _expression(text: str, place: int, now: datetime, tense: Tense) -> Match | None:
    """The longest expression without a prefix; a day may have a part or a time after it."""
    best = longest_by_rules(RULES, text, place, now, tense, best=_date(text, place, now, tense))
    return best if best is None else _with_clock(text, best, now)


def _date(text: str, place: int, now: datetime, tense: Tense) -> Match | None:
    """A date or month at a place, as rules name them, perhaps after its weekday; "3 May 2024", "2024-05-03"."""
    lead = _WEEKDAY_BEFORE.match(text, place)
    first = lead.end() if lead else place
    named = next((each for each in days(text[first : first + 40]) if each[1].start == 0), None)
    if named is None:
        return None
    day, at = named
    end = first + at.end
    year = None if day.year else _YEAR_AFTER.match(text, end)
    if year:
        shift = {"last": -1, "this": 0, "next": 1}.get(year["way"] or "")
        day = Day(day.month, day.day, now.year + shift if shift is not None else whole_year(year["short"], now.date()))
        end = year.end()
    span = named_day(day, now.date(), tense)
    return None if span is None else (span, end)


def _with_clock(text: str, match: Match, now: datetime) -> Match:
    span, end = match
    if not span.is_day:
        return match
    part = _PART_AFTER.match(text, end)
    if part:
        return span.part(part["part"]), part.end()
    tail = text[end : end + 24]
    gap = len(tail) - len(tail.lstrip(" ,"))
    for clock, where in clocks(tail):
        if where.start <= gap + 3 and tail[gap : where.start] in ("", "at "):
            return span.at(likely_hour(clock.minutes, ambiguous=clock.ambiguous)), end + where.end
    return match


def _halves(match: re.Match[str]) -> str:
    count, unit = match[1] or match[3], match[2] or match[4]
    number = 1 if count in ("a", "an") else int(count)
    return f"{60 * number + 30} minutes" if unit == "hour" else f"{12 * number + 6} months"


def _ordinal(match: re.Match[str]) -> str:
    number = 30 if match["word"] == "thirtieth" else _ORDINALS[match["word"]]
    return f"{number + int((match['tens'] or '0').strip(' -'))}th"
