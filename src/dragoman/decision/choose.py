"""Choose the sentence of the evidence that answers best: by shared words, by meaning, and by the form of the answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from dragoman.core.protocols import Encoder
from dragoman.core.values import Context, Evidence
from dragoman.decision.chinese import words as chinese_words
from dragoman.decision.chinese.gloss import gloss, gloss_lines
from dragoman.decision.tables.cells import read_row
from dragoman.decision.tables.rows import flag
from dragoman.text import lazy_re as re
from dragoman.text.language import language
from dragoman.text.patterns import groups
from dragoman.text.query import standalone
from dragoman.text.question_kind import offers, question_kind, wants
from dragoman.text.sentences import sentences

Analyse: TypeAlias = Callable[[str], tuple[str, ...]]
Unit: TypeAlias = tuple[Evidence, str]
_PARTICULAR = re.compile(
    r"\d[\d.:]*|(?<![.!?] )(?<!^)\b(?!I\b|I')[A-Z][\w'-]+|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    r"|\b(?:january|february|march|april|june|july|august|september|october|november|december)\b"
    r"|\b(?:winter|summer|spring|autumn|weekend|weekends|christmas|easter)\b",
)
POINTS_BACK = re.compile(r"\b(?:see|use|eat|take|visit|do|join|enter|drink|ride|climb|book|buy) (?:it|this|them)\b")
"""Speaks of what the sentence before names: "People with asthma should not visit it."."""
WEIGHTS = {
    "matter": 0.75,
    "setting": 0.25,
    "topic": 0.25,
    "details": 0.2,
    "kind": 0.3,
    "relevance": 0.15,
    "length": -0.1,
    "stays": 0.15,
    "row": -0.2,
}
"""What makes a sentence the one to quote: set by hand, by how many of the conversations of `benchmarks/agents` pass."""

ANSWERS = {"bias": -4.31, "closest": 3.36, "within": 2.83, "topic": 1.15}
"""Log-odds that the best sentence answers at all, printed by `benchmarks/replies/answers.py`."""
ANSWERS_CHINESE = {"bias": -2.6, "closest": 4.0, "topic": 1.5}
"""The same for Chinese, by words alone, since the default encoder reads English; set by hand."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of a passage, how well it answers beside the others, and the probability that it answers."""

    text: str
    evidence: Evidence
    score: float
    probability: float
    features: Mapping[str, float]


_ELLIPTICAL = 6
"""Up to how many words a sentence under a question may lack what the question names."""


def rank(
    context: Context,
    evidence: Sequence[Evidence],
    *,
    encoder: Encoder,
    analyse: Analyse,
    known: str = "",
) -> list[Quote]:
    """Rank all sentences of the evidence; `known` are the user's statements that the question is based on."""
    units = [(piece, sentence) for piece in evidence for sentence in sentences(piece.text)]
    if not units:
        return []
    query = standalone(context)
    asked = f"{known} {query.text}".strip()
    placed = [
        f"{_path(piece)}\n{before}{sentence}" for (piece, sentence), before in zip(units, _leans(units), strict=True)
    ]
    likeness = _in_chinese if language(query.turn) == "zh" else _in_meaning
    read = [(piece, _whole(piece, sentence)) for piece, sentence in units]
    near = likeness(encoder, (asked, query.turn, " ".join(context.last.split())), read, placed)
    words = [frozenset(analyse(text)) for text in placed]
    topic = _shares(frozenset(analyse(asked)), words, _alternatives(analyse))
    details = _details(f"{known} {context.last}", analyse)
    kinds = wants(query.turn)
    polar = language(query.turn) != "zh" and question_kind(query.turn) == "polar"
    model = ANSWERS_CHINESE if likeness is _in_chinese else ANSWERS
    quotes = []
    for i, (piece, sentence) in enumerate(units):
        features = {
            **near[i],
            "topic": topic[i],
            "details": len(details & words[i]) / len(details) if details else 0.5,
            "kind": 0.5 if not kinds else float(bool(kinds & offers(sentence))),
            "relevance": piece.relevance,
            "length": min(2.0, len(sentence) / 100),
            "row": float(polar and _is_plain_row(sentence)),
            "stays": float(query.is_follow_up and _was_quoted(piece, context)),
        }
        score = sum(weight * features[name] for name, weight in WEIGHTS.items())
        quotes.append(Quote(sentence, piece, score, _probability(features, model), features))
    return sorted(quotes, key=lambda quote: -quote.score)


def _is_plain_row(sentence: str) -> bool:
    """Whether a sentence is a table row without yes or no, which neither permits nor forbids."""
    row = read_row(sentence)
    return row is not None and all(flag(value) is None for _, value in row.cells)


def _whole(piece: Evidence, sentence: str) -> str:
    """Prepend the question above a sentence that only answers it: "From 7 on."."""
    heading = piece.passage.headings[-1] if piece.passage.headings else ""
    return f"{heading} {sentence}" if heading.endswith("?") and len(sentence.split()) <= _ELLIPTICAL else sentence


