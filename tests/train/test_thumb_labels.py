"""Thumbs made into labels."""

import json
from pathlib import Path

import pytest

from dragoman.core.examples import Problem
from dragoman.core.values import Context
from dragoman.datasets.writing import write_jsonl
from dragoman.train.data import read_files
from dragoman.train.thumb_labels import Thumb, from_thumbs, read_thumbs

ROW = {"context": [{"speaker": "user", "text": "When?"}], "retrieved": False, "thumb": "down"}


@pytest.mark.parametrize(
    ("retrieved", "up", "label"), [(True, True, True), (True, False, False), (False, True, False), (False, False, True)]
)
def test_up_keeps_the_decision_and_down_turns_it_round(retrieved, up, label):
    (example,) = from_thumbs([Thumb(Context.of("When?", dialogue="d"), retrieved, up)])
    assert example.gold.retrieve is label


def test_the_last_thumb_of_a_turn_counts():
    context = Context.of("When?", dialogue="d")
    (example,) = from_thumbs([Thumb(context, True, False), Thumb(context, True, True, "At nine.")])
    assert example.gold.retrieve is True
    assert example.gold.reply == "At nine."


def test_dialogues_of_one_name_do_not_take_each_others_ids():
    thumbs = [Thumb(Context.of(text, dialogue="d"), True, True) for text in ("One?", "Two?")]
    one, two = from_thumbs(thumbs)
    assert one.id != two.id
    assert all(example.id.startswith("d#0-") for example in (one, two))
    assert [example.id for thumb in thumbs for example in from_thumbs([thumb])] == [one.id, two.id]  # in files apart


def test_files_of_two_users_are_trained_on_together(tmp_path):
    files = []
    for number, asked in enumerate(("When does it open?", "Where is the tower?")):
        said = [{"speaker": "user", "text": "Hi"}, {"speaker": "agent", "text": "Hello."}]
        row = {**ROW, "context": [*said, {"speaker": "user", "text": asked}]}
        thumbs = tmp_path / f"thumbs{number}.jsonl"
        thumbs.write_text(json.dumps(row) + "\n")
        files.append(str(tmp_path / f"labels{number}.jsonl"))
        write_jsonl(from_thumbs(read_thumbs(thumbs)), Path(files[-1]), name="labels")
    assert len(read_files(files).examples) == 2


def test_a_file_of_thumbs_is_read(tmp_path):
    file = tmp_path / "thumbs.jsonl"
    file.write_text(json.dumps(ROW) + "\n\n" + json.dumps({**ROW, "dialogue": "x", "better": "At nine."}) + "\n")
    first, second = read_thumbs(file)
    assert (first.retrieved, first.up, first.better) == (False, False, None)
    assert first.context.dialogue
    assert (second.context.dialogue, second.better) == ("x", "At nine.")


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({**ROW, "thumb": "sideways"}, "thumb"),
        ({**ROW, "thumbs": "up"}, "unknown key 'thumbs'"),
        ({**ROW, "context": []}, "'context' is empty"),
        ({**ROW, "context": [{"speaker": "agent", "text": "Hello"}]}, "not the user's"),
        ({key: value for key, value in ROW.items() if key != "retrieved"}, "'retrieved' is missing"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, row, told):
    file = tmp_path / "thumbs.jsonl"
    file.write_text(json.dumps(ROW) + "\n" + json.dumps(row) + "\n")
    _, problem = read_thumbs(file)
    assert isinstance(problem, Problem)
    assert problem.row == 2
    assert told in problem.what


def test_what_the_user_said_about_the_search_is_the_label(tmp_path):
    file = tmp_path / "thumbs.jsonl"
    plain = {key: ROW[key] for key in ("context", "retrieved")}
    rows = ({**plain, "needed": True}, {**ROW, "needed": False, "dialogue": "x"}, plain)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    *labelled, unlabelled = read_thumbs(file)
    assert [example.gold.retrieve for example in from_thumbs(labelled)] == [True, False]
    assert isinstance(unlabelled, Problem) and "needed" in unlabelled.what
