"""UniMS-RAG's reader: a unified model writes the response after its plan and the evidence with their similarities."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

from dragoman.core.errors import ConfigError
from dragoman.core.protocols import Critic, warm
from dragoman.core.registry import readers
from dragoman.core.tokens import Shown, WrittenSequence, tenths
from dragoman.core.values import Draft, Evidence, ReadTask, Source, SourceName, Usage
from dragoman.models.unified import candidates as offers
from dragoman.models.unified.loading import Device, LazyUnified, Runtime, UnifiedPart
from dragoman.models.unified.model import TreeShape, Writing
from dragoman.reader.consensus import most_agreed
from dragoman.reader.phrases import NO_ANSWER, phrase, social, spoken
from dragoman.text.circles import Unwinding, unwound


@readers.register("unified.v1")
class UnifiedReader:
    """Answers by a part that `dragoman train unims` or `safari` made (Eq. 4).

    Inputs:
        max_tokens: the most of a response, at most what the part was trained with.
        ending: added to the logit of ending a response: below 0 for longer ones, where a small model is too brief;
            None: what was fitted in training.
        drafts: so many are written, the first with the most probable tokens, and the one that agrees most with the
            others is the reply; 1: the first alone.
        temperature: how the other drafts are drawn: near 0 they are like the first, at 1 as the model has it. They are
            seeded by the dialogue, so that a turn has the same again.
        critic: says how far each draft holds to the evidence, and `held` is its share in the choice; None: agreement
            alone.
        names: the part's sources by the agent's names, {USER = "MEMORY"}, where they differ.
        runtime, device, base: where the model runs, and on which weights.

    Similarities are those of `retriever.evaluating`, else the relevance that another retriever gave, in tenths.
    Evidence of a source that the part was not trained with is shown under the one that is most like it: about the same
    (user, bot or world), else the last. A part that never learned to reply without looking anything up says a fixed
    phrase there. Repetitions in a draft are cut to one, and `finish` is "circle" in its notes.
    """

    def __init__(
        self,
        *,
        part: str,
        sources: tuple[Source, ...] = (),
        language: str = "en",
        name: str = "Dragoman",
        max_tokens: int = 128,
        ending: float | None = None,
        drafts: int = 1,
        temperature: float = 0.7,
        critic: Critic | None = None,
        held: float = 0.5,
        names: dict[str, str] | None = None,
        runtime: Runtime = "auto",
        device: Device = "auto",
        base: str | None = None,
        folder: Path | None = None,
    ) -> None:
        if max_tokens < 1:
            raise ConfigError(f"reader.unified: max_tokens = {max_tokens}.", remedy="Give at least 1.")
        if drafts < 1 or not 0 < temperature < math.inf:
            raise ConfigError(
                f"reader.unified: drafts = {drafts}, temperature = {temperature}.",
                remedy="Give at least 1 draft, and a temperature above 0.",
            )
        if not 0 <= held <= 1 or (critic is not None and drafts < 2):
            raise ConfigError(
                f"reader.unified: held = {held}, drafts = {drafts}{'' if critic is None else ' and a critic'}.",
                remedy="Give a share from 0 to 1, and at least 2 drafts for a critic to choose from.",
            )
        self._unified = LazyUnified(part, names=names, folder=folder, runtime=runtime, device=device, base=base)
        self._sources = sources
        self._language = language
        self._name = name
        self._max_tokens = max_tokens
        self._ending = ending
        self._drafts = drafts
        self._temperature = temperature
        self._critic = critic
        self._held = held

    def warm_up(self) -> None:
        """Load the weights, and the critic's."""
        warm(self._critic)
        self._unified.warm_up()

    def read(self, tasks: Sequence[ReadTask]) -> Sequence[Draft]:
        if not tasks:
            return []
        opened = self._unified.get()
        writing = [task for task in tasks if _is_learned(opened, task)]
        written = iter(self._drafts_of(opened, writing))
        return [next(written) if _is_learned(opened, task) else self._phrase(task) for task in tasks]

    def stream(self, task: ReadTask) -> Iterator[str | Draft]:
        opened = self._unified.get()
        if self._drafts > 1 or not _is_learned(opened, task):  # the best draft is known only when all are written
            draft = self.read([task])[0]
            yield draft.text
            yield draft
            return
        unwinding, held, begun = Unwinding(), "", False  # yield no blank text, since another reply may replace it
        for piece in opened.runtime.stream(self._writing(opened, task), max_tokens=self._max_tokens):
            held += unwinding.rest() if isinstance(piece, Draft) else unwinding.take(piece)
            begun = begun or bool(held.strip())
            if begun and held:
                yield held
                held = ""
            if isinstance(piece, Draft):
                draft = self._with_basis(task, _straight(piece))
                if not begun:
                    yield draft.text
                yield draft

    def _drafts_of(self, opened: UnifiedPart, tasks: Sequence[ReadTask]) -> list[Draft]:
        if not tasks:
            return []
        asked = [one for task in tasks for one in self._several(self._writing(opened, task))]
        written = [_straight(draft) for draft in opened.runtime.write(asked, max_tokens=self._max_tokens)]
        several = [written[i : i + self._drafts] for i in range(0, len(written), self._drafts)]
        holding = self._holding(tasks, several)
        return [
            self._with_basis(task, _best_draft(drafts, holds, self._held))
            for task, drafts, holds in zip(tasks, several, holding, strict=True)
        ]

    def _phrase(self, task: ReadTask) -> Draft:
        context = task.context
        language = spoken(context.last, self._language)
        text, notes = social(context.last, language, name=self._name, control=context.control)
        return Draft(text, 1.0, "said", notes=notes)

    def _writing(self, opened: UnifiedPart, task: ReadTask) -> Writing:
        shape = opened.shape
        stand_in = self._stand_ins(shape, task)
        plan = tuple(dict.fromkeys(stand_in[name] for name in task.plan.sources))
        judged = shape.grammar.style == "unims"
        shown = tuple(
            Shown(stand_in[piece.source], offers.passage_text(piece.passage), _tenths(piece) if judged else None)
            for piece in task.evidence
        )
        return Writing(
            task.context, WrittenSequence(plan, shown), opened.ending if self._ending is None else self._ending
        )

    def _several(self, writing: Writing) -> list[Writing]:
        """Return one writing task for each draft."""
        rest = range(1, self._drafts)
        return [writing, *(replace(writing, temperature=self._temperature, seed=_seed(writing, i)) for i in rest)]

    def _holding(self, tasks: Sequence[ReadTask], several: Sequence[Sequence[Draft]]) -> list[list[float]]:
        """Return each draft's mean consistency with the pieces of evidence; empty without a critic or evidence."""
        if self._critic is None:
            return [[] for _ in tasks]
        texts = [list(dict.fromkeys(draft.text for draft in drafts)) for drafts in several]
        pairs = [
            (piece, text) for task, said in zip(tasks, texts, strict=True) for text in said for piece in task.evidence
        ]
        consistencies = iter(self._critic.consistency(pairs))
        means = [
            {text: _mean([next(consistencies) for _ in task.evidence]) for text in said}
            for task, said in zip(tasks, texts, strict=True)
        ]
        return [
            [agreement[draft.text] for draft in drafts] if task.evidence else []
            for task, drafts, agreement in zip(tasks, several, means, strict=True)
        ]

    def _stand_ins(self, shape: TreeShape, task: ReadTask) -> dict[SourceName, SourceName]:
        """Map each source of a task to the trained source that stands for it."""
        about = {source.name: source.about for source in self._sources}
        trained = shape.grammar.sources
        stand_ins = {}
        for name in (*task.plan.sources, *(piece.source for piece in task.evidence)):
            like = [other for other in trained if name in about and about.get(other) == about[name]]
            stand_ins[name] = name if name in trained else (like or list(trained))[-1]
        return stand_ins

    def _with_basis(self, task: ReadTask, draft: Draft) -> Draft:
        """Add the evidence ids; replace an empty draft by the best evidence, or by a phrase if there is none."""
        ids = tuple(piece.id for piece in task.evidence)
        if draft.text.strip():
            return replace(draft, quoted=ids)
        notes = {**draft.notes, "rejected": "empty"}
        if task.evidence:
            best = max(task.evidence, key=lambda piece: piece.relevance)
            return replace(draft, text=best.text, method="quoted", quoted=(best.id,), notes=notes)
        text = phrase("nothing", spoken(task.context.last, self._language))
        return replace(draft, text=text, method="said", notes={**notes, **NO_ANSWER})


