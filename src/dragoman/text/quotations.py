"""Quoted text inside a turn: quotation marks, block quotes and code. It is not the speaker's own word."""

from __future__ import annotations

from bisect import bisect_left
from typing import TypeAlias

from dragoman.text import lazy_re as re

Span: TypeAlias = tuple[int, int]

_PAIRS = {"“": "”", "„": "“", "«": "»", "「": "」", "『": "』", "《": "》", "‘": "’", '"': '"', "'": "'", "`": "`"}
_SINGLE = frozenset("'‘")
_FENCE = ("```", "~~~")
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_SPACES = re.compile(r"[ \t]{2,}")


def own_words(text: str) -> str:
    """The text without what it quotes: quotation marks, lines that begin with '>', fenced and inline code."""
    kept, start = [], 0
    for begin, end in quoted_spans(text):
        kept.append(text[start:begin])
        start = end
    return _SPACES.sub(" ", "".join((*kept, text[start:]))).strip()


def quoted_spans(text: str) -> tuple[Span, ...]:
    """Return the spans of quotations in a text, in order. An unclosed quotation ends with its paragraph."""
    spans: list[Span] = []
    start = 0
    for begin, end in _blocks(text):
        spans += _inline(text, start, begin)
        spans.append((begin, end))
        start = end
    return (*spans, *_inline(text, start, len(text)))


def _blocks(text: str) -> list[Span]:
    """Block quotes and fenced code, by lines; neighbouring lines are one block."""
    blocks: list[Span] = []
    fence, place = "", 0
    for line in text.splitlines(keepends=True):
        bare = line.lstrip(" \t")
        is_quoted = bool(fence) or bare.startswith((">", "＞", *_FENCE))
        if fence:
            fence = "" if bare.startswith(fence) else fence
        else:
            fence = next((mark for mark in _FENCE if bare.startswith(mark)), "")
        end = place + len(line)
        if is_quoted:
            if blocks and blocks[-1][1] == place:
                blocks[-1] = (blocks[-1][0], end)
            else:
                blocks.append((place, end))
        place = end
    return blocks


def _inline(text: str, start: int, end: int) -> list[Span]:
    if start == end:
        return []
    breaks = [match.start() for match in _PARAGRAPH.finditer(text, start, end)]
    # An apostrophe inside a word opens and closes nothing, so only marks before a boundary can close.
    closing = [i for i in range(start, end) if text[i] in "'’" and not _is_word(text, i + 1)]
    spans: list[Span] = []
    place = start
    while place < end:
        mark = text[place]
        if mark not in _PAIRS or not _opens(text, place, end):
            place += 1
            continue
        later = bisect_left(breaks, place)
        limit = breaks[later] if later < len(breaks) else end
        if mark in _SINGLE:
            next_one = bisect_left(closing, place + 2)
            close = closing[next_one] if next_one < len(closing) and closing[next_one] < limit else -1
            if close < 0:  # an apostrophe, as in 'tis
                place += 1
                continue
        else:
            close = text.find(_PAIRS[mark], place + 1, limit)
        stop = close + 1 if close >= 0 else limit
        spans.append((place, stop))
        place = stop
    return spans


def _opens(text: str, place: int, end: int) -> bool:
    """Whether a mark begins a quotation: not after a letter or digit (5'11"), not before a space."""
    if text[place] not in "'\"`‘":
        return True
    return not _is_word(text, place - 1) and place + 1 < end and not text[place + 1].isspace()


def _is_word(text: str, place: int) -> bool:
    return 0 <= place < len(text) and text[place].isascii() and text[place].isalnum()
