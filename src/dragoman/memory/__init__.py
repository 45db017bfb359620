"""Memory: what a user says about themselves, remembered, reconciled and forgotten."""

from dragoman.memory.rules import RuleMemory

__all__ = ["RuleMemory"]
