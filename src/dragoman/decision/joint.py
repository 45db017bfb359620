"""Score facts and sentences jointly: which sentence answers a question, and which fact about the user matters to it.

PK-ICR ranks persona and knowledge together; this is its grid at the level of sentences. Every sentence of the candidate
passages is scored for the question alone and together with each fact about the user, by similarity and by what code
decides; `decision.judge` reads the best of them by a trained pair scorer.
"""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from dragoman.core.caches import keeps_texts
from dragoman.core.clock import moment_of
from dragoman.core.protocols import Encoder
from dragoman.core.values import Context, Evidence
from dragoman.decision import hazards
from dragoman.decision.cases.by_code import RuleSentence, by_code, by_waiting_time
from dragoman.decision.cases.exceptions import takes_back
from dragoman.decision.chinese.gloss import gloss_lines
from dragoman.decision.chinese.words import tokens
from dragoman.decision.choose import Analyse, Quote, rank
from dragoman.decision.facts import situation
from dragoman.decision.groups import CALENDAR, GENERAL, roots
from dragoman.decision.relations import Value, with_relations
from dragoman.decision.tables.cells import read_row, row_for
from dragoman.decision.values import Decision
from dragoman.text.language import language
from dragoman.text.query import SearchText, standalone
from dragoman.text.question_kind import question_kind
from dragoman.text.sentences import sentences

if TYPE_CHECKING:
    from dragoman.models.joint import JointScorer

MOST_FACTS = 20
"""Facts that are scored with every sentence; of more, those nearest to the question and its passages."""
_PAIR_TOKENS = 128
_REMEMBERED = 4096
GAINS = {"added": 0.5, "near": 0.2, "shared": 0.15, "decided": 0.35}
"""What a fact adds to the score of a sentence: by what it adds to the question's similarity, by its own similarity, by
each of the first two words that it shares with the sentence and not with the question, and where code decides the
sentence by it. Chosen on 244 questions of eleven agents with known answers; the scores of a trained pair scorer,
added to these, chose no better."""
BEARS = {"bias": -3.3, "added": 8.0, "near": 2.0, "shared": 2.4, "named": 2.6, "decided": 5.0}
"""Log-odds that a fact bears on a sentence, by the same features; set by hand."""
GAINS_CHINESE = {"added": 0.75, "meant": 0.8, "alike": 0.3, "decided": 0.35}
BEARS_CHINESE = {"bias": -2.6, "added": 14.0, "near": 3.0, "meant": 8.0, "alike": 2.0, "decided": 4.0, "excluded": 4.0}
"""The same for Chinese: `added` and `near` are shares of characters, `meant` and `alike` what
a gloss of the fact adds and how near it is."""
_MOST_SHARED = 2
SAID_FROM = 0.7
"""From which probability on that it bears a fact is said to the user as a reason."""
FURTHEST = 0.6
"""How far a sentence may stand below the best by the question alone for a fact that it names to matter."""
_ENDED = re.compile(r"\bno longer\b|\bany ?more\b|\bnot an?\b", re.IGNORECASE)
"""Says that the user does not belong to a group, whose rules are therefore none of theirs."""
_NO_FOOD = re.compile(r"(?:and |but |so )?(?:when|where|who|why|how|what time)\b", re.IGNORECASE)
_DECIDED = 10
"""How many of the best sentences code looks at, beside all of the two best passages."""


@dataclass(frozen=True, slots=True)
class PairScore:
    """Probabilities that a scorer gives for a question, a fact (or none) and a sentence.

    `verdict` holds the probabilities of yes, no, unknown and none; it is empty where a scorer does not decide.
    """

    answers: float
    bears: float = 0.0
    verdict: Mapping[str, float] = field(default_factory=dict)


@cache
def trained_scorer(part: str) -> PairScorer:
    """The scorer of a trained part, loaded when first asked; one for all who name the same part."""
    return _TrainedScorer(part)


class PairScorer(Protocol):
    """Scores (fact, sentence) pairs of one question in one pass; the fact is "" for the question alone."""

    def score(self, question: str, pairs: Sequence[tuple[str, str]]) -> Sequence[PairScore]: ...


