"""Which facts a request to forget means, and what goes with them."""

from __future__ import annotations

import pytest

from dragoman.core.values import Context, Erasure, Passage, Scope, Turn
from dragoman.memory.deletion.forgetting import fitting, telling
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.text.analyse import Analyser

ANA, BEN = Scope("acme", "ana"), Scope("acme", "ben")
FACTS = ("I live in Bern.", "My dog is called Rufus.", "I am allergic to nuts.", "I like green tea.")


@pytest.fixture
def told(room):
    for fact in FACTS:
        room.say(fact)
    return room


@pytest.mark.parametrize(
    ("what", "gone"),
    [
        ("I live in Bern", "I live in Bern."),
        ("that I live in bern!", "I live in Bern."),
        ("my dog", "My dog is called Rufus."),
        ("my allergy to nuts", "I am allergic to nuts."),
        ("green tea", "I like green tea."),
    ],
)
def test_a_fact_is_forgotten_by_its_words(told, what, gone):
    assert len(told.memory.forget(ANA, what)) == 1
    assert told.texts() == [fact for fact in FACTS if fact != gone]


def test_other_facts_of_the_same_sentence_stay():
    meta = {"said": "Hello, I am Mara, my visa runs out in March and my dog Bo isnt vaccinated", "slot": "about"}
    texts = ("I am Mara.", "My visa runs out in March.", "My dog Bo is not vaccinated.")
    rows = [Passage(text, "MEMORY", text, meta=meta) for text in texts]
    meant = fitting(rows, "my visa", OnnxEncoder(), Analyser(language="en"))
    assert [row.text for row in meant] == ["My visa runs out in March."]


OWN_AND_OTHERS = (
    (("My name is Lena.", "My daughter's name is Mia.", "My dog is called Rex."), "my name"),
    (("I am allergic to nuts.", "My son is allergic to milk.", "My husband is allergic to fish."), "my allergy"),
    (("I live in Basel.", "My mother lives in Bern."), "where I live"),
    (("I am a nurse.", "My husband is a teacher.", "My son is a painter."), "my job"),
    (("My birthday is on 3 May.", "My wife's birthday is on 5 June."), "my birthday"),
    (("我叫李娜。", "我女儿叫小米。", "我的狗叫旺财。"), "我的名字"),
    (("我对坚果过敏。", "我儿子对牛奶过敏。"), "我的过敏信息"),
)


@pytest.mark.trust
@pytest.mark.parametrize(("texts", "what"), OWN_AND_OTHERS)
def test_what_is_the_users_own_takes_nothing_of_anybody_else_with_it(room, texts, what):
    for text in texts:
        room.say(text)
    rows = list(room.store.passages(ANA, "MEMORY"))
    assert len(rows) == len(texts)
    assert [row.text for row in meant(rows, what)] == [texts[0]]
    assert meant([row for row in rows if row.text != texts[0]], what) == [], "what is left is of others"


@pytest.mark.trust
@pytest.mark.parametrize("what", ["my son's allergy", "my kids' allergies", "the allergy of my little boy"])
def test_what_is_somebody_elses_is_still_found(room, what):
    for text in ("I am allergic to nuts.", "My son is allergic to milk."):
        room.say(text)
    rows = list(room.store.passages(ANA, "MEMORY"))
    assert "My son is allergic to milk." in [row.text for row in meant(rows, what)]


def meant(rows, what):
    return fitting(rows, what, OnnxEncoder(), Analyser(language="auto"))


@pytest.mark.trust
def test_no_other_fact_holds_the_sentence_that_told_it(room):
    room.say("I am Mara, I am allergic to nuts and I live in Bern.")
    room.say("I moved to Porto.")
    assert len(room.memory.forget(ANA, "my allergy to nuts")) == 1
    rows = [row for hidden in (False, True) for row in room.store.passages(ANA, "MEMORY", superseded=hidden)]
    assert sorted(row.text for row in rows) == ["I am Mara.", "I live in Bern.", "I moved to Porto."]
    assert not any("nuts" in text for row in rows for text in (row.indexed, *row.meta.values()))


def test_a_fact_is_forgotten_by_its_id(told):
    (fact,) = (passage for passage in told.memory.recall(ANA) if "Rufus" in passage.text)
    assert [passage.id for passage in told.memory.forget(ANA, fact.id)] == [fact.id]
    assert fact.text not in told.texts()


@pytest.mark.parametrize("what", ["I live in Paris", "that my dog is called Bella", "it", "the weather", "fact-0000"])
def test_what_is_not_remembered_takes_nothing_else_with_it(told, what):
    assert told.memory.forget(ANA, what) == ()
    assert told.texts() == list(FACTS)
    assert told.encoder.cleared == 0


def test_what_is_given_back_no_longer_holds_the_text(told):
    gone = told.memory.forget(ANA, "green tea")
    assert [(passage.text, dict(passage.meta), passage.title) for passage in gone] == [("", {}, "")]


def test_what_a_fact_replaced_goes_with_it(told):
    told.say("I moved to Oslo.")
    assert told.superseded() == ["I live in Bern."]
    told.memory.forget(ANA, "I moved to Oslo")
    assert told.superseded() == [] and len(told.texts()) == 3


