"""Joint scores of facts and sentences: which sentence answers a question, and which fact about the user bears on it.

PK-ICR ranks persona and knowledge together; this is its grid at the level of sentences. Every sentence of the candidate
passages is scored for the question alone and together with each fact about the user. A trained pair scorer reads the
best of these pairs; without one, similarity decides.
"""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from dragoman.core.caches import keeps_texts
from dragoman.core.protocols import Encoder
from dragoman.core.values import Context, Evidence
from dragoman.decision import chinese_applies, chinese_tables, hazards
from dragoman.decision.applies import applies
from dragoman.decision.cells import cell_for, read_row
from dragoman.decision.choose import Analyse, Quote, rank
from dragoman.decision.values import Decision
from dragoman.text.claims import negated
from dragoman.text.language import language
from dragoman.text.query import SearchText, standalone
from dragoman.text.question_kind import question_kind
from dragoman.text.sentences import sentences

if TYPE_CHECKING:
    from dragoman.models.joint import JointScorer

SHIPPED = "english-joint"
"""The trained pair scorer that comes with the package."""
MOST_FACTS = 20
"""Facts that are scored with every sentence; of more, those nearest to the question and its passages."""
_SENTENCES_READ = 8
_PAIRS_READ = 8
"""How many sentences alone, and with a fact, the trained scorer reads: each takes some milliseconds."""
_PAIR_TOKENS = 96
_OWN = 0.4
"""How much a sentence's similarity counts beside what the trained scorer says of it."""
_REMEMBERED = 4096
_GAIN = 0.75
"""How much of what a fact adds to a sentence's similarity counts beside the sentence's own score."""
_CODE = 0.35
"""What a rule that code can decide by a fact gains in the ranking."""
_DECIDED = 10
"""How many of the best sentences code looks at, beside all of the two best passages."""
EXCEPTION = re.compile(
    r"(?:except|unless|but|however|only|exception|apart from|instead)\b|除|但|不过|只有", re.IGNORECASE
)
"""Opens a sentence that takes something back from the rule before it."""


