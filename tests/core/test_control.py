"""Control of one turn as a value."""

from __future__ import annotations

import pytest

from dragoman.core.control import DEFAULT_CONTROL, TurnControl, sources_with_needs
from dragoman.core.errors import InputError
from dragoman.core.values import Source

MEMORY = Source("MEMORY", about="user", private=True)
PERSONA = Source("PERSONA", about="bot")
DOCUMENTS = Source("DOCUMENTS", needs=("PERSONA",))
EVERY = (MEMORY, PERSONA, DOCUMENTS)


def test_the_default_limits_nothing():
    assert DEFAULT_CONTROL.writes_memory and not DEFAULT_CONTROL.limits_sources
    assert all(DEFAULT_CONTROL.reads(source) for source in EVERY)


@pytest.mark.parametrize(
    ("control", "writes"),
    [(TurnControl(memory="read"), False), (TurnControl(memory="off"), False), (TurnControl(keep=False), False)],
)
def test_only_a_kept_turn_with_memory_on_writes_it(control, writes):
    assert control.writes_memory is writes


def test_memory_off_hides_facts_about_the_user_and_nothing_else():
    control = TurnControl(memory="off")
    assert [source.name for source in EVERY if control.reads(source)] == ["PERSONA", "DOCUMENTS"]
    assert control.allows(MEMORY)  # what the user says in the dialogue itself still counts


def test_named_sources_come_with_those_they_need_in_the_order_of_declaration():
    assert sources_with_needs(["DOCUMENTS"], EVERY) == ("PERSONA", "DOCUMENTS")
    assert sources_with_needs([], EVERY) == ()
    with pytest.raises(InputError, match="no source 'CELLAR'"):
        sources_with_needs(["CELLAR"], EVERY)
