"""Find the facts of a user that match a query best, by meaning, words, kind of fact, and likes against dislikes.

A sentence encoder hardly tells "I like mushrooms" from "I don't like mushrooms", and does not see that "With whom do I
watch films?" asks for people. So the query is encoded with words for what it asks for, and a fact of the opposite
attitude is ranked lower. Among equally good facts, recent ones come first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from dragoman.core.clock import moment_of, now
from dragoman.core.protocols import Encoder, Store
from dragoman.core.values import Hit, Passage, Query, Scope, SourceName
from dragoman.decision.chinese.gloss import gloss
from dragoman.memory.linear import dot, reads_english
from dragoman.text import lazy_re as re
from dragoman.text.language import language

_WORDS = 0.1
"""How much the best match by words adds to a cosine (`benchmarks/memory/memory_recall.py`)."""
_OPPOSITE = 0.15
"""By how much a like is set back for who asks for dislikes, and the other way round."""
_TOLD = 0.4
"""How much the words of the sentence that told a fact add, where they are all of a query's."""
_RECENT = 0.1
"""How much a fact gains that was told just now; half of it after a week, a quarter after two."""
_HALF_LIFE = 7.0
_LEAST = 20
"""How many facts each of the two searches proposes at least."""
_GLOSSED = 60
"""The same for a Chinese query, whose vector says little."""
_KINDS = (
    (
        r"\bwhom\b|\bwho\b.{0,40}\b(?:with|for|me|my|i)\b",
        "people, companions: alone, family, friends, partner, children",
    ),
    (r"\bhow (?:well|good|bad|experienced|skilled|fluent)\b", "skill level, experience: beginner, good, advanced"),
    (r"\bhow (?:much time|long|many (?:minutes|hours))\b", "time available: minutes, hours"),
    (r"\b(?:which|what) (?:years?|decades?|periods?|eras?|age)\b", "period: years, decades, old, new, recent, classic"),
    (r"\b(?:must|may|should|can)(?: not|n['’]t)\b|\bnot allowed\b", "restrictions: no, none, nothing with, avoid"),
    (r"\b(?:at home|at hand|in my (?:kitchen|fridge|pantry|cupboard|house))\b", "available, at hand, I have"),
    (r"\bhow (?:do|did|am|was) i feel|\b(?:mood|feeling)\b", "mood, feeling: happy, sad, tired, relaxed"),
)
"""What questions ask for, and the words in which facts of that kind are told."""
_KIND_PATTERNS = tuple((re.compile(pattern, re.IGNORECASE), words) for pattern, words in _KINDS)
_LIKING = re.compile(
    r"\b(?:i|we)\b(?: [\w'’]{1,12}){0,2} (?:like|love|prefer|enjoy|dislike|hate|avoid|stand)\b"
    r"|\bmy (?:\w{1,12} )?favou?rites?\b"
    r"|我.{0,6}(?:喜欢|爱|讨厌|反感)",
    re.IGNORECASE,
)
"""Asks what the user likes or dislikes."""
_NEGATIVE = re.compile(
    r"\b(?:dislikes?|disliked|hates?|hated|avoids?|avoided|detest|cannot stand|can['’]t stand|no longer|never"
    r"|not (?:like|enjoy|fond)"
    r"|(?:do|does|did|would)(?: not|n['’]t))\b|不喜欢|不爱|不吃|不喝|讨厌|反感|忌口",
    re.IGNORECASE,
)


def best_facts(
    store: Store,
    query: str,
    *,
    encoder: Encoder,
    analyse: Callable[[str], tuple[str, ...]],
    scope: Scope,
    source: SourceName,
    k: int,
    since: str = "",
    until: str = "",
) -> tuple[Passage, ...]:
    """Return the k best facts, best first; with `since` and `until`, only those stated in between."""
    named: dict[str, Any] = {"encoder": encoder, "analyse": analyse, "scope": scope, "source": source}
    return tuple(hit.passage for hit in best_hits(store, query, k=k, since=since, until=until, **named))


