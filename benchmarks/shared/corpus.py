"""A synthetic corpus of any size, made chunk by chunk: nothing but the chunk at hand is in memory.

Words follow Zipf-Mandelbrot over a vocabulary of pronounceable words, two fifths of them drawn from the topic of the
passage, whose vocabulary is a stretch of its own. Vectors lie in clusters within clusters: a field, a topic of it, and
an offset of the passage in a space whose axes matter less and less (like the spectrum of a sentence encoder), with
a little noise in all dimensions. A passage's topic decides both its words and its vector. Chunk n is always the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 384
VOCABULARY = 80_000
CHUNK = 10_000
_FIELDS = 60
_TOPICS = 3000
_OWN = 400  # words that a topic has for itself
_AXES = 96
_ONSETS = "b c d f g h j k l m n p r s t v w br cl dr fl gr pl pr sh st th tr".split()
_NUCLEI = "a e i o u ai ea ie oa ou".split()
_CODAS = " n r s t l m nd rt st ck".split(" ")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some passages: the numbers of their words, and their vectors."""

    first: int
    ranks: Sequence[NDArray[np.int32]]
    vectors: NDArray[np.float32]


class Corpus:
    """Passages of about so many words, in chunks that depend on nothing but the seed and their number."""

    def __init__(self, passages: int, *, words: int = 60, seed: int = 7) -> None:
        self.passages, self._words, self._seed = passages, words, seed
        chance = np.random.default_rng(seed)
        weights = np.cumsum(1 / (np.arange(1, VOCABULARY + 1) + 30))  # the commonest word: one token in 240
        self._common = weights / weights[-1]
        own = np.cumsum(1 / (np.arange(1, _OWN + 1) + 5))
        self._topical = own / own[-1]
        self._begins = chance.integers(200, VOCABULARY - _OWN, _TOPICS)
        fields = chance.normal(size=(_FIELDS, DIMENSIONS))
        topics = fields[chance.integers(0, _FIELDS, _TOPICS)] + 0.9 * chance.normal(size=(_TOPICS, DIMENSIONS))
        self._centres = topics / np.linalg.norm(topics, axis=1, keepdims=True)
        axes = np.linalg.qr(chance.normal(size=(DIMENSIONS, _AXES)))[0].T
        strength = np.arange(1, _AXES + 1) ** -0.5
        self._axes = axes * (strength / np.linalg.norm(strength))[:, None]

    @cached_property
    def vocabulary(self) -> list[str]:
        """Words by rank; the commoner, the shorter."""
        chance = np.random.default_rng(self._seed)
        seen: dict[str, None] = {}
        while len(seen) < VOCABULARY:
            syllables = 1 + min(3, len(seen) // 800) if len(seen) < 2400 else int(chance.integers(2, 5))
            seen[
                "".join(
                    _ONSETS[chance.integers(len(_ONSETS))]
                    + _NUCLEI[chance.integers(len(_NUCLEI))]
                    + _CODAS[chance.integers(len(_CODAS))]
                    for _ in range(syllables)
                )
            ] = None
        return list(seen)

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """The passages from a chunk's number on."""
        for number in range(start, -(-self.passages // CHUNK)):
            yield self.chunk(number)

    def chunk(self, number: int) -> Chunk:
        chance = np.random.default_rng((self._seed, number))
        first = number * CHUNK
        n = min(CHUNK, self.passages - first)
        topics = chance.integers(0, _TOPICS, n)
        lengths = np.maximum(5, chance.negative_binomial(4, 4 / (4 + self._words), n))
        of = np.repeat(topics, lengths)
        ranks = np.searchsorted(self._common, chance.random(len(of)))
        topical = self._begins[of] + np.searchsorted(self._topical, chance.random(len(of)))
        ranks = np.where(chance.random(len(of)) < 0.4, topical, ranks).astype(np.int32)
        return Chunk(first, np.split(ranks, np.cumsum(lengths)[:-1]), self._vectors(topics, chance))

    def text(self, ranks: NDArray[np.int32]) -> str:
        """As a person would write it down."""
        vocabulary = self.vocabulary
        return " ".join([vocabulary[rank] for rank in ranks.tolist()])

    def questions(self, count: int, *, seed: int = 1) -> tuple[list[tuple[str, ...]], NDArray[np.float32]]:
        """Four words of a passage and two others, and a vector not far from the passage's own."""
        chance = np.random.default_rng((self._seed, seed, 1))
        tokens, vectors = [], []
        per = max(1, count // 10)
        while len(tokens) < count:
            chunk = self.chunk(int(chance.integers(-(-self.passages // CHUNK))))
            for row in chance.choice(len(chunk.ranks), min(per, count - len(tokens))).tolist():
                own = chance.choice(chunk.ranks[row], 4).tolist()
                others = np.searchsorted(self._common, chance.random(2)).tolist()
                tokens.append(tuple(self.vocabulary[rank] for rank in (*own, *others)))
                offset = 0.35 * (chance.normal(size=_AXES) @ self._axes)
                vectors.append(_unit(chunk.vectors[row] + offset)[0])
        return tokens, np.array(vectors, dtype=np.float32)

    def _vectors(self, topics: NDArray[np.int64], chance: np.random.Generator) -> NDArray[np.float32]:
        offsets = chance.normal(size=(len(topics), _AXES)) @ self._axes
        noise = chance.normal(size=(len(topics), DIMENSIONS)) / DIMENSIONS**0.5
        return _unit(self._centres[topics] + 0.9 * offsets + 0.15 * noise)


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float32]:
    matrix = np.atleast_2d(vectors)
    return (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)
