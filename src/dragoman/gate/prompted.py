"""RAGate-Prompt: the language model answers True or False, zero-shot or with examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from dragoman import prompts
from dragoman.core.protocols import LanguageModel
from dragoman.core.registry import gates
from dragoman.core.values import Context, Prompt
from dragoman.gate.llm_score import LlmScoreGate

KIND = "gate.prompted"
Style: TypeAlias = Literal["zero-shot", "in-context"]
_YES, _NO = "True", "False"


@gates.register("prompted.v1")
class PromptedGate(LlmScoreGate):
    """Gate that takes the model's probability of True against False; generated text is never parsed.

    A trained `part` calibrates it to the probability of retrieval, and its style, language and threshold apply.
    """

    def __init__(
        self,
        *,
        language_model: LanguageModel,
        language: str = "en",
        style: Style = "zero-shot",
        threshold: float | None = None,
        part: str | None = None,
        folder: Path | None = None,
    ) -> None:
        super().__init__(KIND, part=part, folder=folder, threshold=threshold)
        self._model = language_model
        self._language = language
        self._style: Style = style

    def answers(self, turns: Sequence[Context], trained: Mapping[str, Any]) -> tuple[Sequence[float], str]:
        style: Style = trained.get("style", self._style)
        language = str(trained.get("language", self._language))
        gate_prompts = [question(context, style, language) for context in turns]
        return true_probabilities(self._model, gate_prompts), f"prompted {style}"


def question(context: Context, style: Style, language: str = "en") -> Prompt:
    """Return the gate's prompt for a turn."""
    return prompts.get(f"gate-{style}.v1", language).format(dialogue=prompts.dialogue(context, language))


def true_probabilities(model: LanguageModel, gate_prompts: Sequence[Prompt]) -> list[float]:
    """Return the model's probability of True against False for each prompt."""
    return [choice[_YES] for choice in model.choose(gate_prompts, (_YES, _NO))]
