"""Stores: the SQLite system of record with its sidecar index, and one in memory."""

from dragoman.stores.in_memory import InMemoryStore

__all__ = ["InMemoryStore"]
