"""Every experiment file loads, names only what exists, and holds the papers' figures without slips."""

import math
from functools import cache
from pathlib import Path

import pytest

from dragoman.agent.create import parameters
from dragoman.core.registry import REGISTRIES, datasets
from dragoman.core.toml import read_toml
from dragoman.evaluate.columns import Measures
from dragoman.evaluate.metrics.select import check_where
from dragoman.evaluate.show.figures import KINDS
from dragoman.evaluate.spec import ROLES, load_experiment, marked
from dragoman.evaluate.systems.build import system_design
from dragoman.train.learners import (
    critic_nli,
    encoder_static,
    gate_attention,
    gate_encoder,
    gate_linear,
    gate_prompted,
    gate_tuned,
    gate_uncertainty,
    retriever_bi,
    retriever_cross,
    retriever_joint,
    unified,
)
from dragoman.train.ranking.recipe_part import Input
from dragoman.train.recipe import load_recipe
from dragoman.train.recipe_tables import TrunkTable, ViewTable, typed

FOLDER = Path(__file__).parents[2] / "experiments"
TABLES = {"unims": range(3, 8), "ragate": range(1, 6), "pkicr": range(2, 5), "safari": range(4, 9)}
NAMES = [f"{paper}-{number}" for paper, numbers in TABLES.items() for number in numbers]
TABLES_OF = {
    "critic.nli": (critic_nli.NliInput, TrunkTable),
    "encoder.static": (encoder_static.StaticInput, encoder_static.StaticModelTable),
    "gate.attention": (gate_attention.AttentionInput, gate_attention.AttentionModelTable),
    "gate.encoder": (gate_encoder.EncoderGateInput, gate_encoder.EncoderGateModelTable),
    "gate.linear": (gate_linear.LinearInput, gate_linear.LinearModelTable),
    "gate.prompted": (gate_prompted.ScoredInput, gate_prompted.PromptedModelTable),
    "gate.tuned": (gate_tuned.TunedInput, gate_tuned.TunedModelTable),
    "gate.uncertainty": (gate_uncertainty.UncertaintyInput, gate_uncertainty.UncertaintyModelTable),
    "planner.classifier": (ViewTable, TrunkTable),
    "retriever.bi": (Input, retriever_bi.BiModel),
    "retriever.cross": (Input, retriever_cross.CrossModel),
    "retriever.joint": (retriever_joint.PersonaInput, TrunkTable),
    "unified": (unified.UnifiedInput, unified.UnifiedModelTable),
}
"""What the learners take as a recipe's [input] and [model]."""
GENERATION = ["unims-5", "unims-6", "unims-7", "safari-6", "safari-7", "safari-8", "ragate-3", "ragate-4", "ragate-5"]


@cache
def load(name):
    return load_experiment(FOLDER / f"{name}.toml")


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture
def experiment(name):
    return load(name)


def figures_of(name, system, block):
    [found] = [row for row in load(name).systems if row.name == system]
    return found.paper[block]


def test_there_is_one_file_for_each_table():
    assert sorted(path.stem for path in FOLDER.glob("*.toml")) == sorted([*NAMES, "data"])


def test_every_shared_set_is_measured_somewhere():
    named = {entry for name in NAMES for entry in read_toml(FOLDER / f"{name}.toml")["data"]}
    assert named == set(read_toml(FOLDER / "data.toml"))


def test_the_file_says_what_it_measures_and_of_which_table(experiment):
    assert experiment.paper
    assert experiment.table
    assert len(experiment.about) > 100


def test_every_set_is_read_by_a_loader_that_has_its_options(experiment):
    for block in experiment.data:
        known = parameters(datasets.factory(block.kind))
        assert set(block.options) <= set(known), block.name
        assert ("file" in known) == (block.file is not None), block.name


def test_every_column_is_a_metric_that_takes_its_options(experiment):
    for block in experiment.data:
        measures = Measures(experiment).unchecked(block.name)
        assert measures, f"no column speaks of {block.name}"
    for column in experiment.columns:
        check_where(column.where)


