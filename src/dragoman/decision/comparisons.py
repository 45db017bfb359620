# ruff: noqa: E501  # a pattern is easier to check in one piece
"""Comparisons in a rule: `under 12`, `from 8 to 12`, `until 30 September`, `before 10:00`, `12岁以下`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from dragoman.decision.moments import IRREGULAR_DAY, Clock, Day, Span, clocks, days, weekdays
from dragoman.decision.quantities import LENGTH_OF_TIME, PEOPLE, Quantity, quantities
from dragoman.text import lazy_re as re

Attribute: TypeAlias = Literal[
    "age", "height", "length", "weight", "volume", "duration", "since", "amount", "count", "date", "weekday", "time",
    "status", "relation", "item", "thing", "child", "adult",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a rule.

    Numbers lie between `low` and `high` (open ends exclude the bound); `days` are weekdays; `spans` are pairs of days
    of the year, where None is an open end; `name` is a status, an item or a thing; `noun` is what a measure is of.
    """

    attribute: Attribute
    text: str
    low: float | None = None
    high: float | None = None
    low_open: bool = False
    high_open: bool = False
    unit: str = ""
    noun: str = ""
    name: str = ""
    days: frozenset[int] = frozenset()
    spans: tuple[tuple[Day | None, Day | None], ...] = ()
    negated: bool = False
    limit: bool = False
    """Whether the wording makes it a requirement by itself: `must not exceed`, `minimum age`."""
    schedule: bool = False
    """Whether it only tells when something takes place: `Wednesdays at 15:00`."""
    clear: bool = True
    """Whether the bound itself is certain; `over 65` and `1.2米以下` are used loosely."""


