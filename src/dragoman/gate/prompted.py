"""RAGate-Prompt: the language model says True or False, zero-shot or with examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from dragoman import prompts
from dragoman.core.protocols import LanguageModel
from dragoman.core.registry import gates
from dragoman.core.values import Context, Evidence, Verdict


@gates.register("prompted.v1")
class PromptedGate:
    """Asks the model; the probability is that of True against False, never of what it happens to write."""

    def __init__(
        self,
        *,
        language_model: LanguageModel,
        language: str = "en",
        style: Literal["zero-shot", "in-context"] = "zero-shot",
        threshold: float = 0.5,
    ) -> None:
        self._model = language_model
        self._language = language
        self._style = style
        self._threshold = threshold

    def decide(
        self, turns: Sequence[Context], evidence: Sequence[Sequence[Evidence]] | None = None
    ) -> Sequence[Verdict]:
        template = prompts.get(f"gate-{self._style}.v1", self._language)
        asked = [template.format(dialogue=prompts.dialogue(context, self._language)) for context in turns]
        chosen = self._model.choose(asked, ("True", "False"))
        return [
            Verdict(choice["True"] >= self._threshold, choice["True"], f"prompted {self._style}") for choice in chosen
        ]
