"""Evidence for training a gate that reads knowledge, retrieved by BM25: in use there is no gold evidence."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.core.errors import TrainingError
from dragoman.core.values import Context, Passage
from dragoman.stores.bm25 import Bm25
from dragoman.text.analyse import SNOWBALL, Analyser
from dragoman.train.contract import Corpus

_TURNS = 3


def found_knowledge(corpus: Corpus, k: int, *, language: str = "en", needed: bool = True) -> list[tuple[str, ...]]:
    """The texts of the best k passages for each example, best first: of its own candidates and the set's shared ones.

    The query is the last three turns; a passage that shares no word with them is not taken. Where
    nothing is found for any turn, and it is `needed`, that is an error.
    """
    analyse = Analyser(language=language if language in SNOWBALL else "auto")
    shared = _SearchPool(corpus.passages, analyse)
    own: tuple[tuple[Passage, ...], _SearchPool] = ((), _SearchPool((), analyse))
    texts = []
    for example in corpus.examples:
        if example.candidates is not own[0]:  # turns of a dialogue mostly share one pool
            own = example.candidates, _SearchPool(example.candidates, analyse)
        query = analyse(_query(example.context))
        ranked = sorted([*own[1].best(query, k), *shared.best(query, k)], key=lambda pair: -pair[0])
        texts.append(tuple(text for _, text in ranked[:k]))
    if needed and corpus.examples and not any(texts):
        raise TrainingError(
            "A gate that reads 'know' has nothing to read: no turn comes with passages.",
            remedy='Give a set with candidates or a knowledge file, or leave "know" out of input.fields.',
        )
    return texts


def _query(context: Context) -> str:
    return " ".join(turn.text for turn in context.turns[-_TURNS:])


class _SearchPool:
    """The passages of a search with their BM25 statistics."""

    def __init__(self, passages: Sequence[Passage], analyse: Analyser) -> None:
        self._passages = passages
        self._bm25 = Bm25([analyse(passage.indexed) for passage in passages]) if passages else None

    def best(self, query: Sequence[str], k: int) -> list[tuple[float, str]]:
        import numpy as np

        if self._bm25 is None:
            return []
        scores = self._bm25.scores(query)
        order = np.argsort(-scores, kind="stable")[:k]
        return [(float(scores[i]), self._passages[int(i)].text) for i in order if scores[i] > 0]
