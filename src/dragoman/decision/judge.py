"""Judge the best sentences with a question and the user's facts by a trained part.

For each sentence it says whether it answers the question and how, and which fact decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dragoman.core.protocols import warm
from dragoman.core.values import Context, Evidence
from dragoman.decision.bearing import Bearing, Features, likely, likely_when_read
from dragoman.decision.facts import situation, supposed_facts
from dragoman.decision.joint import Option, PairScore, placed, trained_scorer
from dragoman.decision.relations import user_values
from dragoman.decision.subjects import (
    USER,
    is_named,
    is_of_another,
    is_of_user_alone,
    is_person,
    names_somebody,
)
from dragoman.decision.values import Verdict
from dragoman.text.query import plainly_asked, standalone

SHIPPED_JUDGE = "english-joint"
"""The part that reads English by default."""
SUPPOSED = "supposed"
"""Score that marks a fact which a question supposes and nobody told."""
MOST_FACTS = 6
"""Facts that are read with a sentence, and how many of them are tried alone."""
BEARS_FROM = 0.5
"""How probable it must be that a fact bears on a sentence for it to be a reason."""
SPEAKS = 0.3
"""How probable it must be that a sentence speaks to the question for what it says to count."""
_TRIED = 3
"""Sentences that are read to find the fact that decides."""
_FURTHER = 0.45
"""How much less than the best a sentence may answer for the facts to be read with it one by one."""
_MATTERS = 0.15
"""By how much a fact must change what a sentence answers to bear on it."""
_NEARBY = 0.03
"""How probable it must be, by similarities and words, for a fact to be read with a sentence at all."""
_KEPT = 0.2
"""How probable it must be, once it was read alone, for a fact to be read with the others."""
_SHORT = 4
"""Words of a turn that cannot be read without the one before."""
_SAID: tuple[Verdict, ...] = ("yes", "no")


@dataclass(frozen=True, slots=True)
class Reading:
    """Scores of the part for one sentence."""

    option: Option
    score: PairScore


class SentenceJudge:
    """Judges by a trained part of kind `joint`; `bearing` chooses the facts for each sentence."""

    def __init__(self, part: str, bearing: Bearing | None = None) -> None:
        self._scorer = trained_scorer(part)
        self._bearing = bearing

    def warm_up(self) -> None:
        """Load the weights."""
        warm(self._scorer)

    def read(self, question: str, options: Sequence[Option], facts: Sequence[Evidence]) -> list[Reading]:
        """Score each sentence for the question, given the facts relevant to it.

        Irrelevant facts mislead the judge: clearly irrelevant ones are left out, and each of the others is first read
        alone with the best sentences to keep only relevant ones.
        """
        told = [" ".join(fact.text.split()) for fact in facts_about(question, facts)]
        near = self._near(question, options, told)
        scores = self._scores(question, [(o, [told[i] for i in known]) for o, known in zip(options, near, strict=True)])
        if not any(near) or (self._chooser() is None and len(told) < 2):
            return _readings(options, scores)
        bare = self._scores(question, [(option, []) for option in options])
        answers = [max(score.answers, plain.answers) for score, plain in zip(scores, bare, strict=True)]
        likeliest = sorted(range(len(options)), key=lambda place: -answers[place])[:_TRIED]
        least = answers[likeliest[0]] - _FURTHER
        tried = [place for place in likeliest if near[place] and answers[place] >= least]
        alone = self._scores(question, [(options[place], [told[i]]) for place in tried for i in near[place]])
        chances = iter(alone)
        kept = []
        for place in tried:
            read = {i: self._chance(known, next(chances), bare[place]) for i, known in near[place].items()}
            kept.append((options[place], [told[i] for i in read if read[i] >= _KEPT]))
        for place, score in zip(tried, self._scores(question, kept), strict=True):
            scores[place] = score
        return _readings(options, scores)

    def bearing_on(
        self, question: str, option: Option, facts: Sequence[Evidence], verdict: Verdict
    ) -> list[tuple[Evidence, float, float]]:
        """Return facts that may be relevant to a sentence, likeliest first, with probability and gain for a verdict."""
        facts = facts_about(question, facts)
        told = [" ".join(fact.text.split()) for fact in facts]
        (near,) = self._near(question, [option], told)
        bare, *alone = self._scores(question, [(option, []), *((option, [told[i]]) for i in near)])
        found = [
            (facts[i], self._chance(known, score, bare), score.verdict[verdict] - bare.verdict[verdict])
            for (i, known), score in zip(near.items(), alone, strict=True)
        ]
        return sorted(found, key=lambda each: -each[1])

    def bearing(self, context: Context, options: Sequence[Option], facts: Sequence[Evidence]) -> Mapping[str, float]:
        """Return the relevance of facts to the best sentence, by the fact's id, without irrelevant ones."""
        if not facts or not options:
            return {}
        question = question_of(context)
        best = max(self.read(question, options[:_TRIED], facts), key=lambda each: each.score.answers)
        if best.score.answers < SPEAKS:
            return {}
        verdict: Verdict = "yes" if best.score.verdict["yes"] > best.score.verdict["no"] else "no"
        found = self.bearing_on(question, best.option, facts, verdict)
        return {fact.id: chance for fact, chance, _ in found if chance >= BEARS_FROM}

    def _chooser(self) -> Bearing | None:
        """Return the regressions that choose facts; None if they were not fitted on this encoder."""
        return self._bearing if self._bearing is not None and self._bearing.is_trained_for() else None

    def _near(self, question: str, options: Sequence[Option], told: Sequence[str]) -> list[dict[int, Features | None]]:
        """Return, for each sentence, the indices of facts that may be relevant, in the given order."""
        chooser = self._chooser()
        if chooser is None or not told:
            return [dict.fromkeys(range(len(told[:MOST_FACTS])))] * len(options)
        found: list[dict[int, Features | None]] = []
        for known in chooser.features(question, options, told):
            likeliest = sorted(range(len(told)), key=lambda i: -likely(known[i]))[:MOST_FACTS]
            found.append({i: known[i] for i in sorted(likeliest) if likely(known[i]) >= _NEARBY})
        return found

    @staticmethod
    def _chance(known: Features | None, score: PairScore, bare: PairScore) -> float:
        """Return how probably a fact is relevant to a sentence, by the score with that fact alone."""
        return likely_when_read(known, score, bare) if known is not None else float(_changes(score, bare))

    def _scores(self, question: str, pairs: Sequence[tuple[Option, Sequence[str]]]) -> list[PairScore]:
        """Score sentences, each with some facts."""
        read = [(" ".join(texts), placed(option, user_values(texts, question))) for option, texts in pairs]
        return list(self._scorer.score(question, read))


