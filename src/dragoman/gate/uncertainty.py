"""Look something up where the model is unsure of the answer it would give without."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman import prompts
from dragoman.core.protocols import LanguageModel
from dragoman.core.registry import gates
from dragoman.core.values import Context, Evidence, Verdict


@gates.register("uncertainty.v1")
class UncertaintyGate:
    """Drafts a reply without retrieval; opens where the draft's confidence is below `1 - threshold`."""

    def __init__(
        self,
        *,
        language_model: LanguageModel,
        language: str = "en",
        name: str = "Dragoman",
        threshold: float = 0.5,
        max_tokens: int = 24,
    ) -> None:
        self._model = language_model
        self._language = language
        self._name = name
        self._threshold = threshold
        self._max_tokens = max_tokens

    def decide(
        self, turns: Sequence[Context], evidence: Sequence[Sequence[Evidence]] | None = None
    ) -> Sequence[Verdict]:
        template = prompts.get("chat.v1", self._language)
        asked = [
            template.format(name=self._name, dialogue=prompts.dialogue(context, self._language, last=3))
            for context in turns
        ]
        drafts = self._model.generate(asked, max_tokens=self._max_tokens)
        doubts = [min(1.0, max(0.0, 1.0 - draft.confidence)) for draft in drafts]
        return [Verdict(doubt >= self._threshold, doubt, "doubt of an unaided draft") for doubt in doubts]
