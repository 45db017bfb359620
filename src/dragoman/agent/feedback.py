"""What users thought of a decision: whether it was right to look something up, or not to.

A rating is kept under the user's scope as a place in a dialogue, never as a copy of its words: what is forgotten or
blanked there is gone from the ratings too. A better answer is kept as a turn of a dialogue of its own, for the same
reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.agent.turns import WITHHELD
from dragoman.core.errors import StoreCorruptError
from dragoman.core.protocols import Store
from dragoman.core.values import ASIDE, Context, Scope, Turn

KEY = "feedback"
BETTER = f"{ASIDE}better"


@dataclass(frozen=True, slots=True)
class Rating:
    """A thumb for the gate's decision on a turn: the dialogue up to the user's turn, what was decided, up or down.

    `better` is what should have been said, where the user wrote it.
    """

    context: Context
    retrieved: bool
    good: bool
    better: str | None = None


def rate(
    store: Store,
    scope: Scope,
    dialogue: str,
    *,
    retrieved: bool,
    good: bool,
    turn: int | None = None,
    better: str | None = None,
) -> None:
    """Keep a thumb for a reply of a dialogue, the last one unless `turn` gives its place.

    A second thumb for the same reply takes the place of the first.
    """
    place = len(store.dialogue(scope, dialogue)) - 1 if turn is None else turn  # what was said before the reply
    earlier = _rows(store, scope)
    rows = [row for row in earlier if (row["dialogue"], row["turns"]) != (dialogue, place)]
    replaced = [int(str(row["better"])) for row in earlier if row not in rows and "better" in row]
    row: dict[str, object] = {"dialogue": dialogue, "turns": place, "retrieved": retrieved, "good": good}
    if better is not None:
        row["better"] = len(store.dialogue(scope, BETTER))
        store.append(scope, BETTER, [Turn("agent", better)])
    store.keep(scope, KEY, json.dumps([*rows, row], ensure_ascii=False))
    if replaced:  # nothing leads to that answer any more, so nobody could ask to forget it
        store.erase_turns(scope, BETTER, replaced)


def ratings(store: Store, scope: Scope) -> Iterator[Rating]:
    """The thumbs of a user, with the dialogues they are about; where the user's words are gone, so is the thumb."""
    better = store.dialogue(scope, BETTER)
    for row in _rows(store, scope):
        dialogue = store.dialogue(scope, str(row["dialogue"]))[: max(0, int(str(row["turns"])))]
        if dialogue and dialogue[-1].speaker == "user" and _is_there(dialogue[-1]):
            turns = tuple(turn for turn in dialogue if _is_there(turn))
            context = Context(turns, scope, str(row["dialogue"]))
            place = int(str(row.get("better", -1)))
            answer = better[place].text if 0 <= place < len(better) else ""
            yield Rating(context, bool(row["retrieved"]), bool(row["good"]), answer.strip() or None)


def thumbs(store: Store, scope: Scope, dialogue: str) -> dict[int, bool]:
    """The thumbs for a dialogue: whether it is up, by the place of the reply."""
    return {int(str(row["turns"])): bool(row["good"]) for row in _rows(store, scope) if row["dialogue"] == dialogue}


def forget_ratings(store: Store, scope: Scope, dialogue: str) -> int:
    """Erase the thumbs for a dialogue, and the better answers that came with them; how many thumbs."""
    rows = _rows(store, scope)
    gone = [row for row in rows if row["dialogue"] == dialogue]
    if gone:
        # The answers first: a call that was cut short finds the thumbs again, and does the rest.
        store.erase_turns(scope, BETTER, [int(str(row["better"])) for row in gone if "better" in row])
        kept = [row for row in rows if row["dialogue"] != dialogue]
        store.keep(scope, KEY, json.dumps(kept, ensure_ascii=False))
    return len(gone)


def _is_there(turn: Turn) -> bool:
    return bool(turn.text.strip()) and turn.text != WITHHELD


def _rows(store: Store, scope: Scope) -> list[dict[str, object]]:
    try:
        rows: list[dict[str, object]] = json.loads(store.kept(scope, KEY) or "[]")
    except ValueError as error:
        raise StoreCorruptError(f"The kept ratings of '{scope.user}' cannot be read.", remedy="Forget them.") from error
    return rows