def _readings(options: Sequence[Option], scores: Sequence[PairScore]) -> list[Reading]:
    return [Reading(option, score) for option, score in zip(options, scores, strict=True)]


def _changes(score: PairScore, bare: PairScore) -> bool:
    """Whether a fact clearly changes a sentence's verdict or relevance: the rule for use without regressions."""
    gains = [score.verdict[name] - bare.verdict[name] for name in _SAID]
    return max(*gains, score.answers - bare.answers) >= _MATTERS


def facts_about(question: str, facts: Sequence[Evidence]) -> list[Evidence]:
    """Drop facts about the state of people whom a question is not about.

    For a question about a son, neither his brother's age nor the user's own illness decides.
    """
    texts = [fact.text for fact in facts]
    now = situation(texts, question)
    if is_named(now.subject, now.people):
        return [fact for fact in facts if not is_of_another(fact.text, now.subject, now.people)]
    is_other = now.subject != USER and is_person(now.subject, now.people)
    if not is_other and not names_somebody(question, now.people):
        return list(facts)
    return [fact for fact in facts if not is_of_user_alone(fact.text, now.people)]


def as_supposed(facts: Sequence[Evidence], question: str) -> list[Evidence]:
    """Change facts as a question supposes, and mark them: "and when she is six?"."""
    texts = supposed_facts([fact.text for fact in facts], question)
    return [
        replace(fact, passage=replace(fact.passage, text=texts[fact.text]), scores={**fact.scores, SUPPOSED: 1.0})
        if fact.text in texts
        else fact
        for fact in facts
    ]


def question_of(context: Context) -> str:
    """Return the question to judge: the turn, and if it is short, with words of the turn before.

    A longer turn is complete; earlier words would make sentences about the last topic look like answers.
    """
    turn = plainly_asked(" ".join(context.last.split()))
    search = standalone(context)
    return " ".join(search.text.split()) if search.is_follow_up and len(turn.split()) <= _SHORT else turn


def whole_turn(context: Context, question: str) -> str:
    """Prepend the user's statement just before a question: "I had a tooth out. How long must I wait?"."""
    before = context.turns[-2] if len(context.turns) > 1 else None
    return f"{before.text} {question}" if before is not None and before.speaker == "user" else question
