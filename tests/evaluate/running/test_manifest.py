"""run.json: enough to repeat a run, nothing about the machine, and what may differ when a run goes on."""

from __future__ import annotations

import getpass
import hashlib
import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman import evaluate
from dragoman.core.errors import ConfigError, InputError
from dragoman.evaluate.running import manifest
from dragoman.evaluate.running.manifest import data_digest, differences, digest_of, hashes, make_manifest, refuse_other
from dragoman.evaluate.spec import experiment_of, load_experiment


@pytest.fixture
def made(ferry_file, ferries):
    def make(*overrides, **options):
        spec = load_experiment(ferry_file, overrides)
        return make_manifest(spec, {"ferries": hashes([ferries])}, overrides=overrides, **options)

    return make


def test_files_stand_with_name_hash_and_size(made, ferries):
    digest = hashlib.sha256(ferries.read_bytes()).hexdigest()
    assert made()["data"] == {"ferries": [{"name": "ferries.jsonl", "sha256": digest, "size": ferries.stat().st_size}]}


def test_kinds_stand_with_role_and_version_and_defaults_are_filled_in(made):
    system = made()["experiment"]["systems"][0]
    assert system["retriever"]["kind"] == "retriever.sparse.v1"
    assert system["gate"]["kind"] == "gate.always.v1"
    assert made()["experiment"]["columns"][0]["metric"] == "metric.hit.v1"
    assert made()["experiment"]["data"][0]["kind"] == "dataset.jsonl.v1"


def test_only_what_a_system_uses_stands_in_it(made):
    assert made()["experiment"]["systems"][0]["model"] == {}
    dense = made("systems.bm25.retriever.kind=dense")["experiment"]["systems"][0]
    assert dense["encoder"]["kind"] == "encoder.onnx.v1"


def test_no_path_user_or_host_is_told(made, tmp_path):
    weights = tmp_path / "own.gguf"
    weights.write_bytes(b"12345")
    told = json.dumps(made(f"systems.bm25.model.weights={weights}", "systems.bm25.reader.kind=prompted"))
    assert str(tmp_path) not in told
    assert str(Path.home()) not in told
    assert socket.gethostname() not in told
    assert "own.gguf (5 bytes)" in told
    user = getpass.getuser()
    assert f"/{user}/" not in told


def test_prompts_versions_and_code_are_told(made):
    told = made()
    assert all(len(digest) == 64 for digest in told["prompts"].values())
    assert told["versions"]["numpy"]
    assert len(told["code"]) == 64
    assert set(told["platform"]) == {"system", "machine", "python"}


def test_the_same_experiment_makes_the_same_manifest(made):
    assert json.dumps(made()) == json.dumps(made())


@pytest.mark.parametrize(
    "override",
    [
        "columns.Hit@1.k=3",
        "baseline=never",
        "draws=200",
        "title=Other",
        "systems.never.note=other",
        "data.ferries.title=other",
    ],
)
def test_what_only_changes_tables_keeps_the_rows(made, override):
    assert differences(made(), made(override)) == []


@pytest.mark.parametrize(
    ("override", "named"),
    [
        ("systems.bm25.k=5", "systems.bm25.k: 3 before, 5 now"),
        ("seed=2", "seed: 1 before, 2 now"),
        ("batch=8", "batch: 2 before, 8 now"),
        ("systems.bm25.retriever.kind=dense", "systems.bm25.retriever.kind"),
    ],
)
def test_what_changes_rows_is_refused_and_named(made, override, named, tmp_path):
    with pytest.raises(ConfigError, match="was made otherwise") as error:
        refuse_other(made(), made(override), tmp_path)
    assert named in error.value.message
    assert "--fresh" in error.value.remedy
    assert "--out" in error.value.remedy


def test_another_limit_or_other_bytes_of_the_data_are_named(made, ferries):
    before = made()
    assert differences(before, made(limit=5)) == ["limit: null before, 5 now"]
    ferries.write_text(ferries.read_text() + "\n")
    assert "ferries.jsonl of 'ferries' held other bytes before" in differences(before, made())


def test_systems_may_come_and_go(made, ferry_file, ferries):
    spec = load_experiment(ferry_file)
    fewer = spec.model_copy(update={"systems": spec.systems[:1]})
    other = make_manifest(fewer, {"ferries": hashes([ferries])})
    assert differences(made(), other) == []
    assert differences(other, made()) == []


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(InputError, match=r"gone\.jsonl"):
        hashes([tmp_path / "gone.jsonl"])


def test_data_is_told_apart_by_its_bytes_not_its_name(made, ferries, tmp_path, ferry_file):
    before = data_digest(made(), "ferries")
    moved = tmp_path / "moved.jsonl"
    moved.write_bytes(ferries.read_bytes())
    tables = load_experiment(ferry_file).model_dump()
    tables["data"][0]["file"] = str(moved)
    spec = experiment_of({key: value for key, value in tables.items() if value is not None})
    assert data_digest(make_manifest(spec, {"ferries": hashes([moved])}), "ferries") == before
    assert data_digest(made(limit=3), "ferries") != before


@pytest.mark.parametrize("library", ["torch", "transformers", "peft", "safetensors"])
def test_another_version_of_what_runs_models_is_a_difference(made, library):
    before, now = made(), made()
    assert library in before["versions"]
    before["versions"][library], now["versions"][library] = "1.0", "2.0"
    assert differences(before, now) == [f'versions.{library}: "1.0" before, "2.0" now']


def test_another_device_is_a_difference(made):
    assert differences({**made(), "device": "cpu"}, {**made(), "device": "cuda"}) == [
        'device: "cpu" before, "cuda" now'
    ]


def test_asking_for_versions_and_the_device_does_not_load_torch():
    code = "import sys; from dragoman.evaluate.running import manifest as m; m._versions(); m._device(); "
    subprocess.run([sys.executable, "-c", code + "sys.exit('torch' in sys.modules)"], check=True)


def test_what_an_older_manifest_does_not_tell_is_no_difference(made):
    now = made()
    now["versions"]["torch"], now["device"] = "2.9", "cuda"
    now["experiment"]["systems"][0]["parts"] = {"encoder.weights": "0" * 64}
    before = made()
    del before["versions"]["torch"], before["device"]
    assert differences(before, now) == []
    before["experiment"]["systems"][0]["k"] = 7
    assert differences(before, now) == ["systems.bm25.k: 7 before, 3 now"]


def test_the_tables_of_the_package_are_code_too(tmp_path):
    (tmp_path / "text" / "patterns").mkdir(parents=True)
    words = tmp_path / "text" / "patterns" / "en.toml"
    words.write_text("yes = 1")
    before = digest_of(tmp_path)
    words.write_text("yes = 2")
    assert digest_of(tmp_path) != before


def test_the_files_that_rows_depend_on_are_there():
    room = Path(evaluate.__file__).parent
    assert [name for name in manifest._ROWS_TOO if not (room / name).is_file()] == []


def test_of_evaluate_only_the_files_that_rows_depend_on_count(tmp_path):
    (tmp_path / "evaluate" / "running").mkdir(parents=True)
    runner, report = tmp_path / "evaluate" / "running" / "runner.py", tmp_path / "evaluate" / "results.py"
    runner.write_text("a")
    before = digest_of(tmp_path)
    report.write_text("a")
    assert digest_of(tmp_path) == before
    runner.write_text("b")
    assert digest_of(tmp_path) != before