_MEASURE = "age|height|weight|length|width|size|stay|number|amount|order|duration"
_BEFORE: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (sign, re.compile(rf"(?:{pattern})[ :-]*$"))
    for sign, pattern in (
        (
            "limit<=",
            r"\b(?:must|may|should|can|shall|could)(?: ?not|n't) (?:exceed|weigh (?:more than|over)|measure (?:more than|over)"
            r"|be (?:over|above|more than|older than|taller than|longer than|heavier than|larger than|bigger than))"
            rf"|\b(?:maximum|max\.?|highest)(?: permitted| allowed)? (?:{_MEASURE})(?: [a-z]+){{0,7}}?(?: is| are| of|:)?(?: [a-z]+:)?"
            r"|不得超过|不能超过|不可超过|不应超过",
        ),
        (
            "limit>=",
            rf"\b(?:minimum|min\.?|lowest)(?: permitted| required)? (?:{_MEASURE})(?: [a-z]+){{0,7}}?(?: is| are| of|:)?"
            r"|\b(?:must|have to|has to|needs? to) (?:be|have reached|measure|stand)(?: aged?| the age of)?",
        ),
        (
            "<=",
            r"\bup to(?: and including)?(?: age| the age of)?|\bat most|\b(?:no|not) (?:more|older|taller|longer|heavier|larger"
            r"|bigger|higher|greater|later|over|above)(?: than)?|\bmaximum(?: of)?|\bmax\.?|\blimited to|\bnot exceeding|\bwithin"
            r"|不超过|到多|至多|最多|最多可?[^\d，。]{0,3}|不多于|不高于|不大于|上限为?|限",
        ),
        (
            ">=",
            r"\bat least|\b(?:no|not) (?:less|fewer|younger|shorter|smaller|lighter|under|below)(?: than)?|\bminimum(?: of)?"
            r"|\bmin\.?|\bfrom(?: the)?(?: age)?(?: of)?|\bstarting (?:at|from)|\bas of|\b(?:aged?|ages)(?= $)"
            r"|(?<![未不])满|年满|至少|不少于|不低于|不小于|起码",
        ),
        ("<", r"\bunder(?: the)?(?: age)?(?: of)?|\bbelow(?: the)?(?: age)?(?: of)?|\b(?:less|fewer|younger|shorter|smaller|lighter"
              r"|lower|cheaper) than|未满|不满|不足|低于|小于|少于|不到"),
        (">", r"\bover(?: the)?(?: age)?(?: of)?|\babove(?: the)?(?: age)?(?: of)?|\b(?:more|older|taller|longer|heavier|larger|bigger"
              r"|greater|higher) than|\bexceed(?:s|ing)?|超过|高于|大于|多于|超出"),
    )
)  # fmt: skip
_TAIL = r"(?:'?s)?(?: years?)?(?: old| of age| tall| high| long)?,? ?"
_AFTER: tuple[tuple[str, re.Pattern[str]], ...] = (
    (">=", re.compile(rf"{_TAIL}(?:(?:and|or) (?:over|above|older|more|taller|up|upwards|longer|heavier|higher)\b|\+)")),
    (">=", re.compile(rf"{_TAIL}(?:on(?:wards?)?\b(?! (?:mon|tue|wed|thu|fri|sat|sun|the|week))|upwards?\b|及以上|以上|起)")),
    ("<=", re.compile(rf"{_TAIL}(?:(?:and|or) (?:under|below|younger|less|fewer|shorter|lighter)\b|at most\b|maximum\b|及以下|以下|以内|之内|内)")),
)  # fmt: skip
_RANGE = re.compile(r"(?:'?s)? ?(?:to|-|到) ?|(?:'?s)? (?:and|to) ")
_AGE_WORDS = re.compile(
    r"\b(?:ages?|aged|younger|older|years? old|you)\b|year-old|岁|\b(?:children|child|kids?|bab(?:y|ies)|infants?"
    r"|toddlers?|anyone|anybody|everyone|nobody|those|persons?|people|visitors?|guests?|pupils?|youngsters?|youths?|teenagers?"
    r"|students?|boys|girls|players|adults|drivers?|riders?|readers?|members?|passengers?|seniors?|pensioners?|women|men"
    r"|swimmers?|customers?|applicants?|dogs?|cats?|animals?|horses?|pets?)\b"
)
_PERSON_BEFORE = re.compile(
    r"\b(?:children|child|kids|bab(?:y|ies)|infants|toddlers|anyone|anybody|everyone|nobody|no 1|no one|those|persons?|people|visitors"
    r"|guests|pupils|youngsters|youths?|teenagers|students|boys|girls|players|adults|drivers|riders|readers|members"
    r"|passengers|seniors|pensioners|women|men|swimmers|customers|applicants|and|or|free for|price for)"
    r"(?: (?:who are|aged|of|the age of))?,? (?:(?:under|over|above|below|from|between|aged|older|younger)"
    r"(?: the age of| than)?|at least|up to)?[ -]$"
)
_FROM = re.compile(r"\bfrom $")
_AND_OVER = re.compile(r" (?:(?:and|or) (?:over|above|older|up|upwards)|on(?:wards?)?|upwards?)\b")
_LEAST_YEARS, _MOST_YEARS = 3, 100
_TALL = re.compile(r"\b(?:tall(?:er)?|height|shorter|high)\b|身高|高")
_LONG = re.compile(r"\b(?:long|length|wide|width|deep|depth)\b|长|宽|深")
_MEASURED = re.compile(
    r"\b(?:children|child|kids|riders?|anyone|persons?|people|visitors|guests|you|vehicles?|cars?|vans?|campers?|boats?|tents?"
    r"|trailers?|caravans?|lorr(?:y|ies)|drivers)\b|儿童|人|者|车|限高"
)
_FOR = re.compile(r"\b(?:for|stays?(?: of)?|stay longer than|parking|limited to|keep|lasts?|lived|valid)\b")
_GROUP = re.compile(r"\b(?:groups?|part(?:y|ies)|teams|families) of(?: at least| more than| up to)? $|团体|团队")


def comparisons(text: str) -> tuple[list[Condition], list[Span], bool]:
    """The conditions on numbers and days of a prepared text, where they stand, and whether one could not be read."""
    conditions: list[Condition] = []
    spans: list[Span] = []
    unreadable = IRREGULAR_DAY.search(text) is not None
    for condition, span in (*_weekdays(text), *_dates(text), *_times(text)):
        conditions.append(condition)
        spans.append(span)
    number_conditions, number_spans = _numbers(text, spans)
    return [*conditions, *number_conditions], [*spans, *number_spans], unreadable


