"""How a trained part is put into an agent."""

from __future__ import annotations

import tomllib

import pytest

from dragoman.config import load_config
from dragoman.core.registry import REGISTRIES
from dragoman.models.part import Head, Part, write_part
from dragoman.train.agent_tables import uses

HEADS = {"gate": Head(("retrieve",))}


def made(folder, kind, options=None, shares=""):
    folder.mkdir(parents=True, exist_ok=True)
    return write_part(Part(folder, kind, HEADS, options or {}, shares=shares), ())


def told(folder, kind, options=None):
    (use,) = uses(made(folder, kind, options), "mine")
    return use


def test_a_gate_is_named_by_its_kind_and_part(tmp_path):
    use = told(tmp_path, "gate.linear")
    assert use.command == "dragoman chat --set gate.kind=linear --set gate.part=mine"
    assert use.line == '[gate] kind = "linear", part = "mine"'
    assert use.toml == '[gate]\nkind = "linear"\npart = "mine"'


def test_a_bi_encoder_becomes_the_encoder_too_with_a_new_state(tmp_path):
    use = told(tmp_path, "retriever.bi")
    assert use.command == (
        "dragoman chat --state mine-state --set models.encoder.weights=mine "
        "--set retriever.kind=dense --set retriever.part=mine"
    )
    assert "state must be new" in use.note


def test_a_cross_encoder_reranks_what_another_retriever_finds(tmp_path):
    assert told(tmp_path, "retriever.cross").line == '[retriever] kind = "rerank", inner = "hybrid", part = "mine"'


def test_a_joint_retriever_has_all_sources_in_one_step(tmp_path):
    use = told(tmp_path, "retriever.joint")
    assert use.line == '[planner] kind = "all", joint = true; [retriever] kind = "joint", part = "mine"'
    assert "--set planner.joint=true" in use.command


def test_a_judge_of_sentences_belongs_to_the_reader(tmp_path):
    assert told(tmp_path, "joint").line == '[reader] kind = "grounded", joint = "mine"'


def test_a_critic_has_the_refiner_on(tmp_path):
    assert told(tmp_path, "critic.nli").tables["refiner"] == {"mode": "within-step"}


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("gate.encoder", {"reply": True}),
        ("gate.linear", {"features": {"fields": ["user", "resp"]}}),
        ("gate.attention", {"reading": {"inputs": {"fields": ["contx", "resp"]}}}),
        ("gate.tuned", {"inputs": {"fields": ["contx", "resp"]}}),
    ],
)
def test_a_gate_that_reads_a_reply_is_given_a_reader(tmp_path, kind, options):
    assert told(tmp_path, kind, options).tables["gate"]["reader"] == "grounded"
    assert "reader" not in told(tmp_path, kind, {"inputs": {"fields": ["contx"]}}).tables["gate"]


def test_of_a_shared_model_each_part_is_named(tmp_path):
    whole = made(tmp_path, "shared")
    for name, kind in {"critic": "critic.nli", "gate": "gate.encoder", "relevance": "retriever.cross"}.items():
        made(tmp_path / name, kind, shares="..")
    made(tmp_path / "reply", "gate.encoder", {"reply": True}, shares="..")
    found = uses(whole, "english")
    parts = [value for use in found for table in use.tables.values() for key, value in table.items() if key == "part"]
    assert parts == ["english/gate", "english/reply", "english/relevance", "english/critic"]
    assert [use.tables["gate"].get("reader") for use in found[:2]] == [None, "grounded"]


@pytest.mark.parametrize(
    "kind",
    [
        "gate.linear", "gate.encoder", "gate.attention", "gate.tuned", "gate.uncertainty", "gate.prompted",
        "planner.classifier", "retriever.bi", "retriever.cross", "retriever.joint", "critic.nli", "joint",
    ],
)  # fmt: skip
def test_every_kind_names_components_that_exist_and_tables_that_a_config_takes(tmp_path, kind):
    use = told(tmp_path, kind)
    file = tmp_path / "agent.toml"
    file.write_text(use.toml, encoding="utf-8")
    load_config(file).resolved()
    for role, table in tomllib.loads(use.toml).items():
        if role in REGISTRIES and "kind" in table:
            assert REGISTRIES[role].resolve(table["kind"])


def test_a_folder_with_a_space_is_quoted(tmp_path):
    (use,) = uses(made(tmp_path, "gate.linear"), "my gate")
    assert "--set 'gate.part=my gate'" in use.command


def test_a_unified_model_takes_three_roles_and_safaris_two(tmp_path):
    use = told(tmp_path / "unims", "unified", {"shape": {"style": "unims"}, "offsets": {"check": {}}})
    assert list(use.tables) == ["planner", "retriever", "reader"]
    assert {table["part"] for table in use.tables.values()} == {"mine"}
    assert "aware" in use.note
    for role, table in use.tables.items():
        assert f"{role}.{table['kind']}.v1" in REGISTRIES[role].names()
    safari = told(tmp_path / "safari", "unified", {"shape": {"style": "safari", "layout": "plain"}})
    assert list(safari.tables) == ["planner", "reader"] and "aware" not in safari.note
