"""Stores: SQLite (the default) with a search index beside it, PostgreSQL, and one in memory."""

from dragoman.stores.in_memory import InMemoryStore
from dragoman.stores.postgres.store import PostgresStore
from dragoman.stores.sql_store import Verification
from dragoman.stores.sqlite.store import SqliteStore

__all__ = ["InMemoryStore", "PostgresStore", "SqliteStore", "Verification"]