@dataclass(frozen=True, slots=True)
class PairScore:
    """What a scorer says of a question, a fact (or none) and a sentence: probabilities in [0, 1].

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

    def _read(self, question: str, pairs: Sequence[tuple[str, str]]) -> list[PairScore]:
        from dragoman.models.joint import JointScorer

        with self._opening:
            if self._scorer is None:
                self._scorer = JointScorer(self._part, max_tokens=_PAIR_TOKENS)
        return [
            PairScore(
                score.answers,
                score.bears,
                {"yes": score.yes, "no": score.no, "unknown": score.unknown, "none": score.none},
            )
            for score in self._scorer.score(question, pairs)
        ]


@dataclass(frozen=True, slots=True)
class Option:
    """A sentence that may answer, with the fact that bears on it, if any; `following` is the sentence after it."""

    sentence: str
    following: str
    evidence: Evidence
    fact: Evidence | None
    score: float
    probability: float
    bears: float
    verdict: Mapping[str, float] = field(default_factory=dict)
    decision: Decision | None = None
    """What code decides of the rule by the user's facts; None where it was not asked."""
    quote: Quote | None = None

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

    `part` names a trained pair scorer for English, or `scorer` is one; it is asked where there are facts, since for
    questions alone the similarity of sentences does as well and takes less time. With `by_code`,
    rules whose conditions code can compare with a fact are decided here, since a fact that decides a rule bears on it
    whatever their similarity.
    """

    def __init__(
        self,
        *,
        encoder: Encoder,
        analyse: Analyse,
        part: str = "",
        scorer: PairScorer | None = None,
        by_code: bool = True,
    ) -> None:
        self._encoder = encoder
        self._analyse = analyse
        self._scorer = trained_scorer(part) if part else scorer
        self._by_code = by_code

    def rank(
        self, context: Context, facts: Sequence[Evidence], passages: Sequence[Evidence], *, quick: bool = False
    ) -> list[Option]:
        """The options, best first: every sentence alone, and with the fact that bears on it most.

        With `quick` the trained scorer is not asked.
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
            alone = self._decided(_to_decide(question), facts, alone)
        joined = self._joined(question.turn, facts, alone) if facts else []
        options = sorted([*alone, *joined], key=lambda option: -option.score)
        if self._scorer is not None and facts and not quick and language(question.turn) != "zh":
            options = self._read(question.text, options)
        return options

    def _decided(self, question: str, facts: Sequence[Evidence], alone: Sequence[Option]) -> list[Option]:
        """The best sentences, and all of the best passages, with what code decides of them."""
        texts = [fact.text for fact in facts]
        best = {option.evidence.id for option in alone[: len(alone) if language(question) == "zh" else 2]}
        options = []
        for place, option in enumerate(alone):
            if place >= _DECIDED and option.evidence.id not in best:
                options.append(option)
                continue
            decision = _by_code(question, texts, option, self._analyse)
            options.append(replace(option, decision=decision))
        return options

    def _joined(self, question: str, facts: Sequence[Evidence], alone: Sequence[Option]) -> list[Option]:
        """Each sentence with the fact that adds most to it."""
        facts = self._nearest(question, facts, alone)
        if language(question) == "zh":
            added, near = self._shared_characters(question, facts, alone)
        else:
            added, near = self._similarities(question, facts, alone)
        options = []
        for j, option in enumerate(alone):
            best: tuple[float, float, Evidence] | None = None
            for i, fact in enumerate(facts):
                decides = option.decision is not None and option.decision.fact == fact.text
                gain = _GAIN * added[i][j] + (_CODE if decides else 0.0)
                bears = _probability(-2.0 + 14.0 * added[i][j] + 3.0 * near[i][j] + (4.0 if decides else 0.0))
                if best is None or gain > best[0]:
                    best = (gain, bears, fact)
            if best is not None:
                gain, bears, fact = best
                odds = math.log(max(option.probability, 1e-6) / max(1.0 - option.probability, 1e-6))
                options.append(
                    replace(
                        option,
                        fact=fact,
                        score=option.score + gain,
                        probability=_probability(odds + 6.0 * max(0.0, gain)),
                        bears=bears,
                    )
                )
        return options

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
        """What each fact adds to the similarity of question and sentence, and its own similarity to the sentence."""
        count = len(facts)
        vectors = self._encoder.encode(
            [
                question,
                *(fact.text for fact in facts),
                *(f"{fact.text} {question}" for fact in facts),
                *(option.sentence for option in alone),
            ]
        )
        asked, told, both = vectors[:1], vectors[1 : 1 + count], vectors[1 + count : 1 + 2 * count]
        units = vectors[1 + 2 * count :]
        added = (both @ units.T) - (asked @ units.T)
        return added.tolist(), (told @ units.T).tolist()

    def _shared_characters(
        self, question: str, facts: Sequence[Evidence], alone: Sequence[Option]
    ) -> tuple[list[list[float]], list[list[float]]]:
        """The same for Chinese, which the default encoder does not read: by the words that fact and sentence share."""
        asked = frozenset(self._analyse(question))
        units = [frozenset(self._analyse(option.sentence)) for option in alone]
        shares = []
        for fact in facts:
            own = frozenset(self._analyse(fact.text)) - asked
            shares.append([len(own & unit) / len(own) if own else 0.0 for unit in units])
        return [[0.4 * share for share in row] for row in shares], shares

    def _read(self, question: str, options: Sequence[Option]) -> list[Option]:
        """The best options as the trained scorer reads them, then the rest as they are.

        Sentences alone and sentences with a fact are read in equal numbers, and every rule that code decides.
        """
        assert self._scorer is not None
        alone = [option for option in options if option.fact is None][:_SENTENCES_READ]
        joined = [option for option in options if option.fact is not None]
        joined = sorted(joined, key=lambda option: not option.is_decided)[:_PAIRS_READ]
        head = [*alone, *joined]
        pairs = [(option.fact.text if option.fact else "", _placed(option)) for option in head]
        scores = self._scorer.score(question, pairs)
        read = [_rescored(option, score) for option, score in zip(head, scores, strict=True)]
        chosen = {id(option) for option in head}
        rest = [
            replace(option, score=option.score * _OWN, bears=option.bears if option.is_decided else 0.0)
            for option in options
            if id(option) not in chosen
        ]
        return sorted([*read, *rest], key=lambda option: -option.score)


