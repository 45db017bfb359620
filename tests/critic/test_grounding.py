"""Several passages as the one that a reply is held to."""

from dragoman.core.values import Passage
from dragoman.critic.grounding import join_passages


def test_one_passage_stays_as_it_is():
    passage = Passage("a", "DOCUMENTS", "Text.", title="Ferry", parent="p")
    assert join_passages([passage]) is passage


def test_texts_are_joined_by_the_mark_of_their_language():
    assert (
        join_passages([Passage("a", "P", "我是天蝎座"), Passage("b", "P", "我喜欢猫")]).text == "我是天蝎座，我喜欢猫"
    )
    assert join_passages([Passage("a", "P", "I sail."), Passage("b", "P", "I cook.")]).text == "I sail. I cook."


def test_a_common_title_is_kept_once_and_others_are_left_out():
    first, second = Passage("a", "R", "Clean.", title="ASHLEY"), Passage("b", "R", "Quiet.", title="ASHLEY")
    assert join_passages([first, second]).indexed == "ASHLEY\nClean. Quiet."
    assert join_passages([first, Passage("c", "R", "Late.", title="ACORN")]).indexed == "Clean. Late."
