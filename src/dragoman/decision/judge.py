"""Read a question, the user's facts and the best sentences together by a trained part.

Says of each sentence whether it speaks to the question and what it answers, and which of the facts decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dragoman.core.protocols import warm
from dragoman.core.values import Context, Evidence
from dragoman.decision.joint import Option, PairScore, placed, trained_scorer
from dragoman.decision.relations import user_values
from dragoman.decision.values import Verdict
from dragoman.text.query import standalone

SHIPPED_JUDGE = "english-joint"
"""The part that reads English by default."""
MOST_FACTS = 6
"""Facts that are read with a sentence, and how many of them are tried alone."""
SPEAKS = 0.3
"""How probable it must be that a sentence speaks to the question for what it says to count."""
_TRIED = 3
"""Sentences that are read to find the fact that decides."""
_MATTERS = 0.15
"""By how much a fact must change what a sentence answers to bear on it."""
_SHORT = 4
"""Words of a turn that cannot be read without the one before."""
_BEARS = 0.55
_SAID: tuple[Verdict, ...] = ("yes", "no")


@dataclass(frozen=True, slots=True)
class Reading:
    """Scores of the part for one sentence."""

    option: Option
    score: PairScore


class SentenceJudge:
    """Reads by a trained part of kind `joint`."""

    def __init__(self, part: str) -> None:
        self._scorer = trained_scorer(part)

    def warm_up(self) -> None:
        """Load the weights."""
        warm(self._scorer)

    def read(self, question: str, options: Sequence[Option], facts: Sequence[Evidence]) -> list[Reading]:
        """Score each sentence for the question, given those of the facts that bear on it.

        Facts of other matters would blur what a sentence answers, so that each is first read alone with the best
        sentences, and only those that change a reading are read together.
        """
        texts = [" ".join(fact.text.split()) for fact in facts[:MOST_FACTS]]
        scores = self._scores(question, [(option, texts) for option in options])
        if len(texts) < 2:
            return _readings(options, scores)
        bare = self._scores(question, [(option, []) for option in options])
        likeliest = sorted(range(len(options)), key=lambda place: -max(scores[place].answers, bare[place].answers))[
            :_TRIED
        ]
        single = iter(self._scores(question, [(options[place], [text]) for place in likeliest for text in texts]))
        bearing = [[text for text in texts if _changes(next(single), bare[place])] for place in likeliest]
        chosen = self._scores(question, [(options[place], own) for place, own in zip(likeliest, bearing, strict=True)])
        for place, score in zip(likeliest, chosen, strict=True):
            scores[place] = score
        return _readings(options, scores)

    def _scores(self, question: str, pairs: Sequence[tuple[Option, Sequence[str]]]) -> list[PairScore]:
        """Score sentences, each with some facts."""
        read = [(" ".join(texts), placed(option, user_values(texts, question))) for option, texts in pairs]
        return list(self._scorer.score(question, read))

    def gains(
        self, question: str, option: Option, facts: Sequence[Evidence], verdicts: Sequence[Verdict]
    ) -> list[float]:
        """Return how much each fact, read alone, raises the probability of a verdict."""
        texts = ["", *(fact.text for fact in facts[:MOST_FACTS])]
        pairs = [(text, placed(option, user_values([text] if text else [], question))) for text in texts]
        alone, *each = self._scorer.score(question, pairs)
        return [max(score.verdict[name] - alone.verdict[name] for name in verdicts) for score in each]

    def bearing(self, context: Context, options: Sequence[Option], facts: Sequence[Evidence]) -> Mapping[str, float]:
        """How much facts bear on the sentence that answers best, by the fact's id; those that do not are left out."""
        some = facts[:MOST_FACTS]
        if not some or not options:
            return {}
        question = question_of(context)
        best = max(self.read(question, options[:_TRIED], some), key=lambda each: each.score.answers)
        if best.score.answers < SPEAKS:
            return {}
        gains = self.gains(question, best.option, some, _SAID)
        return {fact.id: min(1.0, _BEARS + gain) for fact, gain in zip(some, gains, strict=True) if gain >= _MATTERS}


def _readings(options: Sequence[Option], scores: Sequence[PairScore]) -> list[Reading]:
    return [Reading(option, score) for option, score in zip(options, scores, strict=True)]


def _changes(score: PairScore, bare: PairScore) -> bool:
    """Whether a fact makes a sentence say yes or no, or speak to the question; other facts only blur it."""
    gains = [score.verdict[name] - bare.verdict[name] for name in _SAID]
    return max(*gains, score.answers - bare.answers) >= _MATTERS


def question_of(context: Context) -> str:
    """The question that is read: the turn, with what it carries from the turn before where it is short.

    A longer turn asks by itself; what it would carry makes sentences about the last matter look like answers.
    """
    turn = " ".join(context.last.split())
    search = standalone(context)
    return " ".join(search.text.split()) if search.is_follow_up and len(turn.split()) <= _SHORT else turn
