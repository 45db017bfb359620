"""Questions about what a user has told: answered from the facts, briefly and in the second person."""

from __future__ import annotations

import pytest

from dragoman.core.values import Context, Scope
from dragoman.reader.history import recollection_reply

ANA = Scope("acme", "ana")
FAMILY = (
    "My name is Olga Reuter.",
    "I live in Lyon.",
    "My son Emil is 6.",
    "My son Emil is afraid of horses.",
    "My daughter's name is Nora.",
    "Nora is 11.",
    "I am vegetarian.",
    "I am allergic to sesame.",
    "We have a cat called Pixel.",
    "My husband Karl is deaf.",
    "I don't smoke.",
)


@pytest.fixture
def asked(make):
    room = make()
    for text in FAMILY:
        room.say(text)

    def ask(text):
        found = room.memory.recollect(Context.of(text, scope=ANA))
        return None if found is None else recollection_reply(found, "en")

    return ask


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What do you know about Emil?", "You told me: your son Emil is 6, and is afraid of horses."),
        ("tell me what you know about my son", "You told me: your son Emil is 6, and is afraid of horses."),
        ("what do you know about my aunt?", "You haven't told me anything about your aunt."),
        ("who is Pixel", "You told me: you have a cat called Pixel."),
        ("What did I tell you about my husband?", "You told me: your husband Karl is deaf."),
        ("whats my sons name", "Your son's name is Emil."),
        ("What is my daughter called?", "Your daughter's name is Nora."),
        ("what are my kids' names?", "They are your son Emil and your daughter Nora."),
        ("What is my nephew's name?", "You haven't told me your nephew's name."),
        ("How old is Emil now?", "You told me: your son Emil is 6."),
        ("do you remember how old my daughter is?", "You told me: your daughter Nora is 11."),
        ("How old am I?", "You haven't told me how old you are."),
        ("What is my job?", "You haven't told me what you do for work."),
    ],
)
def test_what_is_known_is_said(asked, question, answer):
    assert asked(question) == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Am I vegetarian?", "Yes, you told me that you are vegetarian."),
        ("do you know if I'm vegetarian?", "Yes, you told me that you are vegetarian."),
        ("am I vegan", "No, you told me that you are vegetarian."),
        ("Do I eat meat?", "No, you told me that you are vegetarian."),
        ("Do I smoke?", "No, you told me that you do not smoke."),
        ("Am I allergic to sesame?", "Yes, you told me that you are allergic to sesame."),
        ("am i allergic to anything?", "Yes, you told me that you are allergic to sesame."),
        ("Am I allergic to milk?", "Not that you told me. I only know that you are allergic to sesame."),
        ("Do I have a cat?", "Yes, you told me about your cat Pixel."),
        ("do I have kids?", "Yes, you told me about your son Emil and your daughter Nora."),
        ("Am I married?", "Yes, you told me about your husband Karl."),
        ("Is my husband deaf?", "Yes, you told me that your husband Karl is deaf."),
        ("Does Emil live in Rome?", "You haven't told me that."),
        ("Is my son called Emil?", "Yes, you told me about your son Emil."),
        ("Is my name Ruth?", "No, you told me that your name is Olga Reuter."),
        ("Do I live in Paris?", "Not that you told me. I only know that you live in Lyon."),
        ("Did I tell you where I live?", "Yes, you told me that you live in Lyon."),
        ("Have I told you about my aunt?", "You haven't told me anything about your aunt."),
    ],
)
def test_a_question_for_yes_or_no_is_answered_with_it(asked, question, answer):
    assert asked(question) == answer


@pytest.mark.parametrize(
    "question",
    [
        "Do I need a ticket?",
        "Where do I live?",
        "do you know my name?",
        "Am I allowed to bring Pixel?",
        "Is my son allowed on the slide?",
        "Can I eat sesame here?",
        "How old is the castle?",
        "Who is the director?",
        "What is the name of the ferry?",
        "Tell me about the museum.",
        "Do I have to pay for Emil?",
        "I live in Lyon",
    ],
)
def test_what_documents_may_decide_is_left_to_them(asked, question):
    assert asked(question) is None


def test_names_told_of_several_are_listed(make):
    room = make()
    room.say("I have two grandchildren, Nils and Jette.")
    found = room.memory.recollect(Context.of("What are my grandchildren called?", scope=ANA))
    assert recollection_reply(found, "en") == "Their names are Nils and Jette."


def test_what_held_once_is_told_from_what_holds(make):
    room = make()
    room.say("I live in Turin.")
    room.say("I live in Porto.")

    def ask(text):
        return recollection_reply(room.memory.recollect(Context.of(text, scope=ANA)), "en")

    assert ask("Do I live in Turin?") == "No, you told me that you live in Porto."
    assert ask("Did I ever live in Turin?").startswith("Yes, you lived in Turin (until ")
    assert ask("Where did I live before Porto?").startswith("Before that, you lived in Turin")


