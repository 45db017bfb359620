"""Whether the right evidence was found, and how far up: hit, recall, precision, MRR and nDCG at k.

Each is a small function of two arrays: `right`, shape (rankings, places), which places hold something right, best
first and padded with False; and `total`, how many right things there are to find. They are held equal to ranx and
scikit-learn in tests instead of standing on them: ranx compiles for seconds when it is first called, pytrec_eval has
to be built from C, and neither takes a passage that is right by its text.

SAFARI and UniMS-RAG call hit@1 with the gold plan "R@1": right if the top passage is one of the gold ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from dragoman.core.errors import InputError
from dragoman.core.examples import Example, Label
from dragoman.core.registry import metrics
from dragoman.core.trace import Reply, Retrieval
from dragoman.core.values import Evidence, Passage, SourceName
from dragoman.evaluate.contract import About, Judged, Scores, mean_scores, quotient
from dragoman.evaluate.metrics.options import at_least, one_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from dragoman.evaluate.contract import Floats

Match: TypeAlias = Literal["id", "text"]
"""`text` is the papers' rule: right where the gold texts of all sources, joined, contain it, spaces aside."""

After: TypeAlias = Literal["retrieval", "refinement"]
"""Which ranking is measured: what was first retrieved, or what the reply in the end rests on."""

_LABEL: frozenset[Label] = frozenset({"evidence"})


def hit(right: ArrayLike, total: ArrayLike, k: int) -> Floats:
    """1 where any of the first k is right."""
    flags, totals = _arrays(right, total, k)
    return _or_nan(flags.any(axis=1), totals)


def recall(right: ArrayLike, total: ArrayLike, k: int) -> Floats:
    """The share of the gold passages that are among the first k."""
    import numpy as np

    flags, totals = _arrays(right, total, k)
    return quotient(np.minimum(flags.sum(axis=1), totals).astype(np.float64), totals.astype(np.float64))


def precision(right: ArrayLike, total: ArrayLike, k: int) -> Floats:
    """The share of k places that hold something right; places left empty count as wrong."""
    flags, totals = _arrays(right, total, k)
    return _or_nan(flags.sum(axis=1) / k, totals)


def reciprocal_rank(right: ArrayLike, total: ArrayLike, k: int) -> Floats:
    """1 / place of the first that is right, 0 where none of the first k is (Voorhees 1999)."""
    import numpy as np

    flags, totals = _arrays(right, total, k)
    places = flags.argmax(axis=1) + 1 if flags.shape[1] else np.ones(len(flags))
    return _or_nan(np.where(flags.any(axis=1), 1 / places, 0.0), totals)


def ndcg(right: ArrayLike, total: ArrayLike, k: int) -> Floats:
    """Sum of 1 / log2(place + 1) over what is right, against that of an ideal ranking (Järvelin, Kekäläinen 2002)."""
    import numpy as np

    flags, totals = _arrays(right, total, k)
    gains = 1 / np.log2(np.arange(k) + 2)
    ideal = np.append(0.0, np.cumsum(gains))[np.minimum(totals, k)]
    # A text may be right more often than there are gold passages: the first `total` count, or it would exceed 1.
    first = flags & (np.cumsum(flags, axis=1) <= totals[:, None])
    return quotient(first @ gains[: flags.shape[1]], ideal)


def ranking(
    reply: Reply, source: SourceName | None = None, after: After = "retrieval", k: int | None = None
) -> list[Evidence]:
    """The first k pieces of evidence of a source, or of all, in the order of retrieval, each passage once.

    A reply whose trace has no retrieval (made by hand, or by a system that keeps none) is taken at its evidence.
    """
    steps: list[tuple[Evidence, ...]] = []
    if after == "retrieval":
        steps = [note.value.evidence for note in reply.trace.notes if isinstance(note.value, Retrieval)]
    by_id: dict[str, Evidence] = {}
    for step in steps or (reply.evidence,):
        for piece in step:
            if len(by_id) == k:
                break
            passage = piece.passage
            if source is None or passage.source == source:
                by_id.setdefault(passage.id, piece)
    return list(by_id.values())


def gold_passages(example: Example) -> list[Passage]:
    """The gold evidence of a turn, each once; an id that is not among the turn's candidates is an error."""
    by_id = {passage.id: passage for passage in example.candidates}
    gold = dict.fromkeys(example.gold.evidence or ())
    lost = next((name for name in gold if name not in by_id), None)
    if lost is not None:
        raise InputError(
            f"Turn '{example.id}': gold evidence '{lost}' is not among the candidates.",
            remedy="Mend the data, or measure all sources by id (without source, match = 'id').",
            turn=example.id,
        )
    return [by_id[name] for name in gold]


def is_contained(text: str, golds: Sequence[str]) -> bool:
    """The papers' rule: the text, spaces aside, lies in the gold texts joined with a comma; an empty one does not."""
    letters = "".join(text.split())
    return bool(letters) and letters in "，".join("".join(gold.split()) for gold in golds)


