"""Days of the week, days of the year and times of the day in text that `normalise` has prepared."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from dragoman.text import lazy_re as re

DAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_EN_DAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:days?)?"
_ZH_DAY = "(?:周|星期|礼拜)[一二三四五六日天]"
_DAY = rf"(?:\b{_EN_DAY}\b|{_ZH_DAY})"
_WEEKDAY_TERM = re.compile(
    rf"(?P<first>{_DAY}) ?(?:to|until|till|through|-|到) ?(?P<last>{_DAY}|[一二三四五六日天])"
    rf"|(?P<one>{_DAY})|(?P<work>\bweekdays?\b|\bworking days?\b|工作日|平日)|(?P<end>\bweekends?\b|周末|双休日)"
)
IRREGULAR_DAY = re.compile(
    rf"\b(?:1st|first|2nd|second|3rd|third|4th|fourth|last|other|alternate|2) {_EN_DAY}\b|第[一二三四]个|隔周|单周|双周"
)
"""A day that recurs, but not every week: no set of weekdays describes it."""
_EN_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_ZH_DAYS = {char: i for i, char in enumerate("一二三四五六日")} | {"天": 6}

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|maymonth|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_ORDINAL = r"(?:st|nd|rd|th)?"
_DATE = re.compile(
    rf"(?P<y1>\d{{4}})-(?P<m1>\d\d)-(?P<d1>\d\d)"
    rf"|(?<![\d.])(?P<d2>\d{{1,2}}){_ORDINAL}(?: of)? (?P<m2>{_MONTH})(?: (?P<y2>\d{{4}})\b)?"
    rf"|\b(?P<m3>{_MONTH}) (?P<d3>\d{{1,2}}){_ORDINAL}\b(?!:)(?:,? (?P<y3>\d{{4}})\b)?"
    rf"|\b(?P<m4>{_MONTH})(?: (?P<y4>\d{{4}})\b)?"
    r"|(?:(?P<y5>\d{4})年)?(?P<m5>\d{1,2})月(?:(?P<d5>\d{1,2})[日号]?)?"
)
_HALF_RANGE = re.compile(
    rf"(?<![\d.])(?P<d>\d{{1,2}}){_ORDINAL} ?(?:to|until|-|and) ?(?=\d{{1,2}}{_ORDINAL}(?: of)? (?P<m>{_MONTH}))"
)
_ZH_HALF_RANGE = re.compile(r"(?P<m>\d{1,2})月(?P<d>\d{1,2})[日号]?(?P<join>[到-])(?P<e>\d{1,2})[日号]")

_TIME = re.compile(
    r"(?P<noon>\bnoon\b|\bmidday\b|正午)|(?P<midnight>\bmidnight\b|午夜)"
    r"|(?P<part>凌晨|清晨|早上|早晨|上午|中午|下午|傍晚|晚上|夜里)?(?P<zh>\d{1,2})[点时](?!间|候|段)(?:(?P<zm>\d{1,2})分?|(?P<half>半))?"
    r"|(?<![\d.:€£$])\b(?P<h>\d{1,2})(?:[:.](?P<m>[0-5]\d))? ?(?P<ap>[ap])\.?m\b\.?"
    r"|(?<![\d.:€£$])\b(?P<h3>\d{1,2})(?::(?P<m3>[0-5]\d))?(?: o'?clock)?"
    r" (?:in the |at )(?P<of>morning|afternoon|evening|night)\b"
    r"|(?<![\d.:€£$])\b(?P<h2>[0-2]?\d):(?P<m2>[0-5]\d)\b(?: ?(?:h|hrs|uhr)\b)?"
    r"|(?:\bat |\baround |\babout )(?P<bare>\d{1,2})(?: o'?clock)?\b(?! ?(?:[a-z€£$%-]|:\d|\.\d))"
    r"|\b(?P<clock>\d{1,2}) o'?clock\b"
)

_DATE_HINT = re.compile(rf"\b{_MONTH}|月|\d{{4}}-")
_TIME_HINT = re.compile(r"\d|noon|midday|midnight|正午|午夜")


@dataclass(frozen=True, slots=True)
class Day:
    """A day of the year, or a month where `day` is 0; `year` is 0 where none is named."""

    month: int
    day: int = 0
    year: int = 0

    @property
    def first(self) -> int:
        """The number of its first day in a leap year, from 0 to 365."""
        return _ordinal(self.month, self.day or 1)

    @property
    def last(self) -> int:
        """Its last day; differs from `first` for a month."""
        return _ordinal(self.month, self.day) if self.day else _ordinal(self.month % 12 + 1, 1, self.month == 12) - 1

    def __str__(self) -> str:
        return f"{self.month:02}-{self.day:02}" if self.day else f"{self.month:02}"


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of the day in minutes; `ambiguous` where it may mean the morning or the evening."""

    minutes: int
    ambiguous: bool = False

    def __str__(self) -> str:
        return f"{self.minutes // 60:02}:{self.minutes % 60:02}"


