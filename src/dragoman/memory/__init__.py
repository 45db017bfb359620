"""Memory: facts that users state about themselves, how they are learned, reconciled, recalled and deleted."""

from dragoman.memory.rules import RuleMemory

__all__ = ["RuleMemory"]
