"""Switching sources on and off, and commands before a message."""

from __future__ import annotations

import pytest

from dragoman.core.control import TurnControl
from dragoman.core.values import Source
from dragoman.server.page.chat.composer import parse_search
from dragoman.server.page.chat.turn_controls import choosable, with_source

DECLARED = (
    Source("MEMORY", about="user", private=True),
    Source("PERSONA", about="bot"),
    Source("DOCUMENTS", needs=("PERSONA",)),
    Source("NOTES", private=True),
)


def test_memory_is_no_source_to_switch_off():
    assert [source.name for source in choosable(DECLARED)] == ["PERSONA", "DOCUMENTS", "NOTES"]


def test_a_source_goes_with_those_that_need_it_and_comes_with_those_it_needs():
    without = with_source(TurnControl(), "PERSONA", DECLARED, allowed=False)
    assert without.sources == ("MEMORY", "NOTES")
    back = with_source(without, "DOCUMENTS", DECLARED, allowed=True)
    assert back.sources is None  # all of them: no limit
    nowhere = with_source(without, "NOTES", DECLARED, allowed=False)
    assert nowhere.sources == ("MEMORY",)


@pytest.mark.parametrize(
    ("typed", "text", "retrieve"),
    [
        ("/search when?", "when?", "always"),
        ("/NOSEARCH  when? ", "when?", "never"),
        ("/search", "/search", None),
        ("/searching when?", "/searching when?", None),
        (" search when? ", "search when?", None),
    ],
)
def test_a_command_before_a_message_is_taken_off(typed, text, retrieve):
    assert parse_search(typed) == (text, retrieve)
