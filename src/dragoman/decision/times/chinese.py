"""Grammar of Chinese time expressions: 上周三, 前年, 三个月前, 从三月起, 到月底."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial

from dragoman.decision.moments import Day, clocks, days
from dragoman.decision.numerals import normalise
from dragoman.decision.times.grammar import (
    Match,
    TimeRule,
    between_now_and,
    calendar_period,
    clock_today,
    likely_hour,
    longest_by_rules,
    longest_first,
    nearest_season,
    plain_weekday,
    range_from,
    this_minute,
)
from dragoman.decision.times.spans import (
    LocalSpan,
    Tense,
    add,
    add_months,
    day_span,
    edge,
    named_day,
    quarter_span,
    season_span,
    shifted,
    whole_year,
    year_span,
)
from dragoman.text import lazy_re as re

_DIGITS = {char: i for i, char in enumerate("零一二三四五六七八九")} | {"两": 2, "日": 7, "天": 7}
_NUMERAL = "[一二两三四五六七八九十]{1,3}"
_COUNTED = re.compile(rf"({_NUMERAL})(?=个?(?:周|星期|礼拜|季度|小时|分钟|钟头)(?![一二三四五六日天末]))")
_QUARTER = re.compile(r"第?([一二三四1-4])季度")
_DAY = "(?:周|星期|礼拜)(?P<day>[一二三四五六日天])"
_WAY = "(?P<way>上上个?|下下个?|上一?个?|下一?个?|这一?个?|本|这)"
_UNIT = "(?P<unit>分钟|小时|钟头|天|日|周|星期|礼拜|月|年)"
_UNITS = {"天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year"}
_PERIODS = {
    "周末": "weekend", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "季度": "quarter", "年": "year",
}  # fmt: skip
_YEARS = {"今年": 0, "本年": 0, "去年": -1, "前年": -2, "大前年": -3, "明年": 1, "来年": 1, "后年": 2, "大后年": 3}
_DAYS = {
    "今天": 0,
    "今日": 0,
    "昨天": -1,
    "昨日": -1,
    "前天": -2,
    "大前天": -3,
    "明天": 1,
    "明日": 1,
    "后天": 2,
    "大后天": 3,
}
_SHORT = {"今": 0, "昨": -1, "明": 1, "当": 0}
_PARTS = {
    "早上": "morning", "早晨": "morning", "上午": "morning", "早": "morning", "中午": "noon", "下午": "afternoon",
    "傍晚": "evening", "晚上": "evening", "晚": "evening", "夜里": "night",
}  # fmt: skip
_PART = f"(?P<part>{longest_first(_PARTS)})"
_SEASONS = {"春": "spring", "夏": "summer", "秋": "autumn", "冬": "winter"}
_HOLIDAYS = {
    "元旦": (1, 1),
    "圣诞节": (12, 25),
    "圣诞": (12, 25),
    "国庆节": (10, 1),
    "国庆": (10, 1),
    "劳动节": (5, 1),
    "情人节": (2, 14),
}

HINT = re.compile("[年月日号天周早晚午点前后刚]|星期|礼拜|现在|小时|分钟|元旦|圣诞|国庆|节|最近|过去|未来|季")
"""What a text must hold for an expression to be in it."""
_MOST_YEARS = 1000
_BETWEEN = re.compile("自从|从|自")
_TO = re.compile("一?直?到|至|-")
_SINCE_AFTER = re.compile("(?:以来|开始|起|至今|到现在)")
_UNTIL = re.compile("(?:一?直到|到|截至|截止到?|至)")
_UNTIL_AFTER = re.compile("为?止")
_BEFORE_AFTER = re.compile("之前|以前")
_AFTER_AFTER = re.compile("之后|以后")
_NEUTRAL = re.compile("在|于")
_PART_AFTER = re.compile(f"的?{_PART}(?!\\d)")


def prepare(text: str) -> str:
    """A text in the form that `match` reads: Chinese numerals as digits."""
    text = _COUNTED.sub(lambda match: str(_number(match[1])), normalise(text).replace(" ", ""))
    return _QUARTER.sub(lambda match: f"第{_DIGITS.get(match[1], match[1])}季度", text)


def starts(text: str) -> Iterator[int]:
    """Return the positions where an expression may begin: all but those within a number."""
    return (i for i in range(len(text)) if not (i and text[i].isdigit() and text[i - 1].isdigit()))


def match(text: str, place: int, now: datetime, tense: Tense) -> Match | None:
    """The longest expression at a place of a prepared text, and where it ends."""
    lead = _BETWEEN.match(text, place)
    if lead:
        return _from(text, lead.end(), now)
    lead = _UNTIL.match(text, place)
    if lead:
        expression = _expression(text, lead.end(), now, "future")
        if expression is None:
            return None
        stop = _UNTIL_AFTER.match(text, expression[1])
        return expression[0].until(), stop.end() if stop else expression[1]
    lead = _NEUTRAL.match(text, place)
    expression = _expression(text, lead.end() if lead else place, now, tense)
    if expression is None:
        return None
    end = expression[1]
    for pattern, way, own in (
        (_SINCE_AFTER, "since", "past"),
        (_BEFORE_AFTER, "before", tense),
        (_AFTER_AFTER, "after", tense),
    ):
        suffix = pattern.match(text, end)
        if suffix:
            again = _expression(text, lead.end() if lead else place, now, own)  # type: ignore[arg-type]  # a tense
            return getattr((again or expression)[0], way)(), suffix.end()
    return expression


def _from(text: str, place: int, now: datetime) -> Match | None:
    first = _expression(text, place, now, "past")
    if first is None:
        return None
    to = _TO.match(text, first[1])
    second = _expression(text, to.end(), now, "near") if to else None
    if second is not None and to is not None and text[first[1] :][:3] != "到现在":
        return range_from(first[0], second, partial(_expression, text, to.end()), now)
    suffix = _SINCE_AFTER.match(text, first[1])
    return first[0].since(), suffix.end() if suffix else first[1]


def _expression(text: str, place: int, now: datetime, tense: Tense) -> Match | None:
    best = longest_by_rules(_RULES, text, place, now, tense, best=_date(text, place, now, tense))
    return best if best is None else _with_clock(text, best)


def _date(text: str, place: int, now: datetime, tense: Tense) -> Match | None:
    """A date or month: 2024年5月3日, 三月, 去年五月."""
    lead = _YEAR_BEFORE.match(text, place)
    first = lead.end() if lead else place
    named = next((each for each in days(text[first : first + 14]) if each[1].start == 0), None)
    if named is None:
        return None
    day, at = named
    if lead:
        digits = lead["digits"]
        day = Day(day.month, day.day, whole_year(digits, now.date()) if digits else now.year + _YEARS[lead["word"]])
    span = named_day(day, now.date(), tense)
    return None if span is None else (span, first + at.end)


_YEAR_WORD = longest_first(_YEARS)
_YEAR_BEFORE = re.compile(rf"(?:(?P<word>{_YEAR_WORD})的?|(?P<digits>\d\d)年)(?=\d)")


def _with_clock(text: str, match: Match) -> Match:
    span, end = match
    if not span.is_day:
        return match
    tail = text[end : end + 12]
    for clock, where in clocks(tail):
        if where.start == 0:
            return span.at(likely_hour(clock.minutes, ambiguous=clock.ambiguous)), end + where.end
    part = _PART_AFTER.match(text, end)
    return (span.part(_PARTS[part["part"]]), part.end()) if part else match


def _number(numeral: str) -> int:
    tens, ten, ones = numeral.partition("十")
    return (_DIGITS.get(tens, 1) * 10 if ten else _DIGITS[tens]) + (_DIGITS[ones] if ten and ones else 0)


def _shift(way: str) -> int:
    return {"上上": -2, "下下": 2}.get(way[:2], {"上": -1, "下": 1}.get(way[:1], 0))


def _moved(match: re.Match[str], now: datetime, sign: int) -> LocalSpan | None:
    unit, count = match["unit"], match["count"]
    if unit == "年" and int(count or 0) > _MOST_YEARS:
        return None  # 1971年以前: a year, and no number of years
    half = bool(match["half"] or match.groupdict().get("half2"))
    number = int(count or 0)
    if unit in ("分钟", "小时", "钟头"):
        minutes = number * (1 if unit == "分钟" else 60) + (30 if half else 0)
        return shifted(now, sign * minutes)
    today = now.date()
    if half:
        months = {"年": 12 * number + 6, "月": number}.get(unit)
        extra = 15 if unit == "月" else 0
        assert months is not None or unit in ("天", "日")
        return day_span(add_months(today, sign * (months or 0)) + timedelta(sign * extra))
    return day_span(add(today, sign * number, _UNITS[unit]))


def _ago(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    return _moved(match, now, -1 if match["way"].endswith("前") else 1)


def _stretch(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    back = bool(match["back"])
    other = _moved(match, now, -1 if back else 1)
    return between_now_and(other, now, back=back, to_the_minute=match["unit"] in ("分钟", "小时", "钟头"))


def _day(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    if match["word"]:
        return day_span(now.date() + timedelta(_DAYS[match["word"]]))
    return day_span(now.date() + timedelta(_SHORT[match["short"]])).part(_PARTS[match["part"]])


def _short_clock(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    """今晚八点, 明早9点."""
    read = clocks(f"{'晚上' if match['part'] == '晚' else '早上'}{match['clock']}")
    return day_span(now.date() + timedelta(_SHORT[match["short"]])).at(read[0][0].minutes) if read else None


def _weekday(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    today, wanted = now.date(), _DIGITS[match["day"]] - 1
    if match["way"]:
        return day_span(today - timedelta(today.weekday()) + timedelta(7 * _shift(match["way"]) + wanted))
    return plain_weekday(wanted, today, tense)


def _whole(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan:
    """上周, 本月, 下个季度, 这周末."""
    return calendar_period(_PERIODS[match["unit"]], _shift(match["way"] or ""), now.date())


def _year(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    year = whole_year(match["digits"], now.date()) if match["digits"] else now.year + _YEARS[match["word"]]
    if match["half"]:
        return _half_year(year, match["half"])
    if match["quarter"]:
        return quarter_span(year, int(match["quarter"]))
    if match["season"]:
        return season_span(_SEASONS[match["season"]], year)
    if match["edge"]:
        return edge(year_span(year), "start" if match["edge"] == "初" else "end")
    return year_span(year)


def _half_or_quarter(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    if match["quarter"]:
        return quarter_span(now.year, int(match["quarter"]))
    return _half_year(now.year, match["half"])


def _half_year(year: int, half: str) -> LocalSpan:
    middle, first = datetime(year, 7, 1), datetime(year, 1, 1)
    return LocalSpan(first, middle) if half == "上" else LocalSpan(middle, year_span(year).end)


def _season(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    return nearest_season(_SEASONS[match["season"]], now.date(), tense)


def _edge(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    return edge(_whole(match, now, tense), "start" if match["side"] == "初" else "end")


def _month_edge(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    whole = named_day(Day(int(match["month"]), 0, int(match["digits"] or 0)), now.date(), tense)
    return None if whole is None else edge(whole, "start" if match["side"] == "初" else "end")


def _day_of_month(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    first = add_months(now.date().replace(day=1), _shift(match["way"] or ""))
    return day_span(first.replace(day=int(match["number"])))


def _decade(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    digits = match["decade"]
    number = int(digits) if digits.isdigit() else _number(digits)
    return year_span((1900 if number > now.year % 100 + 10 else 2000) + number, 10)


def _holiday(match: re.Match[str], now: datetime, tense: Tense) -> LocalSpan | None:
    month, day = _HOLIDAYS[match["name"]]
    year = now.year + _YEARS[match["word"]] if match["word"] else 0
    return named_day(Day(month, day, year), now.date(), tense)


_RULES: tuple[tuple[re.Pattern[str], TimeRule], ...] = tuple(
    (re.compile(pattern), rule)
    for pattern, rule in (
        (rf"(?:(?P<count>\d{{1,4}})个?)?(?P<half>半)?个?{_UNIT}(?P<half2>半)?(?P<way>之前|以前|前|之后|以后|后)", _ago),
        (
            rf"(?:(?P<back>最近|过去|近|前)|未来|接下来|今后|往后)的?(?P<count>\d{{1,4}})个?(?P<half>半)?{_UNIT}",
            _stretch,
        ),
        (rf"(?P<count>\d{{1,4}})个?(?P<half>半)?{_UNIT}(?P<back>(?!))?(?:之内|以内|内)", _stretch),
        (
            rf"(?P<word>{longest_first(_DAYS)})"
            "|(?P<short>[今昨明当])(?P<part>晚上|早上|晚|早)",
            _day,
        ),
        (r"(?P<short>[今昨明当])(?P<part>晚|早)上?(?P<clock>\d{1,2}[点时](?:\d{1,2}分?|半)?)", _short_clock),
        (r"现在|刚才|刚刚|此刻|目前", this_minute),
        (rf"{_WAY}?{_DAY}", _weekday),
        (rf"{_WAY}(?P<unit>周末|周|星期|礼拜|月|季度|年)(?![一二三四五六日天初末底])", _whole),
        (r"(?P<way>)(?P<unit>周末)", _whole),
        (
            rf"(?:(?P<digits>(?:19|20)\d\d|\d\d)年|(?P<word>{_YEAR_WORD}))的?"
            r"(?:(?P<half>[上下])半年|第(?P<quarter>[1-4])季度|(?P<season>[春夏秋冬])[天季]|年?(?P<edge>[初末底]))?",
            _year,
        ),
        (r"第(?P<quarter>[1-4])季度|(?P<half>[上下])半年", _half_or_quarter),
        (r"(?P<season>[春夏秋冬])[天季]", _season),
        (r"(?:(?P<way>上上个|下下个|上一?个|下一?个|这个|本|这))?(?P<unit>月|年|周)(?P<side>[初末底])", _edge),
        (r"(?:(?P<digits>\d{4})年)?(?P<month>\d{1,2})月(?P<side>[初末底])", _month_edge),
        (
            r"(?:(?P<way>上上个|下下个|上一?个|下一?个|这个|本|这)月的?)?(?P<number>\d{1,2})[号日](?![线楼店码])",
            _day_of_month,
        ),
        (r"(?:上世纪|20世纪)?(?P<decade>\d0|[一二三四五六七八九]十)年代", _decade),
        (rf"(?:(?P<word>{_YEAR_WORD})的?)?(?P<name>{longest_first(_HOLIDAYS)})", _holiday),
        (r"(?:凌晨|早上|上午|中午|下午|傍晚|晚上)?\d{1,2}[点时](?!间|候)(?:\d{1,2}分?|半)?", clock_today),
    )
)  # fmt: skip
