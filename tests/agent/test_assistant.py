"""Dialogues that go on, users kept apart, and what is kept of a turn."""

from __future__ import annotations

from threading import Event

import pytest

from dragoman.agent.agent import Agent
from dragoman.agent.assistant import Assistant, UserTurn
from dragoman.core.errors import ConfigError, InputError, ModelError, PlanError
from dragoman.core.trace import Note, Reply
from dragoman.core.values import Learned, Passage, Plan, Scope, Source, Turn
from dragoman.stores.in_memory import InMemoryStore
from dragoman.testing.stubs import StubEncoder, StubGate, StubMemory, StubPlanner, StubReader, StubRetriever

SOURCES = (Source("MEMORY", about="user", private=True), Source("DOCUMENTS"))
PASSAGES = (Passage("d0", "DOCUMENTS", "The ferry leaves at nine."),)
FACT = Passage("m0", "MEMORY", "The user likes tea.")


class Listing:
    """A memory that writes down what it is asked to do."""

    def __init__(self, learned=()):
        self.calls = []
        self.learned = dict(learned)

    def learn(self, turns):
        return [self.learned.get(context.last, Learned()) for context in turns]

    def remember(self, scope, text):
        self.calls.append(("remember", scope, text))
        return Learned(added=(FACT,))

    def recall(self, scope, query):
        self.calls.append(("recall", scope, query))
        return [FACT]

    def forget(self, scope, what):
        self.calls.append(("forget", scope, what))
        return [FACT]


def make(*, memory=None, reader=None, encoder=None, **options):
    agent = Agent(
        gate=StubGate(words=("ferry",)),
        planner=StubPlanner(Plan((("DOCUMENTS",),))),
        retriever=StubRetriever(PASSAGES),
        reader=reader or StubReader(),
        sources=SOURCES,
        names={"memory": "memory.listing.v1"},
    )
    return Assistant(agent, InMemoryStore(), memory or StubMemory(), SOURCES, encoder or StubEncoder(), **options)


def test_a_dialogue_goes_on_where_it_stopped():
    reader = StubReader()
    assistant = make(reader=reader)
    assistant.ask("the ferry?", user="ana", dialogue="d")
    assistant.ask("thanks", user="ana", dialogue="d")
    assert reader.tasks[-1].context.turns == (
        Turn("user", "the ferry?"),
        Turn("agent", "From d0."),
        Turn("user", "thanks"),
    )
    assert reader.tasks[-1].context.scope == Scope("local", "ana")
    assert assistant.history(user="ana", dialogue="d")[-1] == Turn("agent", "From nothing.")
    assert assistant.dialogues(user="ana") == ("d",)


def test_users_and_dialogues_are_kept_apart():
    reader = StubReader()
    assistant = make(reader=reader)
    assistant.ask("one", user="ana", dialogue="d")
    assistant.ask("two", user="tom", dialogue="d")
    assistant.ask("three", user="ana", dialogue="e")
    assert [len(task.context.turns) for task in reader.tasks] == [1, 1, 1]


def test_only_the_last_turns_are_read():
    reader = StubReader()
    assistant = make(reader=reader, history=2)
    for text in ("one", "two", "three"):
        assistant.ask(text)
    assert [turn.text for turn in reader.tasks[-1].context.turns] == ["two", "From nothing.", "three"]
    without = make(reader=reader, history=0)
    without.ask("one")
    without.ask("two")
    assert [turn.text for turn in reader.tasks[-1].context.turns] == ["two"]


def test_what_was_said_is_cleaned_before_anybody_reads_it():
    assistant = make()
    assistant.ask("  the\x00 ferry \n")
    assert assistant.history()[0] == Turn("user", "the ferry")
    with pytest.raises(InputError, match="empty"):
        assistant.ask(" \n")
    with pytest.raises(InputError, match="11 characters; at most 10"):
        make(most_characters=10).ask("x" * 11)
    assert len(assistant.history()) == 2


def test_a_user_without_an_id_is_refused():
    with pytest.raises(InputError, match="user needs an id"):
        make().ask("hello", user=" ")


