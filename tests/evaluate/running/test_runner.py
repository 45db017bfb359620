"""Systems over a set, batch by batch."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dragoman.core.errors import InputError, ModelError, RunError
from dragoman.core.examples import Example, Gold, Label
from dragoman.core.registry import encoders, gates, retrievers
from dragoman.core.trace import Trace, reply_to_json
from dragoman.core.values import Context, Evidence, Passage, Request, Scope, Source, Turn, Verdict
from dragoman.evaluate.results import Outcome
from dragoman.evaluate.running import batch_worker
from dragoman.evaluate.running.dataset_table import DatasetTable
from dragoman.evaluate.running.runner import run_table
from dragoman.evaluate.spec import DataSpec, SystemSpec
from dragoman.evaluate.systems.build import Models
from dragoman.stores.in_memory import InMemoryStore
from dragoman.testing import StubEncoder

PERSONA = Source("PERSONA", private=True)
DOCUMENTS = Source("DOCUMENTS", needs=("PERSONA",), private=True)
CORPUS = Source("CORPUS")
WORDS = "tea milk harbour ferry bread cheese river mountain museum ticket lamp garden".split()
HASHING = {"kind": "encoder.hashing.v1", "dimensions": 64}
SCRIPTED = {"kind": "model.scripted.v1", "default": "It is here.", "choices": [("tea", "True"), ("", "False")]}


class Little:
    """Dialogues of three turns about invented things, with candidates of their own and a shared corpus."""

    name = "little"
    language = "en"
    sources: tuple[Source, ...] = (PERSONA, DOCUMENTS, CORPUS)
    labels: frozenset[Label] = frozenset({"retrieve", "plan", "evidence", "reply"})
    files: tuple[Path, ...] = (Path("little.json"),)

    def __init__(self, *, dialogues: int = 6, shout: bool = False, first: int = 0) -> None:
        self._dialogues = dialogues
        self._shout = shout
        self._first = first

    def examples(self) -> Iterator[Example]:
        for d in range(self._first, self._first + self._dialogues):
            scope, turns = Scope(self.name, f"d{d}"), ()
            things = [WORDS[(3 * d + i) % len(WORDS)] for i in range(4)]
            candidates = tuple(Passage(f"d{d}/p{i}", "PERSONA", f"I like {word}.") for i, word in enumerate(things[:2]))
            candidates += tuple(
                Passage(f"d{d}/k{i}", "DOCUMENTS", f"The {word} is old and the {things[0]} is new.", parent=f"d{d}/p0")
                for i, word in enumerate(things)
            )
            for position in range(3):
                thing = things[position]
                said = f"Where is the {thing}?" if position else "Hello!"
                turns = (*turns, Turn("user", said.upper() if self._shout else said))
                gold = Gold(
                    bool(position),
                    ("PERSONA", "DOCUMENTS", "CORPUS")[: position + 1] if position else (),
                    (f"d{d}/p0", f"d{d}/k{position}")[:position],
                    f"Near the {thing}.",
                )
                context = Context(turns, scope, f"d{d}")
                yield Example(f"d{d}#{position}", context, self.sources, candidates, gold, position)
                turns = (*turns, Turn("agent", gold.reply or ""))

    def passages(self) -> Iterator[Passage]:
        for i, word in enumerate(WORDS):
            yield Passage(f"c{i}", "CORPUS", f"Everybody knows the {word} of the town.")


class Kept:
    """Rows in memory."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Outcome]] = {}
        self.batches: list[tuple[str, int]] = []

    def done(self, block: str, system: str) -> int:
        return len(self.rows.get(system, ()))

    def append(self, block: str, system: str, outcomes: Sequence[Outcome]) -> None:
        self.batches.append((system, len(outcomes)))
        self.rows.setdefault(system, []).extend(outcomes)

    def outcomes(self, block: str, system: str) -> Iterator[Outcome]:
        return iter(self.rows.get(system, ()))


def block_of(dataset: Little, **options: Any) -> DatasetTable:
    train = Little(dialogues=2, first=50)
    return DatasetTable(DataSpec(name="little", kind="toy"), dataset, train=train, **options)  # type: ignore[arg-type]


def system(name: str, **options: object) -> SystemSpec:
    return SystemSpec(**{"name": name, "encoder": HASHING, "model": SCRIPTED, **options})