def _is_learned(opened: UnifiedPart, task: ReadTask) -> bool:
    """Whether the part was trained on turns like this one."""
    return opened.talks or bool(task.plan.sources or task.evidence)


def _straight(draft: Draft) -> Draft:
    """Remove repetitions from a draft."""
    text = unwound(draft.text)
    return draft if text == draft.text else replace(draft, text=text, notes={**draft.notes, "finish": "circle"})


def _best_draft(drafts: Sequence[Draft], holding: Sequence[float], held: float) -> Draft:
    """Return the draft with the best agreement and consistency, with the usage of all; the prompt counts once.

    Blank drafts are never chosen if another one has text.
    """
    if len(drafts) == 1:
        return drafts[0]
    places = [place for place, draft in enumerate(drafts) if draft.text.strip()]
    if len(places) < 2:
        best, agreement = places[0] if places else 0, 0.0
    else:
        holds = [holding[place] for place in places] if holding else []
        place, agreement = most_agreed([drafts[place].text for place in places], holds, held if holding else 0.0)
        best = places[place]
    notes = {**drafts[best].notes, "drafts": len(drafts), "agreement": round(agreement, 3)}
    if holding:
        notes["holding"] = round(holding[best], 3)
    used = [draft.usage for draft in drafts]
    usage = Usage(used[best].prompt_tokens, sum(one.completion_tokens for one in used), sum(one.calls for one in used))
    return replace(drafts[best], usage=usage, notes=notes)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _seed(writing: Writing, draft: int) -> int:
    """Return the seed of a draft, from the dialogue alone and not from the evidence."""
    content = json.dumps([draft, *([turn.speaker, turn.text] for turn in writing.context.turns)])
    return int.from_bytes(blake2b(content.encode(), digest_size=4).digest()) >> 1  # below 2^31


def _tenths(piece: Evidence) -> int:
    return tenths(piece.scores.get("similarity", piece.relevance))
