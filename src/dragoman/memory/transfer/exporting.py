"""A user's memory as a file to take along: JSON that comes back as it was, or a Markdown list to read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dragoman.core.codec import Json
from dragoman.core.protocols import Store
from dragoman.core.values import Passage, Scope, Turn
from dragoman.memory.transfer.formats import OWN_FORMAT, Item

_META = ("slot", "value", "said", "subject", "type", "role", "said_at", "valid_from", "valid_until")


def exported(facts: Sequence[Passage], past: Sequence[Passage], wishes: Sequence[Passage]) -> dict[str, Json]:
    """Facts, earlier facts with their ends, and standing wishes; `dragoman memory import` reads it."""
    ended = [row for row in past if row.meta.get("valid_until")]
    return {
        "format": OWN_FORMAT,
        "facts": [_row(row) for row in sorted((*ended, *facts), key=_order)],
        "wishes": [{"text": row.text, "said_at": row.meta.get("said_at", "")} for row in wishes],
    }


def as_markdown(facts: Sequence[Passage], wishes: Sequence[Passage] = ()) -> str:
    """A list that people read and other programs take: a line a fact, with the day on which it was told."""
    lines = ["# What I told about myself", ""]
    lines += [f"- {row.text}{_date_suffix(row)}" for row in facts]
    if wishes:
        lines += ["", "# How I want replies to be worded", "", *(f"- {row.text}{_date_suffix(row)}" for row in wishes)]
    return "\n".join(lines) + "\n"


def with_chats(items: Iterable[Item], store: Store, scope: Scope, kept: list[str], *, dry_run: bool) -> Iterator[Item]:
    """The items of a file; its chats are added to the user's dialogues on the way, those that are not there yet.

    The names of added chats are in `kept`.
    """
    there = set(store.dialogues(scope))

    def add(name: str, turns: Sequence[Turn]) -> None:
        if turns and name not in there:
            there.add(name)
            kept.append(name)
            if not dry_run:
                store.append(scope, name, turns)

    name, turns = "", list[Turn]()
    for item in items:
        if item.kind == "message":
            if item.dialogue != name:
                add(name, turns)
                name, turns = item.dialogue, []
            turns.append(Turn(item.speaker, item.text, item.said_at))
        yield item
    add(name, turns)


def _order(row: Passage) -> tuple[str, str, str]:
    return row.meta.get("said_at", ""), row.meta.get("slot", ""), row.text


def _row(row: Passage) -> Json:
    return {"text": row.text, **{key: row.meta[key] for key in _META if row.meta.get(key)}}


def _date_suffix(row: Passage) -> str:
    said_at = row.meta.get("said_at", "")
    return f" ({said_at[:10]})" if said_at else ""
