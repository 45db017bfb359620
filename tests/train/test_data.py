"""What is learned from: files by side, their bad rows, their hashes, and the part that is held out."""

from __future__ import annotations

import json
import logging
from hashlib import sha256

import pytest

from dragoman.core.errors import ConfigError, InputError, TrainingError, UnknownNameError
from dragoman.train.data import named_files, read_sides


def write(path, dialogues=10, *, turns=3, name="d", bad=None):
    rows = []
    for dialogue in range(dialogues):
        for turn in range(turns):
            said = [{"speaker": "user", "text": f"Where is number {dialogue} of {name}, time {turn}?"}]
            rows.append({"dialogue": f"{name}{dialogue}", "position": turn, "context": said, "retrieve": turn % 2 == 0})
    lines = [json.dumps(row) for row in rows]
    if bad is not None:
        lines.insert(bad - 1, '{"dialogue": "x"}')
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_files_are_named_by_side():
    assert named_files(["train=a.jsonl", "dev=b=c.jsonl", "train=toy"]) == {
        "train": ("a.jsonl", "toy"),
        "dev": ("b=c.jsonl",),
    }
    with pytest.raises(ConfigError, match=r"--data train=a\.jsonl"):
        named_files(["a.jsonl"])
    with pytest.raises(UnknownNameError, match="Did you mean 'train'"):
        named_files(["trian=a.jsonl"])


def test_files_of_a_side_are_joined_and_hashed(tmp_path):
    one, two = write(tmp_path / "one.jsonl", name="a"), write(tmp_path / "two.jsonl", 2, name="b")
    train, dev, aux = read_sides({"train": [one, two], "dev": [write(tmp_path / "dev.jsonl", 1, name="c")]})
    assert (len(train.examples), len(dev.examples), aux) == (36, 3, None)
    assert [(entry["name"], entry["rows"]) for entry in train.origin] == [("one.jsonl", 30), ("two.jsonl", 6)]
    assert train.origin[0]["sha256"] == sha256((tmp_path / "one.jsonl").read_bytes()).hexdigest()


def test_without_a_dev_file_whole_dialogues_are_held_out(tmp_path):
    train, dev, _ = read_sides({"train": [write(tmp_path / "one.jsonl", 40)]}, held_out=0.25, seed=3)
    names = [{example.context.dialogue for example in side.examples} for side in (train, dev)]
    assert not names[0] & names[1]
    assert (len(names[0]), len(names[1])) == (30, 10)
    assert "0.25 of the dialogues, seed 3" in dev.origin[0]["cut"]
    again = read_sides({"train": [str(tmp_path / "one.jsonl")]}, held_out=0.25, seed=3)
    assert [example.id for example in again[1].examples] == [example.id for example in dev.examples]


def test_one_dialogue_cannot_be_cut(tmp_path):
    with pytest.raises(TrainingError, match=r"3 turns of 1 dialogue are too few.*--data dev=FILE"):
        read_sides({"train": [write(tmp_path / "one.jsonl", 1)]})


def test_shipped_sets_give_their_own_parts():
    train, dev, aux = read_sides({"train": ["toy"], "dev": ["toy"], "aux": ["toy-zh"]})
    assert {example.meta["part"] for example in train.examples} == {"train"}
    assert {example.meta["part"] for example in dev.examples} == {"dev"}
    assert {example.meta["part"] for example in aux.examples} == {"train"}
    assert aux.sets[0].language == "zh"
    assert [entry["name"] for entry in train.origin] == ["toy"]


def test_files_below_the_data_folder_are_found(tmp_path, monkeypatch):
    write(tmp_path / "one.jsonl")
    monkeypatch.setenv("DRAGOMAN_DATA", str(tmp_path))
    assert len(read_sides({"train": ["one.jsonl"]})[0].examples) > 0


def test_a_bad_row_is_refused_by_file_and_line_or_left_out(tmp_path, caplog):
    file = write(tmp_path / "one.jsonl", bad=4)
    with pytest.raises(InputError, match=r"one\.jsonl:4: .*--skip-bad"):
        read_sides({"train": [file]})
    with caplog.at_level(logging.WARNING, logger="dragoman.train"):
        train, dev, _ = read_sides({"train": [file]}, skip_bad=True)
    assert len(train.examples) + len(dev.examples) == 30
    assert "one.jsonl:4" in caplog.text


def test_one_turn_in_two_files_is_refused(tmp_path):
    one, two = write(tmp_path / "one.jsonl"), write(tmp_path / "two.jsonl")
    with pytest.raises(InputError, match=r"'d0#0' is in .*one\.jsonl too"):
        read_sides({"train": [one, two]})


def test_the_same_file_on_both_sides_is_refused(tmp_path):
    file = write(tmp_path / "one.jsonl")
    with pytest.raises(ConfigError, match="for training and as dev"):
        read_sides({"train": [file], "dev": [str(tmp_path / "." / "one.jsonl")]})


def test_dialogues_on_both_sides_are_warned_of(tmp_path, caplog):
    def long(path, name):
        said = [{"speaker": speaker, "text": f"number {n}"} for n, speaker in enumerate(("user", "agent", "user"))]
        path.write_text(json.dumps({"dialogue": name, "context": said, "retrieve": True}) + "\n")
        return str(path)

    with caplog.at_level(logging.WARNING, logger="dragoman.train"):
        read_sides({"train": [long(tmp_path / "a.jsonl", "a")], "dev": [long(tmp_path / "b.jsonl", "b")]})
    assert "1 of 1 dev turns are in the training files too" in caplog.text


def test_options_go_to_the_sets_that_know_them(tmp_path):
    file = write(tmp_path / "one.jsonl")
    train, _, _ = read_sides({"train": [file, "toy"]}, options={"dialogues": 4})
    assert len(train.examples) < len(read_sides({"train": [file, "toy"]})[0].examples)
    with pytest.raises(UnknownNameError, match="Did you mean 'dialogues'"):
        read_sides({"train": ["toy"]}, options={"dialogs": 4})


def test_no_training_data_and_no_such_file_are_told(tmp_path):
    with pytest.raises(ConfigError, match="No training data"):
        read_sides({"dev": ["toy"]})
    with pytest.raises(InputError, match="There is no"):
        read_sides({"train": [str(tmp_path / "nowhere.jsonl")]})


def test_auxiliary_turns_are_not_those_of_another_side(tmp_path):
    one, two = write(tmp_path / "one.jsonl"), write(tmp_path / "two.jsonl", name="e")
    for data in ({"train": [one], "aux": [one]}, {"train": [one], "dev": [two], "aux": [two]}):
        with pytest.raises(ConfigError, match=r"given as aux and as another side.*Leave out --data aux"):
            read_sides(data)


def test_what_is_held_out_is_not_learned_from_auxiliary_turns(tmp_path, caplog):
    more = tmp_path / "more.jsonl"  # holds the training turns, and others
    train = write(tmp_path / "one.jsonl", 20)
    more.write_text((tmp_path / "one.jsonl").read_text())
    with more.open("a") as file:
        file.write('{"dialogue": "other", "context": [{"speaker": "user", "text": "Who?"}], "retrieve": true}\n')
    with caplog.at_level(logging.WARNING, logger="dragoman.train"):
        _, dev, aux = read_sides({"train": [train], "aux": [str(more)]}, held_out=0.25)
    assert len(dev.examples) == 15
    assert not {example.id for example in dev.examples} & {example.id for example in aux.examples}
    assert len(aux.examples) == 61 - 15
    assert "15 auxiliary turns" in caplog.text
