"""Detect turns that delete data: the user's other turns must not run meanwhile and write it back."""

from __future__ import annotations

from typing import Literal, TypeAlias

from dragoman.agent.turns import MOST_CHARACTERS, clean
from dragoman.core.errors import InputError
from dragoman.text.confirmations import is_confirmation, is_those_too, is_undo
from dragoman.text.forget.requests import forget_request

Wish: TypeAlias = Literal["nothing", "everything", "something", "confirmation"]
"""`everything` makes the agent ask, and deletes nothing yet; `something` deletes a fact, or takes one back; a
`confirmation` deletes everything where the agent has just asked for it."""


def asks_to_forget(text: str) -> Wish:
    """Return what a turn may delete, by the same parser as memory."""
    try:
        cleaned = clean(text[-MOST_CHARACTERS:])
    except InputError:
        return "nothing"  # the agent rejects it when it runs
    if is_confirmation(cleaned):
        return "confirmation"
    if is_those_too(cleaned) or is_undo(cleaned):
        return "something"
    request = forget_request(cleaned)
    if request is None:
        return "nothing"
    return "everything" if request.everything else "something"
