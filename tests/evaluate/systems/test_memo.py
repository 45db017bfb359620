"""Work that systems share: asked once, billed to everybody."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import sleep

import pytest

from dragoman.agent.agent import Agent
from dragoman.core.errors import DragomanError
from dragoman.core.values import (
    Context,
    Draft,
    Evidence,
    Passage,
    Plan,
    Prompt,
    ReadTask,
    Request,
    Scope,
    Source,
    Usage,
    Verdict,
)
from dragoman.evaluate.systems.memo import BatchMeter, Memo, SharedReader, SharedRefiner, attributed, shared
from dragoman.evaluate.systems.meter import Metered, MeteredEncoder, MeterReading
from dragoman.models.scripted import ScriptedEncoder, ScriptedModel
from dragoman.testing.stubs import StubCritic, StubGate, StubPlanner, StubReader, StubRetriever

SOURCE = Source("DOCS", private=True)
PASSAGES = [Passage(f"p{i}", "DOCS", f"text {i}") for i in range(5)]
CONTEXTS = [Context.of(f"question {i}", scope=Scope("set", str(i)), dialogue=str(i)) for i in range(4)]
NAP = 0.02


class Recording:
    """Counts the items of each call of a wrapped method, and sleeps for each item."""

    def __init__(self, inner: object, method: str, *, nap: float = 0.0) -> None:
        self._inner = inner
        self._nap = nap
        self.sizes: list[int] = []

        def called(items: Sequence[object], *rest: object) -> object:
            self.sizes.append(len(items))
            sleep(self._nap * len(items))
            return getattr(inner, method)(items, *rest)

        setattr(self, method, called)

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)


class System:
    """An agent over shared parts, and its bill."""

    def __init__(self, sharing: Memo, parts: dict[str, object], *, k: int = 2, **options: object) -> None:
        self.sharing = sharing
        refine = options.pop("refine", None)
        refiner = None
        if refine:
            needed = (parts["critic"], parts["retriever"], parts["reader"])
            refiner = SharedRefiner(sharing, *needed, **refine)  # type: ignore[arg-type]
        roles = {role: part for role, part in parts.items() if role != "critic"}
        self.agent = Agent(**roles, sources=(SOURCE,), refiner=refiner, k=k)  # type: ignore[arg-type]

    def run(self, contexts: Sequence[Context] = CONTEXTS) -> list:
        self.sharing.bill()
        return self.sharing.settle(contexts, self.agent.run(contexts))


def parts(sharing: Memo, **given: object) -> dict[str, object]:
    roles = {
        "gate": StubGate(),
        "planner": StubPlanner(Plan((("DOCS",),))),
        "retriever": StubRetriever(PASSAGES),
        "reader": StubReader(),
        "critic": StubCritic({"p0": 0.1}),
    } | given
    return {role: shared(role, part, sharing) for role, part in roles.items()}


def test_two_systems_ask_a_shared_component_once_and_both_show_its_time() -> None:
    sharing = Memo()
    retriever = Recording(StubRetriever(PASSAGES), "retrieve", nap=NAP)
    mine = parts(sharing, retriever=retriever)
    first, second = System(sharing, mine).run(), System(sharing, mine).run()
    assert retriever.sizes == [len(CONTEXTS)]
    for own, other in zip(first, second, strict=True):
        [note] = own.reply.trace.of("retriever")
        assert note.seconds >= NAP
        assert other.reply.trace.of("retriever")[0].seconds == note.seconds
        assert own.reply.evidence == other.reply.evidence


def test_only_what_nobody_asked_goes_to_the_component_as_one_batch() -> None:
    sharing = Memo()
    reader = Recording(StubReader(), "read")
    mine = parts(sharing, reader=reader)
    System(sharing, mine).run(CONTEXTS[:2])
    System(sharing, mine).run(CONTEXTS)
    assert reader.sizes == [2, 2]


def test_fresh_and_remembered_turns_of_one_call_each_show_their_own_time() -> None:
    sharing = Memo()
    reader = Recording(StubReader(), "read", nap=NAP)
    mine = parts(sharing, reader=reader)
    [first] = System(sharing, mine).run(CONTEXTS[:1])
    remembered, *fresh = [billed.reply.trace.of("reader")[0].seconds for billed in System(sharing, mine).run()]
    assert remembered == first.reply.trace.of("reader")[0].seconds
    assert all(taken >= NAP for taken in fresh)


def test_other_k_is_another_request() -> None:
    sharing = Memo()
    retriever = Recording(StubRetriever(PASSAGES), "retrieve")
    mine = parts(sharing, retriever=retriever)
    wide, narrow = System(sharing, mine, k=3).run(), System(sharing, mine, k=1).run()
    assert retriever.sizes == [4, 4]
    assert [len(billed.reply.evidence) for billed in (*wide[:1], *narrow[:1])] == [3, 1]


def test_a_new_batch_remembers_nothing() -> None:
    sharing = Memo()
    gate = Recording(StubGate(), "decide")
    mine = parts(sharing, gate=gate)
    System(sharing, mine).run()
    sharing.forget()
    System(sharing, mine).run()
    assert gate.sizes == [4, 4]


def test_a_gate_that_reads_evidence_is_asked_twice_and_both_are_remembered() -> None:
    sharing = Memo()
    gate = Recording(StubGate(reads_evidence=True, keeps=False), "decide")
    mine = parts(sharing, gate=gate)
    first, second = System(sharing, mine).run(), System(sharing, mine).run()
    assert gate.sizes == [4, 4]
    for billed in (*first, *second):
        assert [note.value.retrieve for note in billed.reply.trace.of("gate")] == [True, False]  # type: ignore[union-attr]
        assert billed.reply.evidence == ()


def test_evidence_with_another_relevance_is_read_anew() -> None:
    sharing = Memo()
    reader = Recording(StubReader(), "read")
    wrapped = shared("reader", reader, sharing)
    for relevance in (0.5, 0.5, 0.6):
        wrapped.read([ReadTask(CONTEXTS[0], Plan((("DOCS",),)), (Evidence(PASSAGES[0], relevance),))])
    assert reader.sizes == [1, 1]


def test_turns_with_equal_words_are_not_taken_for_each_other() -> None:
    sharing = Memo()
    retriever = Recording(StubRetriever(PASSAGES), "retrieve")
    wrapped = shared("retriever", retriever, sharing)
    one, other = Context.of("same", scope=Scope("t", "a")), Context.of("same", scope=Scope("t", "b"))
    wrapped.retrieve([Request(one, (SOURCE,)), Request(other, (SOURCE,))])
    assert retriever.sizes == [2]


@pytest.mark.parametrize("refine", [{"mode": "within-step", "alpha": 1}, {"mode": "multi-step", "steps": 3}])
def test_refinement_goes_through_the_same_memory_and_is_billed_by_round(refine: dict[str, object]) -> None:
    sharing = Memo()
    critic = Recording(StubCritic({"p0": 0.1, "p1": 0.2}), "consistency", nap=NAP / 4)
    reader = Recording(StubReader(), "read", nap=NAP)
    mine = parts(sharing, critic=critic, reader=reader)
    first = System(sharing, mine, refine=refine).run()
    asked = (list(critic.sizes), list(reader.sizes))
    second = System(sharing, mine, refine=refine).run()
    assert (critic.sizes, reader.sizes) == asked
    for own, other in zip(first, second, strict=True):
        rounds = own.reply.trace.of("refiner")
        assert rounds and all(note.seconds >= NAP for note in rounds if note.value.replaced)  # type: ignore[union-attr]
        assert [note.seconds for note in other.reply.trace] == [note.seconds for note in own.reply.trace]
        assert [note.value for note in other.reply.trace] == [note.value for note in own.reply.trace]


def test_refinement_over_shared_parts_gives_what_plain_parts_give() -> None:
    from dragoman.agent.refine import Refiner

    sharing = Memo()
    refined = System(sharing, parts(sharing), refine={"mode": "multi-step", "steps": 3}).run()
    plain = {"gate": StubGate(), "planner": StubPlanner(Plan((("DOCS",),)))}
    retriever, reader = StubRetriever(PASSAGES), StubReader()
    refiner = Refiner(StubCritic({"p0": 0.1}), retriever, reader, mode="multi-step", steps=3)
    agent = Agent(**plain, retriever=retriever, reader=reader, sources=(SOURCE,), refiner=refiner, k=2)
    for billed, reply in zip(refined, agent.run(CONTEXTS), strict=True):
        assert [note.value for note in billed.reply.trace] == [note.value for note in reply.trace]
        assert (billed.reply.text, billed.reply.evidence) == (reply.text, reply.evidence)


class Asking:
    """A gate that asks a model, and an encoder."""

    def __init__(self, model: object, encoder: object) -> None:
        self._model, self._encoder = model, encoder

    def decide(self, turns: Sequence[Context], evidence: object = None) -> list[Verdict]:
        self._model.choose([Prompt.user(turn.last) for turn in turns], ("True", "False"))  # type: ignore[attr-defined]
        self._encoder.encode([text for turn in turns for text in (turn.last, "again")])  # type: ignore[attr-defined]
        return [Verdict(True, 1.0)] * len(turns)


def test_model_calls_and_encoded_texts_are_billed_to_every_system_that_used_them() -> None:
    tally = BatchMeter()
    sharing = Memo(tally)
    gate = Asking(Metered(ScriptedModel(), tally), MeteredEncoder(ScriptedEncoder(), tally))
    mine = parts(sharing, gate=gate)
    for _ in range(2):
        assert [(b.spent.calls, b.spent.encoded) for b in System(sharing, mine).run()] == [(1, 2)] * 4
    assert tally.read().calls == 4


def test_a_generation_is_billed_to_the_turn_it_was_made_for() -> None:
    tally = BatchMeter()
    model = Metered(ScriptedModel(rules=[("short", "a b"), ("long", "a b c d")]), tally)

    class Reader(StubReader):
        def read(self, tasks: Sequence[ReadTask]) -> Sequence[Draft]:
            return model.generate([Prompt.user(task.context.last) for task in tasks], max_tokens=9)

    sharing = Memo(tally)
    contexts = [Context.of("short"), Context.of("a long question")]
    billed = System(sharing, parts(sharing, reader=Reader())).run(contexts)
    assert [b.spent.usage for b in billed] == [Usage(1, 2, 1), Usage(3, 4, 1)]


def test_a_reader_with_a_model_of_its_own_is_billed_by_what_its_drafts_say() -> None:
    class Reader(StubReader):
        def read(self, tasks: Sequence[ReadTask]) -> Sequence[Draft]:
            return [Draft("a", usage=Usage(7, number, 1)) for number in range(len(tasks))]

    sharing = Memo(BatchMeter())
    mine = parts(sharing, reader=Reader())
    for _ in range(2):
        billed = System(sharing, mine).run()
        assert [b.spent.usage for b in billed] == [Usage(7, number, 1) for number in range(4)]


def test_costs_that_cannot_be_told_apart_are_shared_evenly_and_none_is_lost() -> None:
    assert attributed([MeterReading(encodings=1, encoded=5)], 2) == [
        MeterReading(encodings=1, encoded=3),
        MeterReading(encodings=0, encoded=2),
    ]
    three = [MeterReading(calls=1, prompt_tokens=n) for n in (1, 2, 4)]
    assert sum(share.prompt_tokens for share in attributed(three, 2)) == 7
    assert attributed([], 2) == [MeterReading(), MeterReading()]


def test_a_component_that_answers_too_few_is_broken() -> None:
    class Short(StubGate):
        def decide(self, turns: Sequence[Context], evidence: object = None) -> list[Verdict]:
            return [Verdict(True, 1.0)]

    sharing = Memo()
    with pytest.raises(DragomanError, match=r"gate 'gate\.short\.v1' gave 1 answers for 4 turns"):
        shared("gate", Short(), sharing, "gate.short.v1").decide(CONTEXTS)


def test_what_a_component_has_of_its_own_is_still_there() -> None:
    class Describing(StubRetriever):
        def describe(self, request: Request) -> str:
            return f"asked {request.context.last}"

    sharing = Memo()
    assert shared("gate", StubGate(reads_evidence=True), sharing).reads_evidence is True
    assert not hasattr(shared("retriever", StubRetriever(), sharing), "describe")
    [billed, *_] = System(sharing, parts(sharing, retriever=Describing(PASSAGES))).run()
    assert billed.reply.trace.of("retriever")[0].value.query == "asked question 0"  # type: ignore[union-attr]


def test_streaming_goes_straight_to_the_reader() -> None:
    wrapped: SharedReader = shared("reader", StubReader(), Memo())
    pieces: Iterator[str | Draft] = wrapped.stream(ReadTask(CONTEXTS[0]))
    assert [piece for piece in pieces if isinstance(piece, str)] == ["From ", "nothing."]
