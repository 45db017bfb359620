"""Stores: the SQLite system of record with its sidecar index, and one in memory."""

from dragoman.stores.in_memory import InMemoryStore
from dragoman.stores.sqlite import SqliteStore, Verification

__all__ = ["InMemoryStore", "SqliteStore", "Verification"]
