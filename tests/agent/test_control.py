"""Control per turn: whether to search, which sources, how memory is used, and turns that leave nothing behind."""

from __future__ import annotations

import pytest

import dragoman
from dragoman.agent.assistant import UserTurn
from dragoman.agent.build import other_model
from dragoman.core.codec import decode, encode
from dragoman.core.control import TurnControl
from dragoman.core.errors import InputError
from dragoman.core.values import Context, Turn

from ..agent_files import DOCUMENTS, MEMORY

AGENT = (
    f"{MEMORY}{DOCUMENTS}"
    + """
[[sources]]
name = "RULES"
path = "rules"
needs = ["DOCUMENTS"]
[models.language]
kind = "model.scripted.v1"
default = "Certainly, whatever you wish."
[models.encoder]
kind = "encoder.hashing.v1"
[gate]
kind = "{gate}"
[planner]
kind = "{planner}"
[reader]
kind = "{reader}"
[memory]
ask_model = false
"""
)
PLANNERS = ("planner.all.v1", "planner.similarity.v1")


@pytest.fixture
def load(tmp_path):
    """Loads an agent with documents of its own; closes it at the end."""
    opened = []

    def make(*, gate="gate.always.v1", planner="planner.all.v1", reader="reader.grounded.v1"):
        (tmp_path / "documents").mkdir(exist_ok=True)
        (tmp_path / "rules").mkdir(exist_ok=True)
        (tmp_path / "documents" / "soup.md").write_text("# Soup\n\nThe fish soup costs 9 francs.\n", encoding="utf-8")
        (tmp_path / "rules" / "dogs.md").write_text("# Dogs\n\nDogs are welcome in the garden.\n", encoding="utf-8")
        (tmp_path / "agent.toml").write_text(AGENT.format(gate=gate, planner=planner, reader=reader), encoding="utf-8")
        opened.append(dragoman.load(tmp_path))
        return opened[-1]

    yield make
    for assistant in opened:
        assistant.close()


def sources_of(reply):
    return {piece.source for piece in reply.evidence}


def test_always_searches_where_the_gate_would_not(load):
    assistant = load(gate="gate.never.v1")
    assert not assistant.ask("What does the fish soup cost?", dialogue="a").evidence
    reply = assistant.ask("What does the fish soup cost?", dialogue="b", retrieve="always")
    assert reply.verdict.retrieve and "9 francs" in reply.text
    (note,) = reply.trace.of("gate")
    assert (note.component, note.value.reason) == ("control", "asked to search")


def test_always_searches_every_source_where_the_planner_chooses_none(load):
    class NoPlan:
        def plan(self, turns, sources):
            return [dragoman.Plan() for _ in turns]

    assistant = load()
    assistant.agent.planner = NoPlan()
    assert assistant.ask("fish soup?", dialogue="a").plan.is_null
    assert assistant.ask("fish soup?", dialogue="b", retrieve="always").plan.sources == ("MEMORY", "DOCUMENTS", "RULES")


def test_never_searches_nothing_and_says_so(load):
    assistant = load(reader="reader.extractive.v1")
    reply = assistant.ask("What does the fish soup cost?", retrieve="never")
    assert not reply.verdict.retrieve and not reply.evidence and reply.plan.is_null
    assert reply.text == "I can't answer that without looking it up."


def test_a_gate_that_reads_evidence_does_not_overrule_the_caller(load):
    class Closing:
        reads_evidence = True

        def decide(self, turns, evidence=None):
            return [dragoman.Verdict(evidence is None, 0.5) for _ in turns]

    assistant = load()
    assistant.agent.gate = Closing()
    assert not assistant.ask("What does the fish soup cost?", dialogue="a").evidence
    assert assistant.ask("What does the fish soup cost?", dialogue="b", retrieve="always").evidence


@pytest.mark.parametrize("planner", PLANNERS)
def test_memory_off_uses_no_fact_and_learns_none(load, planner):
    assistant = load(planner=planner)
    assistant.remember("I live in Zanzibarra.")
    assert "Zanzibarra" in assistant.ask("Where do I live?", dialogue="a").text
    reply = assistant.ask("Where do I live?", dialogue="b", memory="off")
    assert "Zanzibarra" not in str(reply)
    assert reply.text == "Memory is off here, so I don't use what you told me before."
    assistant.ask("My dog is called Rufus.", dialogue="b", memory="off")
    assert [fact.text for fact in assistant.recall()] == ["I live in Zanzibarra."]


def test_memory_read_uses_facts_and_changes_none(load):
    assistant = load()
    assistant.remember("I live in Zanzibarra.")
    assert "Zanzibarra" in assistant.ask("Where do I live?", memory="read").text
    assistant.ask("My dog is called Rufus.", memory="read")
    for text in ("Remember that I like tea.", "Forget where I live."):
        reply = assistant.ask(text, memory="read")
        assert reply.text == "I don't save or delete anything here: memory is set to read only."
    assert [fact.text for fact in assistant.recall()] == ["I live in Zanzibarra."]
    assert assistant.history()[-1].text == reply.text


