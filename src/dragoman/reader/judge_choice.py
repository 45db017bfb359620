"""A larger language model as judge of yes or no questions that the rules leave open.

The rules of `reader.decide` decide what code can compare. Where they decide nothing, the model reads each of the best
sentences with the user's facts and says in one word (`LanguageModel.choose`) whether that rule answers yes or no,
depends on something that the user has not told, or is about something else. The most relevant sentence is chosen, and
its verdict if the model is sure. The model writes none of the reply, which is composed from the sentence, the facts and
the verdict.

A model of 1.5B can give one word for one rule; asked to pick from a list of sentences, it goes by their position
(docs/models.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dragoman import prompts
from dragoman.core.protocols import LanguageModel
from dragoman.core.values import Context, Draft, Evidence, Prompt
from dragoman.decision.cases.exceptions import takes_back
from dragoman.decision.groups import effect
from dragoman.decision.joint import SAID_FROM, Option, distinct
from dragoman.decision.values import Decision, Verdict
from dragoman.reader.compose import Answer
from dragoman.reader.judge_exam import WORDS, examination_of
from dragoman.text import lazy_re as re
from dragoman.text.claims import negated
from dragoman.text.query import standalone
from dragoman.text.question_kind import QuestionKind

MOST_CALLS = 3
"""How many sentences the model reads for a turn; each is one call."""
_NEAR = 0.3
"""How far below the best sentence's score another may stand to be read too."""
_MOST_FACTS = 12
_SPEAKS = 0.5
"""How probable it must be that a sentence speaks to the question at all."""
_SURE = 0.5
"""How probable a verdict must be to be said, and how many times as probable as the next one."""
_LEAD = 2.0
_FIRST = 0.1
"""What the rules' own first sentence has ahead of the others."""
_EXCEPTION = re.compile(r"\b(?:except|exception|unless|but|apart from)\b|除|但|只有", re.IGNORECASE)
_LIMIT = re.compile(r"\b(?:only|must|at least|up to|under|over|from|until|with)\b|只|必须|至少", re.IGNORECASE)
_MEANT: tuple[Verdict, ...] = ("yes", "no", "unknown", "none")
_VERDICTS: Mapping[str, Verdict] = dict(zip(WORDS, _MEANT, strict=True))


@dataclass(frozen=True, slots=True)
class Judgement:
    """Probabilities of the four verdicts for the sentence that answers the question best."""

    option: Option
    chances: Mapping[Verdict, float]

    @property
    def verdict(self) -> Verdict:
        """The verdict, if it is sure enough to be said; else `none`."""
        if 1.0 - self.chances["none"] < _SPEAKS:
            return "none"
        verdicts: tuple[Verdict, ...] = ("yes", "no", "unknown")
        best, second, _ = sorted(verdicts, key=lambda verdict: -self.chances[verdict])
        sure = self.chances[best] >= max(_SURE, _LEAD * self.chances[second])
        return best if sure else "none"

    @property
    def summary(self) -> str:
        """The verdict with all chances, for the trace: "yes (yes 0.66, no 0.13, unknown 0.07, none 0.14)"."""
        chances = ", ".join(f"{verdict} {chance:.2f}" for verdict, chance in self.chances.items())
        return f"{self.verdict} ({chances})"


def unsure(answer: Draft, options: Sequence[Option], kind: QuestionKind) -> bool:
    """Whether the rules left a yes or no question open."""
    return bool(options) and kind == "polar" and answer.notes.get("by") != "code"


class ChoiceJudge:
    """Asks a model for verdicts: one call for each of at most three sentences.

    With `examined`, the model judges only after it has passed an examination (`judge_exam`), which runs in parallel to
    the first turn that could have been judged.
    """

    def __init__(self, *, language_model: LanguageModel, language: str = "en", examined: bool = False) -> None:
        self._model = language_model
        self._language = language
        self._examined = examined

    def is_ready(self) -> bool:
        """Whether the model may judge; starts the examination where it is due."""
        return not self._examined or examination_of(self._model).is_passed()

    def wait(self, seconds: float) -> None:
        """Wait for an examination that has begun."""
        examination_of(self._model).wait(seconds)

    def judge(self, context: Context, options: Sequence[Option], facts: Sequence[Evidence]) -> Judgement | None:
        """The judgement on the best options; None where there is nothing to judge."""
        ranked = distinct(options)
        rivals = [option for option in ranked if option.score >= ranked[0].score - _NEAR][:MOST_CALLS]
        if not rivals:
            return None
        asked = [self._prompt(context, option, facts) for option in rivals]
        answers = self._model.choose(asked, list(_VERDICTS))
        judged = [
            Judgement(option, {_VERDICTS[word]: float(chance) for word, chance in chances.items()})
            for option, chances in zip(rivals, answers, strict=True)
        ]
        return max(judged, key=lambda each: _FIRST * (each is judged[0]) - each.chances["none"])

    def answer(self, judgement: Judgement, facts: Sequence[Evidence]) -> Answer | None:
        """Return the reply by a judgement; None if the model is too unsure to change anything."""
        option, verdict = judgement.option, judgement.verdict
        own = option.decision
        if verdict == "none" or not _agrees(verdict, with_exception(option).sentence):
            return None
        if own is not None and own.verdict in ("yes", "no") and own.fact:
            decision = own  # a comparison by code with a fact of the user's outweighs the model
        elif verdict == "unknown":
            ask = own.ask if own is not None else ""
            decision = Decision("unknown", ask=ask, confidence=judgement.chances[verdict], by="model", reason="judged")
        else:
            decision = Decision(verdict, confidence=judgement.chances[verdict], by="model", reason="judged")
        by_text = {fact.text: fact for fact in facts}
        used = [by_text[decision.fact]] if decision.fact in by_text else []
        if not used and option.fact is not None and option.bears >= SAID_FROM:
            used = [option.fact]
        return Answer((with_exception(option),), tuple(used), decision)

    def _prompt(self, context: Context, option: Option, facts: Sequence[Evidence]) -> Prompt:
        search = standalone(context)
        passage = option.evidence.passage
        path = " > ".join(dict.fromkeys(part for part in (passage.title, *passage.headings) if part))
        rule = " ".join(with_exception(option).sentence.split())
        return prompts.get("judge-verdict.v1", self._language).format(
            rule=f"{path}: {rule}" if path else rule,
            facts=" ".join(" ".join(fact.text.split()) for fact in facts[:_MOST_FACTS]) or "-",
            question=" ".join((search.text if search.is_follow_up else context.last).split()),
        )


def _agrees(verdict: Verdict, sentence: str) -> bool:
    """Whether a sentence can support a verdict: small models say yes to any sentence that shares the question's words.

    A sentence that permits, forbids, demands or waives nothing supports none; one that only forbids does not support
    yes, and one that only permits does not support no.
    """
    does = effect(sentence.lower())
    if does == "none":
        return False
    both = _EXCEPTION.search(sentence) is not None or (does == "permit" and _limited(sentence))
    refuses = does in ("forbid", "alone", "other way")
    return (
        verdict == "unknown"
        or both
        or does not in ("forbid", "permit", "alone", "other way")
        or (refuses == (verdict == "no"))
    )


def _limited(sentence: str) -> bool:
    return negated(sentence) or _LIMIT.search(sentence) is not None


def with_exception(option: Option) -> Option:
    """Append the exception in the sentence after a rule, if there is one."""
    if takes_back(option.sentence, option.following):
        return replace(option, sentence=f"{option.sentence} {option.following}", following="")
    return option
