"""Decisions on rules: does one apply to this user, and which row of a table answers a question."""

from dragoman.decision import forgetting  # noqa: F401  # registers the caches of this package
from dragoman.decision.applies import applies
from dragoman.decision.tables.rows import Choice, pick
from dragoman.decision.values import Decision, Entailment, Premise, Verdict

__all__ = ["Choice", "Decision", "Entailment", "Premise", "Verdict", "applies", "pick"]
