"""Trained parts of an experiment: found by what they are made of, trained where that is asked, never mixed."""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path

import pytest

from dragoman.core.errors import ConfigError, TrainingError, UnknownNameError
from dragoman.core.registry import critics, gates
from dragoman.core.values import Verdict
from dragoman.evaluate.api import run_experiment
from dragoman.evaluate.running.manifest import differences, make_manifest
from dragoman.evaluate.spec import PartSpec, experiment_of, load_experiment
from dragoman.evaluate.systems.trained_parts import TrainedParts, TrainingOrder, identity, used_parts
from dragoman.models.part import Head, Part, open_part, write_part

RECIPE = 'kind = "gate.learned"\nabout = "a gate"\n[train]\nepochs = 2\n'
SECTION = """
[[parts]]
name = "small"
recipe = "{recipe}"
data = {{train = ["{file}"]}}
set = {{"train.epochs" = 3, "train.schedule" = "cosine"}}
[[systems]]
name = "learned"
gate = {{kind = "learned-test", part = "@small"}}
retriever = {{kind = "sparse"}}
"""


class LearnedGate:
    """Opens as its part says."""

    def __init__(self, *, part: str = "nowhere-part", folder=None) -> None:
        self._name = part

    def decide(self, turns, evidence=None):
        opens = open_part(self._name).options["opens"]
        return [Verdict(opens, float(opens), "learned")] * len(turns)


class LearnedCritic:
    """Judges as its part says."""

    def __init__(self, *, part: str) -> None:
        self._name = part

    def consistency(self, pairs):
        return [float(open_part(self._name).options["opens"])] * len(pairs)


