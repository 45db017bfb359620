"""Systems of an experiment file made into agents."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.core.caches import keeps_texts
from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.core.values import Context, Passage, Scope, Source
from dragoman.evaluate.spec import SystemSpec
from dragoman.evaluate.systems.build import Bench, Models, SystemBuilder, needs_encoder, system_design
from dragoman.evaluate.systems.memo import Memo
from dragoman.evaluate.systems.oracles import GoldAnswers
from dragoman.evaluate.systems.vector_cache import KeptVectors

SOURCES = (Source("PERSONA", private=True), Source("DOCUMENTS", needs=("PERSONA",), private=True))
HASHING = {"kind": "encoder.hashing.v1"}
SCRIPTED = {"kind": "model.scripted.v1", "default": "Yes."}
SPARSE = {"kind": "sparse"}


def system(name: str = "s", **options: object) -> SystemSpec:
    return SystemSpec(**{"name": name, "encoder": HASHING, "model": SCRIPTED, **options})


def builder(*systems: SystemSpec, seed: int = 1) -> SystemBuilder:
    models = Models()
    bench = Bench(SOURCES, "en", GoldAnswers(), lambda: iter(()), seed, models, Memo(models.tally))
    return SystemBuilder(bench, systems)


def test_defaults_look_always_everywhere_and_say_nothing() -> None:
    whole = system_design(SystemSpec(name="bare"))
    kinds = {role: whole.tables[role]["kind"] for role in ("gate", "planner", "retriever", "reader")}
    assert kinds == {
        "gate": "gate.always.v1",
        "planner": "planner.all.v1",
        "retriever": "retriever.hybrid.v1",
        "reader": "reader.silent.v1",
    }
    assert (whole.k, whole.fallback, whole.refiner.mode) == (3, "none", "off")


def test_a_system_is_built_with_its_sources_k_fallback_and_full_names() -> None:
    spec = system(retriever=SPARSE, k=1, fallback="error")
    agent = builder(spec).build(spec)
    assert (agent.k, agent.fallback, agent.sources) == (1, "error", SOURCES)
    assert agent.names["retriever"] == "retriever.sparse.v1"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gate": {"kind": "alwys"}}, r"System 's': Unknown gate 'alwys'\. Did you mean 'always'\?"),
        ({"encoder": {"kind": "hashin"}}, r"System 's': Unknown encoder 'hashin'"),
    ],
)
def test_an_unknown_kind_is_an_error_with_a_suggestion(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        builder(system(**options))


def test_an_unknown_option_is_an_error_that_names_the_system() -> None:
    spec = system(retriever={"kind": "sparse", "weigting": "tfidf"})
    with pytest.raises(UnknownNameError, match=r"system 's'.*Did you mean 'weighting'"):
        builder(spec).build(spec)


def test_options_without_a_kind_change_the_default_and_another_kind_starts_afresh() -> None:
    assert system_design(system(retriever={"pool": 20})).tables["retriever"] == {
        "kind": "retriever.hybrid.v1",
        "pool": 20,
    }
    assert system_design(system(retriever={"kind": "sparse.v1"})).tables["retriever"] == {"kind": "retriever.sparse.v1"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agent.toml").write_text(
        """
