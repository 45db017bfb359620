"""Answer questions from the points of a list: the cheapest, the longest, the free ones, those under 16 euros."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.decision.choose import Analyse
from dragoman.decision.comparisons import comparisons
from dragoman.decision.groups import GENERAL, roots
from dragoman.decision.numerals import normalise
from dragoman.decision.quantities import quantities
from dragoman.decision.tables.cells import read_row
from dragoman.decision.tables.rows import pick
from dragoman.text import lazy_re as re

_POINT = re.compile(r"\s*+(?:[-*•]|\d{1,2}[.)])\s++(?P<text>\S.*+)")
_MARKS = re.compile(r"\*\*|__|`")
_LABEL = re.compile(r"(?P<label>[^:,]{2,60}?)(?:: |, )(?P<rest>.+)")
_WHICH = re.compile(r"\b(?:which|list)\b|\bwhat \w{2,20} (?:are|is) (?:there|free)\b", re.IGNORECASE)
_WHAT = re.compile(r"\bwhat\b", re.IGNORECASE)
_DEMAND = re.compile(
    r"\b(?:free|for nothing|under|below|less than|(?:mon|tues|wednes|thurs|fri|satur|sun)days?)\b", re.IGNORECASE
)
_FREE = re.compile(r"\bfree\b|\bfor nothing\b|\bno charge\b", re.IGNORECASE)
_LONGEST_POINT = 220
_POINTS_BACK = re.compile(
    r"(?:[\w']+ ){0,5}?(?:it|they|them|this|these|there)\b|(?:[\w'-]+,? ){0,4}[\w'-]+[.!]?$", re.IGNORECASE
)
"""Opens with a word for something named before, or is very short."""
_LEAST = 2
_MOST = 8
_MOST_BELOW = 15


def points(text: str) -> list[str]:
    """The points of the lists in a text, without their marks."""
    found = [_POINT.match(line) for line in text.splitlines()]
    return [_MARKS.sub("", match["text"]).strip() for match in found if match]


def pick_points(question: str, text: str, analyse: Analyse, *, heading: str = "") -> list[str]:
    """Return the points that a question selects by comparing them; none if it does not, or if it means all.

    All of them are what "Which rooms are there?" asks for where the heading is "Rooms".
    """
    items = points(text)
    if len(items) < _LEAST or read_row(items[0]) is not None:  # tables are searched by column elsewhere
        return []
    rows = [_row(item) for item in items]
    choice = pick(question, rows)
    if choice is not None and choice.kind == "superlative":
        return [items[rows.index(row)] for row in choice.rows]
    if not _WHICH.search(question) and not (_WHAT.search(question) and _DEMAND.search(question)):
        return []
    if means_all(question, heading, analyse):
        return items if len(items) <= _MOST else []
    kept = [item for item in items if _fits(question, item, items, analyse)]
    return kept if kept and len(kept) < len(items) and len(kept) <= _MOST else []


def means_all(question: str, heading: str, analyse: Analyse) -> bool:
    """Whether a question asks for all that a heading names: "When are you open?"."""
    asked = roots(analyse(question)) - GENERAL
    return bool(asked) and asked <= roots(analyse(heading))


def with_points(sentence: str, text: str) -> str:
    """Append to a sentence that ends in a colon the points below it; other sentences stay unchanged."""
    place = text.find(sentence) if sentence.rstrip().endswith((":", "：")) else -1
    if place < 0:
        return sentence
    below: list[str] = []
    for line in text[place + len(sentence) :].splitlines():
        if not line.strip():
            continue
        point = _POINT.match(line)
        if point is None:
            break
        below.append(f"- {_MARKS.sub('', point['text']).strip()}")
    return "\n".join([sentence, *below]) if len(below) <= _MOST_BELOW else sentence


def whole_point(sentence: str, text: str) -> str:
    """A sentence with the rest of the short point of a list that it opens, or that it cannot be understood without.

    "In December it meets a week earlier." is said with what meets, "Story time on Wednesdays." with who has to stay.
    """
    for point in points(text):
        start = point.find(sentence)
        if start < 0 or point == sentence or len(point) > _LONGEST_POINT or read_row(point) is not None:
            continue
        return point if start == 0 or _POINTS_BACK.match(sentence) else sentence
    return sentence


def _row(item: str) -> str:
    """A point as a table row of two columns, for comparing."""
    match = _LABEL.fullmatch(item)
    label, rest = (match["label"], match["rest"]) if match else (item, item)
    return f"item: {label.replace(';', ',')}; details: {rest.replace(';', ',').replace(': ', ' ')}"


def _fits(question: str, item: str, items: Sequence[str], analyse: Analyse) -> bool:
    """Whether a point meets what the question demands: a price below a bound, no price, or a word that some have."""
    asked, text = normalise(question), normalise(item)
    bounds = [condition for condition in comparisons(asked)[0] if condition.attribute == "amount"]
    prices = [quantity.value for quantity in quantities(text) if quantity.kind == "money"]
    if bounds:
        return bool(prices) and all(_inside(prices[0], bound.low, bound.high) for bound in bounds)
    if _FREE.search(question):
        return bool(_FREE.search(item)) and not prices
    words = [roots(analyse(each)) for each in items]
    telling = roots(analyse(question)) - GENERAL - frozenset.intersection(*words)
    demanded = telling & frozenset().union(*words)
    return bool(demanded) and demanded <= roots(analyse(item))


def _inside(value: float, low: float | None, high: float | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)
