"""The default reader: the model may speak, but never says less than quoting would.

Small talk and what was learned are answered with a phrase, questions with the best quotation. Where a
draft of the model is asked for, it is said only if it holds up against the evidence; otherwise the
quotation is given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from dragoman.core.protocols import Critic, Encoder, LanguageModel
from dragoman.core.registry import readers
from dragoman.core.values import Draft, ReadTask, Source
from dragoman.reader.extractive import ExtractiveReader
from dragoman.reader.phrases import acknowledgement, phrase, social, spoken
from dragoman.reader.prompted import PromptedReader
from dragoman.text.circles import loops
from dragoman.text.claims import negated, unsupported
from dragoman.text.confirmations import is_undo
from dragoman.text.form import form

_PIECES = re.compile(r"\S+\s*|\s+")


@readers.register("grounded.v1")
class GroundedReader:
    """Quotes or drafts, whichever holds.

    `drafts` says for which answers the model is asked: `never`; `talk` (default), only where nothing was looked up,
    for pastimes and for questions that the gate or the planner left to it; `always`, for every answer, at the price
    of the model's time.
    """

    def __init__(
        self,
        *,
        language_model: LanguageModel,
        encoder: Encoder,
        analyse: Callable[[str], tuple[str, ...]],
        sources: tuple[Source, ...],
        critic: Critic,
        language: str = "en",
        name: str = "Dragoman",
        floor: float = 0.14,
        sure: float = 0.35,
        consistency: float = 0.5,
        drafts: Literal["never", "talk", "always"] = "talk",
        max_tokens: int = 64,
    ) -> None:
        self._draft = PromptedReader(language_model=language_model, language=language, name=name, max_tokens=max_tokens)
        self._quote = ExtractiveReader(
            encoder=encoder, analyse=analyse, sources=sources, language=language, floor=floor, sure=sure
        )
        self._critic = critic
        self._language = language
        self._name = name
        self._consistency = consistency
        self._drafts = drafts

    def read(self, tasks: Sequence[ReadTask]) -> Sequence[Draft]:
        safe = [self._safe(task) for task in tasks]
        drafting = [i for i, task in enumerate(tasks) if self._wants_draft(task, safe[i])]
        drafts = self._draft.read([self._narrow(tasks[i], safe[i]) for i in drafting])
        for i, draft in zip(drafting, drafts, strict=True):
            safe[i] = self._better(tasks[i], draft, safe[i])
        return safe

    def stream(self, task: ReadTask) -> Iterator[str | Draft]:
        # A draft is streamed only after it was checked, so that nothing said has to be taken back.
        draft = self.read([task])[0]
        yield from _PIECES.findall(draft.text)
        yield draft

    def _safe(self, task: ReadTask) -> Draft:
        """What can be said without the model."""
        language = spoken(task.context.last, self._language)
        act = form(task.context.last).act
        noted = acknowledgement(task.context.learned, language)
        if act == "forget" and noted is None:
            missing = "restored-none" if is_undo(task.context.last) else "deleted-none"
            return Draft(phrase(missing, language), 1.0, "said")
        if task.plan.is_null:
            if noted is not None:
                return Draft(noted, 1.0, "said")
            text, notes = social(task.context.last, language, name=self._name)
            return Draft(text, 1.0, "said", notes=notes)
        answer = self._quote.read([task])[0]
        if answer.method == "said" and act == "statement":  # nothing was asked, so nothing is missing
            return Draft(noted or phrase("statement", language), answer.confidence, "said")
        return answer

    def _wants_draft(self, task: ReadTask, safe: Draft) -> bool:
        if self._drafts == "never":
            return False
        if task.plan.is_null:
            act = form(task.context.last).act
            return act in ("pastime", "question")
        return self._drafts == "always" and safe.method == "quoted"

    def _narrow(self, task: ReadTask, safe: Draft) -> ReadTask:
        """The quoted evidence alone: a short prompt, and less to mix up."""
        return ReadTask(task.context, task.plan, tuple(piece for piece in task.evidence if piece.id in safe.quoted))

    def _better(self, task: ReadTask, draft: Draft, safe: Draft) -> Draft:
        reason = self._fault(task, draft, safe)
        if reason:
            return Draft(
                safe.text, safe.confidence, safe.method, safe.quoted, draft.usage, {**safe.notes, "rejected": reason}
            )
        return Draft(draft.text.strip(), draft.confidence, "drafted", safe.quoted, draft.usage)

    def _fault(self, task: ReadTask, draft: Draft, safe: Draft) -> str:
        """Why a draft cannot be said, or nothing."""
        text = draft.text.strip()
        if not text:
            return "empty"
        if loops(text):
            return "repeats itself"
        pieces = [piece for piece in task.evidence if piece.id in safe.quoted]
        supports = [piece.passage.indexed for piece in pieces] + [turn.text for turn in task.context.turns]
        strange = unsupported(text, [*supports, self._name])
        if strange:
            return f"unsupported: {', '.join(strange[:3])}"
        if pieces and negated(text) != negated(safe.text):
            return "differs in negation"
        if pieces and max(self._critic.consistency([(piece, text) for piece in pieces])) < self._consistency:
            return "not consistent with the evidence"
        return ""
