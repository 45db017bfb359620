"""Claims of a text (numbers, names and negation), and whether another text supports them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from dragoman.text import lazy_re as re

_UNITS = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen".split()
    )
}
_TENS = {word: 10 * (i + 2) for i, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split())}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000}
_GREATEST = 10**18
"""Where spelt numbers end: "hundred" said a thousand times has more digits than Python writes."""
_LONGEST = 18
"""Digits that are read as a number; more are compared as they stand."""
_IDIOMS = frozenset({"one", "once", "first", "zero"})
_ZH_DIGITS = {char: i for i, char in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_ZH_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10_000}
_DIGITS = re.compile(r"\d+(?:[.,:]\d+)*")
_WORDS = re.compile(r"[A-Za-z]+")
_ZH_NUMBER = re.compile(
    r"[零〇一二两三四五六七八九十百千万]{1,12}(?=[元块点分秒时天日月年个位人层楼号杯壶份次岁米公小度折课堂间张只种])"
)
# What may not stand before the capital is asked after it: a pattern that begins with letters is found twice as fast.
_NAME = re.compile(r"[A-Z](?<![\w.!?:。！？\n\"“'‘(][A-Z])(?<!^[A-Z])(?<![.!?:]\s[A-Z])[\w'’-]{0,60}[a-z][\w'’-]*\b")
_NOT_NAMES = frozenset(
    "I I'm I'd I'll I've Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May "
    "June July August September October November December English Yes No The A An It You We They He She Please Sorry "
    "Thank Thanks Hello Hi Welcome How What Which When Where Who Are Is Do Does Have Has Will Can".split()
)
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nothing|nobody|neither|nor|without|cannot|closed|forbidden|[a-z]+n't)\b|不|没|无|未|别|勿|禁止|非",
    re.IGNORECASE,
)


def numbers(text: str) -> frozenset[str]:
    """The numbers of a text in one spelling: digits, English and Chinese number words."""
    plain = unicodedata.normalize("NFKC", text)
    values = {_canonical(match) for match in _DIGITS.findall(plain)}
    values.update(str(value) for value in _spelt(plain))
    values.update(str(_chinese(match)) for match in _ZH_NUMBER.findall(plain))
    return frozenset(values)


def names(text: str) -> frozenset[str]:
    """Capitalised words that do not open a sentence: people, places, houses, casefolded."""
    words = (match.group().rstrip("'’").removesuffix("'s").removesuffix("’s") for match in _NAME.finditer(text))
    return frozenset(name.casefold() for name in words if name not in _NOT_NAMES)


def unsupported(text: str, supports: Iterable[str]) -> tuple[str, ...]:
    """Numbers and names of a text that occur in none of the supporting texts."""
    known_numbers: set[str] = set()
    known_words: set[str] = set()
    for support in supports:
        known_numbers |= numbers(support)
        known_words |= {word.casefold() for word in re.findall(r"[^\W\d_]+", support)}
    strange = [number for number in sorted(numbers(text)) if number not in known_numbers and number not in "01"]
    strange += [
        name for name in sorted(names(text)) if not all(part in known_words for part in re.findall(r"[^\W\d_]+", name))
    ]
    return tuple(strange)


def negated(text: str) -> bool:
    """Whether a text denies something."""
    return bool(_NEGATION.search(text))


def _canonical(number: str) -> str:
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", number):
        number = number.replace(",", "")
    number = number.replace(",", ".")
    if ":" in number:
        hours, _, rest = number.partition(":")
        return f"{_whole(hours)}:{rest}"
    whole, _, fraction = number.partition(".")
    fraction = fraction.rstrip("0")
    return f"{_whole(whole)}.{fraction}" if fraction else _whole(whole)


def _whole(digits: str) -> str:
    return str(int(digits)) if len(digits) <= _LONGEST else digits


def _spelt(text: str) -> Iterable[int]:
    total: int | None = None
    for word in [*(match.group().casefold() for match in _WORDS.finditer(text)), ""]:
        if word in _UNITS and word not in _IDIOMS:
            total = (total or 0) + _UNITS[word]
        elif word in _TENS:
            total = (total or 0) + _TENS[word]
        elif word in _SCALES:
            total = min((total or 1) * _SCALES[word], _GREATEST)
        elif total is not None and word not in ("and", "one"):
            yield total
            total = None
        elif total is not None and word == "one":
            total += 1


def _chinese(text: str) -> int:
    if not any(char in _ZH_SCALES for char in text):
        return int("".join(str(_ZH_DIGITS[char]) for char in text))
    total, section, digit = 0, 0, 0
    for char in text:
        if char in _ZH_DIGITS:
            digit = _ZH_DIGITS[char]
        elif char == "万":
            total, section, digit = total + (section + digit) * 10_000, 0, 0
        else:
            section, digit = section + max(digit, 1) * _ZH_SCALES[char], 0
    return total + section + digit
