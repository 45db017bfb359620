"""The language model writes the answer from the evidence (SAFARI's assembling, UniMS-RAG's Eq. 4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dragoman import prompts
from dragoman.core.protocols import LanguageModel
from dragoman.core.registry import readers
from dragoman.core.values import Draft, Prompt, ReadTask


@readers.register("prompted.v1")
class PromptedReader:
    """Uses the model's reply unchecked; for small models use `reader.grounded.v1`, which checks it.

    `style` says how it speaks: names such as "short, formal" (`prompts.style`), or a sentence or two.
    """

    follows_instructions = True

    def __init__(
        self,
        *,
        language_model: LanguageModel,
        language: str = "en",
        name: str = "Dragoman",
        max_tokens: int = 96,
        turns: int = 4,
        style: str = "",
    ) -> None:
        self._model = language_model
        self._language = language
        self._name = name
        self._max_tokens = max_tokens
        self._turns = turns
        self._style = prompts.style_text(style, language)

    @property
    def takes_sampling(self) -> bool:
        """Whether the model obeys a caller's temperature and seed."""
        return bool(getattr(self._model, "takes_sampling", False))

    def read(self, tasks: Sequence[ReadTask]) -> Sequence[Draft]:
        return self._model.generate([self.prompt(task) for task in tasks], max_tokens=self._max_tokens)

    def stream(self, task: ReadTask) -> Iterator[str | Draft]:
        return self._model.stream(self.prompt(task), max_tokens=self._max_tokens)

    def prompt(self, task: ReadTask) -> Prompt:
        """The prompt for a task: with its evidence, or plain conversation where there is none."""
        prompt = prompts.styled(self._prompt(task), self._style, self._language)
        return prompts.for_caller(prompt, task.context, self._language)

    def _prompt(self, task: ReadTask) -> Prompt:
        dialogue = prompts.dialogue(task.context, self._language, last=self._turns)
        if not task.evidence:
            return prompts.get("chat.v1", self._language).format(name=self._name, dialogue=dialogue)
        evidence = prompts.evidence(task.evidence, self._language)
        return prompts.get("answer.v1", self._language).format(name=self._name, evidence=evidence, dialogue=dialogue)