@pytest.fixture(autouse=True)
def learned_kinds(monkeypatch):
    """Components that run a part, registered for one test."""
    gates.names()  # what ships is registered when it is first asked for
    monkeypatch.setattr(gates, "_factories", dict(gates._factories))
    gates.register("learned-test.v1")(LearnedGate)
    critics.names()
    monkeypatch.setattr(critics, "_factories", dict(critics._factories))
    critics.register("learned-test.v1")(LearnedCritic)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("DRAGOMAN_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def learning_file(ferry_file, ferries, tmp_path, home):
    """The experiment with a part and a row that runs it."""
    recipe = tmp_path / "gate.toml"
    recipe.write_text(RECIPE, encoding="utf-8")
    with ferry_file.open("a", encoding="utf-8") as opened:
        opened.write(SECTION.format(recipe=recipe.as_posix(), file=ferries.as_posix()))
    return ferry_file


def leave_part(folder, *, opens=True):
    folder.mkdir(parents=True, exist_ok=True)
    write_part(Part(folder, "gate.learned", {"retrieve": Head(("yes",))}, {"opens": opens}), ())


class Trainer:
    def __init__(self, *, opens=True):
        self.orders: list[TrainingOrder] = []
        self.opens = opens

    def __call__(self, order, progress):
        self.orders.append(order)
        progress(f"Training {order.name}", 1, 1, "")
        leave_part(order.folder, opens=self.opens)


def run(file, out, *overrides, **options):
    return run_experiment(load_experiment(file, overrides), out, name="ferry", **options)


def row(result, name="learned"):
    return next(row for row in result.tables[0].rows if row.system == name)


def test_a_row_whose_part_is_not_there_says_so_and_how_to_train_it_and_others_run(learning_file, tmp_path):
    result = run(learning_file, tmp_path / "run")
    assert row(result).cells[0].status == "not trained"
    assert row(result, "bm25").cells[0].value == 1.0
    assert "--set train.epochs=3 --set train.schedule=cosine --out " in row(result).note
    assert "not trained: the part that it runs" in (tmp_path / "run" / "results.md").read_text()
    by_hand = row(result).note.rpartition(" --out ")[2]
    folder = subprocess.run(["sh", "-c", f"printf %s {by_hand}"], capture_output=True, text=True, check=True).stdout
    leave_part(Path(folder))
    assert row(run(learning_file, tmp_path / "again")).cells[0].value is not None


def test_a_missing_part_is_trained_once_and_every_experiment_that_declares_it_uses_it(learning_file, tmp_path, home):
    trainer, seen = Trainer(), []
    first = run(learning_file, tmp_path / "run", trainer=trainer, progress=lambda *told: seen.append(told[0]))
    assert row(first).cells[1].value == pytest.approx(2 / 3)  # always open
    [order] = trainer.orders
    assert order.folder.parent == home / "parts"
    assert order.overrides == {"train.epochs": 3, "train.schedule": "cosine"}
    assert "Training small" in seen
    again = run(learning_file, tmp_path / "other", "parts.small.name=small", trainer=trainer)
    assert row(again).cells[1].value == row(first).cells[1].value
    assert len(trainer.orders) == 1


def test_another_name_for_the_same_part_finds_the_same_folder(learning_file, tmp_path):
    trainer = Trainer()
    run(learning_file, tmp_path / "run", trainer=trainer)
    spec = load_experiment(learning_file)
    renamed = spec.parts[0].model_copy(update={"name": "other"})
    found = TrainedParts(spec.model_copy(update={"parts": (renamed,)})).place("other")
    assert found == trainer.orders[0].folder


def test_auxiliary_data_is_part_of_what_a_part_is(learning_file, tmp_path):
    part = load_experiment(learning_file).parts[0]
    other = part.model_copy(update={"data": {**part.data, "aux": ("toy",)}})
    assert identity(other) != identity(part)
    order = TrainedParts(load_experiment(learning_file).model_copy(update={"parts": (other,)}))._order("small")
    assert order.data["aux"] == ("toy",)
    assert "--data aux=toy" in order.command


def test_the_command_of_a_part_writes_tables_as_the_command_line_reads_them(learning_file):
    part = load_experiment(learning_file).parts[0]
    told = part.model_copy(update={"set": {"input.sources": {"USER": "MEMORY"}, "input.fields": ["a", 1], "dev": 0.1}})
    order = TrainedParts(load_experiment(learning_file).model_copy(update={"parts": (told,)}))._order("small")
    read = {key: tomllib.loads(f"value = {value}")["value"] for key, _, value in map(_parted, order.settings)}
    assert read == dict(told.set)


def _parted(setting: str) -> tuple[str, str, str]:
    return setting.partition("=")


def test_a_column_whose_critic_is_not_trained_says_so(learning_file, tmp_path):
    judged = (
        '{title = "C", metric = "consistency", source = "DOCUMENTS", critic = {kind = "learned-test", part = "@small"}}'
    )
    text = learning_file.read_text(encoding="utf-8").replace("columns = [", f"columns = [{judged},", 1)
    learning_file.write_text(text, encoding="utf-8")
    assert row(run(learning_file, tmp_path / "run"), "bm25").cells[0].status == "not trained"
    assert row(run(learning_file, tmp_path / "run", trainer=Trainer()), "bm25").cells[0].status == "measured"
    described = json.loads((tmp_path / "run" / "run.json").read_text())["experiment"]
    assert list(described["columns"][0]["parts"]) == ["small"]


def test_one_setting_of_a_part_is_changed_and_the_others_stay(learning_file):
    name = load_experiment(learning_file).parts[0].name
    given = [f"parts.{name}.set.train.epochs=7", f"parts.{name}.set.model.base=elsewhere"]
    (part,) = load_experiment(learning_file, given).parts
    assert part.set == {"train.epochs": 7, "train.schedule": "cosine", "model.base": "elsewhere"}


def test_what_a_metric_calls_a_part_is_its_own(learning_file, tmp_path):
    rouge = '{title = "ROUGE-L", metric = "rouge", part = "L"}'
    text = learning_file.read_text(encoding="utf-8").replace("columns = [", f"columns = [{rouge},", 1)
    learning_file.write_text(text, encoding="utf-8")
    assert row(run(learning_file, tmp_path / "run"), "bm25").cells[0].status == "measured"


def test_only_parts_of_rows_that_are_chosen_are_trained(learning_file, tmp_path):
    trainer = Trainer()
    run(learning_file, tmp_path / "run", trainer=trainer, systems=["bm25"])
    assert trainer.orders == []


def test_a_part_that_was_trained_anew_does_not_go_on_with_old_rows(learning_file, tmp_path):
    trainer = Trainer()
    run(learning_file, tmp_path / "run", trainer=trainer)
    run(learning_file, tmp_path / "run", systems=["bm25"])  # the row of the part is kept, and what it was made with
    leave_part(trainer.orders[0].folder, opens=False)
    with pytest.raises(ConfigError, match="the part 'small' of 'learned' was trained anew"):
        run(learning_file, tmp_path / "run")
    assert row(run(learning_file, tmp_path / "run", fresh=True)).cells[1].value == 0.0


def test_a_row_that_is_trained_later_is_added_to_the_run(learning_file, tmp_path):
    run(learning_file, tmp_path / "run")
    assert row(run(learning_file, tmp_path / "run", trainer=Trainer())).cells[0].status == "measured"


def test_no_folder_of_this_machine_is_recorded(learning_file, tmp_path):
    run(learning_file, tmp_path / "run", trainer=Trainer())
    manifest = (tmp_path / "run" / "run.json").read_text()
    assert str(tmp_path) not in manifest
    [learned] = [entry for entry in json.loads(manifest)["experiment"]["systems"] if entry["name"] == "learned"]
    assert learned["gate"]["part"] == "@small"
    assert list(learned["parts"]) == ["small"]


def test_parts_may_lie_in_a_folder_of_ones_own(learning_file, tmp_path):
    trainer = Trainer()
    run(learning_file, tmp_path / "run", trainer=trainer, parts=tmp_path / "mine")
    assert trainer.orders[0].folder.parent == tmp_path / "mine"


def test_a_row_alone_whose_part_is_not_there_is_told_to_train_it(learning_file, tmp_path):
    with pytest.raises(ConfigError, match="is not trained") as error:
        run(learning_file, tmp_path / "run", systems=["learned"])
    assert "--train" in error.value.remedy


def test_a_part_whose_data_is_not_here_leaves_a_hole(learning_file, tmp_path):
    trainer = Trainer()
    override = 'parts.small.data={train = ["lost.jsonl"]}'
    result = run(learning_file, tmp_path / "run", override, trainer=trainer)
    assert row(result).cells[0].status == "no data"
    assert "lost.jsonl" in row(result).note
    assert trainer.orders == []


def test_a_shipped_part_that_does_not_exist_is_not_trained(learning_file, tmp_path):
    named = run(learning_file, tmp_path / "named", 'systems.learned.gate={kind = "learned-test", part = "klingon"}')
    assert row(named).cells[0].status == "not trained"
    assert "'klingon'" in row(named).note
    default = run(learning_file, tmp_path / "default", 'systems.learned.gate={kind = "learned-test"}')
    assert "'nowhere-part'" in row(default).note


def test_the_name_of_an_undeclared_part_is_an_error_with_what_was_meant(learning_file):
    with pytest.raises(ConfigError, match=r"Unknown part 'smal'\. Did you mean 'small'"):
        load_experiment(learning_file, ["systems.learned.gate.part=@smal"])


def test_a_default_that_a_row_does_not_run_asks_for_no_part(learning_file, tmp_path):
    judge = 'defaults.critic={kind = "overlap", part = "@small"}'
    assert row(run(learning_file, tmp_path / "run", judge), "bm25").cells[0].status == "measured"


def test_a_training_that_leaves_nothing_is_told(learning_file, tmp_path):
    with pytest.raises(TrainingError, match=r"left no part\.json"):
        run(learning_file, tmp_path / "run", trainer=lambda order, progress: None)


def test_an_unknown_recipe_is_told(learning_file, tmp_path):
    with pytest.raises(UnknownNameError, match="Unknown recipe 'gate-none'"):
        run(learning_file, tmp_path / "run", "parts.small.recipe=gate-none")


def test_a_part_is_told_apart_by_recipe_overrides_and_bytes_and_not_by_words(learning_file, ferries, tmp_path):
    part = load_experiment(learning_file).parts[0]
    first = identity(part)
    assert identity(part.model_copy(update={"name": "x", "note": "y"})) == first
    (tmp_path / "gate.toml").write_text(RECIPE.replace("a gate", "the gate"), encoding="utf-8")
    assert identity(part) == first
    assert identity(part.model_copy(update={"set": {"train.epochs": 4}})) != first
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(ferries.read_bytes())
    assert identity(part.model_copy(update={"data": {"train": (str(copy),)}})) == first
    copy.write_bytes(ferries.read_bytes() + ferries.read_bytes().splitlines(keepends=True)[0])
    assert identity(part.model_copy(update={"data": {"train": (str(copy),)}})) != first
    (tmp_path / "gate.toml").write_text(RECIPE.replace("2", "5"), encoding="utf-8")
    assert identity(part) != first


def test_names_are_replaced_wherever_they_stand_in_a_table(learning_file):
    spec = load_experiment(learning_file)
    tables = {"weights": "@small", "also": {"deeper": ["@small"]}}
    system = spec.systems[0].model_copy(update={"encoder": tables, "retriever": {"kind": "dense"}})
    parts = TrainedParts(spec)
    leave_part(parts._order("small").folder)
    spec = spec.model_copy(update={"systems": (system,)})
    filled = parts.filled(spec)
    place = str(parts.place("small"))
    assert filled.systems[0].encoder == {"weights": place, "also": {"deeper": [place]}}
    assert list(used_parts(spec, filled)["systems"]["bm25"]) == ["small"]


def test_a_part_must_name_what_it_learns_from():
    tables = {
        "title": "T",
        "data": [{"name": "toy", "kind": "toy"}],
        "columns": [{"title": "hit", "metric": "hit"}],
        "systems": [{"name": "mine"}],
        "parts": [{"name": "small", "recipe": "gate-linear", "data": {}}],
    }
    with pytest.raises(ConfigError, match=r"data\.train names no file"):
        experiment_of(tables)
    assert PartSpec(name="small", recipe="gate-linear", data={"train": ("toy",)}).set == {}


def test_labels_that_a_part_learns_from_are_looked_up_as_data_and_count_by_their_bytes(
    learning_file, tmp_path, home, monkeypatch
):
    monkeypatch.setenv("DRAGOMAN_DATA", str(tmp_path / "data"))
    named = 'parts.small.set={"input.relevance" = "labels.jsonl"}'
    absent = run(learning_file, tmp_path / "without", named)
    assert row(absent).cells[0].status == "no data" and "labels.jsonl" in row(absent).note
    labels = tmp_path / "data" / "labels.jsonl"
    labels.parent.mkdir()
    labels.write_text("one", encoding="utf-8")
    trainer = Trainer()
    run(learning_file, tmp_path / "one", named, trainer=trainer)
    labels.write_text("two", encoding="utf-8")
    run(learning_file, tmp_path / "two", named, trainer=trainer)
    first, second = trainer.orders
    assert first.overrides == {"input.relevance": [str(labels)]}
    assert first.folder != second.folder


@pytest.mark.parametrize("file", ["part.json", "model.onnx"])
def test_weights_of_ones_own_count_by_their_bytes(ferry_file, tmp_path, file):
    folder = tmp_path / "wf"
    folder.mkdir()
    (folder / file).write_text("{}")
    row = f'systems.bm25.gate={{kind = "similarity", encoder = {{kind = "onnx", weights = "{folder.as_posix()}"}}}}'

    def told():
        spec = load_experiment(ferry_file, [row])
        return make_manifest(spec, {}, parts=used_parts(spec, spec))

    before = told()
    assert differences(before, told()) == []
    (folder / file).write_text('{"format": 1}')
    assert differences(before, told()) == ["what 'gate.encoder.weights' of 'bm25' names held other bytes before"]
    assert str(tmp_path) not in json.dumps(before)


def test_weights_beside_an_agent_count_by_their_bytes(ferry_file, tmp_path):
    agent = tmp_path / "agent"
    agent.mkdir()
    (agent / "own.gguf").write_bytes(b"one")
    (agent / "agent.toml").write_text(
        'name = "Own"\n[models.language]\nkind = "llamacpp"\nweights = "own.gguf"\n[reader]\nkind = "prompted"\n'
    )
    spec = load_experiment(ferry_file, [f"systems.bm25.agent={agent.as_posix()}"])
    first = used_parts(spec, spec)["systems"]["bm25"]
    (agent / "own.gguf").write_bytes(b"two")
    second = used_parts(spec, spec)["systems"]["bm25"]
    assert list(first) == ["model.weights"]
    assert first != second
