"""The papers as presets: read over other tables, and run end to end on scripted models."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.agent.build import assemble, load, locate
from dragoman.config import load_config
from dragoman.core.errors import ConfigError
from dragoman.evaluate.spec import experiment_of
from dragoman.evaluate.systems.build import system_design
from dragoman.gate.features import Features
from dragoman.gate.linear import Linear, write_linear
from dragoman.models.part import Head, Part, write_part
from dragoman.models.scripted import ScriptedEncoder, ScriptedModel
from dragoman.presets import presets, with_preset, with_unified
from dragoman.testing import fill
from dragoman.testing.samples import CONTEXTS, SOURCES

HELLO, QUESTION = CONTEXTS[:2]
NAMES = ("pkicr", "ragate", "safari", "unims")
TRAINED_SAFARI = ("planner.kind=acting", "reader.kind=unified", "unified.part=lent")


@pytest.fixture
def agent(tmp_path):
    """The agent of a preset over the samples' sources, with overrides, on scripted models."""
    sources = "".join(
        f'[[sources]]\nname = "{source.name}"\ndescription = "{source.description}"\nabout = "{source.about}"\n'
        f"needs = {list(source.needs)}\nprivate = {str(source.private).lower()}\n"
        for source in SOURCES
    )
    model = ScriptedModel(
        rules=[("re:User: Hello!\n\nSources for", "NULL"), ("Sources for the last turn:", "PERSONA, DOCUMENTS")],
        choices=[("re:User: Hello!\n\n", "False"), ("re:True or False:$", "True")],
        default="It costs 34 francs.",
    )
    encoder = ScriptedEncoder()

    def build(preset, *overrides):
        file = tmp_path / "agent.toml"
        file.write_text(f'preset = "{preset}"\n{sources}[store]\nkind = "memory"\n', encoding="utf-8")
        config = load_config(file, overrides)
        assistant = assemble(config, folder=tmp_path, state=tmp_path, models=(model, encoder))
        fill(assistant.store, encoder)
        return assistant.agent

    return build


def unims(agent, *overrides):
    """UniMS-RAG on the lent model, with the critic that needs no weights."""
    return agent("unims", "unified.part=lent", "critic.kind=overlap", *overrides)