def _numbers(text: str, taken: list[Span]) -> tuple[list[Condition], list[Span]]:
    conditions, spans = [], []
    rest = [q for q in quantities(text) if not any(s.start <= q.start < s.end for s in taken)]
    place = 0
    while place < len(rest):
        quantity = rest[place]
        second = rest[place + 1] if place + 1 < len(rest) else None
        before = text[max(0, quantity.start - 60) : quantity.start]
        if second is not None and _is_range(text, quantity, second, before):
            condition = _range(text, quantity, second, before)
            span = Span(quantity.start, second.end)
            place += 2
        else:
            condition, span = _single(text, quantity, before)
            place += 1
        if condition is not None:
            conditions.append(condition)
            spans.append(span)
    return conditions, spans


def _is_range(text: str, first: Quantity, second: Quantity, before: str) -> bool:
    gap = text[first.end : second.start]
    if first.kind not in ("number", second.kind) or not _RANGE.fullmatch(gap):
        return False
    if " and " in gap:
        return re.search(r"\bbetween(?: the ages of)? ?$", before) is not None
    return True


def _range(text: str, first: Quantity, second: Quantity, before: str) -> Condition | None:
    kind = second.kind
    low = first.value
    if first.kind == "number" and kind != "number":  # "8 to 12 years": the unit stands once
        low = first.value * (second.value / float(re.match(r"[^\d]*([\d.]+)", second.shown)[1]))  # type: ignore[index]  # a quantity shows its number
    attribute = _attribute(text, second, before + "between ")
    if attribute is None or low > second.value:
        return None
    shown = text[first.start : second.end]
    unit, scale = _unit(attribute, second)
    return Condition(attribute, shown, low * scale, second.value * scale, unit=unit, noun=_noun(attribute, second))


def _single(text: str, quantity: Quantity, before: str) -> tuple[Condition | None, Span]:
    after = text[quantity.end : quantity.end + 40]
    sign, start, end = "", quantity.start, quantity.end
    for candidate, pattern in _BEFORE:
        match = pattern.search(before)
        if match:
            sign, start = candidate, quantity.start - (len(before) - match.start())
            break
    for candidate, pattern in _AFTER:
        match = pattern.match(after)
        # A bound behind the number decides: "aged 16 and over", "must be 18 or older".
        if match and (sign in ("", "limit>=", ">=") or candidate != ">="):
            if not sign.startswith("limit"):
                sign = candidate
            elif candidate == "<=":
                sign = "limit<="
            end = quantity.end + match.end()
            break
    none = None, Span(quantity.start, quantity.end)
    if not sign or (
        sign == ">=" and before.endswith(("age ", "aged ")) and end == quantity.end and start > quantity.start - 6
    ):
        return none
    attribute = _attribute(text, quantity, before, sign)
    if attribute is None:
        return none
    if sign == "limit>=" and quantity.kind == "count" and not re.search("minim", before):
        return none  # "must be 2 people" is no minimum
    shown = text[start:end].strip(" ,:")
    unit, scale = _unit(attribute, quantity)
    value = quantity.value * scale
    below = "<" in sign
    loose = (sign == ">" and attribute in ("age", "time")) or any(word in shown for word in ("以下", "以上"))
    condition = Condition(
        attribute,
        shown,
        None if below else value,
        value if below else None,
        low_open=sign == ">",
        high_open=sign == "<",
        unit=unit,
        noun=_noun(attribute, quantity),
        limit=sign.startswith("limit"),
        clear=not loose,
    )
    return condition, Span(start, end)


