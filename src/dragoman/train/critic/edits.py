"""Edits that change the meaning of a text: another number, another name, negation, antonyms.

Each is a pure function of a text, in English and Chinese, with word lists in `words/`. An edit returns None where it
has nothing to change, and never the same text. `contradictions.py` decides where to apply them.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from dragoman.text.claims import negated, numbers
from dragoman.text.language import CJK, language
from dragoman.text.patterns import read

_EN_NUMBERS = (
    "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty".split()
)
_ZH_DIGITS = "一二三四五六七八九"
_DIGITS = re.compile(r"\d+(?:[.,:]\d+)*")
_SPELT = re.compile(rf"(?<![-\w])(?:{'|'.join(_EN_NUMBERS)})(?![-\w])", re.IGNORECASE)
_ZH_SPELT = re.compile(r"[零〇一二两三四五六七八九十百千万]+")
_YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}")
_LATIN = re.compile(f"[^\\W_{CJK}]")


# Numbers


def number_places(text: str, number: str) -> list[tuple[int, int]]:
    """The spans of a number in a text, in digits or words; `number` is in the form of `claims.numbers`."""
    spans = [match.span() for pattern in (_DIGITS, _SPELT, _ZH_SPELT) for match in pattern.finditer(text)]
    return sorted(place for place in spans if number in _numbers_at(text, place))


def change_number(text: str, old: str, new: str) -> str | None:
    """The text with a number replaced in the same spelling: digits, or words where both numbers have words.

    >>> change_number("It has two rooms, 34 francs each.", "34", "36")
    'It has two rooms, 36 francs each.'
    >>> change_number("一共有三个。", "3", "5")
    '一共有五个。'
    """
    edited = text
    for start, end in reversed(number_places(text, old)):
        edited = edited[:start] + _spelt_like(text[start:end], new) + edited[end:]
    numbers_after = numbers(edited)
    return edited if edited != text and old not in numbers_after and new in numbers_after else None


def other_number(number: str, dice: random.Random) -> str:
    """A different number near another one: years stay years, times stay times, small numbers stay small."""
    number = unicodedata.normalize("NFKC", number)  # digits of full width are digits
    if ":" in number:
        hours, _, minutes = number.partition(":")
        day = 12 if 1 <= int(hours) <= 12 else 24
        return f"{(int(hours) + dice.randint(1, 11)) % day or day}:{minutes}"
    whole, dot, fraction = number.partition(".")
    value = int(whole)
    if _YEAR.fullmatch(whole) and not dot:
        return str(value + dice.choice((-1, 1)) * dice.randint(1, 30))
    step = dice.randint(1, max(3, value // 2))
    changed = value - step if value - step >= 2 and dice.random() < 0.5 else value + step
    return f"{changed}{dot}{fraction}"


def _numbers_at(text: str, place: tuple[int, int]) -> frozenset[str]:
    """The numbers at a place of a text; with the next character, since a Chinese numeral needs its measure word."""
    return numbers(text[place[0] : place[1] + 1]) | numbers(text[place[0] : place[1]])


def _spelt_like(old: str, new: str) -> str:
    if old[0].isdigit():
        return new
    if old[0].isascii():
        by_value = {str(value): word for word in _EN_NUMBERS for value in map(int, numbers(word))}
        word = by_value.get(new, new)
        return word.capitalize() if old[0].isupper() else word
    return _chinese(int(new)) if new.isdigit() and 0 < int(new) < 100 else new


def _chinese(value: int) -> str:
    tens, units = divmod(value, 10)
    head = "" if not tens else ("十" if tens == 1 else f"{_ZH_DIGITS[tens - 1]}十")
    return head + (_ZH_DIGITS[units - 1] if units else "")


# Names


def has_name(text: str, name: str) -> bool:
    """Whether a text has a name, in any case."""
    return _name_pattern(name).search(text) is not None


def exchange_name(text: str, old: str, new: str) -> str | None:
    """The text with every occurrence of a name replaced, in the case of the old one.

    >>> exchange_name("The gonville hotel is full.", "GONVILLE HOTEL", "Acorn House")
    'The Acorn House is full.'
    """
    if old.casefold() == new.casefold():
        return None
    edited = _name_pattern(old).sub(lambda match: _cased(new, match.group()), text)
    return edited if edited.casefold() != text.casefold() and not has_name(edited, old) else None


@cache
def _name_pattern(name: str) -> re.Pattern[str]:
    """The pattern of a name between word boundaries, where its script has them."""
    before = r"(?<!\w)" if _LATIN.match(name[:1]) else ""
    after = r"(?!\w)" if _LATIN.match(name[-1:]) else ""
    return re.compile(before + re.escape(name) + after, re.IGNORECASE)


def _cased(new: str, old: str) -> str:
    if old.isupper():
        return new.upper()
    return new.title() if new.isupper() else new


# Denial


def negate(sentence: str) -> str | None:
    """The negation of a sentence, or a negated sentence without its negation; twice restores a simple sentence.

    >>> negate("The room is clean.")
    'The room is not clean.'
    >>> negate("It does not offer parking.")
    'It offers parking.'
    >>> negate("我喜欢猫")
    '我不喜欢猫'
    """
    code = language(sentence)
    return _negate_chinese(sentence) if code == "zh" else _negate_english(sentence)


def _negate_english(sentence: str) -> str | None:
    words = _english()
    denied = words.denied.search(sentence)
    if denied:
        return _put(sentence, denied.span(), words.affirm(denied))
    if negated(sentence):
        return None  # "nothing", "without": one more "not" would say nothing clear
    match = words.auxiliary.search(sentence)
    if match:
        return _put(sentence, match.span(), f"{match.group()} not")
    match = words.verb.search(sentence)
    return _put(sentence, match.span(), words.deny(match)) if match else None


def _negate_chinese(sentence: str) -> str | None:
    rules: list[tuple[str, str, str]] = [(plain, denied, where) for plain, denied, where in _words()["zh"]["denials"]]
    denials = [(sentence.find(denied), plain, denied) for plain, denied, _ in rules if denied in sentence]
    if denials:
        start, plain, denied = min(denials)
        return _put(sentence, (start, start + len(denied)), plain)
    if "不" in sentence or "没" in sentence:
        return None
    plain_places = [
        (match.start(), denied, plain) for plain, denied, where in rules if (match := re.search(where, sentence))
    ]
    if not plain_places:
        return None
    start, denied, plain = min(plain_places)
    return _put(sentence, (start, start + len(plain)), denied)


@dataclass(frozen=True, slots=True)
class _English:
    """English negation ("is not", "isn't", "has no", "does not offer") and the forms of verbs that need "do"."""

    denied: re.Pattern[str]
    auxiliary: re.Pattern[str]
    verb: re.Pattern[str]
    short: Mapping[str, str]
    forms: Mapping[str, tuple[str, str, str]]
    """Base form, third person and past of a verb, by each of these forms."""

    def affirm(self, match: re.Match[str]) -> str:
        """The sentence without its "isn't", "is not" or "does not offer"."""
        helper = match["helper"].replace("’", "'")
        helper = self.short.get(helper.casefold(), helper)
        verb = (match["verb"] or "").strip()
        if helper.casefold() in ("do", "does", "did") and verb:
            return self.forms[verb.casefold()][("do", "does", "did").index(helper.casefold())]
        return f"{match['helper'][0]}{helper[1:]}{match['verb'] or ''}"

    def deny(self, match: re.Match[str]) -> str:
        verb = (match["verb"] or match["base"]).casefold()
        base, third, _ = self.forms[verb]
        helper = "do" if match["base"] else "does" if verb == third else "did"
        return f"{match['subject'] or ''}{helper} not {base}"


@cache
def _english() -> _English:
    words = _words()["en"]
    forms = [tuple(line.split()) for line in words["verbs"].strip().split("\n")]
    unsure = set(words["unsure"].split())
    bases = "|".join(base for base, _, _ in forms)
    sure = "|".join(form for _, third, past in forms for form in (third, past) if form not in unsure)
    auxiliaries = "|".join(words["auxiliaries"].split())
    short = "|".join(words["short"]).replace("'", "['’]")
    subjects = "|".join(words["subjects"].split())
    return _English(
        re.compile(
            rf"\b(?P<helper>{short}|(?:{auxiliaries}|do|does|did|has|have|had)(?=\s+not?\b))(?:\s+not?\b)?"
            rf"(?P<verb>\s+(?:{bases})\b)?",
            re.IGNORECASE,
        ),
        re.compile(rf"\b(?:{auxiliaries}|(?:has|have|had)(?=\s+(?:been|\w+ed)\b))\b", re.IGNORECASE),
        re.compile(
            rf"(?P<subject>\b(?:{subjects})\s+)(?P<base>{bases})\b|\b(?P<verb>{sure})\b",
            re.IGNORECASE,
        ),
        words["short"],
        {form: (base, third, past) for base, third, past in forms for form in (past, third, base)},
    )


# Opposites


@dataclass(frozen=True, slots=True)
class Excluded:
    """A word of a text with its synonyms and the words that it excludes."""

    word: str
    alike: tuple[str, ...]
    others: tuple[str, ...]


def opposites(text: str) -> list[Excluded]:
    """The words of a text that exclude others, in order: good and bad, days of the week, star signs."""
    table, pattern = _excluding(language(text))
    return [table[word] for word in dict.fromkeys(match.group().casefold() for match in pattern.finditer(text))]


def oppose(text: str, word: str, other: str) -> str | None:
    """The text with one of its words replaced by one that it excludes.

    >>> oppose("The rooms are clean.", "clean", "dirty")
    'The rooms are dirty.'
    """
    return exchange_name(text, word, other)


def torn(text: str) -> bool:
    """Whether a text has a word and its opposite, as several reviews of one hotel do."""
    entries = opposites(text)
    words = {entry.word for entry in entries}
    return any(not words.isdisjoint(entry.others) for entry in entries)


@cache
def _excluding(spoken: str) -> tuple[dict[str, Excluded], re.Pattern[str]]:
    words = _words()[spoken]
    sides = [line.split("|") for line in words["opposites"].strip().split("\n")]
    alike: dict[str, dict[str, None]] = {}
    others: dict[str, dict[str, None]] = {}
    for left, right in sides:
        for one, other in ((left.split(), right.split()), (right.split(), left.split())):
            for word in one:
                alike.setdefault(word.casefold(), {}).update(dict.fromkeys(one))
                others.setdefault(word.casefold(), {}).update(dict.fromkeys(other))
    for line in words["exclusive"]:
        for word in line.split():
            alike.setdefault(word.casefold(), {}).update({word: None})
            others.setdefault(word.casefold(), {}).update(
                dict.fromkeys(other for other in line.split() if other != word)
            )
    edge = "" if spoken == "zh" else r"\b"
    longest = sorted(others, key=len, reverse=True)
    pattern = re.compile(f"{edge}(?:{'|'.join(map(re.escape, longest))}){edge}", re.IGNORECASE)
    return {word: Excluded(word, tuple(alike[word]), tuple(others[word])) for word in others}, pattern


def _put(text: str, place: tuple[int, int], new: str) -> str | None:
    edited = text[: place[0]] + new + text[place[1] :]
    return edited if edited != text else None


def _words() -> dict[str, dict[str, Any]]:
    return read("dragoman.train.critic.words")