class _TrainedScorer:
    """A trained part as a pair scorer; remembers its scores, since retriever and reader of a turn ask for the same."""

    def __init__(self, part: str) -> None:
        self._part = part
        self._opening = Lock()
        self._scorer: JointScorer | None = None
        self._scores: OrderedDict[tuple[str, str, str], PairScore] = OrderedDict()
        self._lock = Lock()
        keeps_texts(self)

    def clear_cache(self) -> None:
        """Drop the scores of earlier turns."""
        with self._lock:
            self._scores.clear()

    def score(self, question: str, pairs: Sequence[tuple[str, str]]) -> list[PairScore]:
        keys = [(question, fact, text) for fact, text in pairs]
        with self._lock:
            scores = {key: self._scores[key] for key in keys if key in self._scores}
        missing = [key for key in dict.fromkeys(keys) if key not in scores]
        if missing:
            scores.update(zip(missing, self._read(question, [key[1:] for key in missing]), strict=True))
            with self._lock:
                self._scores.update(scores)
                while len(self._scores) > _REMEMBERED:
                    self._scores.popitem(last=False)
        return [scores[key] for key in keys]

    def warm_up(self) -> None:
        """Load the weights."""
        self._opened().warm_up()

    def _opened(self) -> JointScorer:
        from dragoman.models.joint import JointScorer

        with self._opening:
            if self._scorer is None:
                self._scorer = JointScorer(self._part, max_tokens=_PAIR_TOKENS)
            return self._scorer

    def _read(self, question: str, pairs: Sequence[tuple[str, str]]) -> list[PairScore]:
        return [
            PairScore(
                score.answers,
                score.bears,
                {"yes": score.yes, "no": score.no, "unknown": score.unknown, "none": score.none},
            )
            for score in self._opened().score(question, pairs)
        ]


@dataclass(frozen=True, slots=True)
class Option:
    """A sentence that may answer, with the fact relevant to it, if any; `following` is the sentence after it."""

    sentence: str
    following: str
    evidence: Evidence
    fact: Evidence | None
    score: float
    probability: float
    bears: float
    decision: Decision | None = None
    """What code decides of the rule by the user's facts; None where it was not asked."""
    quote: Quote | None = None
    shares: bool = False
    """Whether sentence and fact share a telling word that the question lacks."""

    @property
    def own(self) -> float:
        """Return how well the sentence answers without any fact."""
        return self.score if self.quote is None else self.quote.score

    @property
    def is_decided(self) -> bool:
        """Whether code decides the rule by this very fact."""
        decision = self.decision
        return (
            decision is not None
            and self.fact is not None
            and decision.fact == self.fact.text
            and decision.verdict in ("yes", "no")
        )


