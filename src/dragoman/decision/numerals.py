"""Brings text to one form for parsing: lower case, plain marks, numbers as digits in English and Chinese."""

from __future__ import annotations

import unicodedata

from dragoman.core.caches import text_cache
from dragoman.text import lazy_re as re

_ONES = dict(
    zip(
        (
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
            "seventeen eighteen nineteen"
        ).split(),
        range(20),
        strict=True,
    )
)
_TENS = dict(zip("twenty thirty forty fifty sixty seventy eighty ninety".split(), range(20, 100, 10), strict=True))
_SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000}
_WORDS = {**_ONES, **_TENS, **_SCALES}
_NUMBER = "|".join(sorted(_WORDS, key=len, reverse=True))
_ENGLISH = re.compile(rf"\b(?:{_NUMBER})(?=\b|s\b)(?>(?:(?:-| and | )(?:{_NUMBER})(?=\b|s\b))*)")
_NOT_ONE = re.compile(r"one(?= (?:of|who|that|can|may|is|must|else|in|another|or|and|way)\b|[.,;?!]|$)")
_BEFORE_ONE = re.compile(r"\b(?:no|any|every|each|this|that|which|the) $")
_A_UNIT = re.compile(
    r"(?:(?<=\bfor )|(?<=\bwithin )|(?<=\bthan )|(?<=\bafter )|(?<=\bleast )|(?<=\babout )|(?<=\bup to ))an? "
    r"(?=(?:minute|hour|day|week|month|year|dozen)\b(?! (?:ticket|pass|card))(?!['-]))"
    r"|\ban? (?=(?:minute|hour|day|week|month|year) (?:ago|before)\b|dozen\b)"
)
_MAY = re.compile(
    r"(?<=\d )May\b|(?<=\dst )May\b|(?<=\dnd )May\b|(?<=\drd )May\b|(?<=\dth )May\b|\bMay(?= \d)"
    r"|(?<=\bin )May\b|(?<=\bfrom )May\b|(?<=\buntil )May\b|(?<=\btill )May\b|(?<=\bto )May\b|(?<=\bof )May\b"
    r"|(?<=\bbefore )May\b|(?<=\bafter )May\b|(?<=\bby )May\b|(?<=\bApril and )May\b|(?<=\bApril, )May\b"
    r"|\bMay(?= (?:and June|to|until|through)\b)|(?<=\d )may\b(?! \w)"
)
_MARKS = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "～": "-"})
_UNTIL = re.compile("至(?![少多今])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d{1,2}(?!\d))")
_ZH_DIGITS = {char: i for i, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_ZH_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10_000}
_METRES = re.compile(r"(\d)米(\d{1,2})(?![\d厘.])")
_ZH_METRES = re.compile("(?<=[一二两1-9]米)[零一二三四五六七八九]{1,2}(?![一-龥]?[个人岁])")
_CHINESE = re.compile(
    "(?<![周期拜第统唯之同万任老])[零〇一二两三四五六七八九十百千万]{1,20}+(?=[岁个人位名件本张条只辆艘级年月日号天小分点时米厘公克斤元块升折折口])"
    "|(?<![周期拜第统唯之同万任老])[一二两三四五六七八九十百]{1,20}+(?=周岁|千克|到[一二三四五六七八九十百]{1,20}+[岁天人日])"
    "|(?<=满)[一二三四五六七八九十百]+"
)
_PAST_OR_TO = re.compile(r"\b(?P<part>half|(?:a )?quarter) (?P<side>past|to) (?P<hour>\d{1,2})\b")


@text_cache(maxsize=2048)
def normalise(text: str) -> str:
    """A text in lower case with plain quotes and dashes, numbers and times in digits; the month May is `maymonth`."""
    text = unicodedata.normalize("NFKC", text).translate(_MARKS)
    text = _UNTIL.sub("到", text).replace("(含)", "")
    text = _ZH_METRES.sub(lambda match: "".join(str(_ZH_DIGITS[char]) for char in match[0]), text)
    text = _MAY.sub("maymonth", text).lower()
    text = _DECIMAL_COMMA.sub(".", _THOUSANDS.sub("", text))
    text = text.replace("half an hour", "30 minutes").replace("half a dozen", "6").replace("couple of ", "2 ")
    text = _A_UNIT.sub("1 ", text).replace("1 dozen", "12").replace("a dozen", "12")
    text = _PAST_OR_TO.sub(_clock, _ENGLISH.sub(_english, text))
    if not text.isascii():
        text = _METRES.sub(r"\1.\2米", text)
        text = _CHINESE.sub(lambda match: str(_chinese(match[0])), text)
    return " ".join(text.split())


def _clock(match: re.Match[str]) -> str:
    """A time in words as a clock shows it: "half past 5" is 5:30."""
    hour, minutes = int(match["hour"]), 30 if match["part"] == "half" else 15
    return f"{hour}:{minutes}" if match["side"] == "past" else f"{(hour - 2) % 12 + 1}:{60 - minutes}"


def _english(match: re.Match[str]) -> str:
    words = re.split(r"[ -]", match[0].replace(" and ", " "))
    if words == ["one"] and (
        _NOT_ONE.match(match.string, match.start()) or _BEFORE_ONE.search(match.string[: match.start()][-8:])
    ):
        return match[0]
    if words[0] in _SCALES:
        return match[0]
    joined = " and " in match[0] and not any(word in _SCALES for word in words)
    if joined:  # "six and nine" are two numbers
        return " and ".join(str(_value(re.split(r"[ -]", part))) for part in match[0].split(" and "))
    return str(_value(words))


def _value(words: list[str]) -> int:
    total = part = 0
    for word in words:
        if word == "hundred":
            part = max(part, 1) * 100
        elif word in _SCALES:
            total, part = total + max(part, 1) * _SCALES[word], 0
        else:
            part += _WORDS[word]
    return total + part


def _chinese(numeral: str) -> int:
    total = part = digit = 0
    for char in numeral:
        if char == "万":
            total, part, digit = (total + part + digit) * 10_000, 0, 0
        elif char in _ZH_SCALES:
            part, digit = part + (digit or 1) * _ZH_SCALES[char], 0
        else:
            digit = digit * 10 + _ZH_DIGITS[char] if digit and not part else _ZH_DIGITS[char]
    return total + part + digit