def run(
    systems: Sequence[SystemSpec],
    *,
    dataset: Little | None = None,
    rows: Kept | None = None,
    batch: int = 4,
    seed: int = 1,
    **options: Any,
) -> Kept:
    kept = rows or Kept()
    block = block_of(dataset or Little())

    def views(view: Mapping[str, Any]) -> DatasetTable:
        return block_of(Little(**view))

    run_table(block, views, systems, kept, seed=seed, batch=batch, **options)
    return kept


def without_seconds(outcome: Outcome) -> object:
    """What must not depend on anything but the system and the turn."""
    reply = outcome.reply
    whole: Any = reply_to_json(type(reply)(reply.text, reply.verdict, reply.plan, reply.evidence, Trace(()), 1.0))
    notes: Any = [note.to_json() | {"seconds": 0} for note in reply.trace]
    return outcome.example, whole, notes, reply.confidence, outcome.usage


SPARSE = {"kind": "sparse"}
GOLD = {"planner": {"kind": "gold"}, "retriever": SPARSE}


def test_every_turn_has_an_outcome_in_the_order_of_the_set() -> None:
    kept = run([system("a", retriever=SPARSE), system("b", gate={"kind": "never"})])
    ids = [example.id for example in Little().examples()]
    assert [outcome.example for outcome in kept.rows["a"]] == ids
    assert [outcome.example for outcome in kept.rows["b"]] == ids


def test_systems_take_turns_batch_by_batch() -> None:
    kept = run([system("a", retriever=SPARSE), system("b", gate={"kind": "never"})], batch=7)
    assert kept.batches == [("a", 7), ("b", 7), ("a", 7), ("b", 7), ("a", 4), ("b", 4)]


def test_retrieval_reads_the_turns_own_candidates_and_the_shared_corpus() -> None:
    kept = run([system("a", **GOLD, k=1)])
    first, second, third = kept.rows["a"][:3]
    assert first.reply.evidence == ()
    assert all(piece.id.startswith("d0/") for piece in second.reply.evidence)
    assert [piece.id for piece in third.reply.evidence][-1] == f"c{WORDS.index('harbour')}"


def test_rows_that_know_the_answers_give_them() -> None:
    kept = run(
        [system("gold", gate={"kind": "gold"}, **GOLD | {"retriever": {"kind": "gold"}}, reader={"kind": "copy"})]
    )
    for example, outcome in zip(Little().examples(), kept.rows["gold"], strict=True):
        assert outcome.reply.verdict.retrieve == example.gold.retrieve
        assert outcome.reply.plan.sources == example.gold.plan
        assert tuple(piece.id for piece in outcome.reply.evidence) == example.gold.evidence


def test_the_most_frequent_reply_is_that_of_the_training_part() -> None:
    kept = run([system("f", gate={"kind": "never"}, reader={"kind": "frequent"})])
    first = next(iter(Little(dialogues=2, first=50).examples()))
    assert {outcome.reply.text for outcome in kept.rows["f"]} == {first.gold.reply}


def test_rows_by_vectors_find_what_they_should() -> None:
    kept = run([system("d", planner={"kind": "fixed", "sources": ["PERSONA"]}, retriever={"kind": "dense"}, k=1)])
    assert kept.rows["d"][1].reply.evidence[0].id == "d0/p1"


def test_only_rows_about_the_world_are_read_as_passages() -> None:
    read: list[str] = []

    class Apart(StubEncoder):
        def encode_passages(self, texts: Sequence[str]) -> Any:
            read.extend(texts)
            return self.encode(texts)

    class Personal(Little):
        sources = (replace(PERSONA, about="bot"), DOCUMENTS, CORPUS)

    with registered(encoders, "apart.v1", Apart):
        run([system("d", encoder={"kind": "apart"}, retriever={"kind": "dense"})], dataset=Personal(dialogues=1))
    rows = [*Personal().passages(), *next(Personal().examples()).candidates]
    assert read == [row.indexed for row in rows if row.source != "PERSONA"]


def test_a_system_that_cannot_run_is_left_out() -> None:
    kept = run([system("a", retriever=SPARSE), system("later", missing="not built")])
    assert set(kept.rows) == {"a"}
    assert run([system("later", missing="no model")]).rows == {}


