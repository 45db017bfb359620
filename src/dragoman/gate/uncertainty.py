"""Look something up where the model is unsure of the answer it would give without."""

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
"""The name under which parts were fitted that do not say one."""


@gates.register("uncertainty.v1")
class UncertaintyGate(LlmScoreGate):
    """Drafts a reply without retrieval; opens where the doubt of the draft is at or above `threshold`.

    The doubt is one less the draft's confidence (`measure = "mean"`), or less the probability of its least likely
    token (`"least"`; the language model needs `least = true`). With a trained `part` the doubt is made into the
    probability that something should be looked up; the part then says what is measured, in which
    language and under which name is asked, and where the threshold lies.
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
        asked = [question(context, language, name) for context in turns]
        drafts = self._model.generate(asked, max_tokens=int(trained.get("max_tokens", self._max_tokens)))
        return [doubt(draft, measure) for draft in drafts], "doubt of an unaided draft"


def question(context: Context, language: str = "en", name: str = "Dragoman") -> Prompt:
    """What the language model is asked: the reply it would give without looking anything up."""
    template = prompts.get("chat.v1", language)
    return template.format(name=name, dialogue=prompts.dialogue(context, language, last=3))


def doubt(draft: Draft, measure: Measure = "mean") -> float:
    """How little a draft is to be trusted, from 0 to 1."""
    trust = draft.confidence
    if measure == "least" and draft.text:
        told = draft.notes.get("min_probability")
        if not isinstance(told, int | float):
            raise ConfigError(
                "The language model does not say how likely its least likely token was.",
                remedy='Set least = true in [models.language] (llamacpp), or measure = "mean" for the gate.',
            )
        trust = float(told)
    return min(1.0, max(0.0, 1.0 - trust))
