"""The loop: what is asked of whom, in which order, and what a reply says about it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.agent.agent import Agent
from dragoman.agent.refine import Refiner
from dragoman.core.errors import ConfigError, DragomanError, ModelError, PlanError, SourceError
from dragoman.core.trace import Note, Reply, Retrieval, Trace
from dragoman.core.values import NULL_PLAN, Context, Passage, Plan, Source, Verdict
from dragoman.testing.stubs import StubCritic, StubGate, StubPlanner, StubReader, StubRetriever

PERSONA = Source("PERSONA", "who", about="bot")
MEMORY = Source("MEMORY", "the user", about="user", private=True)
DOCUMENTS = Source("DOCUMENTS", "papers", needs=("PERSONA",))
SOURCES = (DOCUMENTS, PERSONA, MEMORY)
PASSAGES = tuple(
    Passage(f"{source.name[0].lower()}{i}", source.name, f"{source.name} {i}") for source in SOURCES for i in range(5)
)
BOTH = Plan((("PERSONA",), ("DOCUMENTS",)))


def make(**parts):
    defaults = {
        "gate": StubGate(),
        "planner": StubPlanner(BOTH),
        "retriever": StubRetriever(PASSAGES),
        "reader": StubReader(),
        "sources": SOURCES,
        "k": 2,
    }
    return Agent(**(defaults | parts))


def timeless(reply):
    return replace(reply, trace=Trace(tuple(replace(note, seconds=0.0) for note in reply.trace)))


def ask(agent, *texts):
    return agent.run([Context.of(*texts)])[0]


def test_an_open_turn_asks_the_sources_in_the_order_of_the_plan():
    reply = ask(make(), "hello")
    assert reply.plan == BOTH
    assert [piece.id for piece in reply.evidence] == ["p0", "p1", "d0", "d1"]
    assert reply.text == "From p0 p1 d0 d1."
    assert [note.role for note in reply.trace] == ["gate", "planner", "retriever", "retriever", "reader"]


def test_later_steps_are_given_the_evidence_of_earlier_ones():
    retriever = StubRetriever(PASSAGES)
    ask(make(retriever=retriever), "hello")
    first, second = retriever.requests
    assert (first.given, first.without, first.sources) == ((), frozenset(), (PERSONA,))
    assert [piece.id for piece in second.given] == ["p0", "p1"]
    assert second.without == {"p0", "p1"}
    assert second.k == 2


def test_sources_of_one_step_are_searched_jointly():
    retriever = StubRetriever(PASSAGES)
    plan = Plan((("PERSONA", "MEMORY"),))
    reply = ask(make(retriever=retriever, planner=StubPlanner(plan)), "hello")
    assert [request.sources for request in retriever.requests] == [(PERSONA, MEMORY)]
    assert [piece.id for piece in reply.evidence] == ["p0", "p1", "m0", "m1"]


def test_a_source_may_be_searched_jointly_with_what_it_needs():
    retriever = StubRetriever(PASSAGES)
    reply = ask(make(retriever=retriever, planner=StubPlanner(Plan((("DOCUMENTS", "PERSONA"),)))), "hello")
    assert [request.given for request in retriever.requests] == [()]
    assert {piece.source for piece in reply.evidence} == {"DOCUMENTS", "PERSONA"}


def test_closed_gate_and_null_plan_look_alike_to_the_reader_and_in_the_reply():
    closed_reader, null_reader = StubReader(), StubReader()
    closed = ask(make(gate=StubGate(open=False), reader=closed_reader), "hello")
    null = ask(make(planner=StubPlanner(Plan((), {"PERSONA": 0.1}, "nothing fits")), reader=null_reader), "hello")
    assert closed_reader.tasks == null_reader.tasks
    assert (closed.plan, closed.evidence, closed.text) == (null.plan, null.evidence, null.text)
    assert closed.plan == NULL_PLAN
    assert null.trace.of("planner")[0].value.reason == "nothing fits"


def test_gate_that_reads_evidence_is_asked_again_and_may_close():
    reply = ask(make(gate=StubGate(reads_evidence=True, keeps=False)), "hello")
    assert (reply.verdict.retrieve, reply.plan, reply.evidence) == (False, NULL_PLAN, ())
    assert [note.role for note in reply.trace] == ["gate", "planner", "retriever", "retriever", "gate", "reader"]
    assert reply.text == "From nothing."


def test_gate_that_reads_evidence_and_stays_open_keeps_it():
    reply = ask(make(gate=StubGate(reads_evidence=True)), "hello")
    assert len(reply.evidence) == 4
    assert len(reply.trace.of("gate")) == 2


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        (Plan((("WEATHER",),), {"WEATHER": 0.9}), "WEATHER"),
        (Plan((("DOCUMENTS",), ("PERSONA",))), "DOCUMENTS"),
        (Plan((("DOCUMENTS", "MEMORY"), ("PERSONA",))), "DOCUMENTS"),
    ],
)
class TestIllegalPlan:
    def test_falls_back_to_all_sources_in_legal_order_and_says_why(self, plan, why):
        reply = ask(make(planner=StubPlanner(plan)), "hello")
        assert set(reply.plan.sources) == {"DOCUMENTS", "PERSONA", "MEMORY"}
        assert reply.plan.sources.index("PERSONA") < reply.plan.sources.index("DOCUMENTS")
        noted = reply.trace.of("planner")[0].value
        assert noted == reply.plan
        assert noted.reason.startswith("fell back to all: ")
        assert why in noted.reason
        assert noted.probabilities == plan.probabilities

    def test_falls_back_to_nothing_and_says_why(self, plan, why):
        retriever = StubRetriever(PASSAGES)
        reply = ask(make(planner=StubPlanner(plan), fallback="none", retriever=retriever), "hello")
        assert (reply.plan, reply.evidence, retriever.requests) == (NULL_PLAN, (), [])
        assert why in reply.trace.of("planner")[0].value.reason

    def test_is_an_error_where_the_config_says_so(self, plan, why):
        with pytest.raises(PlanError, match=why) as caught:
            make(planner=StubPlanner(plan), fallback="error").run([Context.of("a"), Context.of("b")])
        assert caught.value.fields == {"role": "planner", "turn": 0}


def test_an_illegal_plan_stays_illegal_the_second_time():
    agent = make(planner=StubPlanner(Plan((("WEATHER",),))), fallback="none")
    assert [ask(agent, "a").plan, ask(agent, "b").plan] == [NULL_PLAN, NULL_PLAN]
    assert "WEATHER" in ask(agent, "c").trace.of("planner")[0].value.reason


def test_sources_that_do_not_fit_together_are_refused_when_the_agent_is_made():
    with pytest.raises(SourceError):
        make(sources=(Source("A", needs=("B",)),))


def test_k_and_fallback_are_checked_when_the_agent_is_made():
    with pytest.raises(ConfigError, match="k must be at least 1"):
        make(k=0)
    with pytest.raises(ConfigError, match="some"):
        make(fallback="some")


def test_notes_name_the_component_and_share_the_time_of_the_batch():
    agent = make(names={"gate": "gate.stub.v1"})
    first, second = agent.run([Context.of("a"), Context.of("b")])
    assert first.trace.of("gate")[0].component == "gate.stub.v1"
    assert first.trace.of("planner")[0].component == "StubPlanner"
    assert first.trace.of("gate")[0].seconds == second.trace.of("gate")[0].seconds > 0


def test_retrieval_note_holds_the_query_where_the_retriever_describes_it():
    class Describing(StubRetriever):
        def describe(self, request):
            return f"about {request.context.last}"

    reply = ask(make(retriever=Describing(PASSAGES)), "ferries")
    assert reply.trace.of("retriever")[0].value == Retrieval(("PERSONA",), reply.evidence[:2], "about ferries")


def test_empty_batch_gives_no_replies():
    assert make().run([]) == []


class Failing:
    def __init__(self, error):
        self.error = error

    def _fail(self, *_):
        raise self.error

    decide = plan = retrieve = read = stream = _fail


@pytest.mark.parametrize("role", ["gate", "planner", "retriever", "reader"])
def test_an_error_in_a_role_says_which_role_and_turn(role):
    with pytest.raises(ModelError, match="no answer") as caught:
        ask(make(**{role: Failing(ModelError("no answer"))}), "hello")
    assert caught.value.fields["role"] == role
    assert caught.value.fields["turn"] == 0
    assert caught.value.fields["component"] == "Failing"


def test_an_error_in_a_batch_names_the_turns_it_was_about():
    gate = StubGate(words=("open",))
    with pytest.raises(ModelError) as caught:
        make(gate=gate, planner=Failing(ModelError("x"))).run([Context.of(t) for t in ("open", "shut", "open")])
    assert caught.value.fields["turns"] == (0, 2)


def test_a_strangers_error_keeps_its_type_and_gets_a_note():
    with pytest.raises(ZeroDivisionError) as caught:
        ask(make(reader=Failing(ZeroDivisionError())), "hello")
    assert caught.value.__notes__ == ["in the reader (Failing), turns 0"]


def test_a_role_that_answers_too_few_turns_is_named():
    class Short(StubGate):
        def decide(self, turns, evidence=None):
            return [Verdict(True, 1.0)]

    with pytest.raises(DragomanError, match=r"gate 'Short' gave 1 answers for 2 turns"):
        make(gate=Short()).run([Context.of("a"), Context.of("b")])


class TestStream:
    def collect(self, agent, *texts):
        return list(agent.stream(Context.of(*texts)))

    def test_gives_notes_then_text_then_the_reply(self):
        pieces = self.collect(make(), "hello")
        assert [type(piece) for piece in pieces] == [Note] * 4 + [str] * 5 + [Note, Reply]
        assert "".join(piece for piece in pieces if isinstance(piece, str)) == pieces[-1].text

    def test_a_reader_that_never_gives_its_draft_is_named(self):
        class Mute(StubReader):
            def stream(self, task):
                yield "hm"

        with pytest.raises(DragomanError, match="reader 'Mute' gave 0 answers"):
            self.collect(make(reader=Mute()), "hello")

    def test_an_error_while_streaming_says_where(self):
        with pytest.raises(ModelError) as caught:
            self.collect(make(reader=Failing(ModelError("x"))), "hello")
        assert caught.value.fields["role"] == "reader"

    def test_the_listeners_time_is_not_the_readers(self, monkeypatch):
        now = [0.0]
        for module in ("agent", "stage"):
            monkeypatch.setattr(f"dragoman.agent.{module}.perf_counter", lambda: now[0])
        for piece in make().stream(Context.of("hello")):
            if isinstance(piece, str):
                now[0] += 100.0
        assert now[0] >= 100 and piece.trace.of("reader")[0].seconds < 1

    def test_with_refinement_the_text_comes_after_it(self):
        agent = refining()
        pieces = self.collect(agent, "hello")
        assert [piece for piece in pieces if isinstance(piece, str)] == [pieces[-1].text]
        roles = [piece.role if isinstance(piece, Note) else "text" for piece in pieces[:-1]]
        assert roles.index("refiner") < roles.index("text")

    def test_what_is_not_refined_streams_as_always(self):
        agent = refining(gate=StubGate(open=False))
        assert [piece for piece in self.collect(agent, "hello") if isinstance(piece, str)] == ["From ", "nothing."]


def refining(**parts):
    retriever, reader = StubRetriever(PASSAGES), StubReader()
    refiner = Refiner(StubCritic({"d0": 0.0}), retriever, reader, mode="multi-step", steps=2)
    return make(retriever=retriever, reader=reader, refiner=refiner, **parts)


def test_refinement_changes_evidence_and_text_and_is_noted():
    reply = ask(refining(), "hello")
    # d0 scores 0 and gives way to d2 (relevance 1/3); then, of p1 (1/2), d1 (1/2) and d2, d2 is worst.
    assert [piece.id for piece in reply.evidence] == ["p0", "p1", "d3", "d1"]
    assert reply.text == "From p0 p1 d3 d1."
    replaced = [note.value.replaced for note in reply.trace.of("refiner")]
    assert replaced == [(("d0", "d2"),), (("d2", "d3"),)]
    assert reply.trace.of("reader")[0].value.text == "From p0 p1 d0 d1."


def test_null_turns_of_a_batch_are_not_refined():
    agent = refining(gate=StubGate(words=("open",)))
    opened, shut = agent.run([Context.of("open"), Context.of("shut")])
    assert len(opened.trace.of("refiner")) == 2
    assert shut.trace.of("refiner") == ()


words = st.lists(st.sampled_from(["open", "none", "persona", "both", "wrong", "memory", "tie"]), min_size=1, max_size=3)
PLANS = {
    "none": NULL_PLAN,
    "persona": Plan((("PERSONA",),)),
    "both": BOTH,
    "wrong": Plan((("DOCUMENTS",),)),
    "memory": Plan((("MEMORY",), ("PERSONA",), ("DOCUMENTS",))),
}


def varied(*, refined, reads_evidence=False, fallback="all"):
    parts = {
        "gate": StubGate(words=("open", "both", "wrong", "memory", "persona"), reads_evidence=reads_evidence),
        "planner": StubPlanner(BOTH, words=PLANS),
        "fallback": fallback,
    }
    return refining(**parts) if refined else make(**parts)


@given(turns=st.lists(words, min_size=1, max_size=6), refined=st.booleans(), reads=st.booleans())
def test_a_batch_answers_as_its_turns_one_by_one(turns, refined, reads):
    agent = varied(refined=refined, reads_evidence=reads)
    contexts = [Context.of(" ".join(turn)) for turn in turns]
    together = [timeless(reply) for reply in agent.run(contexts)]
    assert together == [timeless(agent.run([context])[0]) for context in contexts]


@given(turn=words, refined=st.booleans(), reads=st.booleans())
def test_stream_gives_the_reply_of_run_and_its_notes(turn, refined, reads):
    agent = varied(refined=refined, reads_evidence=reads)
    context = Context.of(" ".join(turn))
    *pieces, reply = agent.stream(context)
    assert timeless(reply) == timeless(agent.run([context])[0])
    assert tuple(piece for piece in pieces if isinstance(piece, Note)) == reply.trace.notes
    assert "".join(piece for piece in pieces if isinstance(piece, str)) == reply.text


@given(turns=st.lists(words, min_size=1, max_size=6))
def test_closed_gate_never_retrieves(turns):
    retriever = StubRetriever(PASSAGES)
    agent = make(gate=StubGate(open=False), retriever=retriever, planner=StubPlanner(BOTH, words=PLANS))
    replies = agent.run([Context.of(" ".join(turn)) for turn in turns])
    assert retriever.requests == []
    assert all(reply.evidence == () and reply.plan.is_null for reply in replies)


@given(
    steps=st.lists(st.lists(st.sampled_from(["PERSONA", "MEMORY", "DOCUMENTS", "WEATHER"]), max_size=3), max_size=4),
    fallback=st.sampled_from(["all", "none"]),
)
def test_the_plan_of_a_reply_respects_needs_whatever_the_planner_says(steps, fallback):
    plan = Plan(tuple(tuple(step) for step in steps))
    reply = ask(make(planner=StubPlanner(plan), fallback=fallback), "hello")
    asked: set[str] = set()
    for step in reply.plan.steps:
        asked.update(step)
        for name in step:
            source = next(source for source in SOURCES if source.name == name)
            assert set(source.needs) <= asked
    assert {piece.source for piece in reply.evidence} == asked


def test_draft_confidence_is_the_replys():
    assert ask(make(reader=StubReader(confidence=0.25)), "hello").confidence == 0.25


def test_running_leaves_no_state_behind():
    agent = make()
    first = timeless(ask(agent, "hello"))
    ask(agent, "something else")
    assert timeless(ask(agent, "hello")) == first


def test_reader_gets_the_learned_facts_with_the_context():
    from dragoman.core.values import Learned

    learned = Learned(added=(Passage("m9", "MEMORY", "likes tea"),))
    reader = StubReader()
    make(reader=reader).run([replace(Context.of("I like tea"), learned=learned)])
    assert reader.tasks[0].context.learned == learned
