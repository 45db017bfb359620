"""The papers' compositions run end to end on scripted models."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.agent.build import load
from dragoman.core.errors import ConfigError
from dragoman.core.parts import Parts
from dragoman.gate.features import Features
from dragoman.gate.linear import Linear, write_linear
from dragoman.models.part import Head, Part, write_part
from dragoman.models.scripted import ScriptedEncoder, ScriptedModel
from dragoman.stores.in_memory import InMemoryStore
from dragoman.systems import pkicr, ragate, safari, unims
from dragoman.testing import fill
from dragoman.testing.samples import CONTEXTS, SOURCES
from dragoman.text.analyse import Analyser

HELLO, QUESTION = CONTEXTS[:2]


@pytest.fixture
def parts():
    analyse, encoder = Analyser(), ScriptedEncoder()
    store = InMemoryStore(analyse=analyse)
    fill(store, encoder)
    model = ScriptedModel(
        rules=[("re:User: Hello!\n\nSources for", "NULL"), ("Sources for the last turn:", "PERSONA, DOCUMENTS")],
        choices=[("re:User: Hello!\n\n", "False"), ("re:True or False:$", "True")],
        default="It costs 34 francs.",
    )
    return Parts(model, encoder, store, SOURCES, analyse)


def test_ragate_gates_with_the_model_and_asks_every_source(parts):
    hello, question = ragate(parts).run([HELLO, QUESTION])
    assert (hello.verdict.retrieve, hello.evidence) == (False, ())
    assert question.verdict.retrieve
    assert set(question.plan.sources) == {"PERSONA", "MEMORY", "DOCUMENTS"}
    assert question.trace.of("gate")[0].component == "gate.prompted.v1"


def test_safari_plans_with_the_model_and_its_null_is_the_gate(parts):
    hello, question = safari(parts).run([HELLO, QUESTION])
    assert hello.verdict.retrieve
    assert hello.plan.is_null
    assert question.plan.steps == (("PERSONA",), ("DOCUMENTS",))
    assert "d-price" in [piece.id for piece in question.evidence]


@pytest.mark.parametrize(("options", "rounds"), [({}, 1), ({"mode": "multi-step", "steps": 2}, 2)])
def test_unims_refines_what_has_evidence(parts, options, rounds):
    hello, question = unims(parts, k=1, **options).run([HELLO, QUESTION])
    assert hello.trace.of("refiner") == ()
    assert 1 <= len(question.trace.of("refiner")) <= rounds
    assert question.trace.of("refiner")[0].value.replaced


@pytest.fixture
def trained(make_unified, lend_unified):
    runtime = make_unified()
    lend_unified(runtime, offsets={"context": {"PERSONA>DOCUMENTS": 50.0}, "check": {"PERSONA>DOCUMENTS": 50.0}})
    return runtime


def test_trained_unims_plans_judges_writes_and_refines_by_one_model(parts, trained):
    [reply] = unims(parts, "lent", k=2, alpha=1).run([QUESTION])
    assert reply.plan.steps == (("PERSONA",), ("DOCUMENTS",))
    assert {piece.source for piece in reply.evidence} == {"PERSONA", "DOCUMENTS"}
    assert all("similarity" in piece.scores for piece in reply.evidence)
    assert [note.component for note in reply.trace] == [
        "gate.always.v1",
        "planner.acting.v1",
        "retriever.evaluating.v1",
        "retriever.evaluating.v1",
        "reader.unified.v1",
        "refiner.within-step",
    ]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_trained_unims_reads_the_dialogue_once(parts, trained, k):
    agent = unims(parts, "lent", k=k, mode="off")
    agent.run([QUESTION])
    again = trained.fed
    trained.clear_cache()
    trained.plan([QUESTION], [(), ("PERSONA",)])
    dialogue = trained.fed - again
    shown = 6 * 40  # what the sources hold, each candidate once
    written = 2 * k * 40 + 12
    assert again < dialogue + shown + written


@pytest.mark.parametrize("judge", ["itself", "bm25", "bi", "prompted"])
def test_evidence_of_trained_unims_is_found_by_whom_one_chooses(parts, trained, judge):
    agent = unims(parts, "lent", judge=judge, mode="multi-step", steps=2, k=1)
    [reply] = agent.run([QUESTION])
    kinds = {"itself": "evaluating", "bm25": "sparse", "bi": "dense", "prompted": "prompted"}
    assert agent.names["retriever"] == f"retriever.{kinds[judge]}.v1"
    assert 1 <= len(reply.trace.of("refiner")) <= 2


def test_cross_encoder_needs_its_part(parts, trained):
    assert unims(parts, "lent", judge="cross", judge_part="nowhere").names["retriever"] == "retriever.rerank.v1"
    with pytest.raises(ConfigError, match="part"):
        unims(parts, "lent", judge="cross")


@pytest.mark.parametrize(
    ("plans", "steps"), [("aware", 2), ("itself", 2), ("all", 3), ("never", 0)], ids=["aware", "itself", "all", "never"]
)
def test_plans_of_trained_unims_by_whom_one_chooses(parts, trained, plans, steps):
    [reply] = unims(parts, "lent", plans=plans, k=1).run([QUESTION])
    assert len(reply.plan.steps) == steps
    assert bool(reply.evidence) == bool(steps)


def test_trained_safari_plans_and_writes_without_similarities(parts, make_unified, lend_unified):
    runtime = make_unified(layout="plain", style="safari")
    lend_unified(runtime, offsets={"context": {"PERSONA>DOCUMENTS": 50.0}})
    [reply] = safari(parts, "lent", dependency="filter").run([QUESTION])
    assert reply.plan.steps == (("PERSONA",), ("DOCUMENTS",))
    assert reply.trace.of("reader")[0].component == "reader.unified.v1"
    assert reply.text


@pytest.mark.parametrize(("system", "options"), [(unims, {"plans": "aware"}), (safari, {"device": "cpu"})])
def test_options_of_a_trained_model_need_one(parts, system, options):
    with pytest.raises(ConfigError, match="needs a trained part"):
        system(parts, **options)


def test_ragate_refuses_a_learned_gate_without_its_part(parts):
    with pytest.raises(ConfigError, match="needs a trained part") as caught:
        ragate(parts, "attention")
    assert "train gate-attention" in caught.value.remedy


@pytest.mark.parametrize("gate", ["linear", "encoder", "attention", "tuned", "uncertainty"])
def test_ragate_is_composed_with_each_learned_gate(parts, gate):
    agent = ragate(parts, gate, "nowhere", threshold=0.5)
    assert agent.names["gate"] == f"gate.{gate}.v1"


def test_ragate_runs_a_trained_gate(parts, tmp_path):
    features = Features(("user",), structure=False)
    weights = {"user": {"ticket": (1.0, 4.0), "hello": (1.0, -4.0)}}
    names = write_linear(Linear(features, weights, {}, 0.0), tmp_path)
    head = Head(("retrieve",), {}, {"retrieve": 0.5})
    write_part(Part(tmp_path, "gate.linear", {"gate": head}, {"features": features.to_json()}, {}), names)
    hello, question = ragate(parts, "linear", str(tmp_path)).run([HELLO, QUESTION])
    assert not hello.verdict.retrieve
    assert question.verdict.retrieve
    assert set(question.plan.sources) == {"PERSONA", "MEMORY", "DOCUMENTS"}


def test_a_gate_that_reads_a_reply_is_given_a_reader(parts):
    agent = ragate(parts, "tuned", "nowhere", replies="prompted")
    assert agent.names["gate"] == "gate.tuned.v1"
    with pytest.raises(ConfigError, match="reader"):
        ragate(parts, "uncertainty", replies="prompted")  # it drafts by itself


def test_uncertainty_gates_without_a_part(parts):
    [reply] = ragate(parts, "uncertainty").run([QUESTION])
    assert reply.trace.of("gate")[0].component == "gate.uncertainty.v1"


def test_pkicr_asks_every_source_on_every_turn_in_one_step(parts):
    for reply in pkicr(parts).run([HELLO, QUESTION]):
        assert [set(step) for step in reply.plan.steps] == [{"PERSONA", "MEMORY", "DOCUMENTS"}]
        assert reply.trace.of("retriever")[0].component == "retriever.joint.v1"


def test_pkicr_takes_at_most_one_persona_and_none_below_the_threshold(parts):
    [every] = pkicr(parts, threshold=0.0).run([QUESTION])
    [none] = pkicr(parts, threshold=1.0).run([QUESTION])
    about = [piece.source for piece in every.evidence]
    assert about.count("DOCUMENTS") == 1
    assert len(about) == 2
    assert [piece.source for piece in none.evidence] == ["DOCUMENTS"]


@pytest.mark.parametrize(("name", "system"), [("ragate", ragate), ("pkicr", pkicr)])
def test_the_sample_config_of_a_system_is_that_composition(parts, tmp_path, name, system):
    models = ("models.language.kind=scripted", "models.language.default=At nine.", "models.encoder.kind=hashing")
    folder = Path(__file__).parents[2] / "examples" / name
    with load(folder, overrides=models, state=tmp_path) as assistant:
        composed = {role: system(parts).names[role] for role in ("gate", "planner", "retriever", "reader")}
        assert assistant.agent.names.items() >= composed.items()
        reply = assistant.ask("When does the ferry leave?")
        assert reply.trace.of("gate")


@pytest.mark.slow
@pytest.mark.integration
def test_the_sample_config_of_unims_plans_judges_writes_and_refines_by_one_model(weights_home, monkeypatch, tmp_path):
    monkeypatch.setenv("DRAGOMAN_HOME", str(weights_home))
    with load(Path(__file__).parents[2] / "examples" / "unims", state=tmp_path) as assistant:
        reply = assistant.ask("When does the fish market open?")
    [planned] = reply.trace.of("planner")
    assert planned.component == "planner.acting.v1" and "PERSONA>DOCUMENTS" in planned.value.reason
    for note in reply.trace.of("retriever"):
        assert all("similarity" in piece.scores for piece in note.value.evidence)
    assert reply.trace.of("reader")[0].component == "reader.unified.v1" and reply.trace.of("refiner")
    assert reply.text.strip()
