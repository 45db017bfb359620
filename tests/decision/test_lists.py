import pytest

from dragoman.decision.tables.lists import pick_points, points, whole_point, with_points
from dragoman.text.analyse import Analyser

MENU = """Tonight's dishes:

- Lake trout with almond butter, 19 euros
- Mushroom risotto with parmesan, 15 euros
- Lentil stew, 12 euros, vegan
- Glass of water, free
"""
RIDES = """- **River Loop**: 14 km, flat, paved.
- **Three Lakes**: 46 km, hilly, quiet roads.
- **Ridge Trail**: 19 km, steep.
"""
ANALYSE = Analyser(language="en")


def test_points_lose_their_marks():
    assert points(RIDES)[0] == "River Loop: 14 km, flat, paved."
    assert points("No list here.") == []


@pytest.mark.parametrize(
    ("question", "text", "labels"),
    [
        ("What is the longest ride?", RIDES, ["Three Lakes"]),
        ("Which rides are flat?", RIDES, ["River Loop"]),
        ("Which dishes are under 16 euros?", MENU, ["Mushroom risotto", "Lentil stew"]),
        ("What is free?", MENU, ["Glass of water"]),
        ("Which dishes are vegan?", MENU, ["Lentil stew"]),
    ],
)
def test_points_are_compared(question, text, labels):
    chosen = pick_points(question, text, ANALYSE)
    assert len(chosen) == len(labels)
    assert all(point.startswith(label) for point, label in zip(chosen, labels, strict=True))


@pytest.mark.parametrize("question", ["Where is the lake?", "Which dishes are there?", "Is the trout good?"])
def test_nothing_is_picked_where_nothing_is_compared(question):
    assert pick_points(question, MENU, ANALYSE) == []


def test_a_sentence_that_leads_to_points_is_quoted_with_them():
    text = "Please bring:\n\n1. your referral\n2. **a towel**\n\nShoes are optional."
    assert with_points("Please bring:", text) == "Please bring:\n- your referral\n- a towel"
    assert with_points("Shoes are optional.", text) == "Shoes are optional."


def test_all_points_are_meant_where_the_heading_is_asked_for():
    text = "- Garden room: groups\n- Blue room: single treatments\n- Pool: on Tuesdays"
    assert len(pick_points("Which rooms are there?", text, ANALYSE, heading="Rooms")) == 3


def test_the_sentences_of_a_short_point_are_quoted_together():
    point = "Reading group on the last Friday at 18:30. In December it meets a week earlier."
    text = f"- {point}\n- Story time. Bring a cushion."
    assert whole_point("In December it meets a week earlier.", text) == point
    assert whole_point("Reading group on the last Friday at 18:30.", text) == point
    assert whole_point("Story time.", text) == "Story time. Bring a cushion."


def test_a_sentence_that_says_enough_is_quoted_alone():
    text = "- Kayaks cost 12 euros an hour for all visitors. Students of the town pay only 9 euros for the same hour."
    second = "Students of the town pay only 9 euros for the same hour."
    assert whole_point(second, text) == second
    assert whole_point("Elsewhere.", text) == "Elsewhere."