@pytest.mark.parametrize("planner", PLANNERS)
def test_only_allowed_sources_are_searched_with_those_they_need(load, planner):
    assistant = load(planner=planner)
    assistant.remember("I have a dog.")
    every = "Do dogs like the fish soup in the garden?"
    assert sources_of(assistant.ask(every, dialogue="a", sources=["DOCUMENTS"])) <= {"DOCUMENTS"}
    reply = assistant.ask(every, dialogue="b", sources=["RULES"])
    assert sources_of(reply) <= {"DOCUMENTS", "RULES"} and "MEMORY" not in reply.plan.sources
    nothing = assistant.ask(every, dialogue="c", sources=[])
    assert not nothing.evidence and nothing.verdict.reason == "no source allowed"


def test_turns_with_different_controls_are_answered_together(load):
    assistant = load()
    assistant.remember("I live in Zanzibarra.")
    controls = (TurnControl(), TurnControl("never"), TurnControl(memory="off"), TurnControl(sources=("DOCUMENTS",)))
    turns = [UserTurn("fish soup where I live?", dialogue=str(n), control=one) for n, one in enumerate(controls)]
    together = [sources_of(reply) for reply in assistant.ask_many(turns)]
    assert together == [{"MEMORY", "DOCUMENTS", "RULES"}, set(), {"DOCUMENTS", "RULES"}, {"DOCUMENTS"}]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retrieve": "maybe"}, "retrieve is 'maybe'"),
        ({"memory": True}, "memory is 'True'"),
        ({"sources": ["CELLAR"]}, "There is no source 'CELLAR'"),
    ],
)
def test_an_unknown_mode_or_source_is_refused(load, options, message):
    with pytest.raises(InputError, match=message):
        load().ask("hello", **options)


def test_a_control_survives_json():
    context = Context((Turn("user", "hi"),), control=TurnControl("never", "off", False, ("A", "B")))
    assert decode(Context, encode(context)) == context
    assert "control" not in encode(Context((Turn("user", "hi"),)))


@pytest.mark.trust
def test_a_private_dialogue_leaves_nothing_in_any_file(load, tmp_path):
    assistant = load()
    assistant.ask("Hello", dialogue="kept")
    private = {"dialogue": "quartzdialogue", "keep": False}
    assert "nothing is saved" in assistant.ask("Remember that my PIN is quartzpin.", **private).text
    assistant.ask("I live in Quartzville and my dog is called Quartzo.", **private)
    list(assistant.stream("What does the fish soup quartzask cost?", **private))
    assert assistant.recall() == () and assistant.dialogues() == ("kept",)
    assert assistant.history(dialogue="quartzdialogue") == ()
    written = [path for path in tmp_path.rglob("*") if path.is_file() and b"quartz" in path.read_bytes().lower()]
    assistant.close()
    assert not written
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"quartz" in path.read_bytes().lower()]


def test_a_private_dialogue_goes_on_in_memory_and_kept_turns_do_not_know_it(load):
    assistant = load()
    seen = []
    read = assistant.agent.reader.read

    class Watching:
        def read(self, tasks):
            seen.extend([turn.text for turn in task.context.turns] for task in tasks)
            return read(tasks)

    assistant.agent.reader = Watching()
    assistant.ask("one")
    assistant.ask("two secret", keep=False)
    assistant.ask("three", keep=False)
    assistant.ask("four")
    assert "two secret" in seen[2] and "one" in seen[2]
    assert "two secret" not in seen[3] and "one" in seen[3]
    assert "two secret" not in [turn.text for turn in assistant.history()]
    assert assistant.forget_dialogue("main") == 8  # two kept turns and two private ones, each with its reply
    assistant.ask("five", keep=False)
    assert seen[-1] == ["five"]


def test_what_was_told_in_a_private_dialogue_counts_in_it(load):
    assistant = load()
    assistant.ask("I am allergic to fish.", dialogue="p", keep=False)
    reply = assistant.ask("Can I have the fish soup?", dialogue="p", keep=False)
    assert "allergic to fish" in {piece.text.rstrip(".").removeprefix("I am ") for piece in reply.evidence}
    assert assistant.recall() == ()


def test_what_was_told_in_a_private_dialogue_is_known_there_and_nowhere_else(load):
    assistant = load(planner="planner.similarity.v1")

    def ask(text):
        return assistant.ask(text, keep=False, dialogue="p").text

    ask("I am allergic to kiwi and my sister Ida is 30.")
    assert "you are allergic to kiwi" in ask("Am I allergic to kiwi?")
    assert "Ida is 30" in ask("How old is she?")
    assert "kiwi" not in assistant.ask("Am I allergic to anything?", dialogue="other").text
    assert assistant.recall() == ()


def test_another_language_model_answers_with_the_same_store_and_memory(load, monkeypatch):
    scripted = {"kind": "model.scripted.v1", "default": "Second voice."}
    monkeypatch.setattr("dragoman.agent.build.model_table", lambda name: scripted)
    assistant = load()
    other = other_model(assistant, "second")
    assert assistant.ask("Tell me a story.", retrieve="never").text == "Certainly, whatever you wish."
    assert other.ask("Tell me a story.", retrieve="never").text == "Second voice."
    other.ask("I live in Bern.")
    assert [fact.text for fact in assistant.recall()] == ["I live in Bern."]
    assert other.store is assistant.store and len(assistant.history()) == 6


def test_a_greeting_is_answered_though_every_turn_searches(load):
    reply = load().ask("Hello!", retrieve="always")
    assert reply.verdict.retrieve and reply.text.startswith("Hello!")