def test_every_row_that_runs_is_made_of_known_parts(experiment):
    for system in experiment.systems:
        if system.runs:
            for role, table in system_design(system).tables.items():
                options = set(table) - {"kind"}
                assert options <= set(parameters(REGISTRIES[role].factory(table["kind"]))), system.name


def test_every_row_that_does_not_run_says_why_and_what_the_paper_printed(experiment):
    for system in experiment.systems:
        if not system.runs:
            assert system.paper or system.note, system.name


def test_the_papers_figures_lie_within_the_bounds_of_their_metrics(experiment):
    for block in experiment.data:
        columns = {measure.spec.title: measure for measure in Measures(experiment).unchecked(block.name)}
        for system in experiment.systems:
            for title, value in system.paper.get(block.name, {}).items():
                assert title in columns, f"{title} does not speak of {block.name}"
                low, high = columns[title].metric.about.bounds
                scale = columns[title].spec.scale
                assert low * scale <= value <= high * scale or math.isinf(high), f"{system.name}: {title} = {value}"


def test_figures_are_of_known_kinds_and_name_what_is_there(experiment):
    systems = {system.name for system in experiment.systems}
    titles = {column.title for column in experiment.columns}
    for figure in experiment.figures:
        assert figure.kind in KINDS
        assert set(figure.options.get("systems", ())) <= systems
        named = [figure.options.get(key) for key in ("column", "cost", "quality")]
        assert {*figure.options.get("columns", ()), *filter(None, named)} <= titles


def test_the_baseline_runs_on_every_set_that_is_here(experiment):
    if experiment.baseline is not None:
        [row] = [system for system in experiment.systems if system.name == experiment.baseline]
        assert row.runs
        assert row.data is None


def test_every_file_runs_on_the_toy_set_when_asked(experiment):
    toys = [block for block in experiment.data if block.kind == "toy"]
    assert toys
    assert all(block.asked for block in toys)
    assert any(system.runs for system in experiment.systems_of(toys[0].name))


def test_kbp_is_measured_on_unseen_evidence_too(experiment):
    sets = [block for block in experiment.data if block.kind == "kbp"]
    assert [block.split is not None for block in sets] in ([], [False, True])


@pytest.mark.parametrize("name", GENERATION)
def test_generation_tables_have_the_two_rows_that_anything_must_beat(name):
    experiment = load(name)
    for block in experiment.data:
        readers = {system.reader.get("kind") for system in experiment.systems_of(block.name) if system.runs}
        assert {"copy", "frequent"} <= readers, block.name


def asks_a_model(whole, role):
    """Whether a component asks a language model on every turn: a trained gate may have one and not need it."""
    table = whole.tables[role]
    if table["kind"] == "gate.tuned.v1":
        return True
    if table["kind"] == "gate.attention.v1" or table.get("drafts") == "never":
        return False
    return "language_model" in whole.dependencies(role)


def test_rows_that_call_the_model_can_be_left_out(experiment):
    for system in experiment.systems:
        if system.runs:
            whole = system_design(system)
            assert system.slow == any(asks_a_model(whole, role) for role in whole.roles), system.name
            assert system.slow or system.group != "prompted", system.name


def test_every_declared_part_is_used_and_its_recipe_takes_what_is_set(experiment):
    used = [experiment.defaults, *(column.options for column in experiment.columns)]
    used += [getattr(system, role) for system in experiment.systems for role in ROLES]
    assert {part.name for part in experiment.parts} == set(marked(used))
    for part in experiment.parts:
        whole = load_recipe(part.recipe, part.set)
        for table, name in zip(TABLES_OF[whole.kind], ("input", "model"), strict=True):
            typed(table, getattr(whole, name), name)