class JointRanker:
    """Ranks the sentences of passages for a question and the facts about its user.

    With `by_code`, code decides rules whose conditions it can compare with a fact, since such a fact is relevant
    however little they resemble each other.
    """

    def __init__(
        self,
        *,
        encoder: Encoder,
        analyse: Analyse,
        by_code: bool = True,
    ) -> None:
        self._encoder = encoder
        self._analyse = analyse
        self._by_code = by_code

    def rank(
        self,
        context: Context,
        facts: Sequence[Evidence],
        passages: Sequence[Evidence],
        *,
        quick: bool = False,
    ) -> list[Option]:
        """Return the options, best first: each sentence alone, and with its most relevant fact.

        With `quick`, code decides nothing.
        """
        quotes = rank(context, passages, encoder=self._encoder, analyse=self._analyse)
        if not quotes:
            return []
        question = standalone(context)
        following = _following(passages)
        alone = [
            Option(
                quote.text,
                following.get((quote.evidence.id, quote.text), ""),
                quote.evidence,
                None,
                quote.score,
                quote.probability,
                0.0,
                quote=quote,
            )
            for quote in quotes
        ]
        if self._by_code and not quick:
            moment = moment_of(context.said_at) if context.said_at else None
            today = moment.date() if moment is not None else None
            alone = self._decided(self._to_decide(question), facts, alone, context.last, today)
        joined = self._joined(question.turn, facts, alone) if facts else []
        return sorted([*alone, *joined], key=lambda option: -option.score)

    def similar(self, question: str, texts: Sequence[str]) -> list[float]:
        """How similar texts are to a question."""
        first, *others = self._encoder.encode([question, *texts])
        return [float(first @ vector) for vector in others]

    def _to_decide(self, question: SearchText) -> tuple[str, ...]:
        """The questions that code decides, in order, until one is decided.

        A follow-up with new words may have left the earlier topic, so the turn alone is tried too. In Chinese a turn
        that asks counts alone, since earlier words may mislead.
        """
        if language(question.turn) == "zh":
            return (question.turn if question_kind(question.turn) != "open" else question.text,)
        own = question.is_follow_up and roots(self._analyse(question.turn)) - GENERAL
        return (question.text, question.turn) if own else (question.text,)

    def _decided(
        self,
        questions: Sequence[str],
        facts: Sequence[Evidence],
        alone: Sequence[Option],
        turn: str,
        today: date | None = None,
    ) -> list[Option]:
        """Add the decisions by code to the best sentences and to all sentences of the best passages."""
        question = questions[0]
        texts = [fact.text for fact in sorted(facts, key=lambda fact: fact.passage.position)]  # oldest first
        best = {option.evidence.id for option in alone[: len(alone) if language(question) == "zh" else 2]}
        options = []
        for place, option in enumerate(alone):
            if place >= _DECIDED and option.evidence.id not in best:
                time = None
                if language(question) != "zh":
                    time = by_waiting_time(question, texts, _rule(option), self._analyse, today)
                options.append(option if time is None else replace(option, decision=time))
                continue
            decision = by_code(question, texts, _rule(option), self._analyse, today)
            for other in questions[1:]:
                if decision.verdict == "none":
                    decision = by_code(other, texts, _rule(option), self._analyse, today)
            options.append(replace(option, decision=decision))
        return options if language(question) == "zh" else self._rows((turn, question), texts, options)

    def _rows(self, questions: Sequence[str], facts: Sequence[str], options: list[Option]) -> list[Option]:
        """Add to the only table row that applies to the user the decision by which it applies."""
        if question_kind(questions[0]) == "polar":
            return options  # the user's row does not say what is allowed
        tables: dict[str, list[str]] = {}
        for option in options:
            if option.decision is not None and read_row(option.sentence) is not None:
                tables.setdefault(option.evidence.id, []).append(option.sentence)
        for passage, rows in tables.items():
            own = None
            for question in questions if facts and len(rows) > 1 else ():
                own = own or row_for(rows, facts, question, self._analyse)
            if own is not None:
                options = [
                    replace(option, decision=own[1])
                    if option.evidence.id == passage and option.sentence == own[0]
                    else option
                    for option in options
                ]
        return options

    def _joined(self, question: str, facts: Sequence[Evidence], alone: Sequence[Option]) -> list[Option]:
        """Return each sentence with the fact that adds most to its score."""
        facts = self._nearest(question, facts, alone)
        chinese = language(question) == "zh"
        added, near = self._similarities(question, facts, alone)
        if chinese:
            of_facts, held = self._shared_characters(question, facts, alone)
            meant = [[max(0.0, gain) for gain in row] for row in added]
        gains, odds_of = (GAINS_CHINESE, BEARS_CHINESE) if chinese else (GAINS, BEARS)
        asked = roots(self._analyse(question))
        unspecific = asked | GENERAL | CALENDAR
        specific = [roots(self._analyse(fact.text)) & asked - GENERAL - CALENDAR for fact in facts]
        own = [
            frozenset() if _ENDED.search(fact.text) else roots(self._analyse(fact.text)) - unspecific for fact in facts
        ]
        words = [roots(self._analyse(option.sentence)) for option in alone]
        harmful = self._hazards(question, facts, alone)
        options = []
        for j, option in enumerate(alone):
            best: tuple[float, float, int] | None = None
            for i, fact in enumerate(facts):
                by_it = option.decision is not None and option.decision.fact == fact.text
                excluded = option.decision is not None and option.decision.verdict == "none"
                features = {
                    "added": of_facts[i][j] if chinese else added[i][j],
                    "near": held[i][j] if chinese else near[i][j],
                    "meant": meant[i][j] if chinese else 0.0,
                    "alike": near[i][j],
                    "shared": float(min(_MOST_SHARED, len(own[i] & words[j]))),
                    "named": float(bool(specific[i] & words[j])),  # the question speaks of the fact itself
                    "decided": float((by_it and not (chinese and excluded)) or (i, j) in harmful),
                    "excluded": float(by_it and excluded),  # the fact shows that the rule is for others
                }
                gain = sum(weight * features[name] for name, weight in gains.items())
                bears = _probability(sum(weight * features.get(name, 1.0) for name, weight in odds_of.items()))
                if best is None or gain > best[0]:
                    best = (gain, bears, i)
            if best is not None:
                gain, bears, i = best
                odds = math.log(max(option.probability, 1e-6) / max(1.0 - option.probability, 1e-6))
                options.append(
                    replace(
                        option,
                        fact=facts[i],
                        shares=bool(own[i] & words[j]),
                        score=option.score + gain,
                        probability=_probability(odds + (6.0 if chinese else 4.0) * max(0.0, gain)),
                        bears=bears,
                    )
                )
        return options

    def _hazards(self, question: str, facts: Sequence[Evidence], alone: Sequence[Option]) -> set[tuple[int, int]]:
        """Return pairs of a fact and a sentence that names a food which the fact excludes."""
        if language(question) == "zh" or question_kind(question) == "amount" or _NO_FOOD.match(question):
            return set()
        avoided = hazards.avoided_food(situation([fact.text for fact in facts], question), "en")
        pairs = set()
        for i, fact in enumerate(facts):
            own = {food: avoidance for food, avoidance in avoided.items() if avoidance.text == fact.text}
            if own:
                pairs |= {(i, j) for j, option in enumerate(alone) if hazards.offending(option.sentence, own, "en")}
        return pairs

    def _nearest(self, question: str, facts: Sequence[Evidence], alone: Sequence[Option]) -> Sequence[Evidence]:
        if len(facts) <= MOST_FACTS:
            return facts
        vectors = self._encoder.encode([fact.text for fact in facts])
        wanted = self._encoder.encode([question, *(option.sentence for option in alone)])
        near = (vectors @ wanted.T).max(axis=1)
        order = sorted(range(len(facts)), key=lambda i: -float(near[i]))[:MOST_FACTS]
        return [facts[i] for i in order]

    def _similarities(
        self, question: str, facts: Sequence[Evidence], alone: Sequence[Option]
    ) -> tuple[list[list[float]], list[list[float]]]:
        """Return what each fact adds to the similarity of question and sentence, and its own similarity to it."""
        count = len(facts)
        english = gloss_lines if language(question) == "zh" else str
        vectors = self._encoder.encode(
            [
                english(question),
                *(english(fact.text) for fact in facts),
                *(f"{english(fact.text)} {english(question)}" for fact in facts),
                *(english(option.sentence) for option in alone),
            ]
        )
        of_question, of_facts, both = vectors[:1], vectors[1 : 1 + count], vectors[1 + count : 1 + 2 * count]
        units = vectors[1 + 2 * count :]
        added = (both @ units.T) - (of_question @ units.T)
        return added.tolist(), (of_facts @ units.T).tolist()

    def _shared_characters(
        self, question: str, facts: Sequence[Evidence], alone: Sequence[Option]
    ) -> tuple[list[list[float]], list[list[float]]]:
        """The same for Chinese, which the default encoder cannot read, by shared words of fact and sentence."""
        asked = tokens(question)
        units = [tokens(option.sentence) for option in alone]
        shares = []
        for fact in facts:
            clauses = [own for clause in _CLAUSE.split(fact.text) if (own := _lexical(tokens(clause) - asked))]
            shares.append([max((len(own & unit) / len(own) for own in clauses), default=0.0) for unit in units])
        return [[0.4 * share for share in row] for row in shares], shares


