"""The standing wishes of users, in the store: apart from facts, so that no search returns them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dragoman.core.clock import stamp
from dragoman.core.protocols import Store
from dragoman.core.values import Passage, Scope
from dragoman.text.wishes import Wish, Wishing

WISHES = "standing wishes"
"""The source of the rows. No agent declares it, so that no plan holds it and no search returns a wish."""
MOST_WISHES = 20


@dataclass(frozen=True, slots=True)
class StandingWishes:
    """Adds, lists and ends the standing wishes of users."""

    store: Store

    def all(self, scope: Scope) -> tuple[Passage, ...]:
        """A user's wishes, oldest first."""
        return tuple(self.store.passages(scope, WISHES))

    def change(
        self, scope: Scope, wishing: Wishing, at: datetime | None = None
    ) -> tuple[tuple[Passage, ...], tuple[Passage, ...]]:
        """Add and end wishes as a turn asks; return the new and the ended ones.

        A new wish replaces an older one of its kind; beyond `MOST_WISHES` the oldest is dropped.
        """
        held = list(self.all(scope))
        ended = held if wishing.ends_all else [row for row in held if any(_ends(wish, row) for wish in wishing.ended)]
        added = [_row(wish, stamp(at)) for wish in wishing.wished]
        replaced = [row for row in held if any(_replaces(new, row) for new in added)]
        left = [row for row in held if row not in ended and row not in replaced]
        dropped = left[: max(0, len(left) + len(added) - MOST_WISHES)]
        gone = {row.id for row in (*ended, *replaced, *dropped)} - {row.id for row in added}
        if gone:
            self.store.remove(scope, sorted(gone))
        if added:
            self.store.put(scope, added)
        return tuple(added), tuple(row for row in (*ended, *dropped) if row.id in gone)

    def end(self, scope: Scope, id: str) -> Passage | None:
        """Delete one wish; None where there is none of that id."""
        row = next((row for row in self.all(scope) if row.id == id), None)
        if row is not None:
            self.store.remove(scope, [id])
        return row


def _row(wish: Wish, said_at: str) -> Passage:
    name = hashlib.sha256(f"{wish.kind}\x00{wish.value}".encode()).hexdigest()[:16]
    meta = {"kind": wish.kind, "value": wish.value, "said": wish.said, "said_at": said_at}
    return Passage(f"wish-{name}", WISHES, wish.text, meta=meta)


def _replaces(new: Passage, old: Passage) -> bool:
    kind, value = new.meta["kind"], new.meta["value"]
    return kind == old.meta["kind"] and (kind != "style" or value == old.meta["value"])


def _ends(wish: Wish, row: Passage) -> bool:
    """Whether ending a wish ends a row: any of its kind if no value is named or the values are near."""
    if wish.kind != row.meta["kind"]:
        return False
    return not wish.value or wish.kind == "length" or wish.value.casefold() == row.meta["value"].casefold()


def instructions_of(rows: Sequence[Passage]) -> str:
    """Wishes as instructions for a model that words the reply."""
    return "\n".join(f"- {row.text}" for row in rows)