def test_every_paper_is_a_preset_and_an_agent_by_name(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert tuple(presets()) == NAMES
    for name in NAMES:
        assert locate(name)[0] == presets()[name]
        assert load_config(locate(name)[0]).table("gate")["kind"]


def test_a_table_changes_options_of_its_preset_and_another_kind_replaces_it():
    tables = with_preset({"preset": "safari", "planner": {"style": "in-context"}}, where="x")
    assert tables["planner"] == {"kind": "planner.prompted.v1", "style": "in-context", "fallback": "none"}
    tables = with_preset({"preset": "safari", "planner": {"kind": "all"}}, where="x")
    assert tables["planner"] == {"kind": "all", "fallback": "none"}
    assert tables["retriever"]["dependency"] == "prefer"


def test_an_unknown_preset_is_an_error_with_a_suggestion():
    with pytest.raises(ConfigError, match="Did you mean 'unims'"):
        load_config(None, ["preset=unim"])
    with pytest.raises(ConfigError, match="preset"):
        load_config(None, ["preset=[1]"])


def test_one_part_serves_every_role_that_runs_the_unified_model():
    config = load_config(None, ["preset=unims", "unified.part=mine", "unified.runtime=torch", "planner.kind=all"])
    assert {role: config.table(role).get("part") for role in ("planner", "retriever", "reader")} == {
        "planner": None,
        "retriever": "mine",
        "reader": "mine",
    }
    assert config.table("reader")["runtime"] == "torch"


def test_a_role_keeps_a_part_of_its_own():
    tables = {"unified": {"part": "one"}, "planner": {"kind": "acting", "part": "two"}, "reader": {"kind": "unified"}}
    assert with_unified(tables, where="x") == {
        "planner": {"kind": "acting", "part": "two"},
        "reader": {"kind": "unified", "part": "one"},
    }
    with pytest.raises(ConfigError, match=r"\[unified\] has no part"):
        with_unified({"unified": {"runtime": "torch"}}, where="x")


def test_a_row_of_an_experiment_takes_a_preset_over_the_defaults():
    spec = experiment_of(
        {
            "title": "T",
            "data": [{"name": "toy", "kind": "toy"}],
            "columns": [{"title": "rate", "metric": "gate-rate"}],
            "defaults": {"k": 5, "reader": {"kind": "silent"}},
            "systems": [{"name": "mine", "preset": "safari", "planner": {"style": "in-context"}}, {"name": "other"}],
        }
    )
    mine, other = (system_design(system) for system in spec.systems)
    assert (mine.k, mine.fallback) == (1, "none")
    assert mine.tables["planner"] == {"kind": "planner.prompted.v1", "style": "in-context"}
    assert mine.tables["retriever"] == {"kind": "retriever.sparse.v1", "dependency": "prefer"}
    assert mine.tables["reader"]["kind"] == "reader.prompted.v1"
    assert (other.k, other.tables["reader"]["kind"]) == (5, "reader.silent.v1")


def test_ragate_gates_with_the_model_and_asks_every_source(agent):
    hello, question = agent("ragate").run([HELLO, QUESTION])
    assert (hello.verdict.retrieve, hello.evidence) == (False, ())
    assert question.verdict.retrieve
    assert set(question.plan.sources) == {"PERSONA", "MEMORY", "DOCUMENTS"}
    assert question.trace.of("gate")[0].component == "gate.prompted.v1"


def test_safari_plans_with_the_model_and_its_null_is_the_gate(agent):
    hello, question = agent("safari").run([HELLO, QUESTION])
    assert hello.verdict.retrieve
    assert hello.plan.is_null
    assert question.plan.steps == (("PERSONA",), ("DOCUMENTS",))
    assert "d-price" in [piece.id for piece in question.evidence]


PROMPTED = (
    *("planner.kind=prompted", "planner.style=in-context", "retriever.kind=hybrid"),
    *("reader.kind=prompted", "critic.kind=overlap"),
)


@pytest.mark.parametrize(("options", "rounds"), [((), 1), (("refiner.mode=multi-step", "refiner.steps=2"), 2)])
def test_prompted_unims_refines_what_has_evidence(agent, options, rounds):
    hello, question = agent("unims", *PROMPTED, *options).run([HELLO, QUESTION])
    assert hello.trace.of("refiner") == ()
    assert 1 <= len(question.trace.of("refiner")) <= rounds
    assert question.trace.of("refiner")[0].value.replaced


@pytest.fixture
def trained(make_unified, lend_unified):
    runtime = make_unified()
    lend_unified(runtime, offsets={"context": {"PERSONA>DOCUMENTS": 50.0}, "check": {"PERSONA>DOCUMENTS": 50.0}})
    return runtime


def test_trained_unims_plans_judges_writes_and_refines_by_one_model(agent, trained):
    [reply] = unims(agent, "retriever.k=2").run([QUESTION])
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
def test_trained_unims_reads_the_dialogue_once(agent, trained, k):
    unims(agent, f"retriever.k={k}", "refiner.mode=off").run([QUESTION])
    again = trained.fed
    trained.clear_cache()
    trained.plan([QUESTION], [(), ("PERSONA",)])
    dialogue = trained.fed - again
    shown = 6 * 40  # what the sources hold, each candidate once
    written = 2 * k * 40 + 12
    assert again < dialogue + shown + written


@pytest.mark.parametrize("kind", ["evaluating", "sparse", "dense", "prompted"])
def test_any_retriever_finds_the_evidence_of_trained_unims(agent, trained, kind):
    chosen = unims(agent, f"retriever.kind={kind}", "refiner.mode=multi-step", "refiner.steps=2")
    [reply] = chosen.run([QUESTION])
    assert chosen.names["retriever"] == f"retriever.{kind}.v1"
    assert 1 <= len(reply.trace.of("refiner")) <= 2


@pytest.mark.parametrize(
    ("overrides", "steps"),
    [
        (("planner.aware=true", "planner.retriever=hybrid", "unified.runtime=torch"), 2),
        ((), 2),
        (("planner.kind=all",), 3),
        (("gate.kind=never",), 0),
    ],
    ids=["aware", "itself", "all", "never"],
)
def test_any_planner_plans_for_trained_unims(agent, trained, overrides, steps):
    [reply] = unims(agent, *overrides).run([QUESTION])
    assert len(reply.plan.steps) == steps
    assert bool(reply.evidence) == bool(steps)


def test_trained_safari_plans_and_writes_without_similarities(agent, make_unified, lend_unified):
    runtime = make_unified(layout="plain", style="safari")
    lend_unified(runtime, offsets={"context": {"PERSONA>DOCUMENTS": 50.0}})
    [reply] = agent("safari", *TRAINED_SAFARI, "retriever.dependency=filter").run([QUESTION])
    assert reply.plan.steps == (("PERSONA",), ("DOCUMENTS",))
    assert reply.trace.of("reader")[0].component == "reader.unified.v1"
    assert reply.text


def test_a_learned_gate_needs_its_part(agent):
    with pytest.raises(ConfigError, match=r"gate\.part"):
        agent("ragate", "gate.kind=attention")


@pytest.mark.parametrize("gate", ["linear", "encoder", "attention", "tuned", "uncertainty"])
def test_ragate_is_composed_with_each_learned_gate(agent, gate):
    ragate = agent("ragate", f"gate.kind={gate}", "gate.part=nowhere", "gate.threshold=0.5")
    assert ragate.names["gate"] == f"gate.{gate}.v1"


def test_ragate_runs_a_trained_gate(agent, tmp_path):
    features = Features(("user",), structure=False)
    weights = {"user": {"ticket": (1.0, 4.0), "hello": (1.0, -4.0)}}
    folder = tmp_path / "gate"
    folder.mkdir()
    names = write_linear(Linear(features, weights, {}, 0.0), folder)
    head = Head(("retrieve",), {}, {"retrieve": 0.5})
    write_part(Part(folder, "gate.linear", {"gate": head}, {"features": features.to_json()}, {}), names)
    hello, question = agent("ragate", "gate.kind=linear", "gate.part=gate").run([HELLO, QUESTION])
    assert not hello.verdict.retrieve
    assert question.verdict.retrieve
    assert set(question.plan.sources) == {"PERSONA", "MEMORY", "DOCUMENTS"}


def test_uncertainty_gates_without_a_part(agent):
    [reply] = agent("ragate", "gate.kind=uncertainty").run([QUESTION])
    assert reply.trace.of("gate")[0].component == "gate.uncertainty.v1"


def test_pkicr_asks_every_source_on_every_turn_in_one_step(agent):
    for reply in agent("pkicr").run([HELLO, QUESTION]):
        assert [set(step) for step in reply.plan.steps] == [{"PERSONA", "MEMORY", "DOCUMENTS"}]
        assert reply.trace.of("retriever")[0].component == "retriever.joint.v1"


def test_pkicr_takes_at_most_one_persona_and_none_below_the_threshold(agent):
    [every] = agent("pkicr", "retriever.threshold=0.0").run([QUESTION])
    [none] = agent("pkicr", "retriever.threshold=1.0").run([QUESTION])
    about = [piece.source for piece in every.evidence]
    assert about.count("DOCUMENTS") == 1
    assert len(about) == 2
    assert [piece.source for piece in none.evidence] == ["DOCUMENTS"]


@pytest.mark.parametrize("name", ["ragate", "pkicr"])
def test_the_example_of_a_paper_is_its_preset(tmp_path, name):
    models = ("models.language.kind=scripted", "models.language.default=At nine.", "models.encoder.kind=hashing")
    folder = Path(__file__).parents[2] / "examples" / name
    with load(folder, overrides=models, state=tmp_path) as assistant:
        preset = load_config(presets()[name])
        composed = {role: preset.table(role)["kind"] for role in ("gate", "planner", "retriever", "reader")}
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