def test_a_part_of_the_library_is_used_somewhere():
    declared = {part["name"] for part in read_toml(FOLDER / "parts" / "shared.toml")["parts"]}
    assert declared <= {part.name for _, part in parts_by_name()}


UNIFIED = [f"unims-{number}" for number in TABLES["unims"]] + [f"safari-{number}" for number in TABLES["safari"]]


@pytest.mark.parametrize("name", UNIFIED)
def test_rows_of_a_unified_model_run_one_part(name):
    rows = [row for row in load(name).systems if row.group.startswith(("unified", "SAFARI,"))]
    assert {"kbp"} <= {block for row in rows for block in row.data}
    for row in rows:
        roles = (row.planner, row.retriever, row.reader)
        used = [table for table in roles if table.get("kind") in ("acting", "evaluating", "unified")]
        assert len({table["part"] for table in used}) == 1, row.name  # weights are loaded once
        assert len({table.get("runtime") for table in used}) == 1, row.name


def test_nothing_is_refined_by_the_judge_of_its_column():
    for name in NAMES:
        spec = load(name)
        judges = set(marked([column.options for column in spec.columns]))
        assert not judges & set(marked([row.critic for row in spec.systems])), name


def is_held_out(block, part):
    """Whether a set is the very share of dialogues that a training without a dev file holds out, by the same seed."""
    share = part.set.get("dev", 0.2)
    split = block.split
    return bool(
        split
        and not split.pool
        and (split.by, split.part, split.seed) == ("dialogue", "dev", load_recipe(part.recipe, part.set).train.seed)
        and split.parts == {"train": 1 - share, "dev": share}
        and "dev" not in part.data
    )


def test_no_trained_row_has_learned_from_the_turns_that_it_is_measured_on(experiment):
    blocks = {block.name: block for block in experiment.data}
    parts = {part.name: part for part in experiment.parts}
    for system in experiment.systems:
        for part in (parts[name] for name in marked([getattr(system, role) for role in ROLES])):
            learned = {file for names in part.data.values() for file in names}
            for block in (blocks[name] for name in system.data or blocks):
                measured = {block.file, *(block.split.pool if block.split else ())}
                assert not learned & measured or is_held_out(block, part), f"{system.name} on {block.name}"


def parts_by_name():
    for name in NAMES:
        for part in load(name).parts:
            yield name, part


def test_parts_of_one_name_are_the_same_in_all_files():
    known = {}
    for file, part in parts_by_name():
        one = part.model_copy(update={"note": ""})
        assert known.setdefault(part.name, one) == one, f"{file}: {part.name}"


# What the papers print in several tables must be the same in all files.
TWICE = [
    (("unims-5", "UniMS-RAG, itself as retriever, DPR labels"), ("unims-7", "UniMS-RAG"), ("kbp", "dulemon")),
    (("unims-5", "UniMS-RAG, 3 pieces of evidence"), ("unims-6", "UniMS-RAG"), ("kbp", "dulemon")),
    (("unims-6", "UniMS-RAG, alpha = 1"), ("unims-6", "UniMS-RAG, 1 step"), ("kbp", "dulemon")),
    (("unims-5", "SAFARI, supervised"), ("safari-6", "ChatGLM-6B, supervised"), ("kbp",)),
    (("unims-5", "SAFARI, unsupervised"), ("safari-6", "ChatGLM-6B, in-context"), ("kbp",)),
    (("safari-6", "ChatGLM-6B, supervised"), ("safari-7", "ChatGLM-6B"), ("kbp",)),
    (("safari-7", "ChatGLM-6B"), ("safari-8", "ChatGLM-6B, 1 result"), ("kbp",)),
    (("unims-3", "SAFARI"), ("safari-4", "ChatGLM-6B, supervised"), ("kbp",)),
    (("unims-3", "ChatGPT, zero-shot"), ("safari-4", "ChatGPT, zero-shot"), ("kbp",)),
    (("unims-3", "ChatGPT, in-context"), ("safari-4", "ChatGPT, in-context"), ("kbp",)),
    (("unims-4", "BM25"), ("safari-5", "BM25"), ("kbp",)),
    (("unims-4", "DPR"), ("safari-5", "DPR"), ("kbp",)),
    (("unims-4", "RocketQAv2"), ("safari-5", "RocketQAv2"), ("kbp",)),
]