def test_the_reply_and_its_trace_are_kept():
    assistant = make()
    reply = assistant.ask("the ferry?", user="ana")
    assert assistant.last_reply(user="ana") == reply
    assert assistant.trace(user="ana") == reply.trace
    assert assistant.trace(user="tom") is None


def test_what_was_learned_comes_first_in_the_trace_and_reaches_the_reader():
    learned = Learned(added=(FACT,))
    reader = StubReader()
    assistant = make(memory=Listing({"I like tea": learned}), reader=reader)
    reply = assistant.ask("I like tea")
    first = reply.trace.notes[0]
    assert (first.role, first.component, first.value) == ("memory", "memory.listing.v1", learned)
    assert reader.tasks[0].context.learned == learned
    assert assistant.ask("hello").trace.of("memory") == ()


def test_learning_can_be_switched_off():
    assistant = make(memory=Listing({"I like tea": Learned(added=(FACT,))}), learn=False)
    assert assistant.ask("I like tea").trace.of("memory") == ()


def places(assistant, *texts, **options):
    """Where each reply is in its dialogue, as the exchange says and as the history shows."""
    for text in texts:
        *_, kept = assistant.exchange(UserTurn(text, **options))
        history = assistant.history(dialogue=options.get("dialogue", "main"))
        yield kept.place, len(history) - 1, history[kept.place].text == kept.reply.text


def test_a_reply_says_its_place_in_the_dialogue():
    assistant = make(history=2)
    assert list(places(assistant, "hello", "ferry?", "thanks")) == [(1, 1, True), (3, 3, True), (5, 5, True)]
    held = (Turn("user", "Good day."), Turn("agent", "Good day."))
    assert list(places(assistant, "hello", dialogue="other", before=held)) == [(3, 3, True)]
    assert list(places(make(history=0), "hello", "again")) == [(1, 1, True), (3, 3, True)]


def test_a_reply_that_forgets_says_where_it_is_now():
    memory = Listing()
    assistant = make(memory=memory)
    list(places(assistant, "hello", "ferry?"))
    forgets = Learned(forgotten=(FACT,))
    memory.learn = lambda turns: [assistant.store.forget(turns[0].scope) and forgets]
    [(place, last, _)] = places(assistant, "forget everything")
    assert (place, last) == (1, 1)


def test_a_turn_that_asked_to_forget_leaves_no_words_behind():
    class Forgetful(Listing):
        def learn(self, turns):
            assistant.store.redact(turns[0].scope, ["tea"])
            return [Learned(forgotten=(FACT,))]

    reader = StubReader()
    assistant = make(memory=Listing(), reader=reader)
    assistant.ask("I like tea")
    assistant.memory = Forgetful()
    reply = assistant.ask("forget that I like tea")
    assert [(row.id, row.text) for row in reply.trace.of("memory")[0].value.forgotten] == [(FACT.id, "")]
    assert not any("tea" in turn.text for turn in assistant.history())
    assert assistant.trace() is None
    assert len(reader.tasks) == 1, "a deletion is answered in fixed words"


def test_stream_gives_the_memory_note_first_and_keeps_the_reply():
    assistant = make(memory=Listing({"the ferry?": Learned(added=(FACT,))}))
    pieces = list(assistant.stream("the ferry?"))
    assert isinstance(pieces[0], Note)
    assert pieces[0].role == "memory"
    assert isinstance(pieces[-1], Reply)
    assert pieces[-1].trace.notes[0] == pieces[0]
    assert assistant.last_reply() == pieces[-1]
    assert "".join(piece for piece in pieces if isinstance(piece, str)) == assistant.history()[-1].text


def test_a_turn_that_failed_is_not_kept():
    class Broken(StubReader):
        def read(self, tasks):
            raise ModelError("no answer")

    assistant = make(reader=Broken())
    with pytest.raises(ModelError):
        assistant.ask("hello")
    assert assistant.history() == ()


def test_many_dialogues_are_answered_together_as_one_by_one():
    together, alone = make(), make()
    asks = [UserTurn("the ferry?", "ana"), UserTurn("hello", "tom"), UserTurn("the ferry?", "ana", "other")]
    texts = [reply.text for reply in together.ask_many(asks)]
    assert texts == [alone.ask(ask.text, user=ask.user, dialogue=ask.dialogue).text for ask in asks]
    assert together.history(user="tom") == alone.history(user="tom")
    with pytest.raises(InputError, match="one dialogue"):
        together.ask_many([asks[0], asks[0]])


