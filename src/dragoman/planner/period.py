"""Period of the documents that a question asks for: "the notices since March", "last year's report", 去年的通知.

Only a time that belongs to documents is a filter. "What is on in July?" asks for what documents say about July.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, tzinfo

from dragoman.core.clock import moment_of, now
from dragoman.core.values import Context, Plan
from dragoman.decision.times import Period, find_periods, resolve
from dragoman.decision.times.chinese import prepare as prepare_chinese
from dragoman.decision.times.english import prepare as prepare_english
from dragoman.text import lazy_re as re
from dragoman.text.language import language

_LONGEST = 400
_DOCUMENT = (
    r"(?:documents?|docs?|files?|notices?|notes|reports?|newsletters?|bulletins?|minutes|memos?|e-?mails?|mails"
    r"|messages?|letters?|articles?|posts?|announcements?|circulars?|press releases?|updates?|papers?|publications?"
    r"|news)"
)
_HINT = re.compile(
    rf"\b{_DOCUMENT}\b|\bwhat(?:'s| is| has| was)\b|文件|通知|公告|报告|邮件|文章|消息|简报|纪要|资料|新闻", re.I
)
_MADE = r"(?:dated|published|written|sent|issued|posted|released|announced|received|uploaded|added)"
_BEFORE = re.compile(
    rf"\b{_DOCUMENT}(?: (?:about|on|regarding|concerning|by) (?:[\w'-]{{1,20}} ){{0,3}}[\w'-]{{1,20}})??"
    rf"(?: (?:that|which))?(?: (?:is|are|was|were|have been|has been))?(?: {_MADE})?(?: from)? $"
)
"""What stands before the time: a document, perhaps with its topic, and perhaps how it came to be."""
_WHAT = re.compile(
    rf"^what(?:'s| is| has| was|'s been| has been| have you)? (?:[\w'-]{{1,20}} )?(?:new|changed|{_MADE}) $"
)
_AFTER = re.compile(rf"'s? (?:[\w'-]{{1,20}} ){{0,2}}?{_DOCUMENT}\b")
"""What stands behind the time: last year's report."""
_AFTER_CHINESE = re.compile(r"的?.{0,6}?(?:文件|通知|公告|报告|邮件|文章|消息|简报|纪要|资料|新闻)")
_ABOUT = re.compile(r" (?:about|on|regarding|concerning|by) ")
_PLACED = re.compile(r"(?:in|on|at|during|of|for|around|about) ")
_OPEN = re.compile(r"\Afrom (?!.{0,60} (?:to|until|till|through|on|onwards?)\b)")


def with_period(plan: Plan, context: Context, zone: tzinfo) -> Plan:
    """Limit a plan to the period that the caller or the question gives; dates are days, the last one excluded."""
    control = context.control
    since, until = control.since, control.until
    if not (since or until):
        period = documents_period(context.last, moment_of(context.said_at) or now(), zone)
        if period is None:
            return plan
        since, until = _day(period.start), _day(period.end)
    return replace(plan, since=since, until=until)


def documents_period(question: str, at: datetime, zone: tzinfo) -> Period | None:
    """Return the period of the documents that a question asks for; None for any date."""
    opening = question[:_LONGEST]
    if not _HINT.search(opening):
        return None
    is_chinese = language(opening) == "zh"
    prepared = prepare_chinese(opening) if is_chinese else prepare_english(opening)
    for phrase in find_periods(opening, at, zone):
        before, after = prepared[: phrase.position], prepared[phrase.position + len(phrase.text) :]
        if is_chinese:
            is_filter = bool(_AFTER_CHINESE.match(after))
        else:
            is_filter = bool(_AFTER.match(after) or _WHAT.search(before) or _is_dated(before, phrase.text))
        if is_filter:
            expression = _OPEN.sub("", phrase.text)  # "documents from 2025" are those of 2025
            period = resolve(expression, at, zone, tense="past")
            if period is not None and _is_past(period, at):
                return period
    return None


def _is_dated(before: str, expression: str) -> bool:
    """Whether documents stand before a time: "notices since March", not "notices about closures in March"."""
    match = _BEFORE.search(before)
    return match is not None and not (_ABOUT.search(match[0]) and _PLACED.match(expression))


def _is_past(period: Period, at: datetime) -> bool:
    starts, ends = period.start, period.end
    return (starts is None or starts <= at) and (starts is None or ends is None or starts < ends)


def _day(moment: datetime | None) -> str:
    return moment.date().isoformat() if moment else ""