@dataclass(frozen=True, slots=True)
class Span:
    """Something parsed, and where it stands in the text."""

    start: int
    end: int


def _ordinal(month: int, day: int, wrapped: bool = False) -> int:
    return (date(2024, month, 1) - date(2024, 1, 1)).days + day - 1 + (366 if wrapped else 0)


def weekdays(text: str) -> list[tuple[frozenset[int], Span]]:
    """Sets of weekdays (Monday is 0) that are named in a text."""
    sets = []
    for match in _WEEKDAY_TERM.finditer(text):
        if match["first"]:
            first, last = _weekday(match["first"]), _weekday(match["last"])
            days = frozenset((first + i) % 7 for i in range((last - first) % 7 + 1))
        elif match["one"]:
            if match["one"] in ("sun", "sat", "mon", "wed", "fri") and match[0] == "sun":
                continue  # the sun
            days = frozenset({_weekday(match["one"])})
        else:
            days = frozenset(range(5)) if match["work"] else frozenset({5, 6})
        sets.append((days, Span(match.start(), match.end())))
    return sets


def _weekday(name: str) -> int:
    return _ZH_DAYS[name[-1]] if name[-1] in _ZH_DAYS else _EN_DAYS.index(name[:3])


def spread(text: str) -> str:
    """Rewrite `2 to 9 maymonth` as `2 maymonth to 9 maymonth`, so that each end is a date."""
    text = _HALF_RANGE.sub(lambda m: f"{m['d']} {m['m']} to ", text)
    return _ZH_HALF_RANGE.sub(lambda m: f"{m['m']}月{m['d']}日{m['join']}{m['m']}月{m['e']}日", text)


def days(text: str) -> list[tuple[Day, Span]]:
    """The dates and months that are named in a text that `spread` has prepared."""
    days_and_places: list[tuple[Day, Span]] = []
    if not _DATE_HINT.search(text):
        return days_and_places
    for match in _DATE.finditer(text):
        groups = match.groupdict()
        for n in "12345":
            month = groups.get(f"m{n}")
            if month:
                number = int(month) if month.isdigit() else _MONTHS.index(month[:3]) + 1
                day = int(groups.get(f"d{n}") or 0)
                if 1 <= number <= 12 and day <= 31:
                    days_and_places.append(
                        (Day(number, day, int(groups.get(f"y{n}") or 0)), Span(match.start(), match.end()))
                    )
    return days_and_places


def clocks(text: str) -> list[tuple[Clock, Span]]:
    """The times of the day that are named in a text."""
    clocks_and_places: list[tuple[Clock, Span]] = []
    if not _TIME_HINT.search(text):
        return clocks_and_places
    for match in _TIME.finditer(text):
        clock = _clock(match)
        if clock is not None:
            clocks_and_places.append((clock, Span(match.start(), match.end())))
    return clocks_and_places


def _clock(match: re.Match[str]) -> Clock | None:  # noqa: PLR0911  # one return a way of writing
    if match["noon"]:
        return Clock(720)
    if match["midnight"]:
        return Clock(1440)
    if match["h"]:
        hour = int(match["h"])
        return Clock((hour % 12 + 12 * (match["ap"] == "p")) * 60 + int(match["m"] or 0)) if 1 <= hour <= 12 else None
    if match["zh"]:
        return _chinese_clock(match)
    if match["h3"]:
        hour, part = int(match["h3"]), match["of"]
        late = part in ("afternoon", "evening") or (part == "night" and 6 <= hour < 12)
        return Clock((hour % 12 + 12 * late) * 60 + int(match["m3"] or 0)) if 1 <= hour <= 12 else None
    hour = int(match["h2"] or match["bare"] or match["clock"])
    minutes = hour * 60 + int(match["m2"] or 0)
    if hour > 24:
        return None
    # "09:30" and "17:30" are of the 24-hour clock; "9:30" and "at 9" may be of either half of the day.
    written_out = bool(match["h2"]) and (match["h2"].startswith("0") or len(match["h2"]) == 2)
    return Clock(minutes, ambiguous=not written_out and 1 <= hour <= 12)


def _chinese_clock(match: re.Match[str]) -> Clock | None:
    hour, part = int(match["zh"]), match["part"]
    if hour > 24:
        return None
    minutes = 30 if match["half"] else int(match["zm"] or 0)
    if (part in ("下午", "傍晚", "晚上", "夜里") and hour < 12) or (part == "中午" and hour < 3):
        hour += 12
    return Clock(hour * 60 + minutes, ambiguous=not part and 1 <= hour <= 12)


def relative(text: str, today: date | None) -> date | None:
    """The day that `today` or `tomorrow` in a text means, where the current day is known."""
    if today is None:
        return None
    if re.search(r"\bday after tomorrow\b|后天", text):
        return today + timedelta(2)
    if re.search(r"\btomorrow\b|明天", text):
        return today + timedelta(1)
    if re.search(r"\btoday\b|\btonight\b|\b(?:right )?now\b|今天|今晚|现在", text):
        return today
    return None
