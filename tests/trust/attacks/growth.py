"""Attack strings generated from regular expressions, and the processor time that an expression takes for them.

An attack is a prefix that leads to a repeat, a pump that the repeat takes again and again, and an end at which the
match fails. Backtracking shows in the growth of the time with the number of pumps.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice, product
from re import _constants as codes
from re import _parser as parser

from tests.effort import LateError, seconds_of, stopped_after

ENDS = ("x\n\N{SNOWMAN}", "", "?")
"""A line that follows with what no expression wants, nothing, and a mark that many classes leave out."""
LONG, SHORT = 10_000, 1_000
HARMLESS_HINT = 0.0002
"""Seconds for `SHORT` characters that no quadratic expression is quick enough for."""
BUDGET = 0.025
"""Seconds for `LONG` characters that are never a defect."""
WORST_FACTOR = 30
"""Growth from `SHORT` to `LONG` that counts as more than linear; linear is 10, quadratic 100."""
BOUNDED_BUDGET = 0.05
"""Seconds for the longest text that reaches an expression, where its callers bound it."""
YARDSTICK = 0.0014
"""Seconds that an expression of 20,000 steps takes on a machine for which the budgets are."""
LIMIT = 0.5
"""Seconds after which an attack is stopped."""
_POOL = "a 1A-,.!'我的\nh_?/:(<[{…"
_MOST_SAMPLES = 6
_REPEATS = {codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT}
_MANY = 16
"""A repeat with a smaller maximum is no pump."""

Method = Callable[[re.Pattern[str], str], object]
METHODS: dict[str, Method] = {
    "match": lambda pattern, text: pattern.match(text),
    "fullmatch": lambda pattern, text: pattern.fullmatch(text),
    "finditer": lambda pattern, text: sum(1 for _ in pattern.finditer(text)),
}
"""Ways to use a pattern; `search`, `sub`, `split` and `findall` do no more than `finditer`."""


@dataclass(frozen=True, slots=True)
class Attack:
    """A text of any length against one expression."""

    prefix: str
    pump: str
    end: str

    def text(self, length: int) -> str:
        return self.prefix + self.pump * max(1, length // len(self.pump)) + self.end


@dataclass(frozen=True, slots=True)
class Defect:
    """An attack that works: the method, the seconds for `LONG` characters, and the growth from `SHORT`.

    For an expression over bounded text, the seconds for the longest text, and no growth.
    """

    attack: Attack
    method: str
    seconds: float
    factor: float


def defects(
    pattern: re.Pattern[str], methods: Iterable[str] = METHODS, *, longest: int | None = None
) -> Iterator[Defect]:
    """The attacks under which an expression takes more than linear time.

    `longest` is the most characters that reach the expression: its time is then measured there, and not its growth.
    """
    if longest is not None:
        yield from _bounded_defects(pattern, methods, longest)
        return
    for attack, method in product(attacks(pattern), methods):
        run = partial(METHODS[method], pattern)
        if not _is_suspicious(run, attack):
            continue
        seconds = seconds_of(partial(run, attack.text(LONG)), LIMIT)
        if seconds >= LIMIT:
            yield Defect(attack, method, seconds, float("inf"))
        elif seconds > BUDGET:
            before = seconds_of(partial(run, attack.text(SHORT)), LIMIT, at_least=0.03)
            factor = seconds / max(before, 1e-6)
            if factor > WORST_FACTOR:
                yield Defect(attack, method, seconds, factor)


def _bounded_defects(pattern: re.Pattern[str], methods: Iterable[str], longest: int) -> Iterator[Defect]:
    for attack, method in product(attacks(pattern), methods):
        run = partial(METHODS[method], pattern, attack.text(longest))
        if _wall_seconds(run) > BOUNDED_BUDGET:
            seconds = min(seconds_of(run, LIMIT) for _ in range(3))
            if seconds > BOUNDED_BUDGET * _slowness():
                yield Defect(attack, method, seconds, 0.0)


def _slowness() -> float:
    """How many times as long this machine takes just now as the one for which the budgets were set; 1 at least."""
    run = partial(re.compile(r"(?:[ab]|cd)*").fullmatch, "abcd" * 10_000)
    return max(1.0, seconds_of(run, at_least=0.02) / YARDSTICK)


def _is_suspicious(run: Callable[[str], object], attack: Attack) -> bool:
    """Whether an attack is worth a closer look: by the clock on the wall, which ticks finely and errs to one side."""
    for length, harmless in ((SHORT, HARMLESS_HINT), (LONG, BUDGET)):
        seconds = _wall_seconds(partial(run, attack.text(length)))
        if seconds >= LIMIT:
            return True
        if seconds <= harmless:
            return False
    return True


def _wall_seconds(run: Callable[[], object]) -> float:
    try:
        with stopped_after(LIMIT):
            began = time.perf_counter()
            run()
            return time.perf_counter() - began
    except LateError:
        return LIMIT


def attacks(pattern: re.Pattern[str]) -> list[Attack]:
    """Texts that may make an expression backtrack, generated from its parts."""
    found: dict[Attack, None] = {}
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    for prefix, body in _repeats(tree, ("",)):
        bodies = _samples(body, most=48, copies=(1, 2))
        pumped = dict.fromkeys(product(("", *prefix), bodies))
        pumped |= dict.fromkeys(("", f"{lead}{first}") for lead in prefix for first in ("", *bodies))
        for (lead, pump), end in product(pumped, ENDS):
            if pump:
                found[Attack(lead, pump, end)] = None
    return list(found)


def _repeats(tree: Iterable, prefix: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Iterable]]:
    """Each repeat that has no small maximum: texts that lead to it, and its body."""
    before: list = []
    for item in tree:
        code, value = item
        lead = tuple(
            dict.fromkeys(f"{outer}{inner}" for outer in prefix for inner in _samples(before, most=1, copies=(1,)))
        )[:1]
        if code in _REPEATS:
            _, most, body = value
            if most >= _MANY:
                yield lead, body
            yield from _repeats(body, lead)
        elif code is codes.BRANCH:
            for branch in value[1]:
                yield from _repeats(branch, lead)
        elif code is codes.SUBPATTERN:
            yield from _repeats(value[3], lead)
        elif code is codes.ATOMIC_GROUP:
            yield from _repeats(value, lead)
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            yield from _repeats(value[1], lead)
        before.append(item)


def _samples(tree: Iterable, *, most: int = _MOST_SAMPLES, copies: tuple[int, ...] = (0, 1)) -> list[str]:
    """Texts that a sequence matches, context and back references aside."""
    texts = [""]
    for item in tree:
        pieces = _item_samples(item, most=most, copies=copies)
        texts = list(dict.fromkeys(f"{text}{piece}" for piece in pieces for text in texts))[:most]
    return texts


def _item_samples(item: tuple, *, most: int, copies: tuple[int, ...]) -> list[str]:
    code, value = item
    if code is codes.LITERAL:
        return [chr(value)]
    if code is codes.NOT_LITERAL:
        return [next(char for char in _POOL if ord(char) != value)]
    if code is codes.ANY:
        return ["a", " "]
    if code is codes.IN:
        return list(islice(_members(value), 5))
    if code is codes.BRANCH:
        parts = [_samples(branch, most=most, copies=copies) for branch in value[1]]
        return list(dict.fromkeys(text for row in _in_turns(parts) for text in row))[:most]
    if code is codes.SUBPATTERN:
        return _samples(value[3], most=most, copies=copies)
    if code is codes.ATOMIC_GROUP:
        return _samples(value, most=most, copies=copies)
    if code in _REPEATS:
        least, greatest, body = value
        times = dict.fromkeys(min(max(least, number), greatest) for number in copies)
        return list(
            dict.fromkeys(text * number for number in times for text in _samples(body, most=most, copies=copies))
        )[:most]
    return [""]


def _in_turns(parts: list[list[str]]) -> Iterator[list[str]]:
    """The first of each, then the second of each, and so on."""
    for place in range(max(map(len, parts))):
        yield [part[place] for part in parts if place < len(part)]


def _members(items: list[tuple]) -> Iterator[str]:
    """Some characters of a class: those of the pool first, so that two classes that overlap share some."""
    negated = items[0][0] is codes.NEGATE
    rest = items[1:] if negated else items
    named = [chr(value) for code, value in rest if code is codes.LITERAL]
    named += [chr(value[0]) for code, value in rest if code is codes.RANGE]
    if negated:
        named = []
    seen: set[str] = set()
    for char in (*_POOL, *named):
        if char not in seen and _is_in(char, rest) is not negated:
            seen.add(char)
            yield char


_CATEGORIES: dict[object, Callable[[str], bool]] = {
    codes.CATEGORY_DIGIT: str.isdecimal,
    codes.CATEGORY_NOT_DIGIT: lambda char: not char.isdecimal(),
    codes.CATEGORY_SPACE: str.isspace,
    codes.CATEGORY_NOT_SPACE: lambda char: not char.isspace(),
    codes.CATEGORY_WORD: lambda char: char.isalnum() or char == "_",
    codes.CATEGORY_NOT_WORD: lambda char: not (char.isalnum() or char == "_"),
}


def _is_in(char: str, items: list[tuple]) -> bool:
    for code, value in items:
        if code is codes.LITERAL and ord(char) == value:
            return True
        if code is codes.RANGE and value[0] <= ord(char) <= value[1]:
            return True
        if code is codes.CATEGORY and _CATEGORIES[value](char):
            return True
    return False
