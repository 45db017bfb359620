"""Numbers with their kind and unit in text that `normalise` has prepared; units are converted where that is exact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from dragoman.text import lazy_re as re

Kind: TypeAlias = Literal["age", "length", "mass", "volume", "duration", "money", "count", "percent", "number"]

NUMBER = r"\d+(?:\.\d+)?"
_UNITS: tuple[tuple[str, Kind, float, str], ...] = (
    # (words, kind, factor, base unit)
    (r"years?[ -]olds?|years? of age|yrs? old|y/o|岁|周岁", "age", 12, "month"),
    (r"months?[ -]olds?|months? of age|个月大", "age", 1, "month"),
    (r"weeks?[ -]olds?|weeks? of age|周大", "age", 12 / 52, "month"),
    (r"years?|yrs?|年", "duration", 12, "month"),
    (r"months?|个月", "duration", 1, "month"),
    (r"weeks?|周(?!岁)|星期|个星期", "duration", 604800, "s"),
    (r"days?|nights?|天|日(?!期)", "duration", 86400, "s"),
    (r"hours?|hrs?|个?小时|个?钟头", "duration", 3600, "s"),
    (r"minutes?|mins?|分钟", "duration", 60, "s"),
    (r"kilomet(?:re|er)s?|km|公里|千米", "length", 1000, "m"),
    (r"centimet(?:re|er)s?|cms?|厘米|公分", "length", 0.01, "m"),
    (r"millimet(?:re|er)s?|mm|毫米", "length", 0.001, "m"),
    (r"met(?:re|er)s?|m|米", "length", 1, "m"),
    (r"feet|foot|ft", "length", 0.3048, "m"),
    (r"inch(?:es)?", "length", 0.0254, "m"),
    (r"kilograms?|kilogrammes?|kilos?|kgs?|公斤|千克", "mass", 1, "kg"),
    (r"grams?|grammes?|g|克", "mass", 0.001, "kg"),
    (r"lbs?", "mass", 0.45359237, "kg"),
    (r"斤", "mass", 0.5, "kg"),
    (r"tons?|tonnes?|t|吨", "mass", 1000, "kg"),
    (r"millilit(?:re|er)s?|ml|毫升", "volume", 0.001, "l"),
    (r"lit(?:re|er)s?|l|升", "volume", 1, "l"),
    (r"euros?|eur|€(?!\d)|欧元", "money", 1, "EUR"),
    (r"pounds?|quid|gbp|£(?!\d)|英镑", "money", 1, "GBP"),
    (r"us dollars?|usd|美元", "money", 1, "USD"),
    (r"dollars?|\$(?!\d)", "money", 1, "dollar"),
    (r"yuan|rmb|cny|元|块钱?", "money", 1, "CNY"),
    (r"%|percent|per cent", "percent", 1, "%"),
)
_SYMBOLS = {"€": "EUR", "£": "GBP", "$": "dollar", "¥": "CNY"}
_UNIT = "|".join(words for words, *_ in _UNITS)
_BY_UNIT = [(re.compile(words), kind, factor, base) for words, kind, factor, base in _UNITS]
_NO_NOUN = (
    "and or to for of in on at is are was per the a an pay pays may can must free off with from until under over than "
    "but who which that will would only tall high long wide old be cost costs as if when up upwards onwards more less "
    "fewer older younger years year by have has do does i it not travel travels enter get gets ride rides swim swims "
    "join joins use uses receive receives need needs should cannot play plays o'clock am pm away admitted allowed "
    "welcome required before after except unless each every s last next this yesterday today tomorrow now already "
    "again soon since during without instead because so while and/or plus"
).split()
_FIND = re.compile(
    rf"(?<![a-z0-9_.:/])(?P<symbol>[€£$¥])? ?(?P<number>{NUMBER})(?![\d:/])"
    r"(?:(?:st|nd|rd|th)(?= (?:hour|day|night|week|month|year)\b))?"  # "up to the 16th week"
    rf"(?:[ -]?(?P<unit>(?:{_UNIT})(?![a-z/])))?"
    rf"(?: ?(?P<minor>{NUMBER}) ?(?P<minor_unit>inch(?:es)?|in\b))?"
)
_AFTER_ZH = re.compile("(?P<counter>个人|口人|人|位|名|件|本|张|条|只|辆|艘|级|个)(?P<noun>[\u4e00-\u9fff]?)")
_AFTER_EN = re.compile(r" (?:of (?P<us>us)\b|(?P<first>[a-z]+)(?: of (?P<of>[a-z]+))?(?: (?P<second>[a-z]+))?)")
PEOPLE = frozenset(
    "people persons person guests visitors passengers participants players adults us riders members friends "
    "travellers pupils children kids students".split()
)

LENGTH_OF_TIME = re.compile(
    r"\b(?:member(?:s|ship)?|notice|valid|contract|warranty|guarantee|experience|resident|employed|lived|within|every"
    r"|for (?:a|an|at least|up to|\d+))\b"
)
"""Words of a sentence whose years and months are a length of time, not an age."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in the base unit of its kind; `noun` is what is counted; `start` and `end` are its place in the text."""

    kind: Kind
    value: float
    unit: str
    start: int
    end: int
    noun: str = ""
    shown: str = ""