def _attribute(text: str, quantity: Quantity, before: str, sign: str = "") -> Attribute | None:  # noqa: PLR0911, PLR0912  # one branch a kind
    near = before[-40:] + text[quantity.start : quantity.end + 16]
    person = _PERSON_BEFORE.search(before) is not None
    match quantity.kind:
        case "age":
            return "age"
        case "money":
            return "amount"
        case "mass":
            return "weight"
        case "volume":
            return "volume"
        case "length":
            if _LONG.search(near) and not _TALL.search(near):
                return "length"
            return "height" if _TALL.search(near) or _MEASURED.search(text) else None
        case "duration":
            if re.match(
                r" (?:before|in advance|prior|after|later)\b|前|之前|后", text[quantity.end : quantity.end + 14]
            ):
                return None
            if re.search(r"\bwithin ?$|购买后|收到后", before):
                return "since"
            bracketed = before.endswith("between ") and "(" in before[-16:]  # "(8 to 12 years)"
            old = quantity.unit == "month" and (_AGE_WORDS.search(before[-30:]) or person or bracketed)
            if (old and not _FOR.search(before[-24:])) or (sign == ">=" and _is_least_age(text, quantity, before)):
                return "age"
            return "duration"
        case "count":
            if _GROUP.search(before) or (quantity.noun == "people" and not person):
                return "count"
            if (
                person
                and quantity.noun not in PEOPLE
                and not before.rstrip().endswith(("at most", "more than", "up to"))
            ):
                return "age"
            return "count"
        case "number":
            if _GROUP.search(before):
                return "count"
            if quantity.value > 110 or (sign in ("<=", "limit<=") and not _AGE_WORDS.search(before)):
                return None
            loose = re.search(r"\b(?:less|fewer|more|at least|smaller|larger|greater)(?: than)?[ :-]*$", before)
            return None if loose and not _AGE_WORDS.search(text) else "age"
        case _:
            return None


def _is_least_age(text: str, quantity: Quantity, before: str) -> bool:
    """Whether years are the least age of a person: "from 12 years", "16 years and over"."""
    years = "year" in quantity.shown and _LEAST_YEARS <= quantity.value / 12 <= _MOST_YEARS
    says = _FROM.search(before) or _AND_OVER.match(text, quantity.end)
    return bool(years and says) and not LENGTH_OF_TIME.search(text)


def _unit(attribute: Attribute, quantity: Quantity) -> tuple[str, float]:
    if attribute == "age" and quantity.unit != "month":
        return "month", 12
    if attribute == "count":
        return (quantity.noun or "people"), 1
    return quantity.unit, 1


def _noun(attribute: Attribute, quantity: Quantity) -> str:
    return (quantity.noun or "people") if attribute == "count" else ""


def _weekdays(text: str) -> list[tuple[Condition, Span]]:
    sets = weekdays(text)
    if not sets:
        return []
    union = frozenset().union(*(named for named, _ in sets))
    span = Span(sets[0][1].start, sets[-1][1].end)
    first, last = sets[0][1].start, sets[-1][1].end
    if last - first > 80:
        return []
    return [(Condition("weekday", text[first:last], days=union), span)]


def _dates(text: str) -> list[tuple[Condition, Span]]:
    named = days(text)
    spans: list[tuple[Day | None, Day | None]] = []
    place = 0
    while place < len(named):
        day, span = named[place]
        before, after = text[max(0, span.start - 24) : span.start], text[span.end : span.end + 6]
        following = named[place + 1] if place + 1 < len(named) else None
        gap = text[span.end : following[1].start] if following else ""
        if (
            following
            and re.fullmatch(r" ?(?:to|until|till|through|-|到) ?| and ", gap)
            and (gap != " and " or before.endswith("between "))
        ):
            spans.append((day, following[0]))
            place += 2
            continue
        place += 1
        closing = re.search(r"\b(?:clos(?:e|es|ing|ed)|deadline|ends?|expires?)(?: is)? (?:on )?$|截止到?$", before)
        if (
            re.search(r"\b(?:until|till|by|no later than|up to)(?: the)? $", before)
            or closing
            or after.startswith(("止", "前", "之前", "以前"))
        ):
            spans.append((None, day))
        elif re.search(r"\bbefore(?: the)? $", before):
            spans.append((None, _shift(day, -1)))
        elif re.search(r"\b(?:from|since|starting|as of)(?: the)? $|自$|从$", before) or after[:1] == "起":
            spans.append((day, None))
        elif re.search(r"\bafter(?: the)? $", before) or after.startswith(("以后", "之后", "后")):
            spans.append((_shift(day, 1), None))
        else:
            spans.append((day, day))
    if not spans:
        return []
    place_of = Span(named[0][1].start, named[-1][1].end)
    return [(Condition("date", text[place_of.start : place_of.end], spans=tuple(spans)), place_of)]