def _leans(units: Sequence[Unit]) -> list[str]:
    """For each sentence, return the one before if it is needed to understand it: "They should not see it."."""
    before: list[str] = []
    for i, (piece, sentence) in enumerate(units):
        previous = units[i - 1] if i else None
        leans = previous is not None and previous[0].id == piece.id and POINTS_BACK.search(sentence) is not None
        before.append(f"{previous[1]} " if leans and previous is not None else "")
    return before


def _in_meaning(
    encoder: Encoder, asked: tuple[str, str, str], units: Sequence[Unit], placed: Sequence[str]
) -> list[dict[str, float]]:
    """By the encoder. matter: the bare sentence to what this turn asks; setting: the sentence under its headings to
    the whole question; closest and within: the same two, by whichever reading of the question is nearest."""
    vectors = encoder.encode([*asked, *placed, *(sentence for _, sentence in units)])
    under, bare = vectors[3 : 3 + len(units)] @ vectors[:3].T, vectors[3 + len(units) :] @ vectors[:3].T
    return [
        {
            "matter": float(bare[i, 1:].max()),
            "setting": float(under[i, 0]),
            "closest": float(bare[i].max()),
            "within": float(under[i, :2].max()),
        }
        for i in range(len(units))
    ]


def _in_chinese(
    encoder: Encoder, asked: tuple[str, str, str], units: Sequence[Unit], placed: Sequence[str]
) -> list[dict[str, float]]:
    """By words and by the meaning of glosses, since the default encoder reads English: the share of the question's
    characters, pairs and matters, by rarity among the texts, of the turn in the sentence and of the whole question in
    the sentence under its headings; and how near their glosses are."""
    texts = [sentence for _, sentence in units]
    bare = chinese_words.shares(asked[1], texts)
    last = chinese_words.asking_clause(asked[1])
    if last:  # "我弟门牙撞掉了，能种一颗吗？": the event is not the question
        bare = [max(each) for each in zip(bare, chinese_words.shares(last, texts), strict=True)]
    under = chinese_words.shares(asked[0], placed)
    nearness, within = _gloss_cosines(encoder, (last or asked[1], asked[0]), texts, placed)
    return [
        {
            **dict.fromkeys(("closest", "within"), 0.6 * alone + 0.4 * inside),
            **dict.fromkeys(("matter", "setting"), 0.48 * alone + 0.32 * inside + 0.3 * nearness[i] + 0.2 * within[i]),
        }
        for i, (alone, inside) in enumerate(zip(bare, under, strict=True))
    ]


def _gloss_cosines(
    encoder: Encoder, asked: tuple[str, str], texts: Sequence[str], placed: Sequence[str]
) -> tuple[list[float], list[float]]:
    """Cosines of sentences' glosses to that of the turn, and under their headings to that of the whole question."""
    vectors = encoder.encode([*map(gloss, asked), *map(gloss_lines, texts), *map(gloss_lines, placed)])
    units = vectors[2:]
    near, under = units[: len(texts)] @ vectors[0], units[len(texts) :] @ vectors[1]
    return near.tolist(), under.tolist()


def _probability(features: Mapping[str, float], model: Mapping[str, float]) -> float:
    odds = sum(weight * features.get(name, 1.0) for name, weight in model.items())  # the bias has no feature
    return 1.0 / (1.0 + math.exp(-odds))


def _was_quoted(piece: Evidence, context: Context) -> bool:
    """Whether the last reply quoted the same place, where a follow-up mostly stays."""
    place = piece.passage.headings[-1] if piece.passage.headings else piece.passage.title
    return bool(place) and bool(context.history) and place in context.history[-1].text


def _path(piece: Evidence) -> str:
    """Return the title and headings of a passage; empty for a remembered fact, whose headings would mislead."""
    if piece.passage.meta.get("slot") and language(piece.text) == "zh":
        return ""
    return " ".join((piece.passage.title, *piece.passage.headings))


def _details(question: str, analyse: Analyse) -> frozenset[str]:
    """Return the names, numbers, days and months of a question, which its answer should contain."""
    return frozenset(token for word in _PARTICULAR.findall(question) for token in analyse(word))


@cache
def _alternatives(analyse: Analyse) -> Mapping[str, frozenset[str]]:
    """For each word that has synonyms, its tokens and theirs."""
    alternatives: dict[str, frozenset[str]] = {}
    for group in groups("synonyms"):
        tokens = frozenset(token for word in group.split() for token in analyse(word))
        alternatives.update(dict.fromkeys(tokens, tokens))
    return alternatives


def _shares(
    asked: frozenset[str],
    units: Sequence[frozenset[str]],
    alternatives: Mapping[str, frozenset[str]],
) -> list[float]:
    """Return each unit's share of the asked words, weighted by their rarity among the units."""
    count = len(units)
    words = sorted(asked)  # a set's order differs between processes, and sums are rounded by order
    synonyms = {word: alternatives.get(word, frozenset((word,))) for word in words}
    holding = {word: [not synonyms[word].isdisjoint(unit) for unit in units] for word in words}
    weight = {word: math.log(1.0 + (count - sum(held) + 0.5) / (sum(held) + 0.5)) for word, held in holding.items()}
    total = sum(weight.values())
    return [sum(weight[word] for word in words if holding[word][i]) / total if total else 0.0 for i in range(count)]
