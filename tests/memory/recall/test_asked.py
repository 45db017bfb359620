"""Questions for what the user told, told from others by the trained part."""

from __future__ import annotations

import pytest

from dragoman.core.values import Context, Scope, Source
from dragoman.memory import RuleMemory
from dragoman.memory.recall.asked import ASKS, AskedMemory, speaks_of_the_same
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.models.scripted import ScriptedEncoder, ScriptedModel
from dragoman.stores.in_memory import InMemoryStore
from dragoman.text.analyse import Analyser

pytestmark = pytest.mark.integration
ANA = Scope("acme", "ana")
SOURCES = (Source("DOCUMENTS"), Source("MEMORY", about="user", private=True))
TOLD = (
    "I ride a gravel bike.",
    "I take beta blockers.",
    "My friend Jon uses a wheelchair.",
    "My phone number is 555 1234.",
    "My son Tom is 7.",
    "我在医院工作。",
    "我养了两只猫。",
    "我租了小船。",
)


@pytest.fixture(scope="module")
def encoder():
    return OnnxEncoder()


@pytest.fixture(scope="module")
def memory(encoder):
    made = RuleMemory(
        store=InMemoryStore(),
        encoder=encoder,
        analyse=Analyser(language="auto"),
        sources=SOURCES,
        language_model=ScriptedModel(undecided="first", choices=(("Statement:", "no"),)),
    )
    for text in TOLD:
        made.learn([Context.of(text, scope=ANA)])
    return made


@pytest.mark.parametrize(
    ("asks", "other"),
    [
        ("What colour is my car?", "Where may I leave my car?"),
        ("Do you remember when I broke my arm?", "Do you remember when the mill was built?"),
        ("Can you remind me what my rent is?", "Can you remind me what the deposit is?"),
        ("which tablets do I take", "May I take my tablets with me?"),
        ("我弟弟在哪里上学？", "我弟弟可以进去吗？"),
    ],
)
def test_questions_for_what_was_told_are_told_from_those_to_documents(encoder, asks, other):
    asked = AskedMemory(encoder)
    assert asked.chance(asks) >= ASKS > asked.chance(other)


def test_with_another_encoder_nothing_is_taken_for_such_a_question():
    assert AskedMemory(ScriptedEncoder()).chance("What size shoes do I take?") == 0


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("What do I ride?", "I ride a gravel bike."),
        ("which tablets do I take", "I take beta blockers."),
        ("Which of my friends cannot walk?", "My friend Jon uses a wheelchair."),
        ("我在哪里上班？", "我在医院工作。"),
        ("我租了什么船？", "我租了小船。"),
    ],
)
def test_the_fact_that_fits_answers(memory, question, fact):
    found = memory.recollect(Context.of(question, scope=ANA))
    assert (found.kind, [row.text for row in found.facts]) == ("known", [fact])


@pytest.mark.parametrize("question", ["What is my salary?", "Which instrument do I play?", "What did I study?"])
def test_what_was_not_told_is_said_to_be_so(memory, question):
    found = memory.recollect(Context.of(question, scope=ANA))
    assert (found.kind, found.facts) == ("untold", ())


@pytest.mark.parametrize(
    "question",
    [
        "May I bring my bike?",
        "What's my flight number?",
        "When do you open?",
        "So my friend pays half.",
        "What do you like to eat yourself?",
        "go on then wot dyou know about me",
        "What do you like to eat yourself?",
        "go on then wot dyou know about me",
    ],
)
def test_other_questions_are_left_to_the_agent(memory, question):
    assert memory.recollect(Context.of(question, scope=ANA)) is None


def test_the_age_of_somebody_unknown_is_not_the_users(memory):
    memory.learn([Context.of("I am 34.", scope=ANA)])
    assert memory.recollect(Context.of("How old is my boss?", scope=ANA)).kind == "untold"
    assert [row.text for row in memory.recollect(Context.of("how old is my boy", scope=ANA)).facts] == [
        "My son Tom is 7."
    ]


def test_no_fact_of_another_thing_speaks_of_the_users_own():
    analyse = Analyser(language="en")
    assert speaks_of_the_same("What is my phone number?", "My phone number is 555 1234.", analyse)
    assert not speaks_of_the_same("What is my flight number?", "My phone number is 555 1234.", analyse)
    assert speaks_of_the_same("How is my boy?", "My son Tom is 7.", analyse)


@pytest.mark.parametrize(
    ("question", "fact", "same"),
    [
        ("How old is Aline?", "I am 41.", False),
        ("What does Marco eat?", "My husband Marco is allergic to walnuts.", True),
        ("What's Petra's job?", "I work as a nurse.", False),
        ("Which tablets do I take on Monday?", "I take beta blockers.", True),
        ("What do I do?", "I work as a nurse.", True),
    ],
)
def test_a_fact_about_others_answers_no_question_about_somebody_with_a_name(question, fact, same):
    assert speaks_of_the_same(question, fact, Analyser(language="en")) is same
