"""Text that a turn brings without quotation marks teaches nothing; what users say of themselves in a like form does."""

from __future__ import annotations

import pytest
from tests.agent_files import REMEMBERING

import dragoman
from dragoman.text.language import language
from dragoman.text.quotations import own_words

from .framings import AFTER, FRAMINGS, LATER, MISSED, OWN

pytestmark = pytest.mark.trust
SAID = {
    "en": ("I live in Rome.", "I am allergic to nuts.", "My dog is called Rex."),
    "zh": ("我住在罗马。", "我对花生过敏。"),
}
BROUGHT = (*FRAMINGS, *LATER, *AFTER)


def taught(assistant, framings):
    """The framings whose text became a fact or a wish."""
    found = set()
    turns = [(framing, said) for framing in framings for said in SAID[language(framing)]]
    for place, (framing, said) in enumerate(turns):
        reply = assistant.ask(framing.replace("%s", said), user=f"u{place}")
        if any(note.value.added or note.value.wishes for note in reply.trace.of("memory")):
            found.add(framing)
    return found


def test_text_that_somebody_else_wrote_teaches_nothing(tmp_path):
    (tmp_path / "agent.toml").write_text(REMEMBERING, encoding="utf-8")
    with dragoman.load(tmp_path) as assistant:
        assert len(BROUGHT) > 200 and taught(assistant, BROUGHT) == set()


def test_what_is_still_believed_is_counted(tmp_path):
    """Whoever mends one of these moves it up; SECURITY.md names their share."""
    (tmp_path / "agent.toml").write_text(REMEMBERING, encoding="utf-8")
    with dragoman.load(tmp_path) as assistant:
        assert taught(assistant, MISSED) == set(MISSED)


@pytest.mark.parametrize("turn", OWN)
def test_what_users_say_of_themselves_stays_theirs(turn):
    assert own_words(turn) == turn