class _Ranked:
    """Base of the ranking metrics: a mean, over turns with gold evidence of the source, of a function of the first
    k."""

    name: str
    title: str
    cite: str

    def __init__(
        self, *, k: int = 1, source: SourceName | None = None, match: Match = "id", after: After = "retrieval"
    ) -> None:
        at_least(self.name, "k", k, 1)
        one_of(self.name, "match", match, ("id", "text"))
        one_of(self.name, "after", after, ("retrieval", "refinement"))
        self._k = k
        self._source = source
        self._match = match
        self._after: After = after

    @property
    def about(self) -> About:
        title = f"{self.title}@{self._k}" + (f" {self._source}" if self._source else "")
        return About(title, "up", (0.0, 1.0), self.cite, _LABEL)

    def measure(self, right: ArrayLike, total: ArrayLike, k: int) -> Floats:
        raise NotImplementedError

    def score(self, turns: Sequence[Judged]) -> Scores:
        import numpy as np

        right = np.zeros((len(turns), self._k), dtype=bool)
        total = np.zeros(len(turns), dtype=np.int64)
        for row, turn in enumerate(turns):
            if not turn.example.gold.evidence:
                continue
            golds = self._golds(turn.example)
            total[row] = sum(self._source in (None, source) for source in golds.values())
            if total[row]:
                pieces = ranking(turn.reply, self._source, self._after, self._k)
                right[row, : len(pieces)] = self._flags(turn.example, pieces, golds)
        return mean_scores(self.measure(right, total, self._k))

    def _golds(self, example: Example) -> Mapping[str, SourceName | None]:
        """The source of each gold id; None where it makes no difference, so that shared corpora need no look-up."""
        if self._source is None and self._match == "id":
            return dict.fromkeys(example.gold.evidence or ())
        return {passage.id: passage.source for passage in gold_passages(example)}

    def _flags(self, example: Example, pieces: Sequence[Evidence], golds: Mapping[str, object]) -> list[bool]:
        if self._match == "id":
            return [piece.id in golds for piece in pieces]
        texts = [passage.text for passage in gold_passages(example)]
        return [is_contained(piece.text, texts) for piece in pieces]


@metrics.register("hit.v1")
class HitRate(_Ranked):
    """The share of turns with something right among the first k. With k = 1 and the gold plan: the papers' R@1."""

    name, title, cite = "hit", "hit", "SAFARI, Table 5; UniMS-RAG, Table IV (there R@1)"

    def measure(self, right: ArrayLike, total: ArrayLike, k: int) -> Floats:
        return hit(right, total, k)


@metrics.register("accuracy-at-1.v1")
class AccuracyAt1(_Ranked):
    """The share of turns whose first passage is right: hit with k = 1."""

    name, title, cite = "accuracy-at-1", "accuracy", "hit with k = 1"

    def __init__(self, *, source: SourceName | None = None, match: Match = "id", after: After = "retrieval") -> None:
        super().__init__(k=1, source=source, match=match, after=after)

    def measure(self, right: ArrayLike, total: ArrayLike, k: int) -> Floats:
        return hit(right, total, k)


@metrics.register("recall.v1")
class Recall(_Ranked):
    """The share of the gold evidence that is among the first k."""

    name, title, cite = "recall", "recall", "RAGate, Table 1 (Recall@k): share of gold among the first k"

    def measure(self, right: ArrayLike, total: ArrayLike, k: int) -> Floats:
        return recall(right, total, k)


@metrics.register("precision.v1")
class Precision(_Ranked):
    """The share of the first k places that hold gold evidence."""

    name, title, cite = "precision", "precision", "right among the first k, over k"

    def measure(self, right: ArrayLike, total: ArrayLike, k: int) -> Floats:
        return precision(right, total, k)


class _RankedToTen(_Ranked):
    """A measure of the whole ranking, over ten places by default."""

    def __init__(
        self, *, k: int = 10, source: SourceName | None = None, match: Match = "id", after: After = "retrieval"
    ) -> None:
        super().__init__(k=k, source=source, match=match, after=after)


@metrics.register("mrr.v1")
class Mrr(_RankedToTen):
    """The mean of 1 / place of the first gold passage, within k."""

    name, title, cite = "mrr", "MRR", "Voorhees 1999"

    def measure(self, right: ArrayLike, total: ArrayLike, k: int) -> Floats:
        return reciprocal_rank(right, total, k)


@metrics.register("ndcg.v1")
class Ndcg(_RankedToTen):
    """nDCG at k, with every gold passage worth the same."""

    name, title, cite = "ndcg", "nDCG", "Järvelin and Kekäläinen 2002"

    def measure(self, right: ArrayLike, total: ArrayLike, k: int) -> Floats:
        return ndcg(right, total, k)


def _arrays(right: ArrayLike, total: ArrayLike, k: int) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    import numpy as np

    return np.atleast_2d(np.asarray(right, dtype=bool))[:, :k], np.atleast_1d(np.asarray(total, dtype=np.int64))


def _or_nan(values: ArrayLike, totals: ArrayLike) -> Floats:
    """NaN where there is nothing to find: such a ranking is not counted."""
    import numpy as np

    return np.where(np.asarray(totals) > 0, np.asarray(values, dtype=np.float64), np.nan)
