"""Models without weights: answers by list or rule, and an encoder that hashes words."""

from __future__ import annotations

import hashlib
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

from dragoman.core.errors import ConfigError, ModelError
from dragoman.core.registry import encoders, models
from dragoman.core.values import Draft, Prompt, Usage
from dragoman.models.choice import check_options, normalise
from dragoman.models.metering import record, recorded

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray

T = TypeVar("T")
_PIECE = re.compile(r"\A\s*+\S++\s*+|\S++\s*+")
_KEPT = 1000
_CJK = "\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+")


def text_of(prompt: Prompt) -> str:
    """All messages of a prompt, one after another: what a rule is matched against."""
    return "\n".join(message.content for message in prompt.messages)


@models.register("scripted.v1")
class ScriptedModel:
    """Answers from `answers` in order, then by the first rule whose pattern is found, then `default`.

    A pattern is a substring, or a regular expression where it begins with `re:`. `choices` are rules
    for `choose`: a pattern and either one option or a table of weights. Without a rule the options
    are equally probable, or the first one is certain where `undecided` is `first`. Being a list, the
    answers are used up; rules alone keep a model without state. An answer takes `seconds`, as one of a real model
    would. `history` holds the last prompts seen.
    """

    def __init__(
        self,
        *,
        answers: Sequence[str] = (),
        rules: Sequence[tuple[str, str]] = (),
        default: str | None = None,
        choices: Sequence[tuple[str, str | dict[str, float]]] = (),
        undecided: Literal["uniform", "first"] = "uniform",
        confidence: float = 1.0,
        seconds: float = 0.0,
    ) -> None:
        if not 0.0 <= confidence <= 1.0:
            raise ConfigError(f"confidence is {confidence}.", remedy="Give a probability from 0 to 1.")
        self._answers = list(answers)
        self._rules = tuple(rules)
        self._default = default
        self._choices = tuple(choices)
        self._undecided = undecided
        self._confidence = confidence
        self._seconds = seconds
        self.history: list[Prompt] = []

    def warm_up(self) -> None:
        """Nothing to load."""

    def generate(self, prompts: Sequence[Prompt], *, max_tokens: int, stop: Sequence[str] = ()) -> Sequence[Draft]:
        return recorded([self._answer(prompt, max_tokens, stop) for prompt in prompts])

    def stream(self, prompt: Prompt, *, max_tokens: int, stop: Sequence[str] = ()) -> Iterator[str | Draft]:
        (draft,) = recorded([self._answer(prompt, max_tokens, stop)])
        yield from _PIECE.findall(draft.text)
        yield draft

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str]) -> Sequence[Mapping[str, float]]:
        check_options(options)
        return [self._choice(prompt, options) for prompt in prompts]

    def _see(self, prompt: Prompt) -> None:
        self.history.append(prompt)
        if len(self.history) > _KEPT:  # a model that serves for days must not grow
            del self.history[: _KEPT // 2]

    def _answer(self, prompt: Prompt, max_tokens: int, stop: Sequence[str]) -> Draft:
        self._see(prompt)
        time.sleep(self._seconds)
        answer = _first_match(self._rules, prompt) if not self._answers else self._answers.pop(0)
        if answer is None:
            answer = self._default
        if answer is None:
            raise ModelError(
                f"The scripted model has no answer for the prompt '{prompt.name or 'unnamed'}'.",
                remedy="Add an answer, a rule that matches, or a default.",
            )
        ends = [answer.find(mark) for mark in stop if mark and mark in answer]
        pieces = _PIECE.findall(answer[: min(ends)] if ends else answer)[:max_tokens]
        usage = Usage(len(text_of(prompt).split()), len(pieces), 1)
        return Draft("".join(pieces).strip(), self._confidence, usage=usage)

    def _choice(self, prompt: Prompt, options: Sequence[str]) -> Mapping[str, float]:
        self._see(prompt)
        record(Usage(len(text_of(prompt).split()), 1, 1))
        rule = _first_match(self._choices, prompt)
        if rule is None:
            weights = dict.fromkeys(options if self._undecided == "uniform" else options[:1], 1.0)
        else:
            weights = {rule: 1.0} if isinstance(rule, str) else rule
        given_weights = {option: weights.get(option, 0.0) for option in options}
        if not any(weight > 0 for weight in given_weights.values()):
            raise ModelError(
                f"The scripted choice {sorted(weights)} is none of the options {list(options)}.",
                remedy="Let the rule name an option of the prompt it answers.",
            )
        return normalise(
            {option: math.log(weight) if weight > 0 else -math.inf for option, weight in given_weights.items()}
        )


def _first_match(rules: Sequence[tuple[str, T]], prompt: Prompt) -> T | None:
    text = text_of(prompt)
    for pattern, value in rules:
        if re.search(pattern[3:], text) if pattern.startswith("re:") else pattern in text:
            return value
    return None


@encoders.register("hashing.v1")
class ScriptedEncoder:
    """A bag of hashed words as a unit vector: the same text always gives the same vector, without weights."""

    def __init__(self, *, dimensions: int = 256) -> None:
        if dimensions < 1:
            raise ConfigError(f"dimensions is {dimensions}.", remedy="Give a positive number.")
        self._dimensions = dimensions

    @property
    def dimensions(self) -> int:
        return self._dimensions

    @property
    def space(self) -> str:
        """The name of the vector space."""
        return f"hashing {self._dimensions}"

    def warm_up(self) -> None:
        """Nothing to load."""

    def encode(self, texts: Sequence[str]) -> FloatArray:
        import numpy as np

        vectors = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            for token in _TOKEN.findall(text.lower()) or [""]:
                digest = int.from_bytes(hashlib.blake2b(token.encode("utf-8", "replace"), digest_size=8).digest())
                vectors[row, (digest >> 1) % self._dimensions] += 1.0 if digest & 1 else -1.0
            if not vectors[row].any():  # signs may cancel, and every text must have a direction
                vectors[row, 0] = 1.0
        norms: FloatArray = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / norms
