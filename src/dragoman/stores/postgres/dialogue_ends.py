"""Which dialogue ends with some messages, for all servers of one store: a digest of the messages, and its name."""

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
        """The dialogue that ends so; nobody else can claim it until it ends anew."""
        sql = f"DELETE FROM {self._table} WHERE digest = %(digest)s RETURNING dialogue"
        found = self._database.once(sql, {"digest": digest})
        return str(found[0][0]) if found else None

    def note(self, digest: bytes, dialogue: str, whose: bytes) -> None:
        """Remember how a dialogue ends now, and forget what nobody has gone on with for long."""
        sql = f"""WITH gone AS (DELETE FROM {self._table} WHERE digest IN (SELECT digest FROM {self._table}
                WHERE at < now() - interval '{_DAYS} days' LIMIT 10))
            INSERT INTO {self._table} (digest, dialogue, whose) VALUES (%(digest)s, %(dialogue)s, %(whose)s)
            ON CONFLICT (digest) DO UPDATE SET dialogue = excluded.dialogue, at = excluded.at"""
        self._database.once(sql, {"digest": digest, "dialogue": dialogue, "whose": whose})

    def drop(self, dialogue: str, whose: bytes) -> None:
        """Forget how a dialogue of a user ends."""
        sql = f"DELETE FROM {self._table} WHERE dialogue = %(dialogue)s AND whose = %(whose)s"
        self._database.once(sql, {"dialogue": dialogue, "whose": whose})

    def clear(self, whose: bytes) -> None:
        """Forget how all dialogues of a user end."""
        self._database.once(f"DELETE FROM {self._table} WHERE whose = %(whose)s", {"whose": whose})
