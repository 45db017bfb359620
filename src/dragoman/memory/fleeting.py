"""Facts of the hour, such as where the user is or how much time they have; kept until the day ends."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, time, timedelta, tzinfo

from dragoman.core.clock import stamp, zone_of
from dragoman.core.values import Fact
from dragoman.text import lazy_re as re
from dragoman.text.introductions import is_reported
from dragoman.text.language import language
from dragoman.text.sentences import sentences

NOW = "now"
"""Slot, and prefix of slots, of facts of the hour; each has one value at a time."""
_LEAST = timedelta(hours=3)
"""How long a fact of the hour is kept at least: what is said before midnight does not end at midnight."""
_PLACES = (
    "station|airport|hotel|harbour|harbor|port|pier|office|gate|museum|hospital|beach|bus stop|tram stop|train station"
    "|railway station|bus station|main station|border|check-in|reception|supermarket|gym|library|school|platform"
)
_HERE = re.compile(
    rf"(?:so |well |ok |okay )?(?:i'm|i am|we're|we are) (?:(?:now|already|still|currently|just|right now) )?"
    rf"(?P<where>(?:at|in|on) (?:the|my|our) (?:[\w-]{{2,20}} )?(?:{_PLACES}))"
    r"(?: (?:now|already|right now|at the moment|today))?(?=[.,!;]|$| and | with )",
    re.IGNORECASE,
)
_HURRY = re.compile(
    r"(?:i'm|i am|we're|we are) (?:(?:really|quite|a bit|rather|kind of) )?"
    r"(?:in a (?:bit of a )?(?:hurry|rush)|running late)(?=[.,!;]|$| and )"
    r"|(?:i|we) (?:don't|do not) have (?:much|a lot of) time(?=[.,!;]|$| (?:now|today|and))",
    re.IGNORECASE,
)
_MINUTES = re.compile(
    r"(?:i|we)(?:'ve| have)?(?: only| just)?(?: have| got)?(?: only| just)?"
    r" (?P<time>(?:\d{1,3}|ten|fifteen|twenty|thirty|forty) (?:minutes|min)|half an hour|an hour)"
    r"(?: left| until my \w{2,12}| before my \w{2,12}(?: leaves)?)(?=[.,!;]|$)",
    re.IGNORECASE,
)
_CHINESE_HERE = re.compile(
    "我(?:们)?(?:现在|已经|正|刚)?(?:到了?|在)(?P<where>[\u4e00-\u9fff]{0,6}(?:火车站|车站|机场|酒店|码头|港口|办公室|博物馆|医院|海边|公交站|地铁站|学校|图书馆|超市))(?:了|呢)?(?=[，。！；,.!]|$)"
)
_CHINESE_HURRY = re.compile("我(?:们)?(?:现在)?(?:很|有点|比较)?(?:赶时间|着急|来不及了?)(?=[，。！；,.!]|$)")


def fleeting_facts(text: str, at: datetime, zone: str | tzinfo = "") -> tuple[Fact, ...]:
    """Extract the facts of the hour from a text, with the time at which they end."""
    facts: list[Fact] = []
    for sentence in sentences(text)[:10]:
        stated = sentence[:200]
        if sentence.rstrip().endswith(("?", "？")):  # "I'm at the station, when does the ferry leave?"
            stated = stated[: max(stated.rfind(","), stated.rfind("，")) + 1]
        first = min((match.start() for match in _matches(stated)), default=0)
        if not is_reported(stated[:first]):
            facts += _chinese(stated) if language(sentence) == "zh" else _english(stated)
    end = stamp(end_of_day(at, zone))
    return tuple(replace(fact, valid_until=end) for fact in facts[:3])


def end_of_day(at: datetime, zone: str | tzinfo = "") -> datetime:
    """The end of the user's day, or three hours from now where that is later."""
    zoned = zone_of(zone) if isinstance(zone, str) else zone
    local = at.astimezone(zoned)
    midnight = datetime.combine(local.date() + timedelta(1), time(), zoned)
    return max(midnight, at + _LEAST)


def _matches(sentence: str) -> list[re.Match[str]]:
    patterns = (_HERE, _HURRY, _MINUTES, _CHINESE_HERE, _CHINESE_HURRY)
    return [match for pattern in patterns if (match := pattern.search(sentence)) is not None]


def _english(sentence: str) -> list[Fact]:
    facts = []
    here, hurry, left = (pattern.search(sentence) for pattern in (_HERE, _HURRY, _MINUTES))
    if here:
        where = here["where"]
        facts.append(Fact(f"I am {where} now.", f"{NOW}: place", where, sentence, "user", "place"))
    if hurry:
        facts.append(Fact("I am in a hurry now.", f"{NOW}: hurry", "in a hurry", sentence))
    if left:
        facts.append(Fact(f"I have {left['time']} left now.", f"{NOW}: time", left["time"], sentence))
    return facts


def _chinese(sentence: str) -> list[Fact]:
    facts = []
    here, hurry = _CHINESE_HERE.search(sentence), _CHINESE_HURRY.search(sentence)
    if here:
        facts.append(Fact(f"我现在在{here['where']}。", f"{NOW}: place", here["where"], sentence, "user", "place"))
    if hurry:
        facts.append(Fact("我现在赶时间。", f"{NOW}: hurry", "赶时间", sentence))
    return facts
