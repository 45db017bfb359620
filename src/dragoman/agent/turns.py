"""Normalise typed text to a turn, and select what of a turn is stored."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dragoman.core.clock import stamp
from dragoman.core.errors import InputError
from dragoman.core.trace import Note, Reply, Trace
from dragoman.core.values import Draft, Scope, Turn, Usage
from dragoman.models.metering import Meter

if TYPE_CHECKING:
    from dragoman.core.codec import Json
    from dragoman.core.protocols import Store

MOST_CHARACTERS = 32_000
WITHHELD = "[forgotten]"

# Terminal escape sequences: without their first character the rest would remain as text.
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
# Everything of category Cc but tab and line feed, and the byte-order mark; joiners stay, since emoji need them.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff]")
# Surrogates that surrogateescape makes of invalid UTF-8; no encoder accepts them.
_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str, *, most: int = MOST_CHARACTERS) -> str:
    """The turn without control characters and broken bytes; one that is empty or too long is refused."""
    if len(text) > most:
        raise InputError(
            f"The turn has {len(text):,} characters; at most {most:,} are read.",
            remedy="Shorten it, or put the text into a file and ingest it.",
            length=len(text),
            limit=most,
        )
    unbroken = text.replace("\r\n", "\n").replace("\r", "\n")
    plain = _SURROGATE.sub("\ufffd", _CONTROL.sub("", _ESCAPE.sub("", unbroken))).strip()
    if not plain:
        raise InputError("The turn is empty.", remedy="Say something.", length=len(text))
    return plain


def kept_turns(asked: Turn, reply: Reply) -> tuple[Turn, Turn] | None:
    """Return the two turns to store; None if the turn asked to delete something, so that its words are not stored."""
    for note in reply.trace.of("memory"):
        if getattr(note.value, "forgotten", ()):
            return None
    return asked, Turn("agent", reply.text, stamp())


def last_turns(store: Store, scope: Scope, dialogue: str, most: int) -> tuple[Sequence[Turn], int]:
    """Return the last turns of a dialogue and the number of all turns; SQL stores read only these rows."""
    if hasattr(store, "last_turns"):
        turns, count = store.last_turns(scope, dialogue, most)
        return turns, count
    whole = store.dialogue(scope, dialogue)
    return whole[-most:] if most else (), len(whole)


def exchanges(store: Store, scope: Scope, dialogue: str) -> Iterator[tuple[Turn, Json]]:
    """The turns of a dialogue with their traces, one after the other."""
    if hasattr(store, "exchanges"):
        return iter(store.exchanges(scope, dialogue))
    return zip(store.dialogue(scope, dialogue), store.traces(scope, dialogue), strict=False)


def with_usage(reply: Reply, meter: Meter) -> Reply:
    """Add to a reply all model calls that the meter of the turn has counted.

    Readers and refiners report their own calls in the trace; all other calls are added to the last draft.
    """
    notes = list(reply.trace)
    place = next((place for place in reversed(range(len(notes))) if isinstance(notes[place].value, Draft)), None)
    unreported = meter.usage.above(reply.trace.usage)
    if place is None or unreported == Usage():
        return reply
    draft = notes[place].value
    assert isinstance(draft, Draft)
    measures = dict(draft.notes)
    if meter.price is not None:
        measures["price"] = float(measures.get("price", 0.0)) + max(0.0, meter.price - (reply.trace.price or 0.0))
    whole = replace(draft, usage=draft.usage + unreported, notes=measures)
    old = notes[place]
    notes[place] = Note(old.role, old.component, old.seconds, whole)
    return replace(reply, trace=Trace(tuple(notes)))
