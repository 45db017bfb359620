"""Find the dialogue that ends with some messages, by their digest; shared by all servers of one store."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.stores.postgres.database import PostgresDatabase

_DAYS = 7


class PostgresDialogueEnds:
    """Ends of dialogues by digest; each can be claimed once. They are kept for a week, and not through a crash."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._table = f'"{database.schema}".ends'

    def claim(self, digest: bytes) -> str | None:
        """Claim the dialogue with these last messages; no one else can claim it until it gets new ones."""
        sql = f"DELETE FROM {self._table} WHERE digest = %(digest)s RETURNING dialogue"
        rows = self._database.once(sql, {"digest": digest})
        return str(rows[0][0]) if rows else None

    def note(self, digest: bytes, dialogue: str, whose: bytes) -> None:
        """Store the digest of a dialogue's last messages, and delete expired ones."""
        sql = f"""WITH gone AS (DELETE FROM {self._table} WHERE digest IN (SELECT digest FROM {self._table}
                WHERE at < now() - interval '{_DAYS} days' LIMIT 10))
            INSERT INTO {self._table} (digest, dialogue, whose) VALUES (%(digest)s, %(dialogue)s, %(whose)s)
            ON CONFLICT (digest) DO UPDATE SET dialogue = excluded.dialogue, at = excluded.at"""
        self._database.once(sql, {"digest": digest, "dialogue": dialogue, "whose": whose})

    def drop(self, dialogue: str, whose: bytes) -> None:
        """Delete the digests of a user's dialogue."""
        sql = f"DELETE FROM {self._table} WHERE dialogue = %(dialogue)s AND whose = %(whose)s"
        self._database.once(sql, {"dialogue": dialogue, "whose": whose})

    def clear(self, whose: bytes) -> None:
        """Delete the digests of all dialogues of a user."""
        self._database.once(f"DELETE FROM {self._table} WHERE whose = %(whose)s", {"whose": whose})