def test_what_was_replaced_can_be_forgotten_alone(told):
    told.say("I moved to Oslo.")
    told.memory.forget(ANA, "I live in Bern")
    assert told.superseded() == [] and "I moved to Oslo." in told.texts()


def test_in_conversation_one_fact_is_deleted_at_once_and_everything_is_asked_first(told):
    assert [passage.text for passage in told.say("Please forget that I live in Bern.").forgotten] == [FACTS[0]]
    learned = told.say("Forget everything about me.")
    assert learned.pending == Erasure(facts=3) and not learned.forgotten
    assert told.texts() == list(FACTS[1:])


@pytest.mark.trust
def test_memory_reads_the_users_last_turn_alone(told):
    """Documents and tool answers come later in a turn; what stood before it was read when it was said."""
    before = (Turn("user", "Forget my dog."), Turn("agent", "You told me: I live in Paris. Forget my dog."))
    context = Context((*before, Turn("user", "Hello.")), ANA, "d")
    assert told.memory.learn([context])[0].is_empty
    assert told.texts() == list(FACTS)


def test_the_same_in_chinese(room):
    for text in ("我住在杭州。", "我对花生过敏。"):
        room.say(text)
    assert len(room.say("请忘记我住在杭州").forgotten) == 1
    assert room.texts() == ["我对花生过敏。"]
    assert room.say("请忘掉关于我的一切").pending == Erasure(facts=1)
    assert room.texts() == ["我对花生过敏。"]


def test_everything_means_dialogues_too_even_where_no_fact_is_known(room):
    room.store.append(ANA, "d", [Turn("user", "hello"), Turn("agent", "hi")])
    room.store.append(BEN, "d", [Turn("user", "hello")])
    assert room.memory.forget(ANA)
    assert (room.store.dialogues(ANA), room.store.dialogues(BEN)) == ([], ["d"])
    assert room.memory.forget(ANA) == ()


def test_another_users_facts_stay(told):
    told.say("I live in Bern.", BEN)
    told.memory.forget(ANA)
    assert (told.texts(ANA), told.texts(BEN)) == ([], ["I live in Bern."])


def test_turns_that_tell_of_the_fact_are_blanked_and_others_stay(told):
    said = ["I live in Bern.", "You live in Bern, I see.", "What does a ticket cost?", "Six francs."]
    told.store.append(ANA, "d", [Turn("user", said[0]), Turn("agent", said[1])], {"text": said[1]})
    told.store.append(ANA, "d", [Turn("user", said[2]), Turn("agent", said[3])], {"text": said[3]})
    told.store.append(BEN, "d", [Turn("user", said[0])])
    told.memory.forget(ANA, "I live in Bern")
    assert [turn.text for turn in told.store.dialogue(ANA, "d")] == ["", "", *said[2:]]
    assert told.store.trace(ANA, "d") == {"text": said[3]}
    assert [turn.text for turn in told.store.dialogue(BEN, "d")] == [said[0]]


def test_a_forgetting_that_was_cut_short_is_done_by_the_next(told, monkeypatch):
    told.store.append(ANA, "d", [Turn("user", "I live in Bern.")])
    remove = told.store.remove
    monkeypatch.setattr(told.store, "remove", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        told.memory.forget(ANA, "Bern")
    monkeypatch.setattr(told.store, "remove", remove)
    assert told.memory.forget(ANA, "Bern")
    assert "I live in Bern." not in told.texts()
    assert [turn.text for turn in told.store.dialogue(ANA, "d")] == [""]


def test_what_parts_of_the_process_remember_is_dropped(told):
    told.memory.forget(ANA, "green tea")
    assert told.encoder.cleared == 1
    told.memory.forget(ANA)
    assert told.encoder.cleared == 2


@pytest.mark.parametrize(
    ("value", "text", "tells"),
    [
        ("Bo", "So your dog is Bo, right?", True),
        ("Bo", "Take the boat.", False),
        ("a nurse", "Nurses work hard.", True),
        ("green tea", "A tea that is green", True),
        ("green tea", "Black tea", False),
        ("杭州", "你住在杭州。", True),
    ],
)
def test_a_turn_tells_of_a_fact_where_it_holds_its_value_in_any_form(room, value, text, tells):
    room.store.append(ANA, "d", [Turn("user", text)])
    gone = Passage("f", "MEMORY", "An unrelated sentence.", meta={"value": value})
    assert (text in telling(room.store, ANA, [gone], Analyser(language="auto"))) is tells


def test_what_is_kept_beside_the_store_goes_with_everything_and_not_with_a_fact(told):
    asked = []
    told.memory.erase_scope = lambda scope: asked.append(scope) or told.store.forget(scope) + 2
    told.memory.forget(ANA, "green tea")
    assert asked == []
    assert told.memory.forget(ANA, "everything about me") == () and told.texts(), "words never mean everything"
    told.memory.forget(ANA)
    assert asked == [ANA] and told.texts() == []
    assert told.memory.forget(ANA), "files alone are something to have deleted"
    told.memory.erase_scope = told.store.forget
    assert not told.memory.forget(ANA)


def test_somebody_of_the_users_is_forgotten_by_their_name_alone(room):
    room.say("I have a dog called Luna.")
    assert room.say("Forget Paris.").is_empty
    assert room.say("Forget about it.").is_empty
    assert [row.id for row in room.say("forget Luna").forgotten]
    assert room.texts() == []
