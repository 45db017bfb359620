"""Whether a turn asks to forget: that concerns the user's other turns, and their files, before it is answered."""

from __future__ import annotations

from typing import Literal, TypeAlias

from dragoman.agent.turns import MOST_CHARACTERS, clean
from dragoman.core.errors import InputError
from dragoman.text.form import act_and_core, everything

Wish: TypeAlias = Literal["nothing", "something", "everything"]
SHORT = 400
"""A text of so many characters is read in a millisecond; longer ones are for a thread."""


def asks_to_forget(text: str) -> Wish:
    """What a turn asks to forget, read as the memory reads it; the last sentence asks."""
    try:
        act, core = act_and_core(clean(text[-MOST_CHARACTERS:]))
    except InputError:
        return "nothing"  # it is refused when its turn comes
    if act != "forget":
        return "nothing"
    return "everything" if everything(core) else "something"