def best_hits(
    store: Store,
    query: str,
    *,
    encoder: Encoder,
    analyse: Callable[[str], tuple[str, ...]],
    scope: Scope,
    source: SourceName,
    k: int,
    since: str = "",
    until: str = "",
) -> tuple[Hit, ...]:
    """Like `best_facts`, with scores."""
    vector = query_vector(query, encoder)
    by_gloss = language(query) == "zh" and reads_english(encoder)
    most = max(k, _GLOSSED if by_gloss else _LEAST)
    near = store.nearest([Query(scope, source, most, vector=vector, since=since, until=until)])[0]
    lexical = store.lexical([Query(scope, source, most, tokens=analyse(query), since=since, until=until)])[0]
    if by_gloss:
        near = _by_gloss(query, [hit.passage for hit in (*near, *lexical)], encoder)
    return tuple(_ranked(query, _with_told(frozenset(analyse(query)), near, analyse), lexical)[:k])


def _by_gloss(query: str, rows: Sequence[Passage], encoder: Encoder) -> list[Hit]:
    """Score facts for a Chinese query by English glosses of both, since the encoder does not know Chinese."""
    by_id = {row.id: row for row in rows}
    asked, *told = encoder.encode([gloss(query), *(gloss(row.text) for row in by_id.values())])
    return [Hit(row, dot(asked, vector)) for row, vector in zip(by_id.values(), told, strict=True)]


def kinds_of(query: str) -> str:
    """Return words for the kind of facts that a query asks for; empty if it does not say."""
    return "; ".join(words for pattern, words in _KIND_PATTERNS if pattern.search(query))


def query_vector(query: str, encoder: Encoder) -> list[float]:
    """Return the search vector: the query's, averaged with that of the kind of facts it asks for, if it says which."""
    kinds = kinds_of(query)
    if not kinds:
        return [float(x) for x in encoder.encode([query])[0]]
    asked, kind = encoder.encode([f"{query} ({kinds})", kinds])
    both = [float(x) + float(y) for x, y in zip(asked, kind, strict=True)]
    length = math.sqrt(sum(x * x for x in both)) or 1.0
    return [x / length for x in both]


def _with_told(asked: frozenset[str], near: Sequence[Hit], analyse: Callable[[str], tuple[str, ...]]) -> list[Hit]:
    """Raise hits whose source sentences contain words of the query, for rare words more than for common ones."""
    told = [asked.intersection(analyse(hit.passage.meta.get("said", ""))) for hit in near]
    weights = {word: math.log(1 + len(near) / max(1, sum(word in words for words in told))) for word in asked}
    whole = sum(weights.values()) or 1.0
    return [
        replace(hit, score=hit.score + _TOLD * sum(weights[word] for word in words) / whole)
        for hit, words in zip(near, told, strict=True)
    ]


def _ranked(query: str, near: Sequence[Hit], lexical: Sequence[Hit]) -> list[Hit]:
    highest = max((hit.score for hit in lexical), default=0.0) or 1.0
    scores = {hit.passage.id: hit.score for hit in near}
    passages = {hit.passage.id: hit.passage for hit in (*near, *lexical)}
    for hit in lexical:
        scores[hit.passage.id] = scores.get(hit.passage.id, 0.0) + _WORDS * hit.score / highest
    if _LIKING.search(query):
        leaning = bool(_NEGATIVE.search(query))
        for passage in passages.values():
            if bool(_NEGATIVE.search(passage.text)) != leaning:
                scores[passage.id] -= _OPPOSITE
    at = now()
    for passage in passages.values():
        scores[passage.id] += _recency(passage, at)
    return sorted((Hit(row, scores[row.id]) for row in passages.values()), key=lambda hit: -hit.score)


def _recency(passage: Passage, at: datetime) -> float:
    told = moment_of(passage.meta.get("said_at", ""))
    if told is None:
        return 0.0
    days = max(0.0, (at - told).total_seconds() / 86_400)
    return float(_RECENT * 0.5 ** (days / _HALF_LIFE))