def bearing_facts(options: Sequence[Option], *, most: int = 8) -> dict[str, float]:
    """How much each fact bears on the best options, or on a rule that code decides by it, by the fact's id."""
    facts: dict[str, float] = {}
    for place, option in enumerate(options):
        if option.fact is not None and (place < most or option.is_decided):
            facts[option.fact.id] = max(facts.get(option.fact.id, 0.0), option.bears)
    return facts


def _rescored(option: Option, score: PairScore) -> Option:
    decides = option.is_decided
    return replace(
        option,
        score=_OWN * option.score + score.answers,
        probability=max(score.answers, option.probability if decides else 0.0),
        bears=max(score.bears, option.bears if decides else 0.0) if option.fact is not None else 0.0,
        verdict=score.verdict,
    )


def _by_code(question: str, facts: Sequence[str], option: Option, analyse: Analyse) -> Decision:
    """What code decides of a sentence under its heading, or of the cell of a table row that is the user's."""
    if language(question) == "zh":
        return _chinese(question, facts, option)
    cell = cell_for(question, option.sentence, facts, analyse)
    if cell is not None and cell.decision is not None:
        return cell.decision
    rule = option.sentence
    if option.following and EXCEPTION.match(option.following):
        rule = f"{rule} {option.following}"
    headings = option.evidence.passage.headings
    heading = headings[-1] if headings else option.evidence.passage.title
    decision = applies(f"{heading}: {rule}" if heading else rule, facts, question)
    if decision.verdict == "yes" and not decision.fact and negated(option.sentence):
        return replace(decision, verdict="none")  # a denial is no permission unless a fact makes it one
    return decision


def _to_decide(question: SearchText) -> str:
    """The question that code decides: in Chinese the turn alone where it asks, since what it carries may mislead."""
    asks = language(question.turn) == "zh" and question_kind(question.turn) != "open"
    return question.turn if asks else question.text


def _chinese(question: str, facts: Sequence[str], option: Option) -> Decision:
    """What code decides of a Chinese sentence, or of a table row that the question names."""
    row, wanted = read_row(option.sentence), chinese_applies.target(question)
    decision = None
    if row is None:
        passage = option.evidence.passage
        path = " ".join((passage.title, *passage.headings))
        rule = option.sentence
        if chinese_applies.is_exception(option.following):
            rule = f"{rule.rstrip('。')}，{option.following}"
        decision = chinese_applies.decide(rule, facts, question, path=path)
    elif wanted == "choice" or chinese_tables.named_row(question, [option.sentence], ()) is not None:
        decision = chinese_tables.fits(question, row, facts)
    if decision is not None and decision.verdict != "none":
        return decision
    # Food and steps are decided by category in both languages.
    if wanted in ("permit", "choice"):
        known = chinese_applies.told(tuple(facts), question)
        decision = hazards.decide(option.sentence, known.situation, 1.0)
    return decision or Decision("none", confidence=0.1)


def _placed(option: Option) -> str:
    """A sentence under its headings, as the scorer was trained to read it."""
    passage = option.evidence.passage
    path = " > ".join(dict.fromkeys(part for part in (passage.title, *passage.headings) if part))
    text = option.sentence
    if option.following and EXCEPTION.match(option.following):
        text = f"{text} {option.following}"
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
