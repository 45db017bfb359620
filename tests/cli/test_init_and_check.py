"""`init` and `check`."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path

import pytest

from dragoman.agent import check as checking
from dragoman.agent.check import read_conversations
from dragoman.cli import init
from dragoman.config import load_config

CONVERSATIONS = """
[[conversation]]
name = "price"
kind = "fact"
[[conversation.turns]]
say = "how much?"
sources = ["PERSONA", "DOCUMENTS"]
must = ["34 francs"]
[[conversation]]
name = "wrong"
kind = "fact"
[[conversation.turns]]
say = "how far?"
must = ["9 km"]
[[conversation]]
name = "thanks"
kind = "small-talk"
[[conversation.turns]]
say = "thanks"
gate = false
"""


@pytest.mark.parametrize("language", ["en", "zh"])
def test_init_makes_a_valid_agent_with_three_conversations(invoke, tmp_path, language):
    folder = tmp_path / "mine"
    done = invoke("init", str(folder), "--language", language)
    assert done.exit_code == 0
    assert f"dragoman chat --agent {folder}" in done.stdout
    config = load_config(folder)
    assert config.language == language
    for source in config.sources:
        assert source.path is None or (folder / source.path).exists()
    conversations = read_conversations(folder / "conversations.toml")
    assert len(conversations) == 3
    checking.require_sources(conversations, [source.name for source in config.sources])
    assert (folder / ".gitignore").read_text() == ".dragoman/\n"


def test_init_refuses_to_write_over_anything(invoke, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for taken in (tmp_path, tmp_path / "notes.txt"):
        done = invoke("init", str(taken))
        assert "exists already" in str(done.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_init_takes_an_empty_folder(invoke, tmp_path):
    assert invoke("init", str(tmp_path)).exit_code == 0


def test_scaffold_of_both_languages_has_the_same_files():
    folder = Path(init.__file__).parent / "scaffold"
    names = [sorted(str(p.relative_to(folder / code)) for p in (folder / code).rglob("*")) for code in ("en", "zh")]
    assert names[0] == names[1]


@pytest.fixture
def conversations(tmp_path, stub, monkeypatch):
    """A file of three conversations, of which the stub passes two, and the stub for each of them."""
    path = tmp_path / "conversations.toml"
    path.write_text(CONVERSATIONS)

    @contextmanager
    def fresh():
        yield stub

    @contextmanager
    def fresh_assistants(agent, **_):
        yield fresh, [source.name for source in stub.sources]

    monkeypatch.setattr(checking, "fresh_assistants", fresh_assistants)
    monkeypatch.setattr(checking, "shared_texts", lambda fresh: ())
    return str(path)


def test_check_prints_what_was_wrong_and_a_sum_by_kind(invoke, conversations):
    done = invoke("check", "harbour", "--file", conversations)
    assert done.exit_code == 1
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["wrong", "fact", "NO", "turn", "1:", "lacks", "'9", "km'", "0.00"] in rows
    assert ["fact", "1", "2", "50%", "0.0"] in rows
    assert ["small-talk", "1", "1", "100%", "0.0"] in rows
    assert ["all", "2", "3", "67%", "0.0"] in rows


@pytest.mark.parametrize(
    ("options", "code"),
    [(("--at-least", "2"), 0), (("--at-least", "3"), 1), (("--limit", "1"), 0), (("--limit", "2"), 1)],
)
def test_check_leaves_with_0_only_where_enough_passed(invoke, conversations, options, code):
    assert invoke("check", "harbour", "--file", conversations, *options).exit_code == code


def test_check_writes_outcomes_with_replies(invoke, conversations, tmp_path):
    out = tmp_path / "out.json"
    invoke("check", "harbour", "--file", conversations, "--json", str(out))
    rows = json.loads(out.read_text())
    assert [row["passed"] for row in rows] == [True, False, True]
    assert rows[1]["wrong"] == ["turn 1: lacks '9 km'"]
    assert "34 francs" in rows[0]["replies"][0]
    assert rows[0]["agent"] == "harbour"


def test_check_counts_replies_with_unsupported_numbers(invoke, conversations):
    done = invoke("check", "harbour", "--file", conversations)
    assert "unsupported number or name: 1 of 3 (33%)" in done.stdout  # the price in small talk, without evidence


def test_check_takes_several_agents_and_folders_of_agents(invoke, conversations, tmp_path):
    for name in ("one", "two"):
        (tmp_path / "agents" / name).mkdir(parents=True)
        (tmp_path / "agents" / name / "agent.toml").write_text("")
        (tmp_path / "agents" / name / "conversations.toml").write_text(CONVERSATIONS)
    one = str(tmp_path / "agents" / "one")
    for given in ([str(tmp_path / "agents")], [one, str(tmp_path / "agents" / "two")]):
        rows = [line.split() for line in invoke("check", *given).stdout.splitlines()]
        assert ["all", "4", "6", "67%", "0.0"] in rows
        assert ["one", "2", "3", "67%", "0.0"] in rows
    done = invoke("check", str(tmp_path / "agents"), "--file", conversations)
    assert "--file goes with one agent" in str(done.exception)


def test_totals_name_no_conversation(invoke, conversations, monkeypatch):
    monkeypatch.setattr("dragoman.cli.terminal.progress._BETWEEN_LINES", 0.0)
    done = invoke("check", "harbour", "--file", conversations, "--totals")
    assert done.exit_code == 1
    assert "all" in done.stdout and "wrong" not in done.stdout and "price" not in done.stdout
    assert "Conversations: 3 of 3 (100%)" in done.stderr.splitlines()


def test_check_without_a_file_names_what_is_missing(invoke, tmp_path):
    (tmp_path / "agent.toml").write_text("")
    done = invoke("check", str(tmp_path))
    assert "conversations.toml" in str(done.exception) and "--file" in str(done.exception)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_init_with_a_folder_answers_from_it_and_holds_nothing_of_the_example(invoke, tmp_path, language):
    documents = tmp_path / 'my "own" notes'
    documents.mkdir()
    folder = tmp_path / "mine"
    done = invoke("init", str(folder), "--language", language, "--documents", str(documents))
    assert done.exit_code == 0
    config = load_config(folder)
    (source,) = [source for source in config.sources if source.name == "DOCUMENTS"]
    assert (folder / source.path).resolve() == documents and 'my "own" notes' in source.description
    assert not config.examples
    written = "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.*")))
    assert not any(word in written for word in ("workshop", "francs", "工作坊"))
    assert len(read_conversations(folder / "conversations.toml")) == 2


def test_init_refuses_folders_that_are_not_there_or_around_the_agent(invoke, tmp_path):
    for documents, reason in ((tmp_path / "none", "no folder"), (tmp_path, "beside that folder")):
        done = invoke("init", str(tmp_path / "mine"), "--documents", str(documents))
        assert reason in f"{done.exception} {getattr(done.exception, 'remedy', '')}"
        assert not (tmp_path / "mine").exists()