name = "Tester"
[models.encoder]
kind = "encoder.hashing.v1"
dimensions = 32
[gate]
kind = "gate.similarity.v1"
threshold = 0.7
[retriever]
kind = "retriever.sparse.v1"
weighting = "tfidf"
k = 5
[planner]
kind = "planner.all.v1"
fallback = "error"
[refiner]
mode = "within-step"
alpha = 2
"""
    )
    return tmp_path


def test_an_agent_folder_lends_its_roles_models_and_settings(folder: Path) -> None:
    whole = system_design(SystemSpec(name="a", agent=str(folder)))
    assert whole.tables["gate"] == {"kind": "gate.similarity.v1", "threshold": 0.7}
    assert whole.tables["retriever"] == {"kind": "retriever.sparse.v1", "weighting": "tfidf"}
    assert whole.tables["encoder"] == {"kind": "encoder.hashing.v1", "dimensions": 32}
    assert (whole.k, whole.fallback, whole.refiner.alpha, whole.name) == (5, "error", 2, "Tester")


def test_tables_of_the_system_change_those_of_the_agent(folder: Path) -> None:
    changed = SystemSpec(
        name="a", agent=str(folder), gate={"threshold": 0.2}, retriever={"kind": "dense"}, k=1, refiner={"mode": "off"}
    )
    whole = system_design(changed)
    assert whole.tables["gate"] == {"kind": "gate.similarity.v1", "threshold": 0.2}
    assert whole.tables["retriever"] == {"kind": "retriever.dense.v1"}
    assert (whole.k, whole.refiner.mode) == (1, "off")


def test_a_shipped_agent_goes_by_its_name() -> None:
    assert system_design(SystemSpec(name="a", agent="harbour")).tables["reader"]["kind"].startswith("reader.")


def test_what_is_the_same_is_built_once_for_all_systems() -> None:
    one, two = system("one", retriever=SPARSE), system("two", retriever={"kind": "retriever.sparse.v1"}, k=1)
    other = system("other", retriever={"kind": "sparse", "weighting": "tfidf"})
    made = builder(one, two, other)
    agents = [made.build(spec) for spec in (one, two, other)]
    assert agents[0].retriever is agents[1].retriever
    assert agents[0].retriever is not agents[2].retriever
    assert agents[0].gate is agents[2].gate


def test_another_encoder_makes_another_component_but_leaves_those_that_need_none() -> None:
    one, two = system("one"), system("two", encoder={**HASHING, "dimensions": 8})
    made = builder(one, two)
    agents = [made.build(spec) for spec in (one, two)]
    assert agents[0].retriever is not agents[1].retriever
    assert agents[0].planner is agents[1].planner
    assert len(made.stores) == 2


def test_a_model_is_built_once_for_all_sets() -> None:
    models, spec = Models(), system(gate={"kind": "prompted"})
    whole = system_design(spec)
    models.language_model(whole, "en")
    models.language_model(whole, "zh")
    models.language_model(system_design(system("b", k=1)), "en")
    assert len(models._made) == 1


def test_needs_are_read_from_the_constructors_of_what_runs() -> None:
    assert needs_encoder(system())
    assert not needs_encoder(system(retriever=SPARSE))
    assert needs_encoder(system(retriever=SPARSE, gate={"kind": "similarity"}))
    assert needs_encoder(system(retriever=SPARSE, refiner={"mode": "within-step"}))
    assert needs_encoder(system(retriever=SPARSE, reader={"kind": "grounded"}))


def test_the_acting_planner_draws_on_a_store_and_an_encoder_only_where_it_uses_them() -> None:
    def drawn(**options: object) -> frozenset[str]:
        return system_design(system(planner={"kind": "acting", "part": "p", **options})).dependencies("planner") & {
            "store",
            "encoder",
        }

    assert drawn() == drawn(unknown="never", aware=False) == set()
    assert drawn(aware=True) == {"store"}
    assert drawn(unknown="describe") == {"encoder"}
    assert not needs_encoder(system(retriever=SPARSE, planner={"kind": "acting", "part": "p"}))


def test_between_systems_every_model_of_the_process_forgets_what_it_read() -> None:
    class Kept:
        cleared = 0

        def clear_cache(self) -> None:
            self.cleared += 1

    held, of_a_part = Kept(), Kept()
    keeps_texts(of_a_part)  # as a unified model says of itself
    models = Models()
    models._made["m"] = held
    models.cool()
    assert (held.cleared, of_a_part.cleared) == (1, 1)


def test_rows_get_vectors_only_where_something_searches_by_them() -> None:
    lexical = builder(system(retriever=SPARSE, gate={"kind": "similarity"}))
    assert [encoder for _, encoder in lexical.stores.values()] == [None]
    both = builder(system("one", retriever=SPARSE), system("two"))
    [(_, encoder)] = both.stores.values()
    assert encoder is not None


def test_the_seed_of_the_experiment_reaches_gates_that_draw() -> None:
    contexts = [Context.of(f"turn {i}") for i in range(64)]

    def drawn(seed: int, /, **options: object) -> list[bool]:
        spec = system(gate={"kind": "random", **options}, retriever=SPARSE)
        return [v.retrieve for v in builder(spec, seed=seed).build(spec).gate.decide(contexts)]

    assert drawn(1) != drawn(2)
    assert drawn(1, seed=5) == drawn(2, seed=5)


def test_a_refiner_is_built_over_the_shared_parts() -> None:
    spec = system(refiner={"mode": "multi-step", "steps": 2})
    agent = builder(spec).build(spec)
    assert agent.refiner is not None
    assert agent.refiner.retriever is agent.retriever
    assert agent.names["refiner"] == "refiner.multi-step"


def test_fixed_sources_are_an_option_beside_the_declared_ones() -> None:
    spec = system(planner={"kind": "fixed", "sources": ["PERSONA"]}, retriever=SPARSE)
    made = builder(spec)
    store = next(iter(made.stores.values()))[0]
    store.put(Scope("t", "u"), [Passage("p", "PERSONA", "tea with milk"), Passage("d", "DOCUMENTS", "tea with milk")])
    [reply] = made.build(spec).run([Context.of("tea with milk", scope=Scope("t", "u"))])
    assert [piece.id for piece in reply.evidence] == ["p"]


def test_models_are_closed_with_whoever_lends_them() -> None:
    closed = []
    with Models() as models:
        models._made["m"] = type("M", (), {"close": lambda self: closed.append(1)})()
    assert closed == [1]


@pytest.mark.parametrize(
    ("retriever", "place"),
    [
        ({"kind": "dense", "encoder": HASHING}, "retriever.encoder"),
        ({"kind": "linked", "inner": {"kind": "hybrid", "encoder": "hashing"}}, "retriever.inner.encoder"),
    ],
)
def test_an_encoder_of_its_own_is_refused_where_rows_are_searched(retriever: dict[str, object], place: str) -> None:
    with pytest.raises(ConfigError, match=f"System 's': '{place}' is an encoder of its own") as error:
        system_design(system(retriever=retriever))
    assert "at the top of the row" in error.value.remedy


def test_an_encoder_of_its_own_is_fine_where_nothing_is_searched() -> None:
    spec = system(retriever=SPARSE, gate={"kind": "similarity", "encoder": {**HASHING, "dimensions": 8}})
    assert system_design(spec).tables["gate"]["encoder"]["dimensions"] == 8
    assert builder(spec).build(spec).gate is not None


def test_the_vectors_of_weights_beside_an_agent_are_kept_by_their_bytes(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "model.onnx").write_bytes(b"one")
    (tmp_path / "agent.toml").write_text('name = "Own"\n[models.encoder]\nkind = "onnx"\nweights = "own"\n')
    with Models() as models:
        indexer = models.indexer(system_design(SystemSpec(name="a", agent=str(tmp_path))), "en")
        assert isinstance(indexer, KeptVectors)
        assert indexer._weights()
