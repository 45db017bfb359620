"""Facts that a turn states about the user."""

import pytest

from dragoman.memory.facts import ends, facts


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("My name is Ana and I live in Basel.", [("name", "Ana"), ("home", "Basel")]),
        ("Hi, I'm Tom!", [("name", "Tom")]),
        ("I moved to Bern last month.", [("home", "Bern")]),
        ("Actually I live in Oslo now.", [("home", "Oslo")]),
        ("I'm vegetarian.", [("diet", "vegetarian")]),
        ("I am allergic to shellfish.", [("allergy", "shellfish")]),
        ("my dog is called Rufus", [("dog's name", "Rufus")]),
        ("I work as a nurse.", [("job", "a nurse")]),
        ("My sister's name is Ida.", [("sister's name", "Ida")]),
        ("my favourite colour is green", [("favourite colour", "green")]),
        ("I love jazz. What's on this weekend?", [("likes", "jazz")]),
        ("i dont like olives", [("dislikes", "olives")]),
        ("I'm a student called Mo.", [("name", "Mo")]),
        ("I'm a beekeeper.", [("job", "beekeeper")]),
        ("我叫小林，我住在杭州。", [("name", "小林"), ("home", "杭州")]),
        ("我对花生过敏。", [("allergy", "花生")]),
        ("我搬到上海了", [("home", "上海")]),
        ("我妹妹叫小雨。", [("妹妹的名字", "小雨")]),
    ],
)
def test_a_statement_gives_slot_and_value(text, found):
    assert [(fact.slot, fact.value) for fact in facts(text)] == found


@pytest.mark.parametrize(
    "text",
    [
        "Where do I live?",
        "I'm tired today",
        "I am looking for a hotel",
        "I have a question",
        "I like it",
        "What is my name?",
        "The museum is closed on Mondays.",
        "If I live in Basel, is it cheaper?",
        "我住在哪里？",
        "",
    ],
)
def test_questions_moods_and_the_world_are_not_facts(text):
    assert facts(text) == ()


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("I no longer live in Basel.", "home!"),
        ("I'm not a vegetarian any more.", "diet!"),
        ("我不再喜欢绿茶了", "likes!"),
    ],
)
def test_an_ended_fact_is_marked(text, slot):
    (fact,) = facts(text)
    assert fact.slot == slot
    assert ends(fact)


def test_a_fact_keeps_its_own_words_as_a_sentence():
    assert [fact.text for fact in facts("by the way, i have two daughters and my wife is called Petra")] == [
        "I have two daughters.",
        "My wife is called Petra.",
    ]
