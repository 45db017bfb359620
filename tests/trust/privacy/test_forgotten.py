"""What a user asked to forget is in no file of the state folder, in no cache and in no later reply."""

from __future__ import annotations

import pytest

from dragoman.memory.facts import facts
from dragoman.stores.vectors import pack
from dragoman.text.form import form

pytestmark = [pytest.mark.integration, pytest.mark.trust]

SECRETS = ("Quillfeather", "marzipan", "Zanzibarra", "水云间")
TOLD = (
    "My name is Ottoline Quillfeather.",
    "I am allergic to marzipan.",
    "I live in Zanzibarra.",
    "我住在水云间。",
)
ASKED = ("What is my name?", "What am I allergic to?", "Can I eat the cake if I am allergic to it?", "我住在哪里？")


def needles(*texts):
    """Texts as UTF-8, UTF-16 and as JSON escapes them, in any usual case."""
    found = set()
    for text in texts:
        for form_ in {text, text.lower(), text.upper()}:
            found |= {form_.encode(), form_.encode("utf-16-le"), form_.encode("unicode_escape")}
    return found


def traces(folder, wanted):
    """The files under a folder that hold any needle."""
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert files
    return [(path.name, needle) for path, raw in files.items() for needle in wanted if needle in raw]


def vectors(assistant, user):
    """The stored vectors of a user's facts, as bytes."""
    facts_ = assistant.recall(user=user)
    made = assistant.encoder.encode([fact.indexed for fact in facts_])
    return [part for row in pack(made, len(made)) if row for part in (row[:256], row[-256:])]


def converse(assistant, user, dialogue="d"):
    for told, asked in zip(TOLD, ASKED, strict=True):
        assistant.ask(told, user=user, dialogue=dialogue)
        assistant.ask(asked, user=user, dialogue=dialogue)


def test_the_scan_finds_what_a_conversation_leaves(robin, state):
    assistant = robin()
    converse(assistant, "otti")
    kept = vectors(assistant, "otti")
    assistant.close()
    for secret in SECRETS:
        assert traces(state, needles(secret)), secret
    assert all(traces(state, [vector]) for vector in kept)


@pytest.mark.parametrize("how", ["call", "words", "chinese"])
def test_a_forgotten_user_leaves_nothing(robin, state, how):
    assistant = robin()
    converse(assistant, "otti")
    assistant.ask("I live in Bern.", user="ben")
    kept = vectors(assistant, "otti")
    if how == "call":
        assistant.forget(user="otti")
    else:
        english = ("Please forget everything about me.", "Yes, delete everything.")
        for words in english if how == "words" else ("请忘掉关于我的一切", "是的，全部删除"):
            assert assistant.ask(words, user="otti", dialogue="d").trace.of("memory")
    assert traces(state, needles(*SECRETS)) == [], "already before it is closed"
    reply = assistant.ask("What is my name, and what am I allergic to?", user="otti", dialogue="d")
    assert not [secret for secret in SECRETS if secret in reply.text]
    assistant.close()
    assert traces(state, [*needles(*SECRETS), *kept]) == []
    assert [fact.text for fact in robin().recall(user="ben")] == ["I live in Bern."]


def test_one_forgotten_fact_leaves_nothing_and_the_others_stay(robin, state):
    assistant = robin()
    for turn in (TOLD[1], ASKED[1], "Is there a bakery?", TOLD[0], ASKED[0]):
        assistant.ask(turn, user="otti", dialogue="d")
    (fact,) = (fact for fact in assistant.recall(user="otti") if "marzipan" in fact.text)
    (vector,) = pack(assistant.encoder.encode([fact.indexed]), 1)
    assert vector and traces(state, [vector[:256]])
    reply = assistant.ask("Forget that I am allergic to marzipan.", user="otti", dialogue="d")
    assert len(reply.trace.of("memory")[0].value.forgotten) == 1
    assert len(assistant.encoder._cache) < 20, "vectors of what was said before are dropped"
    assistant.close()
    assert traces(state, [*needles("marzipan", fact.id), vector[:256], vector[-256:]]) == []
    again = robin()
    assert [row.text for row in again.recall(user="otti")] == [TOLD[0]]
    assert "Quillfeather" in again.ask(ASKED[0], user="otti").text
    kept = [turn.text for turn in again.history(user="otti", dialogue="d")]
    assert "Is there a bakery?" in kept and len(kept) == 12


def test_a_superseded_fact_goes_with_what_replaced_it(robin, state):
    assistant = robin()
    for turn in (TOLD[2], "Where do I live?", "I moved to Vinterholm.", "Where do I live now?"):
        assistant.ask(turn, user="otti", dialogue="d")
    assert [row.text for row in assistant.recall(user="otti")] == ["I moved to Vinterholm."]
    assistant.forget("where I live", user="otti")
    assistant.close()
    assert traces(state, needles("Zanzibarra", "Vinterholm")) == []


def test_forgetting_clears_the_prompts_that_the_model_keeps(robin, monkeypatch):
    assistant = robin()
    _, model = assistant._heavy
    cleared = []
    monkeypatch.setattr(model, "clear_cache", lambda: cleared.append(True))
    assistant.remember(TOLD[1], user="otti")
    assistant.forget("marzipan", user="otti")
    assert cleared and all(cleared)


def test_the_examples_are_what_the_rules_know():
    assert [fact.slot for told in TOLD for fact in facts(told)] == ["name", "allergy", "home", "home"]
    assert form("请忘掉关于我的一切").act == "forget"
