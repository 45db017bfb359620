"""Labels by a trained retriever: its calibrated relevance (Eq. 5 and 6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.core.codec import Json
from dragoman.core.values import Evidence, Request, SourceName
from dragoman.datasets.open import SHIPPED
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.models.onnx.scorer import Scorer
from dragoman.models.part import FILE, Part, sha256
from dragoman.retriever.repetition_penalty import replies
from dragoman.retriever.search import SourceSearch, searches
from dragoman.retriever.trained import BI, CROSS, HEAD, SearchOptions, Trained
from dragoman.retriever.vectors import query_vectors
from dragoman.train.relevance.candidate_pools import CandidatePool
from dragoman.train.relevance.methods import Judged

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray


class BiLabels:
    """Cosine of question and candidate by a trained bi-encoder, calibrated to a probability."""

    def __init__(self, part: str | Path) -> None:
        self._options = Trained(str(part), kind=BI).options()
        self._encoder = OnnxEncoder(weights=str(_part(self._options).folder))

    @property
    def about(self) -> Mapping[str, Json]:
        return {"method": "bi", "version": 1, "part": _identity(_part(self._options))}

    def learned_from(self, origin: Iterable[Mapping[str, Any]]) -> list[str]:
        """Files of some data that the part was trained on."""
        return _learned_from(_part(self._options), origin)

    def judge(self, pools: Sequence[CandidatePool]) -> list[Judged]:
        if not pools:
            return []
        queries = query_vectors(self._encoder, _searches(self._options, pools), self._options.mix)
        replied = [replies(pool.example.context) if pool.source.name in self._options.said else () for pool in pools]
        texts = dict.fromkeys(passage.indexed for pool in pools for passage in pool.candidates)
        each = list(texts | dict.fromkeys(reply for agent_replies in replied for reply in agent_replies))
        vectors = dict(zip(each, self._encoder.encode(each), strict=True))

        def score(vector: FloatArray, query: FloatArray, agent_replies: Sequence[str], source: SourceName) -> float:
            nearness = max((float(vectors[reply] @ vector) for reply in agent_replies), default=-1.0)
            lost = self._options.said[source].lost(nearness) if agent_replies else 0.0
            return self._options.relevance(float(vector @ query) - lost, source)

        return [
            [score(vectors[passage.indexed], query, agent_replies, pool.source.name) for passage in pool.candidates]
            for pool, query, agent_replies in zip(pools, queries, replied, strict=True)
        ]


class CrossLabels:
    """Score of question and candidate by a trained cross-encoder, calibrated to a probability."""

    def __init__(self, part: str | Path) -> None:
        self._options = Trained(str(part), kind=CROSS).options()
        self._scorer = Scorer(_part(self._options))

    @property
    def about(self) -> Mapping[str, Json]:
        return {"method": "cross", "version": 1, "part": _identity(_part(self._options))}

    def learned_from(self, origin: Iterable[Mapping[str, Any]]) -> list[str]:
        """Files of some data that the part was trained on."""
        return _learned_from(_part(self._options), origin)

    def judge(self, pools: Sequence[CandidatePool]) -> list[Judged]:
        pairs = [
            (search.query.text, passage.indexed)
            for search, pool in zip(_searches(self._options, pools), pools, strict=True)
            for passage in pool.candidates
        ]
        scores = iter(self._scorer.scores(pairs, HEAD)[:, 0].tolist() if pairs else ())
        return [[self._options.relevance(next(scores), pool.source.name) for _ in pool.candidates] for pool in pools]


def _searches(options: SearchOptions, pools: Sequence[CandidatePool]) -> list[SourceSearch]:
    """Return the search of each pool, with the gold of needed sources as given evidence."""
    requests = [
        Request(pool.example.context, (pool.source,), given=tuple(Evidence(piece, 1.0) for piece in pool.given))
        for pool in pools
    ]
    return searches(requests, analyse=_no_words, dependency=options.dependency, query=options.query)


def _part(options: SearchOptions) -> Part:
    assert options.part is not None
    return options.part


def _identity(part: Part) -> Json:
    """Return a part's name and the hash of its `part.json`, which covers its files and calibration."""
    return {"name": part.folder.resolve().name, "sha256": sha256(part.folder / FILE)}


def _learned_from(part: Part, origin: Iterable[Mapping[str, Any]]) -> list[str]:
    """The files that training used too: by hash, and shipped sets by name, since their code may change."""
    trained = ((part.made.get("data") or {}).get("train") or {}).get("files") or ()
    digests = {entry["sha256"] for entry in trained if entry.get("rows")}
    shipped = {entry["name"] for entry in trained if entry["name"] in SHIPPED}
    return [
        str(entry["name"])
        for entry in origin
        if entry.get("rows") and (entry["sha256"] in digests or entry["name"] in shipped)
    ]


def _no_words(text: str) -> tuple[str, ...]:
    return ()
