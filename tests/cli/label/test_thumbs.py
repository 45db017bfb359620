"""`dragoman label`: thumbs of a file or of a store, as labelled turns."""

import json

import pytest

from dragoman.agent.feedback import rate
from dragoman.core.examples import Example
from dragoman.core.values import Scope, Turn
from dragoman.datasets.open import open_dataset
from dragoman.stores.in_memory import InMemoryStore

ROW = {"context": [{"speaker": "user", "text": "When?"}], "retrieved": False, "thumb": "down", "dialogue": "d"}


def test_thumbs_of_a_file_become_a_set_that_can_be_trained_on(invoke, tmp_path):
    file, out = tmp_path / "thumbs.jsonl", tmp_path / "turns.jsonl"
    file.write_text(json.dumps(ROW) + "\n")
    done = invoke("label", "thumbs", str(file), "--out", str(out))
    assert done.exit_code == 0, done.output
    assert "1 turns" in done.output
    assert "dragoman train gate-linear --data train=" in done.output
    (example,) = open_dataset(None, out).examples()
    assert isinstance(example, Example)
    assert example.gold.retrieve is True


@pytest.fixture
def store(stub):
    stub.store = InMemoryStore()
    scope = Scope("stub", "ana")
    stub.store.append(scope, "d", [Turn("user", "Thanks!"), Turn("agent", "Welcome.")])
    rate(stub.store, scope, "d", retrieved=True, good=False)
    return stub.store


def test_thumbs_given_in_a_chat_are_taken_from_the_agent(invoke, store, tmp_path):
    out = tmp_path / "turns.jsonl"
    done = invoke("label", "thumbs", "--user", "ana", "--out", str(out))
    assert done.exit_code == 0, done.output
    (example,) = open_dataset(None, out).examples()
    assert example.context.last == "Thanks!"
    assert example.gold.retrieve is False


def test_where_there_are_no_thumbs_it_says_how_to_give_some(invoke, store, tmp_path):
    done = invoke("label", "thumbs", "--user", "ben", "--out", str(tmp_path / "turns.jsonl"))
    assert done.exit_code == 1
    assert "no thumbs of 'ben'" in str(done.exception)
    assert "/good" in str(done.exception)
    assert not (tmp_path / "turns.jsonl").exists()


def test_a_wrong_line_stops_it_and_is_named(invoke, tmp_path):
    file = tmp_path / "thumbs.jsonl"
    file.write_text(json.dumps(ROW) + "\n" + json.dumps({**ROW, "thumb": "no"}) + "\n")
    done = invoke("label", "thumbs", str(file), "--out", str(tmp_path / "turns.jsonl"))
    assert done.exit_code == 1
    assert "thumbs.jsonl:2" in str(done.exception)
