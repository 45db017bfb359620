"""Text comparison: quoted spans of a passage, and differences of two texts. Produces no markup."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["same", "gone", "new"]
Span: TypeAlias = tuple[int, int]

# A word, one character of a script that has no spaces, white space, or any other single character.
_TOKEN = re.compile(r"[぀-ヿ㐀-鿿豈-﫿가-힣]|[^\W_぀-ヿ㐀-鿿豈-﫿가-힣]+|\s+|.", re.DOTALL)
_SENTENCE = re.compile(r"[^\n。！？]*?(?:[.!?](?=\s)|[。！？]|\n|$)", re.DOTALL)
_MOST_STEPS = 10_000_000
"""About a tenth of a second."""
_SHORTEST = 4
"""Fewer words in a row may stand in both texts by chance."""


class DiffSpan(NamedTuple):
    """A run of text that is unchanged, deleted or new."""

    kind: Kind
    text: str


class QuoteSpan(NamedTuple):
    """A run of a passage; `quoted` if the reply contains it."""

    text: str
    quoted: bool


def difference(before: str, after: str) -> tuple[DiffSpan, ...]:
    """Word diff of two texts: without new runs it is `before`, without deleted ones `after`."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    if _is_too_much(old, new):
        return tuple(piece for piece in (DiffSpan("gone", before), DiffSpan("new", after)) if piece.text)
    pieces: list[DiffSpan] = []
    for operation, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if operation == "equal":
            pieces.append(DiffSpan("same", "".join(old[i:j])))
            continue
        if i < j:
            pieces.append(DiffSpan("gone", "".join(old[i:j])))
        if k < m:
            pieces.append(DiffSpan("new", "".join(new[k:m])))
    return tuple(pieces)


def quoted_spans(passage: str, reply: str) -> tuple[Span, ...]:
    """Spans of a passage that a reply quotes verbatim, in order and disjoint.

    Compared sentence by sentence, so that quotes from two places do not merge across other words. Words of the reply
    that one sentence has in a longer run are no quotation of another: rows of a table are often alike in part.
    """
    there = _words(reply)
    reply_words = [reply[start:end].casefold() for start, end in there]
    runs: list[tuple[Span, Span]] = []  # in the words of the reply, and in the passage
    for begin, end in _sentences(passage):
        here = [(begin + start, begin + stop) for start, stop in _words(passage[begin:end])]
        own = [passage[start:stop].casefold() for start, stop in here]
        if _is_too_much(own, reply_words):
            continue
        for place, reply_place, size in SequenceMatcher(None, own, reply_words, autojunk=False).get_matching_blocks():
            run = own[place : place + size]
            if _weight(run) >= _SHORTEST or (size == len(own) and size >= _SHORTEST - 1):
                span = (here[place][0], _with_stop(passage, here[place + size - 1][1]))
                runs.append(((reply_place, reply_place + size), span))
    return tuple(sorted(_longest(runs)))


def _longest(runs: Sequence[tuple[Span, Span]]) -> list[Span]:
    """The spans of a passage whose words of the reply do not lie within those of a longer run."""
    spans: list[Span] = []
    longest = (0, 0)
    for words, span in sorted(runs, key=lambda run: (run[0][0], -run[0][1])):
        if words[1] <= longest[1] and words != longest:
            continue
        longest = words
        spans.append(span)
    return spans


def cut(passage: str, spans: Sequence[Span]) -> tuple[QuoteSpan, ...]:
    """Split a passage into quoted and other runs, which concatenate to the passage."""
    cuts: list[QuoteSpan] = []
    at = 0
    for start, end in spans:
        cuts += [QuoteSpan(passage[at:start], False), QuoteSpan(passage[start:end], True)]
        at = end
    cuts.append(QuoteSpan(passage[at:], False))
    return tuple(piece for piece in cuts if piece.text)


def _is_too_much(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether comparing takes too long: its time grows with the cube of the words where they repeat one another."""
    counts = Counter(other)
    pairs = sum(counts[word] for word in one)
    return pairs * min(len(one), len(other)) > _MOST_STEPS


def _sentences(text: str) -> list[Span]:
    return [match.span() for match in _SENTENCE.finditer(text)]


def _weight(run: Sequence[str]) -> float:
    """Number of words of a run; in scripts without spaces two characters count as one."""
    return sum(0.5 if len(word) == 1 and not word.isascii() else 1.0 for word in run)


def _words(text: str) -> list[Span]:
    return [match.span() for match in _TOKEN.finditer(text) if match.group()[0].isalnum()]


def _with_stop(text: str, end: int) -> int:
    """Extend a span by the punctuation that ends its sentence."""
    return end + 1 if end < len(text) and text[end] in ".!?。！？" else end
