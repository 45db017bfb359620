"""What kind of answer a question wants, and what kinds a sentence offers: prices, times, people, places."""

from __future__ import annotations

import re
from functools import lru_cache


def _table(**patterns: str) -> dict[str, re.Pattern[str]]:
    # A person is known by the capital of their name; everything else may be written either way.
    return {kind: re.compile(pattern, re.IGNORECASE * (kind != "who")) for kind, pattern in patterns.items()}


_MONEY = r"francs?|euros?|dollars?|pounds?|cents?|pence|crowns?|kroner|yen|rupees?|yuan|chf|eur|usd|gbp"
_DAYS = r"mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|saturdays?|sundays?|weekends?|weekdays?|every day|daily|holidays?"
_MONTHS = (
    r"january|february|march|april|june|july|august|september|october|november|december|spring|summer|autumn|winter"
)
_SPELT = (
    r"two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fifteen|twenty|thirty|forty|fifty|sixty|"
    r"hundred|thousand"
)
_NUMBER = rf"(?:\d+(?:[.,]\d+)?|{_SPELT}|[一二两三四五六七八九十百千]+)"

_WANTS = _table(
    price=r"\bhow much\b|\bprice|\bcosts?\b|\bfees?\b|\bfares?\b|\bcharge|set (?:me|us|you) back|\bexpensive|\bcheap|\bpay for\b|\brates?\b|多少钱|价格|价钱|费用|票价|收费|贵|便宜|怎么卖",
    time=r"^(?:and |so |but )?when\b|\bwhen\b|\bwhat time|\bhours\b|\buntil when|\bhow (?:late|early)|\bopening\b|\bwhat(?:'s| is) the (?:first|last)\b|几点|什么时候|何时|营业时间|时间",
    duration=r"\bhow long\b(?! is the (?:path|trail|walk|pier|bridge))|\bhow many (?:minutes|hours|days|weeks|months|years)|\bduration|多久|多长时间|几天|几个小时",
    count=r"\bhow (?:many|old|big|tall|high|deep|large|heavy)\b|几(?:个|位|人|种|间|层|岁)|多少(?!钱)|多大|多高",
    distance=r"\bhow far\b|\bhow long is the\b|\bdistance\b|多远|多长(?!时间)",
    phone=r"\bphone|\btelephone|\bring\b|\bcall\b|\bnumber (?:do|can|should|to)\b|\bcontact\b|电话|号码|联系",
    person=r"\bwho\b|\bwhose\b|\bwhom\b|谁|哪位",
    place=r"\bwhere\b|\bwhich (?:street|pier|berth|room|floor|building|quay|road|place|town|island)|\bwhat(?:'s| is) the address|\baddress\b|哪里|哪儿|在哪|什么地方|地址|哪条",
    year=r"\b(?:which|what) year|\bhow old is the\b|\bsince when|\bwhen (?:was|were|did)\b|哪一?年|哪年",
    day=r"\b(?:which|what|on which|on what) days?\b|\bon (?:a )?(?:sun|mon|tues|wednes|thurs|fri|satur)days?\b|星期几|周几|哪天|哪一天|哪几天",
    reason=r"\bwhy\b|\bhow come\b|\bwhat for\b|为什么|为何|怎么会",
)
_OFFERS = _table(
    price=rf"{_NUMBER}\s*(?:{_MONEY})\b|[€$£¥]\s*\d|\d\s*[€$£¥]|\bfree\b|\bno (?:charge|cost|fee)|costs? nothing|{_NUMBER}\s*(?:元|块|毛)|免费",
    time=rf"\b\d{{1,2}}[:.]\d{{2}}\b|\b\d{{1,2}}\s*(?:am|pm|a\.m\.|p\.m\.|o'clock)|\bnoon\b|\bmidnight\b|\bo'clock\b|{_NUMBER}\s*点|\b(?:{_DAYS})\b|\b(?:{_MONTHS}|may)\b|\b1\d{{3}}\b|\b20\d{{2}}\b|\bat (?:{_SPELT})\b|月|星期|周[一二三四五六日末]|每天|\d+年|\bsunset\b|\bsunrise\b|\bdawn\b|\bdusk\b",
    duration=rf"{_NUMBER}\s*(?:and a half )?(?:minutes?|hours?|days?|weeks?|months?|years?|nights?|seconds?)\b|\bhalf an hour|\ban hour\b|\ba (?:day|week|month|year|night)\b|{_NUMBER}\s*(?:分钟|个?小时|天|周|个月|年|晚)",
    count=rf"\b{_NUMBER}\b|[一二两三四五六七八九十百千]+(?:个|位|人|种|间|层|岁)",
    distance=rf"{_NUMBER}\s*(?:km|kilomet(?:re|er)s?|met(?:re|er)s?|miles?|m|feet|yards?)\b|{_NUMBER}\s*(?:公里|里|米|千米)",
    phone=r"\b(?:phone|telephone|telephoning|call|ring|calling|reserved on|booked on|number|on)\b[^.]{0,40}?\b\+?\d[\d\s-]{2,}\d\b|\b\d{3,}[- ]\d{3,}\b|电话[^。]{0,10}\d{3,}",
    who=r"\b(?!(?:The|A|An|In|On|At|If|It|From|After|Before|When|Every|All|Most|No|This|That|There|For) )[A-Z][a-z]+ (?:[A-Z]\w*\.? )?[A-Z][a-z]+\b|\b(?:Mr|Mrs|Ms|Dr|Captain|Aunt|Uncle|Old)\.? [A-Z]\w+|\b(?:by|called|named|is|was) [A-Z][a-z]+|[\u4e00-\u9fff]{1,2}(?:师傅|老师|先生|女士|小姐|阿姨|叔|姐|老板|掌柜)|叫",
    place=r"\b(?:in|on|at|near|behind|under|beside|opposite|next to|between|above|below|from|to|outside|inside|along)\s+(?:the\s+)?(?:[A-Z]\w+|\w+ (?:quay|street|lane|square|floor|pier|berth|hill|house|side|end|corner|gate|bridge))|\bberth \d|(?:街|路|巷|楼|号|旁|对面|后面|院|门口|镇|山)",
    year=r"\b1\d{3}\b|\b20\d{2}\b|\d{2,4}年|\b(?:century|centuries)\b|\byears? (?:ago|old)\b|世纪",
    day=rf"\b(?:{_DAYS})\b|星期|周[一二三四五六日末]|每天|\bevery day\b",
    reason=r"\bbecause\b|\bsince\b|\bso that\b|\bdue to\b|\bthat is why\b|\bfor this reason\b|\bin order to\b|\bafter\b|因为|由于|所以|为了",
)


_KIND_OF = {"who": "person"}


@lru_cache(maxsize=2048)
def wants(question: str) -> frozenset[str]:
    """The kinds of answer that a question asks for; none for a plain yes or no."""
    kinds = {kind for kind, pattern in _WANTS.items() if pattern.search(question)}
    if "year" in kinds or "day" in kinds:
        kinds.discard("time")
    if "phone" in kinds and re.search(r"\bnumber\b|\bring\b|phone|电话", question, re.IGNORECASE):
        kinds -= {"count", "place", "person"}
    if "price" in kinds:
        kinds -= {"count", "time", "place", "person"}
    return frozenset(kinds)


@lru_cache(maxsize=8192)
def offers(sentence: str) -> frozenset[str]:
    """The kinds of answer that a sentence could give."""
    return frozenset(_KIND_OF.get(kind, kind) for kind, pattern in _OFFERS.items() if pattern.search(sentence))
