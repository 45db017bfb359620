"""A bare yes, and a bare undo."""

import pytest

from dragoman.text.confirmations import is_confirmation, is_undo

YES = (
    "yes|Yes.|yes please|Yes, delete everything.|yes, delete it all|OK, go ahead|Yes, I'm sure!|delete everything"
    "|confirm|是的，全部删除|是|好的|确认删除|全部删除"
)
OTHER = (
    "no|yes, but keep my name|yes and when does the ferry leave?|yes?|Yesterday I was ill.||...|不|what?|cancel"
    "|是的，但是保留我的名字"
)


@pytest.mark.parametrize("text", YES.split("|"))
def test_a_yes_confirms(text):
    assert is_confirmation(text)


@pytest.mark.parametrize("text", [*OTHER.split("|"), "yes " * 40])
def test_anything_else_does_not(text):
    assert not is_confirmation(text)


@pytest.mark.parametrize(
    ("text", "undoes"),
    [
        ("undo", True),
        ("Undo that, please.", True),
        ("撤销", True),
        ("How do I undo a commit?", False),
        ("undo the last edit in my file", False),
        ("", False),
    ],
)
def test_undo_is_said_alone(text, undoes):
    assert is_undo(text) is undoes
