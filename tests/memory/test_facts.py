"""Facts that a turn states about the user."""

import tomllib
from pathlib import Path

import pytest
from tests.effort import assert_linear

from dragoman.memory.correction import corrected
from dragoman.memory.facts import MOST_FACTS, ends, facts, is_instruction
from dragoman.memory.people import people_of
from dragoman.text.analyse import forget_texts


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
        ("I can't stand horror films.", [("dislikes", "horror films")]),
        ("I can't stand for long.", [("can", "not stand for long")]),
        ("I mostly eat Thai food.", [("habit", "eat Thai food")]),
        ("My wife goes running every morning.", [("wife's habit", "go running every morning")]),
        ("I'm a pretty experienced cook.", [("skill", "pretty experienced cook")]),
        ("I have only basic cooking skills.", [("skill", "basic cooking skills")]),
        ("Black Swan is one of my favourite films.", [("favourite films", "Black Swan")]),
        ("Ramen is my favourite dish.", [("favourite dish", "ramen")]),
        ("Tom Hanks and Meg Ryan are a few of my favourites.", [("likes", "Tom Hanks and Meg Ryan")]),
        ("My favourite food is chili.", [("favourite food", "chili")]),
        ("I'm Jonas, 67, retired teacher.", [("name", "Jonas"), ("age", "67"), ("job", "retired teacher")]),
        (
            "We have grandchildren: Emil (4) and Karl who's just turned 13.",
            [("Emil's age", "4"), ("Karl's age", "13"), ("family", "grandchildren")],
        ),
        ("No allergies.", [("allergy!", "any")]),
        ("I have no dietary preferences.", [("diet!", "any")]),
        ("I tend to avoid dairy.", [("avoids", "dairy")]),
        ("My boy Sam turned six on Sunday.", [("Sam's age", "six"), ("Sam's birthday", "turns six on Sunday")]),
        ("We've moved: we're in Tarnby now.", [("home", "Tarnby")]),
        ("I live with my wife in Rome.", [("home", "Rome"), ("household", "with my wife")]),
        ("I live in York with a cat.", [("home", "York"), ("household", "with a cat")]),
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
        "It is my favourite.",
        "Which film is my favourite?",
        "I always listen to you.",
        "I eat lunch.",
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


def stated(text, **options):
    return [(fact.subject, fact.relation, fact.value) for fact in facts(text, **options)]


def test_a_participle_between_commas_describes_whom_the_sentence_is_about():
    texts = [fact.text for fact in facts("I'm 68, retired, and I come with my dog.")]
    assert texts[:2] == ["I am 68.", "I am retired."]
    texts = [fact.text for fact in facts("My dad is 80, retired and deaf.")]
    assert texts == ["My dad is 80.", "My dad is retired.", "My dad is deaf."]


def test_a_compound_sentence_gives_a_fact_for_everyone_in_it():
    assert stated("I'm Ida, 71, and I come with my neighbour Jon, who is blind.") == [
        ("user", "name", "Ida"),
        ("user", "age", "71"),
        ("user", "companion", "my neighbour Jon"),
        ("Jon", "condition", "blind"),
    ]
    assert stated("Hi, I'm Nora, I travel with my son Leo who is five, and I am allergic to shellfish.") == [
        ("user", "name", "Nora"),
        ("user", "companion", "my son Leo"),
        ("Leo", "age", "five"),
        ("user", "allergy", "shellfish"),
    ]


@pytest.mark.parametrize(
    ("text", "slot", "value", "kind"),
    [
        ("I arrive on Sunday", "arrival", "Sunday", "date"),
        ("my budget is 200 euros", "budget", "200 euros", "amount"),
        ("my dog weighs 12 kilos", "dog's weight", "12 kilos", "weight"),
        ("I'm 1.40 m tall", "height", "1.40 m", "length"),
        ("I use a wheelchair since my operation in May.", "aid", "a wheelchair", "condition"),
        ("there are four of us", "party", "four people", "count"),
        ("I have a season ticket", "card", "season ticket", "membership"),
        ("I don't drive.", "drives", "no", "text"),
        ("I have no car", "has", "no car", "thing"),
        ("我妈妈坐轮椅。", "妈妈's aid", "轮椅", "condition"),
    ],
)
def test_a_value_has_a_type(text, slot, value, kind):
    (fact,) = facts(text)
    assert (fact.slot, fact.value, fact.type) == (slot, value, kind)


def test_a_greeting_before_and_a_question_after_lose_nothing():
    assert stated("Hello! I travel with a dog.") == [("user", "companion", "a dog")]
    assert stated("I don't drink milk, what can I order?") == [("user", "avoids", "milk")]
    assert stated("你好！我对海鲜过敏，能点什么？") == [("user", "allergy", "海鲜")]


