"""Ages over time: computed from a stated age and its date, or from a date of birth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, tzinfo

from dragoman.core.clock import moment_of, stamp
from dragoman.core.values import Fact, Passage
from dragoman.decision.moments import Day, days
from dragoman.decision.numerals import normalise
from dragoman.decision.times import find_periods
from dragoman.memory.reconcile import fact_of
from dragoman.text import lazy_re as re
from dragoman.text.language import language

_NUMBER = re.compile(r"\d{1,3}")
_BARE_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_TURNS = re.compile(r"\bturn(?:s|ing|ed)? (\d{1,3})\b")
_MOST = 130
_AGES, _BIRTHDAYS = ("age", "年龄", "岁数"), ("birthday", "生日")


@dataclass(frozen=True, slots=True)
class Age:
    """An age at a time: exact where `least` and `most` are the same."""

    least: int
    most: int

    def __str__(self) -> str:
        return str(self.least) if self.least == self.most else f"{self.least}-{self.most}"


def is_age(fact: Fact) -> bool:
    return fact.type == "age" or fact.relation in _AGES


def is_birthday(fact: Fact) -> bool:
    return fact.relation in _BIRTHDAYS


def birthday_of(subject: str, facts: Iterable[Fact]) -> Day | None:
    """Return a person's date of birth as far as facts give it: with or without a year, or only a year (month 0)."""
    for fact in facts:
        if fact.subject != subject or not is_birthday(fact):
            continue
        named = days(normalise(fact.value))
        if named and named[0][0].day:
            return named[0][0]
        year = _BARE_YEAR.search(fact.value)
        if year:
            return Day(0, 0, int(year[0]))
    return None


def years_of(fact: Fact) -> int | None:
    """The number of years of an age fact."""
    number = _NUMBER.search(_digits(fact.value or fact.text))
    return int(number[0]) if number and int(number[0]) <= _MOST else None


def age_at(fact: Fact | None, born: Day | None, at: datetime, zone: tzinfo) -> Age | None:
    """Return a person's age at a time, from a stated age, a birthday, or both."""
    today = at.astimezone(zone).date()
    if born is not None and born.year:
        if not born.month:
            return Age(max(0, today.year - born.year - 1), today.year - born.year)
        years = today.year - born.year - (today < birthday(born, today.year))
        return Age(years, years) if years >= 0 else None
    stated = None if fact is None else years_of(fact)
    said_at = None if fact is None else moment_of(fact.said_at)
    if stated is None or said_at is None:
        return None
    day = said_at.astimezone(zone).date()
    if born is not None:
        exact = stated + birthdays_between(day, today, born)
        return Age(exact, exact)
    full, rest = divmod(max(0, (today - day).days), 365.25)
    return Age(stated + int(full), stated + int(full) + (1 if rest > 1 else 0))


def turned_at(fact: Fact, at: datetime, zone: tzinfo) -> Age | None:
    """Return a person's age from a fact that says when they turn an age: "turns 6 next month" means 5 until then."""
    said_at, years = moment_of(fact.said_at), _TURNS.search(_digits(fact.value))
    periods = find_periods(fact.value, said_at, zone) if said_at is not None and years is not None else []
    if years is None or not periods or periods[0].start is None or periods[0].end is None:
        return None
    start, end, age = periods[0].start, periods[0].end, int(years[1])
    since = [(at - each).days // 365.25 for each in (end, start)]
    least, most = (int(age + full) for full in since)
    return Age(max(0, least), max(0, most))


def birthdays_between(first: date, last: date, born: Day) -> int:
    """Count the birthdays after `first`, up to `last`; 29 February counts as 28 February in other years."""
    return sum(first < birthday(born, year) <= last for year in range(first.year, last.year + 1))


def birthday(born: Day, year: int) -> date:
    try:
        return date(year, born.month, born.day)
    except ValueError:
        return date(year, 2, 28)


def next_birthday(born: Day, at: datetime, zone: tzinfo) -> str:
    """The first moment of the next birthday, as a stored text."""
    today = at.astimezone(zone).date()
    day = birthday(born, today.year)
    day = day if day > today else birthday(born, today.year + 1)
    return stamp(datetime.combine(day, time(), zone))


def aged(passages: Sequence[Passage], at: datetime, zone: tzinfo) -> list[tuple[Passage, Fact]]:
    """Return age facts that a birthday has made outdated, each with the fact that replaces it."""
    facts = [fact_of(passage) for passage in passages]
    changes = []
    for passage, fact in zip(passages, facts, strict=True):
        born = birthday_of(fact.subject, facts) if is_age(fact) else None
        if born is None or not born.month:
            continue
        age, years = age_at(fact, born if not born.year else replace(born, year=0), at, zone), years_of(fact)
        if age is not None and years is not None and age.least > years:
            changes.append((passage, _with_years(fact, age.least, at)))
    return changes


def _with_years(fact: Fact, years: int, at: datetime) -> Fact:
    text, value = (_NUMBER.sub(str(years), _digits(each), count=1) for each in (fact.text, fact.value))
    return replace(fact, text=text, value=value, said_at=stamp(at), valid_from=stamp(at), valid_until="")


def _digits(text: str) -> str:
    """Write number words as digits and keep the case: "Leo is seven" becomes "Leo is 7"."""
    if _NUMBER.search(text):
        return text
    if language(text) == "zh":
        return normalise(text)
    plain = normalise(text)
    number = _NUMBER.search(plain)
    if number is None:
        return text
    before, after = plain[: number.start()], plain[number.end() :]
    return text[: len(before)] + number[0] + (text[-len(after) :] if after else "")
