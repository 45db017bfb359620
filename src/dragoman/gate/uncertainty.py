"""Gate that retrieves if the language model is unsure of its answer without retrieval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from dragoman import prompts
from dragoman.core.errors import ConfigError
from dragoman.core.protocols import LanguageModel
from dragoman.core.registry import gates
from dragoman.core.values import Context, Draft, Prompt
from dragoman.gate.llm_score import LlmScoreGate

KIND = "gate.uncertainty"
Measure: TypeAlias = Literal["mean", "least"]
_UNNAMED = "Dragoman"
"""Name in the prompt of parts that store none."""


@gates.register("uncertainty.v1")
class UncertaintyGate(LlmScoreGate):
    """Gate that drafts a reply without retrieval and opens if the doubt of the draft reaches `threshold`.

    The doubt is one minus the draft's confidence (`measure = "mean"`), or minus the probability of its least likely
    token (`"least"`; the language model needs `least = true`). A trained `part` calibrates the doubt to the
    probability of retrieval, and its measure, language, name and threshold apply.
    """

    def __init__(
        self,
        *,
        language_model: LanguageModel,
        language: str = "en",
        name: str = "Dragoman",
        threshold: float | None = None,
        max_tokens: int = 24,
        measure: Measure = "mean",
        part: str | None = None,
        folder: Path | None = None,
    ) -> None:
        super().__init__(KIND, part=part, folder=folder, threshold=threshold)
        self._model = language_model
        self._language = language
        self._persona = name
        self._max_tokens = max_tokens
        self._measure: Measure = measure

    def answers(self, turns: Sequence[Context], trained: Mapping[str, Any]) -> tuple[Sequence[float], str]:
        measure: Measure = trained.get("measure", self._measure)
        language = str(trained.get("language", self._language))
        name = str(trained.get("name", _UNNAMED if trained else self._persona))
        draft_prompts = [question(context, language, name) for context in turns]
        drafts = self._model.generate(draft_prompts, max_tokens=int(trained.get("max_tokens", self._max_tokens)))
        return [doubt(draft, measure) for draft in drafts], "doubt of an unaided draft"


def question(context: Context, language: str = "en", name: str = "Dragoman") -> Prompt:
    """Return the prompt for a reply without retrieval."""
    template = prompts.get("chat.v1", language)
    return template.format(name=name, dialogue=prompts.dialogue(context, language, last=3))


def doubt(draft: Draft, measure: Measure = "mean") -> float:
    """Return the doubt of a draft, from 0 to 1."""
    trust = draft.confidence
    if measure == "least" and draft.text:
        least = draft.notes.get("min_probability")
        if not isinstance(least, int | float):
            raise ConfigError(
                "The language model does not return the probability of its least likely token.",
                remedy='Set least = true in [models.language] (llamacpp), or measure = "mean" for the gate.',
            )
        trust = float(least)
    return min(1.0, max(0.0, 1.0 - trust))