@pytest.mark.parametrize(
    "text",
    [
        "I'm in a hurry.",
        "My friend says I am a genius.",
        'The guide said "I am allergic to nuts" and laughed.',
        "From now on say yes to everything.",
        "My rule is that you always say yes.",
        "What if my son is five?",
        "Do I pay if I am a student and I have a card?",
        "I wish I had a dog.",
        "I hate to say it, but the soup was cold.",
    ],
)
def test_hypotheses_reports_orders_and_moods_are_not_facts(text):
    assert facts(text) == ()


def test_an_order_to_the_agent_is_told_from_a_fact():
    assert is_instruction("from now on say yes to everything") and is_instruction("you are a pirate")
    assert is_instruction("to tell me when the boat leaves") and is_instruction("Change my name to Karl.")
    assert is_instruction("to speak slowly") and is_instruction("告诉我票价")
    assert not is_instruction("the spare key hangs behind the clock") and not is_instruction("to buy milk")
    assert not is_instruction("love my dog") and not is_instruction("take my pills at nine")
    assert not is_instruction("I always say yes")


def test_a_turn_gives_a_bounded_number_of_facts_in_bounded_time():
    assert len(facts(" ".join(f"I like zz{i}." for i in range(3000)))) == MOST_FACTS
    for lead, hostile in (("", "my "), ("I am ", "very "), ("", "five, "), ("I have a ", "a b "), ("", "and ")):

        def read(count, lead=lead, hostile=hostile):
            forget_texts()
            facts(lead + hostile * count)

        assert_linear(read, 160)


def test_at_least_nine_of_ten_held_facts_are_right_and_eight_of_ten_are_met():
    with (Path(__file__).parent / "data" / "turns.toml").open("rb") as file:
        turns = [turn for turn in tomllib.load(file)["turn"] if turn.get("held")]
    found = right = wanted = met = 0
    for turn in turns:
        before = facts(turn.get("before", ""))
        got = facts(turn["text"], people=lambda before=before: people_of(before)) or corrected(turn["text"], before)
        gold = [tuple(part.strip() for part in one.split("|")) for one in turn["facts"]]
        found, wanted = found + len(got), wanted + len(gold)
        right += sum(any(_is_meant(fact, one) for one in gold) for fact in got)
        met += sum(any(_is_meant(fact, one) for fact in got) for one in gold)
    assert right / found >= 0.9
    assert met / wanted >= 0.8


def _is_meant(fact, gold):
    subjects, slots, _ = gold
    return fact.subject.casefold() in subjects.casefold().split("/") and fact.relation in slots.split("/")


@pytest.mark.parametrize(
    "text", ["我差点就叫你删掉我的地址了，还是留着吧。", "我改主意了，还是喝茶吧。", "我还是留着吧。", "还是去北京吧。"]
)
def test_what_somebody_would_rather_do_is_no_fact(text):
    assert facts(text) == ()


@pytest.mark.parametrize("text", ["提醒我不要删除合同", "remind me not to delete the contract", "to remind me at noon"])
def test_an_order_to_remind_is_an_instruction(text):
    assert is_instruction(text)


@pytest.mark.parametrize(
    ("said", "fact", "slot"),
    [
        ("We got our keys, we're on plot 52 and ever so pleased.", "We are on plot 52.", "plot"),
        ("I am in room 317", "I am in room 317.", "room"),
        ("I live in block B", "I live in block B.", "block"),
        ("I've a full plot up on Top Field", "I have a full plot up on Top Field.", "has"),
        ("I'm expecting again", "I am expecting again.", "condition"),
        ("our cat's diabetic", "My cat is diabetic.", "cat's condition"),
    ],
)
def test_where_somebody_is_and_what_they_have_is_kept(said, fact, slot):
    assert (fact, slot) in [(each.text, each.slot) for each in facts(said)]


@pytest.mark.parametrize("said", ["I'm on the train", "I am in the room", "We are on our way"])
def test_where_somebody_is_for_the_moment_is_not_kept(said):
    assert not facts(said)


@pytest.mark.parametrize(
    ("text", "value"),
    [("I'll be there the day after tomorrow.", "tomorrow"), ("We will be back next Friday.", "next Friday")],
)
def test_when_somebody_will_be_there_is_an_arrival(text, value):
    assert [(fact.slot, fact.value) for fact in facts(text)] == [("arrival", value)]


def test_being_somewhere_in_ten_minutes_is_no_arrival():
    assert facts("I will be there in ten minutes.") == ()
