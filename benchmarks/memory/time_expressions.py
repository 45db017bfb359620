"""Resolve 500 time expressions, English and Chinese: 400 made from templates, 100 written by hand.

The answers of the templates come from calendar arithmetic on day numbers that shares no code with the resolver; those
written by hand are in `time_expressions.toml`. An answer counts where start and end are both right to the minute.

    python benchmarks/memory/time_expressions.py            # the share that is right, by language and kind
    python benchmarks/memory/time_expressions.py --wrong    # and every one that is not
    python benchmarks/memory/time_expressions.py --peers    # other libraries that are installed: right where the day is
"""

from __future__ import annotations

import argparse
import random
import tomllib
from calendar import monthrange
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

WRITTEN = Path(__file__).with_suffix(".toml")
MADE = 400
MOMENTS = (
    ("2026-11-18T10:30", "UTC"),
    ("2024-02-29T08:05", "Europe/Zurich"),
    ("2025-12-31T23:50", "Europe/Zurich"),
    ("2026-03-01T00:00", "Asia/Shanghai"),
    ("2025-06-16T12:00", "America/New_York"),
    ("2027-08-22T19:45", "UTC"),
)
"""Moments of local time: a Wednesday, a leap day, the last minutes of a year, a midnight, a Monday, a Sunday."""
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()
NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()
CHINESE = "零一二三四五六七八九十"


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression with the local moment at which it is said, and the local span that it means."""

    text: str
    at: datetime
    zone: str
    start: datetime | None
    end: datetime | None
    kind: str

    @property
    def language(self) -> str:
        return "en" if self.text.isascii() else "zh"


def number(day: datetime) -> int:
    return day.toordinal()


def day(ordinal: int) -> datetime:
    return datetime.fromordinal(ordinal)


def one_day(ordinal: int) -> tuple[datetime, datetime]:
    return day(ordinal), day(ordinal + 1)


def months_from(at: datetime, count: int) -> int:
    """The number of the same day some months away; the last of a shorter month."""
    months = at.year * 12 + (at.month - 1) + count
    year, month = months // 12, months % 12 + 1
    return datetime(year, month, min(at.day, monthrange(year, month)[1])).toordinal()


def month(year: int, index: int) -> tuple[datetime, datetime]:
    """A month by an index that may run over: 0 is the December before."""
    first = year * 12 + index - 1
    return datetime(first // 12, first % 12 + 1, 1), datetime((first + 1) // 12, (first + 1) % 12 + 1, 1)


def year(number: int) -> tuple[datetime, datetime]:
    return datetime(number, 1, 1), datetime(number + 1, 1, 1)


def made(count: int, seed: int = 7) -> Iterator[Expression]:
    """Expressions from templates, as many of each language."""
    rng = random.Random(seed)
    seen: set[tuple[str, str]] = set()
    templates = (english, chinese)
    turn = 0
    while len(seen) < count:
        local, zone = rng.choice(MOMENTS)
        at = datetime.fromisoformat(local)
        text, span, kind = templates[turn % 2](rng, at)
        if (text, local) in seen:
            continue
        seen.add((text, local))
        turn += 1
        yield Expression(text, at, zone, *span, kind)


Span = tuple[datetime | None, datetime | None]


def english(rng: random.Random, at: datetime) -> tuple[str, Span, str]:  # noqa: PLR0911, PLR0912 - one branch a kind
    today, weekday = number(at), at.weekday()
    n, wanted, m = rng.randint(2, 12), rng.randrange(7), rng.randint(1, 12)
    count = rng.choice((str(n), NUMBERS[n]))
    kind = rng.randrange(14)
    if kind == 0:
        unit, days = rng.choice((("days", 1), ("weeks", 7)))
        if rng.random() < 0.5:
            return f"{count} {unit} ago", one_day(today - n * days), "days"
        return f"in {count} {unit}", one_day(today + n * days), "days"
    if kind == 1:
        unit, months = rng.choice((("months", 1), ("years", 12)))
        if rng.random() < 0.5:
            return f"{count} {unit} ago", one_day(months_from(at, -n * months)), "months"
        return f"{count} {unit} from now", one_day(months_from(at, n * months)), "months"
    if kind == 2:
        word, shift = rng.choice(
            (
                ("yesterday", -1),
                ("tomorrow", 1),
                ("today", 0),
                ("the day before yesterday", -2),
                ("the day after tomorrow", 2),
            )
        )
        hour = rng.randint(1, 11)
        tail, hours = rng.choice((("", None), (f" at {hour} am", hour), (f" at {hour}:15 pm", hour + 12.25)))
        if hours is None:
            return word, one_day(today + shift), "day words"
        start = day(today + shift) + timedelta(hours=hours)
        return word + tail, (start, start + timedelta(minutes=1)), "times"
    if kind == 3:
        return f"last {DAYS[wanted]}", one_day(today - ((weekday - wanted - 1) % 7 + 1)), "weekdays"
    if kind == 4:
        return f"next {DAYS[wanted]}", one_day(today - weekday + 7 + wanted), "weekdays"
    if kind == 5:
        which, shift = rng.choice((("last", -1), ("this", 0), ("next", 1)))
        return f"{DAYS[wanted]} {which} week", one_day(today - weekday + 7 * shift + wanted), "weekdays"
    if kind == 6:
        which, shift = rng.choice((("last", -1), ("this", 0), ("next", 1)))
        unit = rng.choice(("week", "month", "year", "weekend"))
        if unit in ("week", "weekend"):
            monday = today - weekday + 7 * shift
            return f"{which} {unit}", (day(monday + (5 if unit == "weekend" else 0)), day(monday + 7)), "periods"
        return (
            f"{which} {unit}",
            month(at.year, at.month + shift) if unit == "month" else year(at.year + shift),
            "periods",
        )
    if kind == 7:
        last = at.year if m <= at.month else at.year - 1
        return f"since {MONTHS[m - 1]}", (datetime(last, m, 1), None), "open"
    if kind == 8:
        unit = rng.choice(("month", "year", "week"))
        end = {"month": month(at.year, at.month)[1], "year": year(at.year)[1], "week": day(today - weekday + 7)}[unit]
        return f"{rng.choice(('until', 'till'))} the end of the {unit}", (None, end), "open"
    if kind == 9:
        date = datetime(rng.randint(1950, 2035), m, rng.randint(1, 28))
        forms = (
            f"{date.day} {MONTHS[m - 1]} {date.year}",
            f"{MONTHS[m - 1]} {date.day}, {date.year}",
            f"{date:%Y-%m-%d}",
        )
        return rng.choice((*forms, f"{date.day}/{date.month}/{date.year}")), one_day(number(date)), "dates"
    if kind == 10:
        value = rng.randint(1960, 2030)
        prefix = rng.choice(("in", "since", "before"))
        first, end = year(value)
        span: Span = {"in": (first, end), "since": (first, None), "before": (None, first)}[prefix]
        return f"{prefix} {value}", span, "years"
    if kind == 11:
        minutes, unit = rng.choice(((n, "minutes"), (60 * n, "hours")))
        start = at.replace(tzinfo=None) - timedelta(minutes=minutes)
        return f"{count} {unit} ago", (start, start + timedelta(minutes=1)), "times"
    if kind == 12:
        value = rng.randint(1990, 2030)
        return f"{MONTHS[m - 1]} {value}", month(value, m), "months"
    first, last = sorted(rng.sample(range(1, 28), 2))
    value = rng.randint(2015, 2030)
    text = f"from {first} {MONTHS[m - 1]} {value} to {last} {MONTHS[m - 1]} {value}"
    return text, (datetime(value, m, first), datetime(value, m, last) + timedelta(1)), "ranges"


def chinese(rng: random.Random, at: datetime) -> tuple[str, Span, str]:  # noqa: PLR0911, PLR0912 - one branch a kind
    today, weekday = number(at), at.weekday()
    n, wanted, m = rng.randint(2, 10), rng.randrange(7), rng.randint(1, 12)
    count = rng.choice((str(n), "两" if n == 2 else CHINESE[n]))
    day_name = rng.choice(("周", "星期")) + "一二三四五六日"[wanted]
    kind = rng.randrange(13)
    if kind == 0:
        unit, days = rng.choice((("天", 1), ("周", 7), ("个星期", 7)))
        word, sign = rng.choice((("前", -1), ("后", 1)))
        return f"{count}{unit}{word}", one_day(today + sign * n * days), "days"
    if kind == 1:
        unit, months = rng.choice((("个月", 1), ("年", 12)))
        word, sign = rng.choice((("前", -1), ("后", 1)))
        return f"{count}{unit}{word}", one_day(months_from(at, sign * n * months)), "months"
    if kind == 2:
        words = {"今天": 0, "昨天": -1, "前天": -2, "大前天": -3, "明天": 1, "后天": 2, "大后天": 3}
        word = rng.choice(list(words))
        hour = rng.randint(1, 11)
        part, hours = rng.choice((("", None), (f"上午{hour}点", hour), (f"下午{hour}点半", hour + 12.5)))
        if hours is None:
            return word, one_day(today + words[word]), "day words"
        start = day(today + words[word]) + timedelta(hours=hours)
        return word + part, (start, start + timedelta(minutes=1)), "times"
    if kind in (3, 4):
        ways = {"上": -1, "上个": -1, "这": 0, "下": 1, "下个": 1, "下下": 2, "上上": -2, "本": 0}
        way = rng.choice([w for w in ways if not w.endswith("个") or day_name.startswith("星")])
        return way + day_name, one_day(today - weekday + 7 * ways[way] + wanted), "weekdays"
    if kind == 5:
        words = {"今年": 0, "去年": -1, "前年": -2, "明年": 1, "后年": 2, "大前年": -3}
        word = rng.choice(list(words))
        value = at.year + words[word]
        if rng.random() < 0.5:
            return word, year(value), "periods"
        return f"{word}{m}月", month(value, m), "months"
    if kind == 6:
        word, shift = rng.choice((("上个月", -1), ("这个月", 0), ("本月", 0), ("下个月", 1)))
        number_ = rng.randint(1, 28)
        first = month(at.year, at.month + shift)
        if rng.random() < 0.5:
            return word, first, "periods"
        return f"{word}{number_}号", one_day(number(first[0]) + number_ - 1), "dates"
    if kind == 7:
        word, shift = rng.choice((("上周", -1), ("这周", 0), ("本周", 0), ("下周", 1)))
        monday = today - weekday + 7 * shift
        if rng.random() < 0.5:
            return word, (day(monday), day(monday + 7)), "periods"
        return f"{word}末", (day(monday + 5), day(monday + 7)), "periods"
    if kind == 8:
        last = at.year if m <= at.month else at.year - 1
        return rng.choice((f"从{m}月起", f"{m}月以来", f"自{m}月以来")), (datetime(last, m, 1), None), "open"
    if kind == 9:
        word, end = rng.choice((("月底", month(at.year, at.month)[1]), ("年底", year(at.year)[1])))
        return rng.choice((f"到{word}", f"直到{word}", f"到{word}为止")), (None, end), "open"
    if kind == 10:
        date = datetime(rng.randint(1950, 2035), m, rng.randint(1, 28))
        return f"{date.year}年{date.month}月{date.day}{rng.choice('日号')}", one_day(number(date)), "dates"
    if kind == 11:
        value = rng.randint(1960, 2030)
        first, end = year(value)
        text, span = rng.choice(
            ((f"{value}年", (first, end)), (f"自{value}年以来", (first, None)), (f"{value}年以前", (None, first)))
        )
        return text, span, "years"
    minutes, unit = rng.choice(((n, "分钟"), (60 * n, "小时")))
    start = at - timedelta(minutes=minutes)
    return f"{count}{'个' if unit == '小时' else ''}{unit}前", (start, start + timedelta(minutes=1)), "times"


def written() -> Iterator[Expression]:
    """The expressions that were written by hand."""
    for group in tomllib.loads(WRITTEN.read_text("utf-8"))["group"]:
        for text, start, end in group["expressions"]:
            span = (datetime.fromisoformat(side) if side else None for side in (start, end))
            yield Expression(text, datetime.fromisoformat(group["at"]), group["zone"], *span, "written by hand")


def resolved(expression: Expression) -> Span | None:
    """What the resolver says, in local time."""
    from dragoman.decision.times import resolve

    zone = ZoneInfo(expression.zone)
    period = resolve(expression.text, expression.at.replace(tzinfo=zone), zone)
    if period is None:
        return None
    start, end = (None if side is None else side.replace(tzinfo=None) for side in (period.start, period.end))
    return start, end


def peers() -> dict[str, Callable[[Expression], datetime | None]]:
    """Libraries that give one moment for an expression, as far as they are installed."""
    found: dict[str, Callable[[Expression], datetime | None]] = {}
    try:
        import dateparser

        settings = {"DATE_ORDER": "DMY", "RETURN_AS_TIMEZONE_AWARE": False}
        found["dateparser"] = lambda e: dateparser.parse(
            e.text, languages=[e.language], settings={**settings, "RELATIVE_BASE": e.at}
        )
    except ImportError:
        pass
    try:
        import parsedatetime

        calendar = parsedatetime.Calendar()

        def parse(expression: Expression) -> datetime | None:
            moment, status = calendar.parseDT(expression.text, sourceTime=expression.at)
            return moment if status else None

        found["parsedatetime"] = parse
    except ImportError:
        pass
    try:
        import jionlp

        def jio(expression: Expression) -> datetime | None:
            try:
                answer = jionlp.parse_time(expression.text, time_base=expression.at.timestamp())
            except ValueError:
                return None
            return datetime.fromisoformat(answer["time"][0]) if answer["type"] in ("time_point", "time_span") else None

        found["jionlp"] = jio
    except ImportError:
        pass
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wrong", action="store_true", help="list every expression that is not right")
    parser.add_argument("--peers", action="store_true", help="measure other installed libraries by the first day")
    options = parser.parse_args()
    everything = [*made(MADE), *written()]
    if options.peers:
        for name, ask in peers().items():
            scores: Counter[str] = Counter()
            for expression in everything:
                try:
                    answer = ask(expression)
                except Exception:  # noqa: BLE001 - a library that fails has no answer
                    answer = None
                wanted = expression.start or (expression.end - timedelta(1) if expression.end else None)
                scores[expression.language] += (
                    answer is not None and wanted is not None and answer.date() == wanted.date()
                )
            totals = Counter(expression.language for expression in everything)
            print(f"{name}: " + ", ".join(f"{code} {scores[code]} of {totals[code]}" for code in ("en", "zh")))
        return
    right: Counter[tuple[str, str]] = Counter()
    total: Counter[tuple[str, str]] = Counter()
    for expression in everything:
        answer = resolved(expression)
        is_right = answer == (expression.start, expression.end)
        for key in ((expression.language, expression.kind), (expression.language, "all")):
            total[key] += 1
            right[key] += is_right
        if options.wrong and not is_right:
            wanted = f"{expression.start}..{expression.end}"
            print(f"{expression.text!r} at {expression.at} {expression.zone}: {answer}, not {wanted}")
    for key in sorted(total):
        print(f"{key[0]}  {key[1]:16} {right[key]:4} of {total[key]:4}  {right[key] / total[key]:.1%}")
    whole = sum(right[code, "all"] for code in ("en", "zh"))
    print(f"all {len(everything)} expressions: {whole / len(everything):.1%}")


if __name__ == "__main__":
    main()