@pytest.mark.parametrize(("one", "other", "blocks"), TWICE)
def test_what_is_printed_twice_is_the_same_twice(one, other, blocks):
    for block in blocks:
        assert figures_of(*one, block) == figures_of(*other, block)


@pytest.mark.parametrize("name", ["unims-4", "safari-5"])
def test_bm25_in_the_papers_protocol_stands_with_and_without_spaces(name):
    rows = [row for row in load(name).systems if row.retriever.get("kind") == "okapi"]
    kept, removed = (
        {(row.retriever["dependency"], name) for row in rows if row.runs and bool(row.view) == raw for name in row.data}
        for raw in (True, False)
    )
    asked = {(row.retriever["dependency"], name) for row in rows if row.paper for name in row.data}
    assert asked <= kept
    assert asked <= removed


def test_ragate_tables_3_and_5_agree():
    short, full = (load(f"ragate-{number}").systems for number in (3, 5))
    renamed = {
        row.name.replace("RAGate-Llama", "RAGate-PEFT").replace("Augment-All", "Aug-All"): row.paper for row in full
    }
    for row in short:
        if not row.runs:
            assert row.paper["ketod"].items() <= renamed[row.name]["ketod"].items(), row.name


@pytest.mark.parametrize(
    ("name", "system", "block", "figures"),
    [
        ("unims-3", "UniMS-RAG", "dulemon", {"NULL": 85.15, "User-Per": 47.94, "Bot-Per": 41.5, "User and Bot": 0.0}),
        ("unims-3", "UniMS-RAG", "kbp", {"NULL": 50.35, "Persona": 8.82, "Both": 84.81}),
        ("unims-4", "UniMS-RAG, DPR labels", "kbp", {"Persona": 74.4, "Both-Persona": 82.88, "Both-Documents": 22.32}),
        ("unims-4", "RocketQAv2", "dulemon", {"User-Per": 42.85, "Bot-Per": 46.22}),
        ("unims-6", "UniMS-RAG, alpha = 3", "kbp", {"BLEU-1": 33.33, "ROUGE-L": 37.56, "P.C": 81.45, "K.C": 54.84}),
        (
            "unims-7",
            "UniMS-RAG + ground planning and retrieval",
            "kbp",
            {"BLEU-1": 37.93, "ROUGE-L": 42.67, "P.C": 95.52, "K.C": 87.63},
        ),
        ("ragate-2", "PEFT contx-only", "ketod-gate", {"Precision": 0.5203, "Recall": 0.3359, "F1": 0.4082}),
        ("pkicr-2", "P + D & K (cross-encoder)", "focus", {"K. accuracy": 94.69}),
        ("pkicr-3", "P + D & K (cross-encoder, fine-tuned)", "focus", {"P. accuracy": 91.57}),
        (
            "pkicr-4",
            "P + D & K (cross-encoder), fine-tuned",
            "focus",
            {"0-Acc": 86.81, "T2": 1.66, "T": 0.97, "T+": 0.96, "T-": 0.56},
        ),
        ("safari-5", "BM25, no dependency", "kbp", {"Both-Documents": 11.37}),
    ],
)
def test_figures_are_those_of_the_papers(name, system, block, figures):
    assert figures_of(name, system, block) == figures


def test_f1_of_the_gates_follows_from_the_printed_precision_and_recall():
    for row in load_experiment(FOLDER / "ragate-2.toml").systems:
        if row.paper:
            printed = row.paper["ketod-gate"]
            p, r = printed["Precision"], printed["Recall"]
            assert 2 * p * r / (p + r) == pytest.approx(printed["F1"], abs=2e-4), row.name
