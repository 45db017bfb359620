"""The verdict on one rule, and the contract of a model that decides what code cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

Verdict: TypeAlias = Literal["yes", "no", "unknown", "none"]
LONGEST_FACT = 1000
"""Characters of a question, or of what a user told, that rules read."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a rule lets, refuses or prices what a user asks for, and what decided it.

    `yes`: what the question asks for holds for this user; `no`: it does not; `unknown`: one missing fact decides;
    `none`: the sentence is no rule that bears on the question.
    """

    verdict: Verdict
    missing: str = ""
    """The attribute that is missing: `age`, `date`, `membership`."""
    ask: str = ""
    """The question to ask back, in the language of the rule."""
    fact: str = ""
    """The user's sentence that decided."""
    clause: str = ""
    """The condition of the rule that decided."""
    value: str = ""
    """What the rule grants this user, such as a price."""
    reason: str = ""
    """What was compared: `age 24 < 27`."""
    confidence: float = 0.0
    by: Literal["code", "words", "model"] = "code"
    """What decided: a comparison, words that a rule and a fact share, or a model."""
    is_settled: bool = False
    """Whether no model is asked about it: what a user must not eat, and a cell that says yes or no."""


@dataclass(frozen=True, slots=True)
class Premise:
    """One question for an entailment model: a rule, what the user has said, and what is asked."""

    rule: str
    facts: tuple[str, ...]
    question: str


class Entailment(Protocol):
    """A model that judges what code cannot decide."""

    def __call__(self, premises: Sequence[Premise]) -> Sequence[dict[Verdict, float]]:
        """For each premise, the probabilities of the four verdicts."""
        ...
