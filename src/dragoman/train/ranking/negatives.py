"""Hard negatives: by BM25, and by the model's own cosines.

In-batch negatives need no mining: `train/ranking/losses.py` masks positives. Results depend on the data, the seed and,
if the model mines, its weights at the start of an epoch; `Mined` stores them on disk, so that a resumed training has
the same negatives.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from dragoman.train.ranking.pairs import RankingPairs, RankingQuestion

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float32]

Analyse: TypeAlias = Callable[[str], tuple[str, ...]]
Hard: TypeAlias = Mapping[int, tuple[int, ...]]
"""Hard negatives by question index, hardest first."""
FOLDER = "mined"
_AT_ONCE = 512


def by_words(pairs: RankingPairs, analyse: Analyse, count: int) -> dict[int, tuple[int, ...]]:
    """Return the wrong texts of each question's source with the highest BM25, at most `count` each."""
    from dragoman.stores.bm25 import Bm25

    negatives: dict[int, tuple[int, ...]] = {}
    for source, places in _by_source(pairs).items():
        rows = pairs.of(source)
        index = Bm25([analyse(pairs.texts[row]) for row in rows])
        for place in places:
            question = pairs.questions[place]
            tokens = [token for text in dict.fromkeys(question.said.values()) for token in analyse(text)]
            scores = index.scores(tokens)
            negatives[place] = _best(scores, rows, question, count, floor=0.0)
    return negatives


def by_vectors(
    pairs: RankingPairs, queries: Floats, texts: Floats, count: int, *, ceiling: float = 1.0
) -> dict[int, tuple[int, ...]]:
    """Return the wrong texts of each question's source with the highest cosine, at most `count` each.

    `queries` are the questions' unit vectors, `texts` those of `pairs.texts`. Texts above `ceiling` times
    the positive's cosine are left out, since they are unlabelled and may be right too.
    """
    import numpy as np

    negatives: dict[int, tuple[int, ...]] = {}
    for source, places in _by_source(pairs).items():
        rows = pairs.of(source)
        matrix = texts[list(rows)]  # (N, D)
        for start in range(0, len(places), _AT_ONCE):
            batch = places[start : start + _AT_ONCE]
            scores = queries[batch] @ matrix.T  # (Q, N)
            for place, line in zip(batch, scores, strict=True):
                question = pairs.questions[place]
                cap = np.inf
                if ceiling < 1.0 and question.gold:
                    cap = ceiling * max(0.0, float((texts[sorted(question.gold)] @ queries[place]).max()))
                negatives[place] = _best(np.where(line > cap, -np.inf, line), rows, question, count, floor=-np.inf)
    return negatives


def draw_negatives(
    question: RankingQuestion, hard: Sequence[int], *, own: int, mined: int, dice: random.Random
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The negatives of a question for one epoch: of its own candidates and of the mined ones, without repetition.

    Own candidates that were mined come first, then others by chance: where there are more than are wanted, the ones
    that look right are worth more.
    """
    wrong = question.wrong
    if len(wrong) > own:
        own_wrong = set(wrong)
        first = [place for place in hard if place in own_wrong][: own // 2]
        taken = set(first)
        wrong = (*first, *dice.sample([place for place in wrong if place not in taken], own - len(first)))
    present = set(wrong)
    others = [place for place in hard if place not in present and place not in question.gold]
    return tuple(wrong), tuple(others[:mined])


def limit_candidates(pairs: RankingPairs, analyse: Analyse, most: int) -> RankingPairs:
    """Limit the pairs to about `most` candidates per question: positives, and the best by BM25."""
    if all(len(question.candidates) <= most for question in pairs.questions):
        return pairs
    likely = by_words(pairs, analyse, most)
    questions = []
    for place, question in enumerate(pairs.questions):
        places = {*likely[place], *question.gold} if len(question.candidates) > most else set(question.candidates)
        candidates = tuple(each for each in question.candidates if each in places)
        offered = tuple(each for each in question.offered if each in places)
        questions.append(replace(question, candidates=candidates, offered=offered))
    return replace(pairs, questions=tuple(questions))


class Mined:
    """Mined negatives by epoch in a training's folder: mined once, read by a resumed training."""

    def __init__(self, folder: Path, of: Mapping[str, str]) -> None:
        self._folder = folder / FOLDER
        self._of = hashlib.sha256(json.dumps(dict(of), sort_keys=True).encode()).hexdigest()

    def get(self, epoch: int, mine: Callable[[], Hard]) -> dict[int, tuple[int, ...]]:
        """Return the negatives of an epoch; call `mine` if they are missing or belong to another training."""
        file = self._folder / f"{epoch}.json"
        negatives = self._read(file)
        if negatives is None:
            negatives = {place: tuple(texts) for place, texts in mine().items()}
            self._write(file, negatives)
            for old in self._folder.glob("*.json"):
                if old.stem.isdigit() and int(old.stem) < epoch:
                    old.unlink()
        return negatives

    def _read(self, file: Path) -> dict[int, tuple[int, ...]] | None:
        try:
            table = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if table.get("of") != self._of:
            return None
        return {int(place): tuple(texts) for place, texts in table["mined"].items()}

    def _write(self, file: Path, negatives: Hard) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}.{os.getpid()}")
        table = {"of": self._of, "mined": {str(place): list(texts) for place, texts in negatives.items()}}
        partial.write_text(json.dumps(table), encoding="utf-8")
        partial.replace(file)


def _by_source(pairs: RankingPairs) -> dict[str, list[int]]:
    by_source: dict[str, list[int]] = {}
    for place, question in enumerate(pairs.questions):
        by_source.setdefault(question.source, []).append(place)
    return by_source


def _best(
    scores: NDArray[np.floating], rows: Sequence[int], question: RankingQuestion, count: int, *, floor: float
) -> tuple[int, ...]:
    """Return the best wrong rows above a score; ties go to the earlier."""
    import numpy as np

    most = min(len(rows), count + len(question.gold))
    order = np.argsort(-scores, kind="stable")[:most]
    best = [rows[i] for i in order.tolist() if scores[i] > floor and rows[i] not in question.gold]
    return tuple(best[:count])
