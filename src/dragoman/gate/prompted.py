"""RAGate-Prompt: the language model says True or False, zero-shot or with examples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from dragoman import prompts
from dragoman.core.protocols import LanguageModel
from dragoman.core.registry import gates
from dragoman.core.values import Context, Evidence, Prompt, Verdict
from dragoman.gate.answered import Answered

KIND = "gate.prompted"
Style: TypeAlias = Literal["zero-shot", "in-context"]
_YES, _NO = "True", "False"


@gates.register("prompted.v1")
class PromptedGate:
    """Asks the model; the probability is that of True against False, never of what it happens to write.

    With a trained `part` that is made into the probability that something should be looked up; the part then says in
    which style is asked, and where the threshold lies. It holds for the language model that it was fitted with.
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
        self._model = language_model
        self._language = language
        self._style: Style = style
        self._answered = Answered(KIND, part, folder, threshold)

    def warm_up(self) -> None:
        """Read the calibration, where there is one."""
        self._answered.options()

    @property
    def threshold(self) -> float:
        """The probability from which something is looked up."""
        return self._answered.threshold

    def decide(
        self, turns: Sequence[Context], evidence: Sequence[Sequence[Evidence]] | None = None
    ) -> Sequence[Verdict]:
        if not turns:
            return []
        style: Style = self._answered.options().get("style", self._style)
        found = answers(self._model, [question(context, style, self._language) for context in turns])
        said = f"prompted {style}"
        return [self._answered.verdict(each, said, f"{said}: {_YES} {each:.2f}") for each in found]


def question(context: Context, style: Style, language: str = "en") -> Prompt:
    """What the language model is asked of a turn."""
    return prompts.get(f"gate-{style}.v1", language).format(dialogue=prompts.dialogue(context, language))


def answers(model: LanguageModel, asked: Sequence[Prompt]) -> list[float]:
    """How likely the model says True, and not False."""
    return [choice[_YES] for choice in model.choose(asked, (_YES, _NO))]
