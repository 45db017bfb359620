"""RAGate-Prompt: the language model says True or False, zero-shot or with examples."""

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
    """Asks the model; the number is the probability of True against False, never of what it happens to write.

    With a trained `part` that is made into the probability that something should be looked up; the part then says in
    which style and language is asked, and where the threshold lies.
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
        asked = [question(context, style, language) for context in turns]
        return chosen(self._model, asked), f"prompted {style}"


def question(context: Context, style: Style, language: str = "en") -> Prompt:
    """What the language model is asked of a turn."""
    return prompts.get(f"gate-{style}.v1", language).format(dialogue=prompts.dialogue(context, language))


def chosen(model: LanguageModel, asked: Sequence[Prompt]) -> list[float]:
    """How likely the model says True, and not False."""
    return [choice[_YES] for choice in model.choose(asked, (_YES, _NO))]
