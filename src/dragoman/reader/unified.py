"""UniMS-RAG's reader: a unified model writes the response after its plan and the evidence with their similarities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from dragoman.core.errors import ConfigError
from dragoman.core.registry import readers
from dragoman.core.tokens import Shown, Written, tenths
from dragoman.core.values import Draft, Evidence, ReadTask, Source, SourceName
from dragoman.models import candidates as offers
from dragoman.models.unified import Shape, Writing
from dragoman.models.unified_open import Device, LazyUnified, Runtime, UnifiedPart
from dragoman.reader.phrases import NO_ANSWER, phrase, spoken


@readers.register("unified.v1")
class UnifiedReader:
    """Answers by a part that `dragoman train unims` or `safari` made (Eq. 4).

    Inputs:
        max_tokens: the most of a response, at most what the part was trained with.
        ending: added to the logit of ending a response: below 0 for longer ones, where a small model is too brief;
            None: what was fitted in training.
        names: the part's sources by the agent's names, {USER = "MEMORY"}, where they differ.
        runtime, device, base: where the model runs, and on which weights.

    Similarities are those of `retriever.evaluating`, else the relevance that another retriever gave, in tenths.
    Evidence of a source that the part was not trained with is shown under the one that is most like it: about the same
    (user, bot or world), else the last.
    """

    def __init__(
        self,
        *,
        part: str,
        sources: tuple[Source, ...] = (),
        language: str = "en",
        max_tokens: int = 128,
        ending: float | None = None,
        names: dict[str, str] | None = None,
        runtime: Runtime = "auto",
        device: Device = "auto",
        base: str | None = None,
        folder: Path | None = None,
    ) -> None:
        if max_tokens < 1:
            raise ConfigError(f"reader.unified: max_tokens = {max_tokens}.", remedy="Give at least 1.")
        self._unified = LazyUnified(part, names=names, folder=folder, runtime=runtime, device=device, base=base)
        self._sources = sources
        self._language = language
        self._max_tokens = max_tokens
        self._ending = ending

    def warm_up(self) -> None:
        """Load the weights."""
        self._unified.warm_up()

    def read(self, tasks: Sequence[ReadTask]) -> Sequence[Draft]:
        if not tasks:
            return []
        opened = self._unified.get()
        drafts = opened.runtime.write([self._writing(opened, task) for task in tasks], max_tokens=self._max_tokens)
        return [self._said(task, draft) for task, draft in zip(tasks, drafts, strict=True)]

    def stream(self, task: ReadTask) -> Iterator[str | Draft]:
        opened = self._unified.get()
        held, begun = "", False  # as long as all is blank nothing is said, since something else may have to be
        for piece in opened.runtime.stream(self._writing(opened, task), max_tokens=self._max_tokens):
            if isinstance(piece, Draft):
                draft = self._said(task, piece)
                if not begun:
                    yield draft.text
                yield draft
                return
            held += piece
            begun = begun or bool(held.strip())
            if begun:
                yield held
                held = ""

    def _writing(self, opened: UnifiedPart, task: ReadTask) -> Writing:
        shape = opened.shape
        stand_in = self._stand_ins(shape, task)
        plan = tuple(dict.fromkeys(stand_in[name] for name in task.plan.sources))
        judged = shape.grammar.style == "unims"
        shown = tuple(
            Shown(stand_in[piece.source], offers.said(piece.passage), _tenths(piece) if judged else None)
            for piece in task.evidence
        )
        return Writing(task.context, Written(plan, shown), opened.ending if self._ending is None else self._ending)

    def _stand_ins(self, shape: Shape, task: ReadTask) -> dict[SourceName, SourceName]:
        """Each source that a task names by the one that the part knows it as."""
        about = {source.name: source.about for source in self._sources}
        known = shape.grammar.sources
        found = {}
        for name in (*task.plan.sources, *(piece.source for piece in task.evidence)):
            like = [other for other in known if name in about and about.get(other) == about[name]]
            found[name] = name if name in known else (like or list(known))[-1]
        return found

    def _said(self, task: ReadTask, draft: Draft) -> Draft:
        """The draft with what it rests on; where the model said nothing, the best evidence, or that there is none."""
        ids = tuple(piece.id for piece in task.evidence)
        if draft.text.strip():
            return replace(draft, quoted=ids)
        notes = {**draft.notes, "rejected": "empty"}
        if task.evidence:
            best = max(task.evidence, key=lambda piece: piece.relevance)
            return replace(draft, text=best.text, method="quoted", quoted=(best.id,), notes=notes)
        text = phrase("nothing", spoken(task.context.last, self._language))
        return replace(draft, text=text, method="said", notes={**notes, **NO_ANSWER})


def _tenths(piece: Evidence) -> int:
    return tenths(piece.scores.get("similarity", piece.relevance))
