"""PK-ICR: joint retrieval of persona and knowledge by the scores of their pairs.

Question = "{persona} {dialogue}", answer = knowledge. The best pair selects the knowledge (Eq. 1-3); with it fixed,
every persona is scored again (Eq. 4-7), and the bare question too, for the null-positive rank test (Eq. 9). A
bi-encoder embeds one text per persona, since the store holds the vectors of the knowledge; a cross-encoder reads all
pairs in one pass. If one model does both steps, the second reuses its scores of pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from dragoman.core.errors import ConfigError
from dragoman.core.protocols import Encoder, Store, by_about, passage_vectors
from dragoman.core.registry import retrievers
from dragoman.core.values import Evidence, Passage, Query, Request, Source
from dragoman.models.calibration import Calibration, Logistic
from dragoman.models.onnx.scorer import Scorer
from dragoman.models.part import Part, open_part
from dragoman.retriever.search import QueryKind, search_text
from dragoman.retriever.trained import BI, CROSS
from dragoman.retriever.trained import HEAD as RELEVANCE

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray

KIND, HEAD = "retriever.joint", "persona"
Pairing: TypeAlias = Literal["all", "children"]
Asking: TypeAlias = Literal["both", "persona"]
"""Query of a pair: persona and question (P + D & K), or the persona alone (P & K)."""
BARE = -1
"""Persona index of the bare question."""
_UNTRAINED = Logistic(20.0, -8.0)
"""Calibration of cosines without a trained part: one half at 0.4."""


def pair_query(persona: str, question: str, asking: Asking = "both") -> str:
    """Return the query of a pair; the bare question if there is no persona."""
    return persona if persona and asking == "persona" else f"{persona} {question}".strip()


@dataclass(slots=True)
class JointTurn:
    """Working state of one request; `scores` holds those of pairs, by persona index and passage id.

    `own` tells whether this request retrieves the personas; otherwise an earlier step fixed them. `vectors` holds the
    encoded queries by persona index.
    """

    request: Request
    question: str
    personas: list[Passage]
    knowledge: list[Passage]
    own: bool = True
    asking: Asking = "both"
    scores: dict[tuple[int, str], float] = field(default_factory=dict)
    vectors: dict[int, Sequence[float]] = field(default_factory=dict)

    def partners(self, passage: Passage, pairing: Pairing) -> list[int]:
        """Return the indices of the personas that a passage is paired with; `BARE` if there is none."""
        places = range(len(self.personas))
        return [i for i in places if pairing == "all" or passage.parent in (None, self.personas[i].id)] or [BARE]

    def text(self, place: int) -> str:
        return pair_query(self.personas[place].text if place != BARE else "", self.question, self.asking)

    def best(self, pairing: Pairing) -> list[tuple[float, Passage]]:
        """Return the knowledge by its best pair, best first (Eq. 3)."""
        rows = [
            (max(self.scores[place, passage.id] for place in self.partners(passage, pairing)), passage)
            for passage in self.knowledge
        ]
        return sorted(rows, key=lambda row: -row[0])


class Scoring(Protocol):
    """Scorer of pairs; `calibration` maps a score to a probability."""

    @property
    def calibration(self) -> Calibration: ...

    def score(self, pairs: Sequence[tuple[JointTurn, int, Passage]]) -> Sequence[float]: ...


def complete_scores(scoring: Scoring, pairs: Sequence[tuple[JointTurn, int, Passage]]) -> list[float]:
    """Return the scores of pairs; missing ones are computed and stored in their turns."""
    missing = [(turn, place, row) for turn, place, row in pairs if (place, row.id) not in turn.scores]
    for (turn, place, row), score in zip(missing, scoring.score(missing), strict=True):
        turn.scores[place, row.id] = score
    return [turn.scores[place, row.id] for turn, place, row in pairs]


class ByVectors:
    """Bi-encoder scores: the cosine of the query and the passage vector in the store; each text is encoded once."""

    def __init__(self, store: Store, encoder: Encoder, part: Part | None, pool: int) -> None:
        self._store = store
        self._encoder = encoder
        head = None if part is None else part.head(RELEVANCE)
        self.calibration: Calibration = _UNTRAINED if head is None else head.calibrations[head.labels[0]]
        self._pool = pool

    def score(self, pairs: Sequence[tuple[JointTurn, int, Passage]]) -> Sequence[float]:
        self._read(pairs)
        queries: dict[tuple[int, int, str], Query] = {}
        for turn, place, passage in pairs:
            source = next(candidate for candidate in turn.request.sources if candidate.name == passage.source)
            key = id(turn), place, source.name
            if key not in queries:
                queries[key] = _query(turn.request, source, self._pool, turn.vectors[place])
        hits = self._store.nearest(list(queries.values()))
        scores = {(*key, hit.passage.id): hit.score for key, rows in zip(queries, hits, strict=True) for hit in rows}
        missing = [one for one in pairs if (id(one[0]), one[1], one[2].source, one[2].id) not in scores]
        scores |= self._directly(missing)
        return [scores[id(turn), place, row.source, row.id] for turn, place, row in pairs]

    def _directly(self, pairs: Sequence[tuple[JointTurn, int, Passage]]) -> dict[tuple[int, int, str, str], float]:
        """Return the cosines of pairs that the vector search did not return; each passage is encoded once."""
        passages = {(row.source, row.id): row for _, _, row in pairs}
        vectors: dict[tuple[str, str], FloatArray] = {}
        sources = {source.name: source for turn, _, _ in pairs for source in turn.request.sources}
        for about, rows in by_about(list(passages.values()), list(sources.values())).items():
            encoded = passage_vectors(self._encoder, [row.indexed for row in rows], about=about)
            vectors |= {(row.source, row.id): vector for row, vector in zip(rows, encoded, strict=True)}
        return {
            (id(turn), place, row.source, row.id): float(turn.vectors[place] @ vectors[row.source, row.id])
            for turn, place, row in pairs
        }

    def _read(self, pairs: Sequence[tuple[JointTurn, int, Passage]]) -> None:
        """Encode the queries without a vector, in one call."""
        missing = {(id(turn), place): turn for turn, place, _ in pairs if place not in turn.vectors}
        texts = list(dict.fromkeys(turn.text(place) for (_, place), turn in missing.items()))
        vectors = dict(zip(texts, self._encoder.encode(texts), strict=True)) if texts else {}
        for (_, place), turn in missing.items():
            turn.vectors[place] = vectors[turn.text(place)]


class ByReading:
    """Scores of a trained cross-encoder; each distinct pair is read once."""

    def __init__(self, part: Part, head: str) -> None:
        self._scorer = Scorer(part)
        self._head = head
        output = part.head(head)
        self.calibration: Calibration = output.calibrations.get(output.labels[0], Logistic())

    def score(self, pairs: Sequence[tuple[JointTurn, int, Passage]]) -> Sequence[float]:
        text_pairs = [(turn.text(place), passage.indexed) for turn, place, passage in pairs]
        once = list(dict.fromkeys(text_pairs))
        scores = self._scorer.scores(once, self._head)[:, 0].tolist() if once else []
        by_pair = dict(zip(once, scores, strict=True))
        return [by_pair[text_pair] for text_pair in text_pairs]


@retrievers.register("joint.v1")
class JointRetriever:
    """Retriever that scores pairs of personas (sources about user or bot) and knowledge (sources about the world).

    Inputs:
        part: the fine-tuned persona model (`retriever.joint`); without one, personas keep their score in the pair.
        knowledge: a cross-encoder for the pairs (`retriever.cross`), or the calibration of a bi-encoder that is the
            agent's encoder (`retriever.bi`); without one, the raw cosine of the agent's encoder.
        pairing: all pairs, or each knowledge passage only with the persona that is its parent.
        query, asking: the query text, and whether it includes the persona or is the persona alone (the paper's P & K,
            without a bare question and without a rank test). Default: as `part` was trained, else last turn and both.
        threshold: the least probability of a returned persona (0 returns all k).
        pool: the most rows of a source that are scored; of more rows, those nearest to the question.
    """

    def __init__(
        self,
        *,
        store: Store,
        encoder: Encoder,
        part: str | None = None,
        knowledge: str | None = None,
        query: QueryKind | None = None,
        pairing: Pairing = "all",
        asking: Asking | None = None,
        threshold: float = 0.0,
        pool: int = 32,
        folder: Path | None = None,
    ) -> None:
        if pool < 1:
            raise ConfigError(f"retriever.joint: pool = {pool}.", remedy="Give at least 1.")
        if query == "mix":
            raise ConfigError("retriever.joint asks with one text, not with a mix.", remedy='Use query = "last".')
        self._store = store
        self._encoder = encoder
        self._part = part
        self._knowledge = knowledge
        self._query: QueryKind = query or "last"
        self._pairing: Pairing = pairing
        self._asking: Asking = asking or "both"
        self._given = {name for name, value in (("query", query), ("asking", asking)) if value is not None}
        self._threshold = threshold
        self._pool = pool
        self._folder = folder
        self._lock = Lock()
        self._made: tuple[Scoring, Scoring] | None = None

    def warm_up(self) -> None:
        """Open the parts."""
        self._scoring()

    def retrieve(self, requests: Sequence[Request]) -> list[list[Evidence]]:
        pairs_by, personas_by = self._scoring()
        turns = [self._turn(request) for request in requests]
        pairs = [
            (turn, place, passage)
            for turn in turns
            for passage in turn.knowledge
            for place in turn.partners(passage, self._pairing)
        ]
        complete_scores(pairs_by, pairs)  # S_ij, Eq. 1 and 2
        personas = self._personas(turns, personas_by, known=personas_by is pairs_by)
        return [[*personas.get(i, ()), *self._knowledge_of(turn, pairs_by.calibration)] for i, turn in enumerate(turns)]

    def _turn(self, request: Request) -> JointTurn:
        question = search_text(request.context, self._query).text
        rows: dict[bool, list[Passage]] = {True: [], False: []}
        for source in request.sources:
            rows[source.about == "world"] += self._rows(request, source, question)
        own = any(source.about != "world" for source in request.sources)
        personas = rows[False] if own else [evidence.passage for evidence in request.given]
        return JointTurn(request, question, personas, rows[True], own, self._asking)

    def _rows(self, request: Request, source: Source, question: str) -> list[Passage]:
        scope = source.scope(request.context.scope)
        period = request.period_of(source)
        passages = (row for row in self._store.passages(scope, source.name) if row.is_within(*period))
        rows = [row for row in islice(passages, self._pool + len(request.without) + 1) if row.id not in request.without]
        if len(rows) <= self._pool:
            return rows
        vector = self._encoder.encode([question])[0]
        nearest = self._store.nearest([_query(request, source, self._pool, vector)])
        return [hit.passage for hit in nearest[0]]

    def _knowledge_of(self, turn: JointTurn, calibration: Calibration) -> list[Evidence]:
        return [
            Evidence(passage, calibration.probability(score), {"joint": score})
            for score, passage in turn.best(self._pairing)[: turn.request.k]
        ]

    def _personas(self, turns: Sequence[JointTurn], scoring: Scoring, *, known: bool) -> dict[int, list[Evidence]]:
        """Score every persona and the bare question with the selected knowledge (Eq. 4-7); returns evidence by turn.

        `known` tells that the same model scored the pairs, so that their scores are reused.
        """
        asking = {i: turn for i, turn in enumerate(turns) if turn.own and turn.personas}
        chosen = {i: ranked[0][1] for i, turn in asking.items() if (ranked := turn.best(self._pairing))}
        bare = (BARE,) if self._asking == "both" else ()
        pairs = [
            (turns[i], place, passage)
            for i, passage in chosen.items()
            for place in (*range(len(turns[i].personas)), *bare)
        ]
        scores = iter(complete_scores(scoring, pairs) if known else scoring.score(pairs))
        evidence: dict[int, list[Evidence]] = {}
        for i, turn in asking.items():
            if i in chosen:
                persona_scores = [next(scores) for _ in turn.personas]
                null_score = {"null": next(scores)} if bare else {}
            else:  # no knowledge to pair with
                persona_scores, null_score = self._alone(turn), {}
            probability = scoring.calibration.probability if i in chosen else _UNTRAINED.probability
            rows = sorted(zip(persona_scores, turn.personas, strict=True), key=lambda row: -row[0])[: turn.request.k]
            pieces = [Evidence(passage, probability(score), {"joint": score, **null_score}) for score, passage in rows]
            evidence[i] = [piece for piece in pieces if piece.relevance >= self._threshold]
        return evidence

    def _alone(self, turn: JointTurn) -> list[float]:
        vectors = self._encoder.encode([turn.question, *(persona.text for persona in turn.personas)])
        return [float(score) for score in vectors[1:] @ vectors[0]]

    def _scoring(self) -> tuple[Scoring, Scoring]:
        """Return the scorer of pairs and the scorer of personas with the knowledge fixed."""
        with self._lock:
            if self._made is None:
                part = None if self._knowledge is None else open_part(self._knowledge, folder=self._folder)
                if part is not None and part.kind not in (BI, CROSS):
                    raise ConfigError(
                        f"retriever.joint: knowledge = '{self._knowledge}' is a {part.kind}.",
                        remedy=f"Give a {BI} or a {CROSS}.",
                    )
                reads = part is not None and part.kind == CROSS
                pairs: Scoring
                if part is not None and reads:
                    pairs = ByReading(part, RELEVANCE)
                else:
                    pairs = ByVectors(self._store, self._encoder, part, self._pool)
                personas = pairs
                if self._part is not None:
                    trained = open_part(self._part, kind=KIND, folder=self._folder)
                    personas = ByReading(trained, HEAD)
                    self._ask_as(trained)
                self._made = pairs, personas
            return self._made

    def _ask_as(self, part: Part) -> None:
        """Take options that the caller left out from the persona model's training."""
        if "query" not in self._given:
            self._query = part.options.get("query", self._query)
        if "asking" not in self._given:
            self._asking = part.options.get("asking", self._asking)


def _query(request: Request, source: Source, k: int, vector: Sequence[float]) -> Query:
    """The store query for the rows of a source that are nearest to a vector."""
    since, until = request.period_of(source)
    scope = source.scope(request.context.scope)
    return Query(scope, source.name, k, vector=vector, without=request.without, since=since, until=until)
