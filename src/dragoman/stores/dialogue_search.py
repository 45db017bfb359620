"""Search in a user's past dialogues: turns by words and meaning, with their dates and speakers.

Turns are read from the store at each search and indexed in memory alone: what is deleted or blanked there is gone here,
and no second copy of a dialogue lies in any file.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dragoman.core.caches import keeps_texts
from dragoman.core.protocols import Encoder, Store
from dragoman.core.values import ASIDE, Evidence, Passage, Scope, SourceName, Speaker
from dragoman.stores.bm25 import Bm25, lucene_idf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dragoman.core.protocols import FloatArray

DIALOGUES: SourceName = "DIALOGUES"
Analyse: TypeAlias = Callable[[str], tuple[str, ...]]
_CANDIDATES = 64
"""How many turns are compared by meaning: the best by words, and the newest where words find fewer."""
_KEPT_USERS = 16
_KEPT_VECTORS = 4096
_LONGEST = 600
"""Characters of a turn that its vector is made of."""
_NEIGHBOUR = 0.3
"""The weight of the words of the turns around one: "Yes, two." answers the turn before it."""
_MEANING = 0.7
"""The weight of the meaning beside the words; chosen on 60 people of LAPS (`benchmarks/memory/memory_recall.py`)."""


@dataclass(frozen=True, slots=True)
class DialogueQuery:
    """A search: `since` and `until` are moments as text ("" for no bound), `speaker` whose turns are wanted.

    Turns whose texts are in `without` are no hits.
    """

    text: str
    k: int = 5
    since: str = ""
    until: str = ""
    speaker: Speaker | None = None
    without: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Indexed:
    """The turns of a user with their words; `digest` says of which state of the dialogues."""

    digest: int
    rows: tuple[Passage, ...]
    before: tuple[str, ...]
    words: tuple[frozenset[str], ...]
    bm25: Bm25


class DialogueSearch:
    """Finds turns of a user's dialogues."""

    def __init__(self, store: Store, encoder: Encoder, analyse: Analyse, *, source: SourceName = DIALOGUES) -> None:
        self._store, self._encoder, self._analyse, self._source = store, encoder, analyse, source
        self._users: OrderedDict[Scope, _Indexed] = OrderedDict()
        self._vectors: OrderedDict[str, FloatArray] = OrderedDict()
        self._lock = Lock()
        keeps_texts(self)

    def clear_cache(self) -> None:
        """Drop the words and vectors of turns."""
        with self._lock:
            self._users.clear()
            self._vectors.clear()

    def turns(self, scope: Scope) -> Iterator[Passage]:
        """Every turn of a user's dialogues that has a text, dialogue by dialogue."""
        for dialogue in self._store.dialogues(scope):
            if dialogue.startswith(ASIDE):
                continue
            for place, turn in enumerate(self._store.dialogue(scope, dialogue)):
                if turn.text:
                    meta = {"dialogue": dialogue, "speaker": turn.speaker}
                    meta |= {"said_at": turn.said_at, "date": turn.said_at[:10]} if turn.said_at else {}
                    yield Passage(f"turn:{dialogue}:{place}", self._source, turn.text, position=place, meta=meta)

    def search(self, scope: Scope, query: DialogueQuery) -> list[Evidence]:
        """The best turns, best first, each with the share of the query's words in it as the score `covers`."""
        indexed = self._index(scope)
        allowed = [i for i, row in enumerate(indexed.rows) if _allows(query, row)]
        tokens = self._analyse(query.text)
        if not allowed or not query.text.strip():
            return []
        own = indexed.bm25.scores(tokens)
        lexical = own + _NEIGHBOUR * _around(own, indexed.rows)
        order = sorted(allowed, key=lambda i: (-lexical[i], -i))[:_CANDIDATES]
        vectors = self._encoded([query.text, *(_context(indexed, i) for i in order)])
        cosines = np.clip(vectors[1:] @ vectors[0], 0.0, 1.0)
        most = max(float(lexical[order[0]]), 1e-9)
        hits = []
        for i, cosine in zip(order, cosines, strict=True):
            covers = _covered(tokens, indexed.words[i], indexed.bm25)
            words = max(covers, float(lexical[i]) / most * min(1.0, covers + _NEIGHBOUR))
            score = (1 - _MEANING) * words + _MEANING * float(cosine)
            scores = {"covers": covers, "cosine": float(cosine), "bm25": float(lexical[i])}
            hits.append(Evidence(indexed.rows[i], min(1.0, score), scores))
        hits.sort(key=lambda hit: -hit.relevance)
        return hits[: query.k]

    def _index(self, scope: Scope) -> _Indexed:
        rows = tuple(self.turns(scope))
        digest = hash(tuple((row.id, row.text) for row in rows))
        with self._lock:
            cached = self._users.get(scope)
        if cached is not None and cached.digest == digest:
            return cached
        tokens = [self._analyse(row.text) for row in rows]
        before = tuple(
            rows[i - 1].text if i and rows[i - 1].meta["dialogue"] == row.meta["dialogue"] else ""
            for i, row in enumerate(rows)
        )
        indexed = _Indexed(digest, rows, before, tuple(map(frozenset, tokens)), Bm25(tokens))
        with self._lock:
            self._users[scope] = indexed
            self._users.move_to_end(scope)
            while len(self._users) > _KEPT_USERS:
                self._users.popitem(last=False)
        return indexed

    def _encoded(self, texts: Sequence[str]) -> FloatArray:
        with self._lock:
            missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        fresh = dict(zip(missing, self._encoder.encode(missing), strict=True)) if missing else {}
        with self._lock:
            self._vectors.update(fresh)
            rows = [fresh[text] if text in fresh else self._vectors[text] for text in texts]
            while len(self._vectors) > _KEPT_VECTORS:
                self._vectors.popitem(last=False)
        return np.stack(rows)


def _allows(query: DialogueQuery, row: Passage) -> bool:
    said_at = row.meta.get("said_at", "")
    if (query.since or query.until) and not said_at:
        return False
    if said_at < query.since or (query.until and said_at >= query.until):
        return False
    return row.text not in query.without and query.speaker in (None, row.meta["speaker"])


def _around(own: NDArray[np.float64], rows: Sequence[Passage]) -> NDArray[np.float64]:
    """For each turn, the higher score of its two neighbours in the dialogue."""
    if not len(own):
        return own
    same = np.array([a.meta["dialogue"] == b.meta["dialogue"] for a, b in pairwise(rows)], dtype=bool)
    before, after = np.zeros_like(own), np.zeros_like(own)
    before[1:], after[:-1] = np.where(same, own[:-1], 0.0), np.where(same, own[1:], 0.0)
    return np.maximum(before, after)


def _context(indexed: _Indexed, i: int) -> str:
    """The text whose meaning is compared: a turn after the end of the one before it."""
    before = indexed.before[i]
    text = indexed.rows[i].text[:_LONGEST]
    return f"{before[-160:]}\n{text}" if before and len(text) < _LONGEST // 4 else text


def _covered(tokens: Sequence[str], words: frozenset[str], bm25: Bm25) -> float:
    """The share of the query's words that a turn has, rare words counting more."""
    weights = {token: lucene_idf(len(bm25), bm25.containing(token)) for token in set(tokens)}
    total = sum(weights.values())
    return sum(weight for token, weight in weights.items() if token in words) / total if total else 0.0