@pytest.mark.parametrize(
    ("told", "question", "answer"),
    [
        (["My husband Paul hates lentils."], "What does Paul not like?", "your husband Paul hates lentils"),
        (["My husband Paul hates lentils."], "What food doesn't Paul eat?", "your husband Paul hates lentils"),
        (["I work at the library."], "What do I do?", "you work at the library"),
        (["I'm a baker.", "I work as a nurse now."], "What did I do before?", "you were a baker"),
        (["I can't eat nuts."], "What can't I eat?", "you cannot eat nuts"),
        (["I can't eat nuts."], "What am I allergic to?", "You told me that you cannot eat nuts"),
        (["I live in York with my wife Ana."], "Who do I live with?", "you live with your wife Ana"),
        (["I live in York with a dog called Rex."], "What is my dog called?", "Your dog's name is Rex"),
    ],
)
def test_what_one_may_not_eat_and_with_whom_one_lives_is_said(make, told, question, answer):
    room = make()
    for text in told:
        room.say(text)
    found = room.memory.recollect(Context.of(question, scope=ANA))
    assert found is not None and answer in recollection_reply(found, "en")


@pytest.mark.parametrize(
    ("turns", "answer"),
    [
        (["My daughter Mila is seven.", "Sorry, Mila is eight now.", "How old was she before?"], "Mila was seven"),
        (["My daughter Mila is seven.", "Sorry, Mila is eight now.", "How old was Mila before?"], "Mila was seven"),
        (["My mother is 71.", "I like tea.", "How old is she?"], "your mother is 71"),
        (["My brother Tim is 30.", "My sister Ida is 20.", "How old is he?"], "Tim is 30"),
        (["My sister Ida lives in Rome.", "My aunt Eva lives in Bern.", "Where does she live?"], "Eva lives in Bern"),
    ],
)
def test_pronouns_mean_who_was_named_last(make, turns, answer):
    room = make()
    said = []
    for text in turns[:-1]:
        room.say(text)
        said += [text, "I see."]
    found = room.memory.recollect(Context.of(*said, turns[-1], scope=ANA))
    assert found is not None and answer in recollection_reply(found, "en")


def test_a_pronoun_of_nobody_who_was_named_is_left_alone(asked):
    assert asked("How old is she?") is None


@pytest.mark.parametrize(
    ("turns", "answer"),
    [
        (["我女儿米米七岁。", "米米现在八岁了。", "她以前几岁？"], "七岁"),
        (["我妈妈七十一岁。", "我喜欢喝茶。", "她多大？"], "你妈妈七十一岁"),
        (["我妈妈七十一岁。", "我爸爸七十五岁。", "他多大？"], "你爸爸七十五岁"),
    ],
)
def test_chinese_pronouns_mean_who_was_named_last(make, turns, answer):
    room = make()
    said = []
    for text in turns[:-1]:
        room.say(text)
        said += [text, "明白了。"]
    found = room.memory.recollect(Context.of(*said, turns[-1], scope=ANA))
    assert found is not None and answer in recollection_reply(found, "zh")


def test_a_question_whether_something_still_holds_is_answered(make):
    room = make()
    room.say("I moved to Basel in May.")
    found = room.memory.recollect(Context.of("Do I still live in Basel?", scope=ANA))
    assert found is not None and found.kind == "yes"


@pytest.fixture
def told(make):
    """Says some sentences, and gives the answer of memory to a question."""

    def ask(*turns):
        room = make()
        for text in turns[:-1]:
            room.say(text)
        found = room.memory.recollect(Context.of(turns[-1], scope=ANA))
        return "" if found is None else recollection_reply(found, "en")

    return ask


@pytest.mark.parametrize("question", ["What pets do we have?", "Which animals do I have?", "what pets have I got"])
def test_pets_are_listed_whether_they_were_told_with_a_name_or_a_kind(told, question):
    answer = told("Our cat is called Mochi.", "We have a tortoise, Herr Schmidt.", "I live in Bern.", question)
    assert "cat is called Mochi" in answer and "tortoise" in answer and "Bern" not in answer


def test_children_are_listed_each_once(told):
    answer = told("My son Nils is 9.", "My daughter Aline is 5.", "We come with the kids.", "Which children do I have?")
    assert answer == "You told me: your son Nils is 9, and your daughter Aline is 5."


def test_an_animal_that_died_is_had_no_longer(told):
    cat = "Our cat is called Mochi.", "Our cat Tofu is 3."
    assert "Mochi" not in told(*cat, "Mochi died yesterday.", "What pets do we have?")
    assert told("Our cat is called Mochi.", "Mochi died yesterday.", "Do we have a cat?").startswith("No")
    assert told("We have a dog called Rex.", "Rex passed away.", "Do we have a dog?").startswith("No")
    assert told(*cat, "Mochi died yesterday.", "Do we have a cat?").startswith("Yes")


def test_who_is_vegan_is_vegetarian(told):
    assert told("My sister Petra is vegan.", "Is Petra vegetarian?").startswith("Yes")
    assert told("I am vegan.", "Am I a vegetarian?").startswith("Yes")