def quantities(text: str) -> list[Quantity]:
    """Every quantity of a text."""
    return [quantity for match in _FIND.finditer(text) if (quantity := read(match)) is not None]


def read(match: re.Match[str]) -> Quantity | None:  # noqa: PLR0911  # one return a kind
    """The quantity of one match."""
    text, number, symbol, unit = match.string, float(match["number"]), match["symbol"], match["unit"]
    shown = match[0].strip()
    if symbol:
        return Quantity("money", number, _SYMBOLS[symbol], match.start(), match.end(), shown=shown)
    if unit:
        kind, factor, base = _unit(unit)
        if unit.startswith("pound") and re.search(r"weigh|heav|luggage|bag", text):
            kind, factor, base = "mass", 0.45359237, "kg"
        value = number * factor
        if match["minor"]:
            if kind != "length" or factor != 0.3048:
                return None
            value += float(match["minor"]) * 0.0254
        return Quantity(kind, value, base, match.start(), match.end(), shown=shown)
    if re.match(r"(?!'?s\b)[a-z]", text[match.end() : match.end() + 3]):
        return None  # "10MB": a unit that is not known here
    counted = _AFTER_ZH.match(text, match.end())
    if counted:
        noun = (
            "people"
            if "人" in counted["counter"] or counted["counter"] in "位名"
            else counted["counter"] + counted["noun"]
        )
        return Quantity(
            "count", number, noun, match.start(), counted.end("counter"), noun, text[match.start() : counted.end()]
        )
    after = _AFTER_EN.match(text, match.end())
    if after and number == int(number):
        if after["us"]:
            return Quantity("count", number, "people", match.start(), after.end(), "people", after[0])
        first = after["first"]
        if first in ("square", "cubic"):
            return None
        if first not in _NO_NOUN and not first.isdigit():
            noun = after["of"] if after["of"] and first in ("pieces", "items", "bottles", "kinds") else first
            if noun in _NO_NOUN:
                noun = first
            end = match.end() + len(after[0]) if after["of"] == noun else match.end() + 1 + len(first)
            end = min(end, after.end("of") if after["of"] == noun else end)
            return Quantity("count", number, noun, match.start(), end, noun, text[match.start() : end])
    return Quantity("number", number, "", match.start(), match.end(), shown=shown)


def _unit(word: str) -> tuple[Kind, float, str]:
    for pattern, kind, factor, base in _BY_UNIT:
        if pattern.fullmatch(word):
            return kind, factor, base
    raise AssertionError(word)


def plain(value: float) -> str:
    """A number without a needless fraction."""
    return str(round(value)) if abs(value - round(value)) < 1e-9 else f"{value:.10g}"
