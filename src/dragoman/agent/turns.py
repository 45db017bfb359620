"""What people type, made fit for a turn; and what of a turn is kept."""

from __future__ import annotations

import re

from dragoman.core.clock import stamp
from dragoman.core.errors import InputError
from dragoman.core.trace import Reply
from dragoman.core.values import Turn

MOST_CHARACTERS = 32_000
WITHHELD = "[forgotten]"

# What moves a cursor or colours a terminal: left without its first character it would read as words.
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
# Everything of category Cc but tab and line feed, and the byte-order mark; joiners stay, since emoji need them.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff]")
# What surrogateescape makes of bytes that are not UTF-8; no encoder takes them.
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
    kept = _SURROGATE.sub("\ufffd", _CONTROL.sub("", _ESCAPE.sub("", unbroken))).strip()
    if not kept:
        raise InputError("The turn is empty.", remedy="Say something.", length=len(text))
    return kept


def kept_turns(asked: Turn, reply: Reply) -> tuple[Turn, Turn] | None:
    """The two turns as the store keeps them; None where the turn asked to forget, so that its words are not kept."""
    for note in reply.trace.of("memory"):
        if getattr(note.value, "forgotten", ()):
            return None
    return asked, Turn("agent", reply.text, stamp())