def test_a_system_with_a_view_reads_the_set_that_way() -> None:
    seen: list[str] = []

    class Listening:
        def decide(self, turns: Sequence[Context], evidence: object = None) -> list[Verdict]:
            seen.extend(turn.last for turn in turns)
            return [Verdict(False, 0.0)] * len(turns)

    with registered(gates, "listening.v1", Listening):
        run([system("plain", gate={"kind": "never"}), system("loud", gate={"kind": "listening"}, view={"shout": True})])
    assert seen[:2] == ["HELLO!", "WHERE IS THE MILK?"]


@pytest.mark.parametrize("view", [{"first": 1}, {"dialogues": 5}, {"dialogues": 7}])
def test_a_view_with_other_turns_is_refused(view: dict[str, int]) -> None:
    with pytest.raises(InputError, match="has other turns than the set itself"):
        run([system("plain", gate={"kind": "never"}), system("odd", gate={"kind": "never"}, view=view)], batch=18)


class registered:  # noqa: N801 - reads as a word
    """A kind that exists for the length of a test."""

    def __init__(self, registry: Any, name: str, factory: Any) -> None:
        self._registry, self._key = registry, f"{registry.role}.{name}"
        registry.register(name)(factory)

    def __enter__(self) -> None: ...

    def __exit__(self, *details: object) -> None:
        del self._registry._factories[self._key]


class Failing:
    """A retriever that stumbles over one dialogue."""

    error: Exception = ModelError("The model is gone.", remedy="Bring it back.")

    def retrieve(self, requests: Sequence[Request]) -> list[list[Evidence]]:
        if any(request.context.dialogue == "d3" for request in requests):
            raise self.error
        return [[] for _ in requests]


@pytest.mark.parametrize("error", [ModelError("The model is gone."), ValueError("The model is gone.")])
def test_a_failing_system_fails_the_run_with_the_place_and_other_rows_are_kept(error: Exception) -> None:
    kept = Kept()
    systems = [system("good", retriever=SPARSE), system("bad", retriever={"kind": "failing"})]
    with (
        registered(retrievers, "failing.v1", type("F", (Failing,), {"error": error})),
        pytest.raises(RunError) as caught,
    ):
        run(systems, rows=kept, batch=5)
    message = str(caught.value)
    assert "System 'bad' failed on turn 'd3#0' of 'little'" in message
    assert "retriever" in message and "retriever.failing.v1" in message and "The model is gone." in message
    assert caught.value.__cause__ is not None
    assert (kept.done("little", "good"), kept.done("little", "bad")) == (10, 5)
    assert gc.isenabled()


def test_a_run_goes_on_where_it_was_stopped_as_if_it_never_had_been() -> None:
    systems = [
        system("a", retriever={"kind": "hybrid"}, gate={"kind": "similarity"}),
        system("b", retriever={"kind": "hybrid"}, k=1, reader={"kind": "prompted"}),
        system("c", retriever=SPARSE, gate={"kind": "similarity"}),
    ]
    whole = run(systems, batch=4)
    for left in ({"a": 6, "b": 4, "c": 4}, {"a": 8, "b": 8, "c": 4}, {"a": 18, "b": 18, "c": 17}, {"a": 1}):
        kept = Kept()
        kept.rows = {name: list(whole.rows[name][:turns]) for name, turns in left.items()}
        run(systems, rows=kept, batch=4)
        for name, rows in whole.rows.items():
            assert list(map(without_seconds, kept.rows[name])) == list(map(without_seconds, rows))
            assert [row.encoded for row in kept.rows[name]] == [row.encoded for row in rows]


def test_systems_that_are_done_are_run_again_in_the_batch_of_the_stop_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = run([system("a", retriever=SPARSE)], batch=4)
    asked = []
    answer = batch_worker.SystemGroup.answer

    def counted(group: batch_worker.SystemGroup, spec: SystemSpec, examples: list[Example]) -> list[Outcome]:
        asked.append(spec.name)
        return answer(group, spec, examples)

    monkeypatch.setattr(batch_worker.SystemGroup, "answer", counted)
    run([system("a", retriever=SPARSE), system("b", retriever=SPARSE, k=1)], rows=kept, batch=4)
    assert asked == ["a", "b", "b", "b", "b", "b"]


def test_a_finished_run_does_nothing() -> None:
    kept = run([system("a", retriever=SPARSE)])
    kept.batches.clear()
    run([system("a", retriever=SPARSE)], rows=kept)
    assert kept.batches == []