def test_memory_is_asked_with_the_users_scope():
    memory = Listing()
    assistant = make(memory=memory, tenant="shop")
    assert assistant.remember(" I like tea ", user="ana") == Learned(added=(FACT,))
    assert assistant.recall(user="ana") == (FACT,)
    assert assistant.recall("tea", user="ana") == (FACT,)
    assert assistant.forget("tea", user="ana") == 1
    ana = Scope("shop", "ana")
    assert memory.calls == [
        ("remember", ana, "I like tea"),
        ("recall", ana, None),
        ("recall", ana, "tea"),
        ("forget", ana, "tea"),
    ]


def test_forgetting_a_user_erases_their_dialogues_and_nobody_elses():
    assistant = make(memory=Listing())
    assistant.ask("hello", user="ana")
    assistant.ask("hello", user="tom")
    assert assistant.forget(user="ana") >= 1
    assert assistant.history(user="ana") == ()
    assert len(assistant.history(user="tom")) == 2


def test_a_memory_that_cannot_remember_says_so():
    with pytest.raises(ConfigError, match=r"StubMemory, which cannot remember"):
        make().remember("I like tea")


def test_ingest_reads_files_into_the_users_or_the_shared_rows(tmp_path):
    (tmp_path / "note.md").write_text("# Tea\n\nGreen tea is served at four.\n")
    assistant = make()
    assert assistant.ingest([tmp_path / "note.md"], source="DOCUMENTS", user="ana").added == 1
    assert assistant.ingest([tmp_path / "note.md"], source="MEMORY", user="ana").added == 1
    assert assistant.store.count(Scope("local", "ana").shared, "DOCUMENTS") == 1
    assert assistant.store.count(Scope("local", "ana"), "MEMORY") == 1
    assert assistant.store.count(Scope("local", "tom"), "MEMORY") == 0
    with pytest.raises(PlanError, match=r"'DOCUMENT' is not declared.*DOCUMENTS"):
        assistant.ingest([tmp_path], source="DOCUMENT")


class Heavy:
    def __init__(self):
        self.warmed, self.closed = Event(), False

    def warm_up(self):
        assert not self.warmed.is_set()
        self.warmed.set()

    def close(self):
        self.closed = True


class HeavyEncoder(Heavy, StubEncoder):
    def __init__(self):
        Heavy.__init__(self)
        StubEncoder.__init__(self)


def test_a_turn_warms_the_encoder_and_never_the_language_model_and_both_are_closed():
    encoder, model = HeavyEncoder(), Heavy()
    with make(encoder=encoder, heavy=(encoder, model)) as assistant:
        assert not encoder.warmed.is_set()
        assistant.ask("hello")
        assert encoder.warmed.wait(60)
        assistant.warm_up()
        assert not model.warmed.is_set()
        assistant.warm_up(everything=True)
        assert model.warmed.wait(60)
    assert encoder.closed
    assert model.closed


def test_a_warm_up_that_fails_is_left_to_whoever_needs_the_model():
    class Missing(Heavy):
        def warm_up(self):
            raise ModelError("no weights")

    with make(heavy=(Missing(),)) as assistant:
        assistant.warm_up(everything=True)
        assert assistant.ask("hello").text == "From nothing."


def test_a_thumb_is_about_what_the_gate_decided_on_the_last_reply():
    from dragoman.agent.feedback import ratings

    assistant = make()
    assistant.ask("the ferry?", user="ana", dialogue="d")
    assistant.rate(True, user="ana", dialogue="d")
    assistant.ask("thanks", user="ana", dialogue="d")
    assistant.rate(False, user="ana", dialogue="d")
    found = list(ratings(assistant.store, assistant.scope("ana")))
    assert [(rating.context.last, rating.retrieved, rating.good) for rating in found] == [
        ("the ferry?", True, True),
        ("thanks", False, False),
    ]
    with pytest.raises(InputError, match="no reply to judge"):
        assistant.rate(True, user="ben", dialogue="d")
