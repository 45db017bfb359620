"""Judge for Chinese: the English judge reads English glosses of the question, the facts and the sentences.

Decisions by code from a fact or a missing fact stand unless the judge is sure of the opposite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dragoman.core.values import Context, Draft, Evidence
from dragoman.decision.bearing import Bearing
from dragoman.decision.chinese.applies import ask_for_measure
from dragoman.decision.chinese.glossed import glossed, whole
from dragoman.decision.joint import Option
from dragoman.reader.compose import Answer, is_said
from dragoman.reader.trained_judge import TrainedJudge
from dragoman.text.question_kind import question_kind

_OUTWEIGHS = 0.7
"""How sure the judge must be of the opposite of what code decided."""

_SURE = 0.65
"""How probable yes or no must be to be said: a gloss loses more than it keeps."""
_SILENT = 0.25
"""Below which the best sentence is only the closest that was found; glosses make a sentence look apt more often."""


class GlossedJudge:
    """Judges Chinese by a trained part of kind `joint` that reads English."""

    def __init__(self, part: str, bearing: Bearing | None = None) -> None:
        self._judge = TrainedJudge(part, bearing, silent=_SILENT)

    def judge(
        self,
        context: Context,
        options: Sequence[Option],
        facts: Sequence[Evidence],
        draft: Draft,
        *,
        least: float = 0.0,
    ) -> Answer | None:
        """Return the judge's answer; None if the draft by the rules is as good."""
        if question_kind(context.last) != "polar":
            return None  # tables and rules find values, not the judge
        english = glossed(context, facts, options)
        pairs = list(zip(options, english.options, strict=True))
        sentences = [own.sentence for option, own in pairs if is_said(option, draft.text)]
        plain = replace(draft, text=" ".join(sentences)) if sentences else draft
        answer = self._judge.judge(english.context, english.options, english.facts, plain, least=least)
        if answer is None:
            return None
        by_fact = draft.notes.get("by") == "code" and (
            "fact" in draft.notes or draft.notes.get("decision") == "unknown"
        )
        if by_fact and (answer.decision is None or answer.decision.confidence < _OUTWEIGHS):
            return None
        decision = answer.decision
        if decision is not None and decision.verdict != "unknown" and decision.confidence < _SURE:
            answer = replace(answer, decision=None, facts=())  # the sentence alone
        return _in_chinese(context.last, answer, pairs, facts)


def _in_chinese(
    question: str, answer: Answer, pairs: Sequence[tuple[Option, Option]], facts: Sequence[Evidence]
) -> Answer | None:
    """Replace the glosses of an answer by the original Chinese sentences and facts."""
    options = []
    for chosen in answer.options:
        own = next(
            (
                option
                for option, english in pairs
                if chosen.evidence.id == english.evidence.id and chosen.sentence.startswith(english.sentence)
            ),
            None,
        )
        if own is None:
            return None
        options.append(replace(own, sentence=whole(own)))
    used = tuple(fact for fact in facts if any(fact.id == each.id for each in answer.facts))
    decision = answer.decision and replace(answer.decision, fact=used[0].text if used else "")
    if decision is not None and decision.verdict == "unknown" and not decision.ask:
        ask = ask_for_measure(options[0].sentence, [fact.text for fact in facts], question)
        decision = replace(decision, ask=ask) if ask else None
    return replace(answer, options=tuple(options), facts=used, decision=decision)
