"""Select the draft that agrees most with the others: minimum Bayes risk over drafts of one model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from dragoman.text import lazy_re as re
from dragoman.text.analyse import CJK, Analyser

_CHARACTER = re.compile(f"([{CJK}])")


def most_agreed(texts: Sequence[str], holding: Sequence[float] = (), held: float = 0.0) -> tuple[int, float]:
    """Return the index of the best text (the first of equals), and its agreement with the others.

    `holding` is each text's consistency with its evidence, if known; `held` is its weight in the choice.
    """
    shares = agreements(texts)
    worth = [
        (1 - Fraction(held)) * agreement + Fraction(held) * Fraction(holds)
        for agreement, holds in zip(shares, holding or [0.0] * len(texts), strict=True)
    ]
    best = max(range(len(texts)), key=lambda place: (worth[place], -place))
    return best, float(shares[best])


def agreements(texts: Sequence[str]) -> list[Fraction]:
    """Return the mean similarity of each text to the others (at least one), as exact fractions to keep ties."""
    tokens = cut(texts)
    sums = [Fraction(0)] * len(texts)
    for place, one in enumerate(tokens):
        for other in range(place + 1, len(tokens)):
            alike = similarity(one, tokens[other])
            sums[place] += alike
            sums[other] += alike
    return [agreement / (len(texts) - 1) for agreement in sums]


def similarity(one: Sequence[str], other: Sequence[str]) -> Fraction:
    """Return the mean of two F1 scores: of tokens in any order, and of the longest common subsequence (ROUGE-L)."""
    size = len(one) + len(other)
    if not size:
        return Fraction(1)
    shared = (Counter(one) & Counter(other)).total()
    # F1 = 2 n / (|a| + |b|); the mean of both is (n_1 + n_L) / (|a| + |b|)
    return Fraction(shared + common_subsequence(one, other), size)


def common_subsequence(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, with each row of the table as the bits of one integer."""
    places: dict[str, int] = {}
    for place, token in enumerate(one):
        places[token] = places.get(token, 0) | 1 << place
    whole = (1 << len(one)) - 1
    row = whole
    for token in other:
        matched = row & places.get(token, 0)
        row = (row + matched | row - matched) & whole
    return len(one) - row.bit_count()


def cut(texts: Sequence[str]) -> list[tuple[str, ...]]:
    """Split texts into unstemmed words, and Chinese, Japanese and Korean into characters, without a cache."""
    analyser = Analyser(stem=False, stop_words=False)
    return [analyser(_CHARACTER.sub(r" \1 ", text)) for text in texts]