def _lexical(words: frozenset[str]) -> frozenset[str]:
    """Return the tokens of a Chinese text without days and topic tokens."""
    return frozenset(word for word in words if word[0] not in "#@")


_CLAUSE = re.compile("[，,。；;！!]")


def distinct(options: Sequence[Option]) -> list[Option]:
    """Return each sentence once, best first, with its relevant fact if there is one."""
    best: dict[tuple[str, str], Option] = {}
    for option in options:
        key = (option.evidence.id, option.sentence)
        held = best.get(key)
        if held is None:
            best[key] = option
        elif held.fact is None and option.fact is not None and option.bears >= SAID_FROM:
            best[key] = replace(option, score=max(held.score, option.score))
    return sorted(best.values(), key=lambda option: -option.score)


def bearing_facts(options: Sequence[Option], *, most: int = 8) -> dict[str, float]:
    """Return each fact's relevance to the best options, or to rules decided by it, by the fact's id.

    It falls with the distance of the sentence's score from the best one.
    """
    facts: dict[str, float] = {}
    least = max((option.own for option in options), default=0.0) - FURTHEST
    most_score = max((option.score for option in options), default=0.0)
    # Characters say less than vectors, so in Chinese decisions by code count at any distance.
    chinese = bool(options) and language(options[0].sentence) == "zh"
    for place, option in enumerate(options):
        near = option.own >= least or (chinese and option.is_decided)
        if option.fact is not None and near and (place < most or option.is_decided):
            behind = 0.0 if chinese else min(1.0, (most_score - option.score) / FURTHEST)
            facts[option.fact.id] = max(facts.get(option.fact.id, 0.0), option.bears * (1.0 - behind))
    return facts


def _rule(option: Option) -> RuleSentence:
    return RuleSentence(option.sentence, option.following, option.evidence.passage)


def placed(option: Option, own: Sequence[Value] = ()) -> str:
    """Return a sentence with its headings and the comparisons with the user's values, as the scorer was trained."""
    passage = option.evidence.passage
    path = " > ".join(dict.fromkeys(part for part in (passage.title, *passage.headings) if part))
    text = option.sentence
    if takes_back(option.sentence, option.following):
        text = f"{text} {option.following}"
    text = with_relations(text, own)
    return f"{path}: {text}" if path else text


def _following(passages: Sequence[Evidence]) -> dict[tuple[str, str], str]:
    """The sentence after each sentence of a passage."""
    after: dict[tuple[str, str], str] = {}
    for piece in passages:
        units = sentences(piece.text)
        after.update({(piece.id, unit): then for unit, then in pairwise(units)})
    return after


def _probability(odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, odds))))