def test_more_rows_than_turns_are_refused() -> None:
    kept = run([system("a", retriever=SPARSE)])
    with pytest.raises(InputError, match="18 turns of 'a' on 'little', which has 3"):
        run([system("a", retriever=SPARSE)], dataset=Little(dialogues=1), rows=kept)


def test_progress_counts_turns_of_systems() -> None:
    told: list[tuple[int, int | None, str]] = []
    run(
        [system("a", retriever=SPARSE), system("b", gate={"kind": "never"})],
        batch=9,
        progress=lambda done, total, name: told.append((done, total, name)),
    )
    assert told == [(0, 36, "a"), (9, 36, "b"), (18, 36, "a"), (27, 36, "b"), (36, 36, "b")]


def test_candidates_are_put_once_a_scope_and_forgotten_when_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_worker, "_KEPT_ROWS", 12)
    put: list[str] = []
    most: list[int] = []
    original = InMemoryStore.put

    def watched(self: InMemoryStore, scope: Scope, passages: Sequence[Passage], vectors: Any = None) -> int:
        put.append(scope.user)
        most.append(len(self._by_scope))
        return original(self, scope, passages, vectors)

    monkeypatch.setattr(InMemoryStore, "put", watched)
    run([system("a", retriever=SPARSE), system("b", retriever=SPARSE, k=1)], dataset=Little(dialogues=30), batch=2)
    assert put == ["", *(f"d{d}" for d in range(30))]
    assert max(most) <= 5


def test_an_answer_that_two_systems_share_is_billed_to_both() -> None:
    kept = run(
        [
            system("a", gate={"kind": "prompted"}, retriever=SPARSE),
            system("b", gate={"kind": "prompted"}, retriever=SPARSE, k=1),
        ]
    )
    assert [row.usage.calls for row in kept.rows["a"]] == [row.usage.calls for row in kept.rows["b"]] == [1] * 18
    for one, other in zip(kept.rows["a"], kept.rows["b"], strict=True):
        assert one.reply.trace.of("gate")[0].seconds == other.reply.trace.of("gate")[0].seconds


def test_lent_models_are_left_open() -> None:
    with Models() as models:
        run([system("a", gate={"kind": "prompted"}, retriever=SPARSE)], models=models)
        assert models._made
    assert not models._made


def test_no_label_reaches_a_component_that_is_no_oracle() -> None:
    seen: list[str] = []

    class Reading:
        def retrieve(self, requests: Sequence[Request]) -> list[list[Evidence]]:
            seen.extend(repr(request) for request in requests)
            return [[] for _ in requests]

    with registered(retrievers, "reading.v1", Reading):
        run([system("a", retriever={"kind": "reading"})])
    last = list(Little().examples())[-1]
    assert seen and not any("Gold(" in text or str(last.gold.reply) in text for text in seen)


RETRIEVERS = st.sampled_from([SPARSE, {"kind": "sparse", "weighting": "tfidf"}, {"kind": "dense"}, {"kind": "hybrid"}])
GATES = st.sampled_from([{"kind": kind} for kind in ("always", "random", "gold", "shuffled", "similarity", "prompted")])
PLANNERS = st.sampled_from([{"kind": "all"}, {"kind": "gold"}, {"kind": "fixed", "sources": ["PERSONA", "DOCUMENTS"]}])
READERS = st.sampled_from([{"kind": kind} for kind in ("silent", "copy", "prompted", "extractive", "frequent")])
REFINERS = st.sampled_from([{"mode": "off"}, {"mode": "within-step", "alpha": 2}, {"mode": "multi-step", "steps": 2}])
SYSTEMS = st.builds(
    dict, retriever=RETRIEVERS, gate=GATES, planner=PLANNERS, reader=READERS, refiner=REFINERS, k=st.integers(1, 3)
)


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking such systems would take minutes
)
@given(st.lists(SYSTEMS, min_size=2, max_size=4), st.integers(1, 20), st.integers(1, 20))
def test_outcomes_do_not_depend_on_the_batch_size_or_on_other_systems(
    found: list[dict[str, object]], batch: int, other: int
) -> None:
    systems = [system(f"s{i}", **options) for i, options in enumerate(found)]
    together = run(systems, batch=batch)
    for spec in systems:
        alone = run([spec], batch=other)
        assert list(map(without_seconds, alone.rows[spec.name])) == list(map(without_seconds, together.rows[spec.name]))
