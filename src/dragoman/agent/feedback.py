"""Feedback on replies: a thumb, or whether the turn needed a search. Both are labels for a gate.

A rating is kept under the user's scope as a place in a dialogue, never as a copy of its words: so text that is deleted
there is gone from the ratings too. A better answer is kept as a turn of a dialogue of its own, for the same reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.agent.turns import WITHHELD
from dragoman.core.errors import InputError, StoreCorruptError
from dragoman.core.protocols import Store
from dragoman.core.trace import reply_from_json
from dragoman.core.values import ASIDE, Context, Scope, Turn

KEY = "feedback"
BETTER = f"{ASIDE}better"


@dataclass(frozen=True, slots=True)
class Rating:
    """Feedback on the gate's decision for a turn: the dialogue up to the user's turn, and what was decided.

    `good` is the thumb and `needed` whether the user said that the turn needed a search; each is None where the user
    said nothing of the kind. `better` is what should have been said, where the user wrote it.
    """

    context: Context
    retrieved: bool
    good: bool | None = None
    better: str | None = None
    needed: bool | None = None


def rate(
    store: Store,
    scope: Scope,
    dialogue: str,
    *,
    retrieved: bool,
    good: bool | None = None,
    needed: bool | None = None,
    turn: int | None = None,
    better: str | None = None,
) -> None:
    """Keep a thumb for a reply of a dialogue, or whether it needed a search; the last reply unless `turn` gives one.

    A later rating of the same kind replaces the earlier one.
    """
    place = len(store.dialogue(scope, dialogue)) - 1 if turn is None else turn  # the turns before the reply
    earlier = _rows(store, scope)
    old = next((row for row in earlier if (row["dialogue"], row["turns"]) == (dialogue, place)), {})
    rows = [row for row in earlier if row is not old]
    row: dict[str, object] = {"dialogue": dialogue, "turns": place, "retrieved": retrieved}
    row |= {key: old[key] for key in ("good", "needed", "better") if key in old}
    replaced: list[int] = []
    if good is not None:
        row["good"] = good
        if "better" in row:
            replaced.append(int(str(row.pop("better"))))
    if needed is not None:
        row["needed"] = needed
    if better is not None:
        row["better"] = len(store.dialogue(scope, BETTER))
        store.append(scope, BETTER, [Turn("agent", better)])
    store.keep(scope, KEY, json.dumps([*rows, row], ensure_ascii=False))
    if replaced:  # the old answer has no reference any more, so no user could ask to delete it
        store.erase_turns(scope, BETTER, replaced)


def rate_reply(
    store: Store,
    scope: Scope,
    dialogue: str,
    *,
    turn: int | None = None,
    good: bool | None = None,
    needed: bool | None = None,
    better: str | None = None,
) -> None:
    """`rate` for a reply that the store holds: whether it searched is in its trace."""
    if turn is None:
        trace = store.trace(scope, dialogue)
    else:
        traces = store.traces(scope, dialogue)
        trace = traces[turn] if 0 <= turn < len(traces) else None
    if trace is None:
        raise InputError("There is no reply to judge in this dialogue.", remedy="Ask something first.")
    retrieved = reply_from_json(trace).verdict.retrieve
    rate(store, scope, dialogue, retrieved=retrieved, good=good, needed=needed, turn=turn, better=better)


def ratings(store: Store, scope: Scope) -> Iterator[Rating]:
    """Return a user's ratings with their dialogues, without those whose user turn was deleted."""
    better = store.dialogue(scope, BETTER)
    name, whole = "", list[Turn]()
    for row in sorted(_rows(store, scope), key=lambda row: str(row["dialogue"])):  # each dialogue is read once
        if row["dialogue"] != name:
            name = str(row["dialogue"])
            whole = list(store.dialogue(scope, name))
        turns_before = whole[: max(0, int(str(row["turns"])))]
        if turns_before and turns_before[-1].speaker == "user" and _is_there(turns_before[-1]):
            turns = tuple(turn for turn in turns_before if _is_there(turn))
            context = Context(turns, scope, str(row["dialogue"]))
            place = int(str(row.get("better", -1)))
            answer = better[place].text if 0 <= place < len(better) else ""
            yield Rating(
                context, bool(row["retrieved"]), _flag(row, "good"), answer.strip() or None, _flag(row, "needed")
            )


def thumbs(store: Store, scope: Scope, dialogue: str) -> dict[int, bool]:
    """Return the thumbs of a dialogue, by the place of the reply; True is up."""
    return _flags(store, scope, dialogue, "good")


def search_labels(store: Store, scope: Scope, dialogue: str) -> dict[int, bool]:
    """Whether the user said that a reply needed a search, by the place of the reply."""
    return _flags(store, scope, dialogue, "needed")


def forget_ratings(store: Store, scope: Scope, dialogue: str) -> int:
    """Delete the thumbs of a dialogue with their better answers; return the number of thumbs."""
    rows = _rows(store, scope)
    gone = [row for row in rows if row["dialogue"] == dialogue]
    if gone:
        # Answers first: after an interrupted call, the thumbs are still there and a second call finishes.
        store.erase_turns(scope, BETTER, [int(str(row["better"])) for row in gone if "better" in row])
        kept = [row for row in rows if row["dialogue"] != dialogue]
        store.keep(scope, KEY, json.dumps(kept, ensure_ascii=False))
    return len(gone)


def _flags(store: Store, scope: Scope, dialogue: str, key: str) -> dict[int, bool]:
    rows = [row for row in _rows(store, scope) if row["dialogue"] == dialogue and key in row]
    return {int(str(row["turns"])): bool(row[key]) for row in rows}


def _flag(row: dict[str, object], key: str) -> bool | None:
    return bool(row[key]) if key in row else None


def _is_there(turn: Turn) -> bool:
    return bool(turn.text.strip()) and turn.text != WITHHELD


def _rows(store: Store, scope: Scope) -> list[dict[str, object]]:
    try:
        rows: list[dict[str, object]] = json.loads(store.kept(scope, KEY) or "[]")
    except ValueError as error:
        raise StoreCorruptError(f"The kept ratings of '{scope.user}' cannot be read.", remedy="Forget them.") from error
    return rows
