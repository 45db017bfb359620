"""Cuts English and Chinese text into sentences by rules: deterministic, and each one a piece of the text."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.text import lazy_re as re
from dragoman.text.language import CJK, is_cjk


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Never the end of a sentence: a name or a number follows.
_TITLES = _words(
    "mr mrs ms mx dr prof rev fr hon sen rep gov gen col maj capt cpt lt sgt cmdr adm mme mlle messrs "
    "vs cf viz e.g i.e eg ie approx ca fig figs eq ch vol ed eds pp para sec nr tel ext"
)
# The end of a sentence only where the next word is one that opens sentences.
_SELDOM = _words("st ave rd blvd mt ft inc ltd co corp dept est jr sr ph.d phd m.d b.a m.a u.s u.k u.n e.u")
# The end of a sentence where a capital follows that is no day or month.
_OFTEN = _words("a.m p.m am pm etc al sq min max hr hrs")
# The end of a sentence where no number follows.
_BEFORE_NUMBER = _words(
    "no nos p art bldg rm jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun"
)
_OPENERS = _words(
    "the a an it its this that these those there here he she they we you i my our your his her their in on at if when "
    "while after before for from but and so or as to by with what who where why how is are was were do does did can "
    "please also then however no not all each every some most many one two ask see open closed"
)
_DAYS = _words(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december mon tue wed thu fri sat sun daily weekdays weekends utc gmt cet"
)

_CLOSERS = "\"'”’»)\\]}」』）】》〉〕"
_END = re.compile(f"(?P<wide>[。！？；｡]+|…+)[。！？；…{_CLOSERS}]*|(?P<narrow>[.!?]+)[{_CLOSERS}]*")
_LINE = re.compile(r"[^\n]*\n?")
_BULLET = re.compile(r"\s*(?:[-*+•‣▪·–—]\s+|#{1,6}\s+|>\s+)+")
_STARTS_LINE = re.compile(
    r"\s*(?:[-*+•‣▪·–—]\s|#{1,6}\s|>\s|\||\(?\d{1,2}[.)]\s|[（(]?[一二三四五六七八九十]{1,3}[、）)])"
)
_NUMBERED = re.compile(r"\s*\(?\d{1,2}[.)]\s+$")
_WORD_BEFORE = re.compile(r"(?<![^\s(\[\"'“‘（])[^\s(\[\"'“‘（]++$")
_I = re.compile(r"I(?=[\s'’])")
_NEXT_WORD = re.compile(r"\s*[\"'“‘(\[「『（*_]*([^\W_]+)(\.?)")
_NEAR = 80  # how far a rule looks to either side, so that a text of a megabyte costs linear time
_CJK_CHAR = re.compile(f"[{CJK}]")


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text in order, stripped; list bullets and heading marks are left out."""
    parts: list[str] = []
    for start, end in _blocks(text):
        parts.extend(_within(text[start:end]))
    return tuple(parts)


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Spans that no sentence crosses: paragraphs, list items, headings, table rows."""
    start, lines, previous = 0, 0, ""
    for match in _LINE.finditer(text):
        line = match.group()
        # Only the first line of a block can head it.
        if not line.strip() or _STARTS_LINE.match(line) or (lines == 1 and _is_heading(previous.strip(), line.strip())):
            if lines:
                yield start, match.start()
            start, lines = match.start(), 0
        if line.strip():
            lines, previous = lines + 1, line
    if lines:
        yield start, len(text)


def _is_heading(title: str, following: str) -> bool:
    """Whether a line stands alone above the next: marked as a heading, or short and without an end."""
    if title.startswith("#"):
        return True
    if _CJK_CHAR.search(title):
        return len(title) <= 16 and not re.search(r"[，。！？；、：…,]", title)
    words = title.split()
    return (
        len(words) <= 6
        and len(title) <= 44
        and title[0].isupper()
        and title[-1].isalnum()
        and words[-1].lower() not in _OPENERS
        and following[0].isupper()
        and len(following) > len(title)
    )


def _within(block: str) -> Iterator[str]:
    bullet = _BULLET.match(block)
    start = bullet.end() if bullet else 0
    for match in _END.finditer(block, start):
        if _ends(block, match, start):
            if block[start : match.end()].strip():
                yield block[start : match.end()].strip()
            start = match.end()
    if block[start:].strip():
        yield block[start:].strip()


def _ends(block: str, match: re.Match[str], start: int) -> bool:
    """Whether a mark ends the sentence that began at `start`."""
    after = block[match.end() : match.end() + _NEAR]
    wide = match.group("wide")
    if wide:
        return not wide.startswith("…") or _ellipsis_ends(
            block[max(start, match.start() - _NEAR) : match.start()], after
        )
    mark = match.group("narrow")
    before = block[max(start, match.start() - _NEAR) : match.start()]
    if not after.strip():
        return True
    if not after[0].isspace():
        return _unspaced_ends(before, mark, after)
    following = _NEXT_WORD.match(after)
    word = following.group(1) if following else ""
    if word[:1].islower():
        return False
    if mark != ".":
        return True
    return _stop_ends(before, word, initial=bool(following and following.group(2)))


def _unspaced_ends(before: str, mark: str, after: str) -> bool:
    """Whether a mark ends a sentence though no space follows: half-width in Chinese, or typed in a hurry."""
    if not before or is_cjk(after[0]):
        return bool(before) and is_cjk(before[-1])
    word = _WORD_BEFORE.search(before)
    if not before[-1].islower() or (word and "/" in word.group()):
        return False
    return after[0].isupper() if mark != "." else _I.match(after) is not None


def _ellipsis_ends(before: str, after: str) -> bool:
    if not after.strip():
        return True
    return len(before.strip()) >= 4 and not after.lstrip()[0].islower() and (after[0].isspace() or is_cjk(after[0]))


def _stop_ends(before: str, following: str, *, initial: bool) -> bool:  # noqa: PLR0911 - one return a kind of word
    """Whether a full stop after `before` ends the sentence, seen from the words on its two sides."""
    if _NUMBERED.match(f"{before}. "):
        return False
    match = _WORD_BEFORE.search(before)
    if not match:
        return False
    word = match.group().lower().lstrip("*_")
    opener = following.lower() in _OPENERS and not (initial and len(following) == 1)
    if word in _TITLES:
        return False
    if word in _BEFORE_NUMBER:
        return not following[:1].isdigit()
    if word in _OFTEN:
        return following.lower() not in _DAYS and not following[:1].isdigit()
    if word in _SELDOM or re.fullmatch(r"(?:[a-z]\.)+[a-z]|[a-z]", word):
        # "J. Smith", "the U.S. Navy"; but "Take tram B. It runs daily."
        return opener
    return True