def _shift(day: Day, by: int) -> Day:
    from datetime import date, timedelta

    base = date(2024, day.month, day.day or (1 if by < 0 else 28)) + timedelta(by)
    if not day.day and by > 0:
        base = date(2024 + (day.month == 12), day.month % 12 + 1, 1)
    return Day(base.month, base.day, day.year)


def _times(text: str) -> list[tuple[Condition, Span]]:
    named = clocks(text)
    if not named:
        return []
    clock, span = named[0]
    before, after = text[max(0, span.start - 40) : span.start], text[span.end : span.end + 4]
    half = re.search(r"\b(\d{1,2})(?:[:.]([0-5]\d))? ?(?:to|-|and) ?$", before)
    if half and not clock.ambiguous:  # "9 to 5 pm": the half of the day stands once
        first = int(half[1]) * 60 + int(half[2] or 0)
        if first % 720 + 720 < clock.minutes and clock.minutes >= 720:
            first = first % 720 + 720
        start = span.start - (len(before) - half.start())
        return [(Condition("time", text[start : span.end], first, clock.minutes), Span(start, span.end))]
    if len(named) > 1:
        second, last = named[1]
        gap = text[span.end : last.start]
        if re.fullmatch(r" ?(?:to|until|till|-|and|到) ?", gap):
            colon = ":" in text[span.start : span.end]  # "9:00 to 17:00" is of the 24-hour clock
            if second.ambiguous or (clock.ambiguous and not (colon and second.minutes > 720)):
                return [(_unclear(text, span.start, last.end), Span(span.start, last.end))]
            return [
                (
                    Condition("time", text[span.start : last.end], clock.minutes, second.minutes),
                    Span(span.start, last.end),
                )
            ]
        if len(named) > 2 or " and " in gap:
            return [(_unclear(text, span.start, last.end), Span(span.start, last.end))]
    return _one_time(text, clock, span, before, after)


def _one_time(text: str, clock: Clock, span: Span, before: str, after: str) -> list[tuple[Condition, Span]]:
    start = span.start
    bounds: dict[str, float | bool]
    if match := re.search(r"\b(?:before|earlier than) $", before):
        bounds = {"high": clock.minutes, "high_open": True}
    elif (match := re.search(r"\b(?:until|till|by|no later than|up to) $", before)) or (
        match := re.search(r"\blast (?:admission|entry|entrance|boarding|orders?)(?: is)?(?: at)? ?$", before)
    ):
        bounds = {"high": clock.minutes}
    elif match := re.search(r"\b(?:after|later than|past) $", before):
        bounds = {"low": clock.minutes, "low_open": True}
    elif match := re.search(r"\b(?:from|since|as of) $", before):
        bounds = {"low": clock.minutes}
    elif after.startswith(("以后", "之后", "后", "起")):
        match, bounds = None, {"low": clock.minutes, "low_open": after[:1] != "起"}
    elif after.startswith(("以前", "之前", "前")):
        match, bounds = None, {"high": clock.minutes, "high_open": True}
    else:
        return [(_unclear(text, span.start, span.end), span)]
    if match:
        start = span.start - (len(before) - match.start())
    if clock.ambiguous:
        return [(_unclear(text, start, span.end), Span(start, span.end))]
    condition = Condition("time", text[start : span.end], **bounds, clear="low_open" not in bounds)  # type: ignore[arg-type]  # bounds of either type by name
    return [(condition, Span(start, span.end))]


def _unclear(text: str, start: int, end: int) -> Condition:
    """Whether a time is no bound, such as when an event begins: it can neither hold nor fail."""
    return Condition("time", text[start:end])
