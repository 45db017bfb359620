"""What the rules keep of texts in memory, let go: nothing that was forgotten may stay in a cache."""

from __future__ import annotations

from dragoman.text.cutting import cut
from dragoman.text.expect import offers, wants
from dragoman.text.form import act_and_core, form
from dragoman.text.spelling import spelt
from dragoman.text.words import forget_words


def forget_texts() -> None:
    """Empty every cache in this room that holds what somebody said."""
    for cached in (form, act_and_core, spelt, wants, offers, cut):
        cached.cache_clear()
    forget_words()
