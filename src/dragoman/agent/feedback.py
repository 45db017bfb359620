"""What users thought of a decision: whether it was right to look something up, or not to.

A rating is kept under the user's scope as a place in a dialogue, never as a copy of its words: what is forgotten or
blanked there is gone from the ratings too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.agent.turns import WITHHELD
from dragoman.core.errors import StoreCorruptError
from dragoman.core.protocols import Store
from dragoman.core.values import Context, Scope, Turn

KEY = "feedback"


@dataclass(frozen=True, slots=True)
class Rating:
    """A thumb for the gate's decision on a turn: the dialogue up to the user's turn, what was decided, up or down."""

    context: Context
    retrieved: bool
    good: bool


def rate(store: Store, scope: Scope, dialogue: str, *, retrieved: bool, good: bool) -> None:
    """Keep a thumb for the last reply of a dialogue; a second one for the same reply takes the place of the first."""
    place = len(store.dialogue(scope, dialogue)) - 1  # what was said before the reply
    rows = [row for row in _rows(store, scope) if (row["dialogue"], row["turns"]) != (dialogue, place)]
    rows.append({"dialogue": dialogue, "turns": place, "retrieved": retrieved, "good": good})
    store.keep(scope, KEY, json.dumps(rows, ensure_ascii=False))


def ratings(store: Store, scope: Scope) -> Iterator[Rating]:
    """The thumbs of a user, with the dialogues they are about; where the user's words are gone, so is the thumb."""
    for row in _rows(store, scope):
        said = store.dialogue(scope, str(row["dialogue"]))[: max(0, int(str(row["turns"])))]
        if said and said[-1].speaker == "user" and _is_there(said[-1]):
            turns = tuple(turn for turn in said if _is_there(turn))
            yield Rating(Context(turns, scope, str(row["dialogue"])), bool(row["retrieved"]), bool(row["good"]))


def _is_there(turn: Turn) -> bool:
    return bool(turn.text.strip()) and turn.text != WITHHELD


def _rows(store: Store, scope: Scope) -> list[dict[str, object]]:
    try:
        found: list[dict[str, object]] = json.loads(store.kept(scope, KEY) or "[]")
    except ValueError as error:
        raise StoreCorruptError(f"The kept ratings of '{scope.user}' cannot be read.", remedy="Forget them.") from error
    return found
