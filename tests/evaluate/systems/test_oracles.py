"""Rows that know the answers, or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import pytest

from dragoman.agent.create import parameters
from dragoman.core.errors import ConfigError, InputError
from dragoman.core.examples import Example, Gold
from dragoman.core.registry import REGISTRIES
from dragoman.core.values import Context, Passage, Plan, ReadTask, Request, Scope, Source
from dragoman.evaluate.systems import oracles
from dragoman.evaluate.systems.oracles import (
    CopyReader,
    FrequentReader,
    GoldAnswers,
    GoldGate,
    GoldPlanner,
    GoldReader,
    GoldRetriever,
    ShuffledGate,
    SilentReader,
)
from dragoman.stores.in_memory import InMemoryStore

PERSONA = Source("PERSONA", private=True)
DOCUMENTS = Source("DOCUMENTS", needs=("PERSONA",), private=True)
CORPUS = Source("CORPUS")
SOURCES = (PERSONA, DOCUMENTS, CORPUS)
SCOPE = Scope("set", "d1")
CANDIDATES = (
    Passage("p1", "PERSONA", "I like tea."),
    Passage("p2", "PERSONA", "I live in Bern."),
    Passage("k1", "DOCUMENTS", "Tea is a drink.", parent="p1"),
)


def example(gold: Gold, *, nth: int = 0) -> Example:
    texts = [f"turn {i}" for i in range(2 * nth + 1)]
    return Example(f"d1#{nth}", Context.of(*texts, scope=SCOPE, dialogue="d1"), SOURCES, CANDIDATES, gold, nth)


def known(*examples: Example) -> GoldAnswers:
    answers = GoldAnswers(lambda: examples)
    answers.know(examples)
    return answers


def test_an_answer_is_found_by_dialogue_words_and_scope() -> None:
    first, second = example(Gold(True)), example(Gold(False), nth=1)
    answers = known(first, second)
    assert answers.of(second.context) is second
    with pytest.raises(InputError, match="no labelled turn 1 of dialogue 'd1'"):
        answers.of(replace(first.context, scope=Scope("set", "other")))


def test_turns_of_one_dialogue_that_are_as_long_keep_their_own_labels() -> None:
    first = example(Gold(True))
    second = replace(first, id="d1#b", context=Context.of("else", scope=SCOPE, dialogue="d1"), gold=Gold(False))
    answers = known(first, second)
    assert (answers.of(first.context), answers.of(second.context)) == (first, second)


def test_turns_with_the_same_words_and_other_labels_are_refused() -> None:
    first = example(Gold(True))
    same, other = replace(first, id="again"), replace(first, id="other", gold=Gold(False))
    assert known(first, same).of(first.context) is first
    answers = known(first, other)  # rows that ask for no answer run
    with pytest.raises(InputError, match="'d1#0' and 'other' of dialogue 'd1' are the same words"):
        answers.of(first.context)


@pytest.mark.parametrize(
    ("gold", "opens"),
    [(Gold(True, plan=()), True), (Gold(None, plan=("A",)), True), (Gold(None, None, ()), False)],
)
def test_the_gold_gate_decides_by_the_label_else_by_plan_or_evidence(gold: Gold, opens: bool) -> None:
    turn = example(gold)
    [verdict] = GoldGate(answers=known(turn)).decide([turn.context])
    assert (verdict.retrieve, verdict.probability) == (opens, float(opens))


def test_the_gold_gate_refuses_a_turn_without_any_label() -> None:
    turn = example(Gold(reply="yes"))
    with pytest.raises(ConfigError, match="'d1#0' does not say whether to look anything up"):
        GoldGate(answers=known(turn)).decide([turn.context])


def test_the_shuffled_gate_opens_as_often_as_the_labels_do_at_other_turns() -> None:
    turns = [example(Gold(nth < 10), nth=nth) for nth in range(40)]
    contexts = [turn.context for turn in turns]
    drawn = [v.retrieve for v in ShuffledGate(answers=known(*turns), seed=1).decide(contexts)]
    assert sum(drawn) == 10
    assert drawn != [nth < 10 for nth in range(40)]
    again = ShuffledGate(answers=known(*turns), seed=1)
    assert [again.decide([context])[0].retrieve for context in contexts] == drawn
    other = ShuffledGate(answers=known(*turns), seed=2).decide(contexts)
    assert [v.retrieve for v in other] != drawn


def test_the_gold_planner_asks_one_source_a_step_in_the_order_of_the_label() -> None:
    turn = example(Gold(plan=("CORPUS", "PERSONA", "DOCUMENTS")))
    [plan] = GoldPlanner(answers=known(turn)).plan([turn.context], SOURCES)
    assert plan.steps == (("CORPUS",), ("PERSONA",), ("DOCUMENTS",))
    [ordered] = GoldPlanner(answers=known(turn), order="graph").plan([turn.context], SOURCES)
    assert ordered.steps == (("PERSONA",), ("DOCUMENTS",), ("CORPUS",))


def test_an_empty_gold_plan_is_null() -> None:
    turn = example(Gold(plan=()))
    [plan] = GoldPlanner(answers=known(turn)).plan([turn.context], SOURCES)
    assert plan.is_null


def test_the_gold_planner_leaves_out_the_sources_of_an_ablation() -> None:
    turn = example(Gold(plan=("PERSONA", "DOCUMENTS")))
    [plan] = GoldPlanner(answers=known(turn), without=["DOCUMENTS"]).plan([turn.context], SOURCES)
    assert plan.steps == (("PERSONA",),)
    assert plan.probabilities["DOCUMENTS"] == 0.0


def stored(turn: Example) -> InMemoryStore:
    store = InMemoryStore()
    store.put(turn.context.scope, turn.candidates)
    store.put(turn.context.scope.shared, [Passage("c1", "CORPUS", "A shared line.")])
    return store


def test_the_gold_retriever_gives_the_gold_of_the_asked_sources_up_to_k() -> None:
    turn = example(Gold(evidence=("p2", "p1", "k1", "c1")))
    retriever = GoldRetriever(answers=known(turn), store=stored(turn))

    def ids(sources: Sequence[Source], k: int, without: frozenset[str] = frozenset()) -> list[str]:
        [found] = retriever.retrieve([Request(turn.context, tuple(sources), k, (), without)])
        assert all(piece.relevance == 1.0 for piece in found)
        return [piece.id for piece in found]

    assert ids([PERSONA], 1) == ["p2"]
    assert ids([PERSONA], 3) == ["p2", "p1"]
    assert ids([PERSONA, DOCUMENTS], 3) == ["p2", "p1", "k1"]
    assert ids([CORPUS], 3) == ["c1"]
    assert ids([PERSONA], 1, frozenset(["p2"])) == ["p1"]


def test_gold_evidence_that_is_nowhere_is_an_error_with_the_turn() -> None:
    turn = example(Gold(evidence=("lost",)))
    with pytest.raises(InputError, match="'lost' of turn 'd1#0'"):
        CopyReader(answers=known(turn), store=stored(turn)).read([ReadTask(turn.context)])


def test_the_copying_reader_says_the_gold_evidence_word_for_word() -> None:
    turn, bare = example(Gold(evidence=("p1", "c1"))), example(Gold(evidence=()), nth=1)
    reader = CopyReader(answers=known(turn, bare), store=stored(turn))
    said, nothing = reader.read([ReadTask(turn.context), ReadTask(bare.context)])
    assert (said.text, said.quoted) == ("I like tea. A shared line.", ("p1", "c1"))
    assert nothing.text == ""
    chinese = CopyReader(answers=known(turn), store=stored(turn), language="zh")
    assert chinese.read([ReadTask(turn.context)])[0].text == "I like tea.，A shared line."


def test_the_gold_reader_says_the_reply_of_the_label() -> None:
    turn, bare = example(Gold(reply="At nine.")), example(Gold(), nth=1)
    reader = GoldReader(answers=known(turn, bare))
    assert reader.read([ReadTask(turn.context)])[0].text == "At nine."
    with pytest.raises(ConfigError, match="does not say what to reply"):
        reader.read([ReadTask(bare.context)])


def test_the_silent_reader_says_nothing_and_streams_it() -> None:
    task = ReadTask(Context.of("Hello?"), Plan())
    assert SilentReader().read([task])[0].text == ""
    assert [piece.text for piece in SilentReader().stream(task)] == [""]  # type: ignore[union-attr]


def test_the_frequent_reader_says_the_commonest_reply_of_training_ties_to_the_first() -> None:
    training = [example(Gold(reply=text)) for text in ("b", "a", "a", "b", "c")]
    reader = FrequentReader(training=lambda: iter(training))
    [draft] = reader.read([ReadTask(Context.of("anything"))])
    assert (draft.text, draft.confidence) == ("b", 0.4)


def test_the_frequent_reader_needs_replies_to_count() -> None:
    with pytest.raises(InputError, match="no replies"):
        FrequentReader(training=lambda: iter([example(Gold())])).read([ReadTask(Context.of("x"))])


def test_only_oracles_can_ask_for_the_answers() -> None:
    asking = {
        name
        for role in ("gate", "planner", "retriever", "reader", "critic", "memory", "model", "encoder", "store")
        for name in REGISTRIES[role].names()
        for parameter in parameters(REGISTRIES[role].factory(name)).values()
        if parameter.annotation is GoldAnswers
    }
    ours = {name for name in asking if REGISTRIES[name.partition(".")[0]].factory(name).__module__ == oracles.__name__}
    assert asking == ours
    assert {"gate.gold.v1", "planner.gold.v1", "retriever.gold.v1", "reader.copy.v1", "reader.gold.v1"} <= ours


def test_a_context_has_no_place_for_labels() -> None:
    assert {field.name for field in fields(Context)} == {
        *("turns", "scope", "dialogue", "learned", "instructions"),
        *("sampling", "control", "recollection", "wishes"),
    }
    assert not {field.name for field in fields(Context)} & {field.name for field in fields(Gold)}
