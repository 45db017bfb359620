"""Sets by kind or by file: what a file is, where it lies, and what is said where that cannot be told."""

from __future__ import annotations

import json
import shutil

import pytest

from dragoman.core.errors import ConfigError, InputError, UnknownNameError
from dragoman.core.examples import Dataset
from dragoman.core.registry import datasets
from dragoman.datasets.lines import lines
from dragoman.datasets.loaders.jsonl import Jsonl
from dragoman.datasets.loaders.kbp import Kbp
from dragoman.datasets.open import files_in, kinds, open_dataset, resolve, sniff
from dragoman.datasets.read_progress import watched
from dragoman.datasets.toy import ToyDataset

TURN = {"dialogue": "a", "context": [{"speaker": "user", "text": "hi"}]}


@pytest.fixture(autouse=True)
def no_data_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("DRAGOMAN_DATA", raising=False)
    monkeypatch.chdir(tmp_path)


FILES = {
    "kbp": "kbp.json",
    "dulemon": "dulemon.jsonl",
    "ketod-gate": "ketod_gate.jsonl",
    "ketod": "ketod/dev_ketod.json",
    "focus": "focus_train.json",
    "convai2": "convai2.txt",
    "dstc11": "dstc11/dev",
}


@pytest.mark.parametrize("kind", FILES)
def test_a_file_says_what_it_is(kind, data):
    assert sniff(data / FILES[kind]) == kind


def test_the_test_file_of_focus_and_bare_logs_are_known(data):
    assert sniff(data / "focus_test.json") == "focus"
    assert sniff(data / "dstc11" / "dev" / "logs.json") == "dstc11"


@pytest.mark.parametrize("spread", [None, 1])
def test_own_lines_are_known(write, spread):
    assert sniff(write(json.dumps(TURN, indent=spread), "own.txt" if spread is None else "own.jsonl")) == "jsonl"
    assert sniff(write(json.dumps({"dataset": {}}) + "\n" + json.dumps(TURN), "own")) == "jsonl"


def test_a_candidate_that_speaks_of_another_set_does_not_mislead(write):
    """Only the first record is looked at, and only its keys."""
    row = TURN | {"reply": 'its "bot_persona" is "persona_kg"'}
    assert sniff(write("\n".join([json.dumps(row), json.dumps({"bot_persona": []})]), "own.jsonl")) == "jsonl"


def test_broken_own_lines_are_still_own_lines(write):
    assert sniff(write('{"dialogue": "a", "cont', "own.jsonl")) == "jsonl"
    assert sniff(write("nonsense", "own.jsonl")) == "jsonl"


def test_what_cannot_be_told_says_how_to_say_it(write):
    with pytest.raises(InputError, match=r"Cannot tell what kind of set .*notes.txt is. Say it.* --kind convai2\|"):
        sniff(write("some notes", "notes.txt"))


def test_a_folder_names_the_sets_in_it(data, tmp_path):
    with pytest.raises(InputError, match=r"is a folder. Name one of: .*dstc11/blind, .*dstc11/dev"):
        sniff(data / "dstc11")
    with pytest.raises(InputError, match=r"is a folder. Name a file."):
        sniff(tmp_path)


@pytest.mark.parametrize("kind", [kind for kind in FILES if kind != "ketod"])
def test_every_kind_opens_by_its_file_alone(kind, data):
    dataset = open_dataset(None, data / FILES[kind])
    assert isinstance(dataset, Dataset)
    assert isinstance(dataset, datasets.factory(kind))


def test_options_reach_the_loader(data, write):
    assert isinstance(open_dataset("kbp", data / "kbp.json", spaces="keep"), Kbp)
    assert isinstance(open_dataset("dataset.jsonl.v1", write(json.dumps(TURN), "own")), Jsonl)


def test_shipped_sets_need_no_file():
    english, chinese = open_dataset(None, "toy"), open_dataset(None, "toy-zh", part="dev")
    assert isinstance(english, ToyDataset) and english.language == "en"
    assert chinese.language == "zh"
    assert open_dataset("toy", language="zh").language == "zh"


def test_an_unknown_kind_is_told_with_a_suggestion(data):
    with pytest.raises(UnknownNameError, match="Did you mean 'kbp'"):
        open_dataset("kpb", data / "kbp.json")


def test_an_unknown_option_is_told_with_a_suggestion(data):
    with pytest.raises(ConfigError, match=r"dataset.kbp: unknown option 'space'. Did you mean 'spaces'\?"):
        open_dataset("kbp", data / "kbp.json", space="keep")


def test_a_needed_option_is_asked_for(data):
    with pytest.raises(ConfigError, match=r"dataset.ketod needs 'sgd'"):
        open_dataset(None, data / FILES["ketod"])
    with pytest.raises(ConfigError, match=r"dataset.kbp needs 'file'"):
        open_dataset("kbp")


def test_a_file_for_a_set_without_one_is_refused(write):
    with pytest.raises(ConfigError, match="reads no file"):
        open_dataset("toy", write("x"))


def test_nothing_at_all_is_refused():
    with pytest.raises(ConfigError, match="Neither a kind"):
        open_dataset(None)


def test_relative_paths_are_looked_for_under_the_data_folder_as_well(data, monkeypatch, tmp_path):
    monkeypatch.setenv("DRAGOMAN_DATA", str(data))
    assert resolve("kbp.json") == data / "kbp.json"
    shutil.copy(data / "kbp.json", tmp_path / "kbp.json")
    assert resolve("kbp.json").resolve() == (tmp_path / "kbp.json").resolve(), "what lies here comes first"


def test_a_path_that_is_not_there_names_what_is(data, monkeypatch):
    with pytest.raises(InputError, match=r"There is no kpb.json.*looked for under \$DRAGOMAN_DATA"):
        resolve("kpb.json")
    monkeypatch.setenv("DRAGOMAN_DATA", str(data))
    with pytest.raises(InputError, match=r"There is no kpb.json nor .*Did you mean .*kbp.json\?"):
        resolve("kpb.json")


def test_sets_under_a_folder_are_found(data):
    found = {(kind, path.relative_to(data).as_posix()) for kind, path in files_in(data)}
    assert {(kind, FILES[kind]) for kind in FILES} <= found
    assert not any(path.endswith(("logs.json", "knowledge.json", "labels.json")) for _, path in found)


def test_kinds_say_their_options():
    known = {kind.name: kind for kind in kinds()}
    assert known["kbp"].options == {"file": None, "spaces": "remove"}
    assert all(kind.about for kind in known.values())


def test_reading_tells_how_far_it_is(write):
    path = write(b"x" * 99 + b"\n" + b"y" * 700_000, "long.txt")
    told = []
    with watched(lambda *progress: told.append(progress)):
        assert sum(1 for _ in lines(path)) == 2
    sum(1 for _ in lines(path))  # nobody watches any more
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)
    assert told[-1] == (700_100, 700_100, "long.txt")
    assert len(told) >= 3
