"""Commands with a language model of one's own: `--model`, and what `doctor` says of an endpoint."""

from __future__ import annotations

import json

import pytest

from dragoman.cli.main import run
from dragoman.testing.vendors import AnthropicMock, OllamaMock, PlainMock, served
from dragoman.testing.vendors.mock import RefusedError

AGENT = """
name = "Robin"
[models]
language = "scripted"
[models.encoder]
kind = "hashing"
[reader]
kind = "prompted"
[gate]
kind = "prompted"
[planner]
kind = "all"
[[sources]]
name = "documents"
path = "prices.md"
"""
CONVERSATIONS = """
[[conversation]]
name = "fare"
kind = "fact"
  [[conversation.turns]]
  say = "What does a day ticket cost?"
  must = ["6 francs"]
"""


@pytest.fixture(autouse=True)
def local_sockets(socket_enabled):
    """The mocks are served on this machine."""


@pytest.fixture
def agent(tmp_path):
    text = AGENT.replace('language = "scripted"\n', '[models.language]\nkind = "scripted"\ndefault = "No idea."\n')
    (tmp_path / "agent.toml").write_text(text, encoding="utf-8")
    (tmp_path / "prices.md").write_text("# Prices\n\nA day ticket costs 6 francs.\n", encoding="utf-8")
    (tmp_path / "conversations.toml").write_text(CONVERSATIONS, encoding="utf-8")
    return tmp_path


def written(prompt):
    return "True" if "True or False" in prompt else "A day ticket costs 6 francs."


def command(*arguments):
    with pytest.raises(SystemExit) as left:
        run(list(arguments))
    return left.value.code or 0


def test_ask_takes_a_model_by_name(agent, capfd):
    mock = OllamaMock(written)
    with served(mock) as url:
        assert command("ask", "--agent", str(agent), "--model", f"ollama:{mock.model}@{url}", "What does it cost?") == 0
    assert "6 francs" in capfd.readouterr().out


def test_a_reply_without_the_model_that_should_word_it_says_so_once(agent, capfd, monkeypatch):
    place = agent / "agent.toml"
    text = place.read_text(encoding="utf-8").replace('[reader]\nkind = "prompted"', '[reader]\nkind = "grounded"')
    place.write_text(text.replace('[gate]\nkind = "prompted"', '[gate]\nkind = "always"'), encoding="utf-8")
    mock = OllamaMock(written)

    def refuse(body):
        raise RefusedError(401, {"error": {"message": "No."}})

    mock.check = refuse
    with served(mock) as url:
        model = f"ollama:qwen3:4b@{url}"
        assert command("ask", "--agent", str(agent), "--model", model, "What does a day ticket cost?") == 0
        first = capfd.readouterr()
        assert command("ask", "--agent", str(agent), "--model", model, "What does a day ticket cost?") == 0
    assert "6 francs" in first.out
    assert first.err.startswith("Warning: the model failed: ") and "key_env" in first.err
    assert capfd.readouterr().err == ""


def test_a_wrong_model_name_is_told_with_the_nearest(agent, capfd):
    with served(OllamaMock(written)) as url:
        assert command("ask", "--agent", str(agent), "--model", f"ollama:qwen3:5b@{url}", "What does it cost?") == 1
    assert "qwen3:4b" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("status", "remedy"), [(401, "key_env"), (402, "credit"), (404, "url"), (400, "chat template"), (529, "overloaded")]
)
def test_whatever_an_endpoint_refuses_is_told_with_its_remedy(agent, capfd, monkeypatch, status, remedy):
    monkeypatch.setattr("dragoman.models.remote.endpoint._RETRIED", frozenset())
    mock = OllamaMock(written)

    def refuse(body):
        words = "This tokenizer has no chat template." if status == 400 else "No."
        raise RefusedError(status, {"error": {"message": words}})

    mock.check = refuse
    with served(mock) as url:
        assert command("ask", "--agent", str(agent), "--model", f"ollama:qwen3:4b@{url}", "What does it cost?") == 1
    said = capfd.readouterr()
    assert said.err.startswith("Error: ") and remedy in said.err and said.out == ""


@pytest.mark.parametrize(
    ("name", "words"),
    [("qwen2.5-1.5b", "dragoman models pull qwen2.5-1.5b"), ("qwen2.5-1.6b", "Did you mean 'qwen2.5-1.5b'")],
)
def test_weights_that_are_not_here_are_told_before_the_first_turn(agent, capfd, name, words):
    assert command("ask", "--agent", str(agent), "--model", name, "What does it cost?") == 1
    assert words in capfd.readouterr().err


@pytest.mark.parametrize("cut", [None, 3, 0])
def test_what_is_no_gguf_file_is_told_before_the_first_turn(agent, capfd, tmp_path, cut):
    place = tmp_path / "mine.gguf"
    place.mkdir() if cut is None else place.write_bytes(b"GGUF"[:cut])
    assert command("ask", "--agent", str(agent), "--model", str(place), "What does it cost?") == 1
    said = capfd.readouterr()
    assert str(place) in said.err and "Give a GGUF file" in said.err and said.out == ""


def test_a_missing_key_is_told_before_the_first_turn(agent, capfd, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for ask in (["ask", "What does it cost?"], ["chat"]):
        assert command(ask[0], "--agent", str(agent), "--model", "openai:gpt-4.1-mini", *ask[1:]) == 1
        said = capfd.readouterr()
        assert "Set OPENAI_API_KEY" in said.err and said.out == ""


@pytest.mark.parametrize(("kind", "calls"), [(OllamaMock, "1 call"), (AnthropicMock, "1 call"), (PlainMock, "3 calls")])
def test_doctor_prints_what_an_endpoint_does_and_costs(agent, capfd, monkeypatch, kind, calls):
    monkeypatch.setenv("A_KEY", "s3cret")
    mock = kind(written)
    vendor = {OllamaMock: "ollama", AnthropicMock: "anthropic", PlainMock: "plain"}[kind]
    (agent / "agent.toml").write_text(
        (agent / "agent.toml")
        .read_text()
        .replace(
            'kind = "scripted"\ndefault = "No idea."',
            f'kind = "remote"\nprofile = "{vendor}"\nmodel = "{mock.model}"\nkey_env = "A_KEY"\nurl = "URL"',
        )
    )
    with served(mock) as url:
        (agent / "agent.toml").write_text((agent / "agent.toml").read_text().replace("URL", url))
        command("doctor", "--agent", str(agent), "--json")
    findings = {row["what"]: row["found"] for row in json.loads(capfd.readouterr().out)}
    assert f"profile {vendor}" in findings["endpoint"]
    assert findings["cost of a gate"].startswith(calls)
    assert findings["cost of a reply"].startswith("1 call, ")
    if vendor == "anthropic":
        assert "log-probabilities" in findings["endpoint emulated"]


def test_doctor_takes_the_options_of_a_model_that_is_named(agent, capfd, monkeypatch):
    monkeypatch.setenv("A_KEY", "s3cret")
    mock = OllamaMock(written)
    with served(mock) as url:
        options = [
            "--model",
            f"ollama:{mock.model}@{url}",
            "--models.language.key_env",
            "A_KEY",
            "--set",
            "memory.learn=false",
        ]
        command("doctor", "--agent", str(agent), "--json", *options)
        monkeypatch.delenv("A_KEY")
        command("doctor", "--agent", str(agent), "--json", *options)
    with_key, without = capfd.readouterr().out.split("]\n[")
    assert "profile ollama" in with_key
    assert "Set A_KEY" in without


def test_check_compares_models_in_one_table(agent, capfd, tmp_path):
    mock = OllamaMock(written)
    out = tmp_path / "outcomes.json"
    with served(mock) as url:
        name = f"ollama:{mock.model}@{url}"
        assert command("check", str(agent), "--model", "own", "--model", name, "--json", str(out)) == 0
    rows = json.loads(out.read_text())
    assert {row["model"]: row["passed"] for row in rows} == {"own": False, name: True}
    assert next(row["tokens"] for row in rows if row["model"] == name) > 0
    printed = capfd.readouterr().out
    assert "fact" in printed and "1/1" in printed and "0/1" in printed


def test_check_tells_where_a_model_took_no_part(agent, capfd, tmp_path):
    place = agent / "agent.toml"
    text = place.read_text(encoding="utf-8").replace('[reader]\nkind = "prompted"', '[reader]\nkind = "grounded"')
    place.write_text(text.replace('[gate]\nkind = "prompted"', '[gate]\nkind = "always"'), encoding="utf-8")
    mock = OllamaMock(written)

    def refuse(body):
        raise RefusedError(401, {"error": {"message": "No."}})

    with served(mock) as url:
        name = f"ollama:{mock.model}@{url}"
        command("check", str(agent), "--model", name)
        assert "composed without" not in capfd.readouterr().err
        mock.check = refuse
        command("check", str(agent), "--model", name)
        assert "Warning: 1 of 1 replies were composed without the model, which failed: " in capfd.readouterr().err
        command("check", str(agent), "--model", "own", "--model", name)
    assert f"Warning: {name}: 1 of 1 replies were composed without the model, which failed: " in capfd.readouterr().err


def test_a_model_is_calibrated_on_labels(agent, capfd, tmp_path):
    def unsure(prompt):
        return "False" if "thank" in prompt.lower() or "hello" in prompt.lower() else "True"

    mock = OllamaMock(unsure)
    out = tmp_path / "calibrated"
    with served(mock) as url:
        name = f"ollama:{mock.model}@{url}"
        assert command("calibrate", "toy", "--model", name, "--out", str(out)) == 0
    part = json.loads((out / "part.json").read_text())
    assert part["kind"] == "gate.prompted"
    assert part["heads"]["gate"]["calibrations"]
    assert "--gate.part" in capfd.readouterr().out


def test_a_calibration_takes_options_of_the_model_and_may_begin_anew(capfd, tmp_path, monkeypatch):
    monkeypatch.delenv("A_KEY", raising=False)
    out = str(tmp_path / "calibrated")
    mock = OllamaMock(lambda prompt: "True" if "?" in prompt else "False")
    with served(mock) as url:
        given = ["calibrate", "toy", "--model", f"ollama:{mock.model}@{url}", "--out", out]
        key = ["--set", "models.language.key_env=A_KEY"]
        assert command(*given, *key) == 1
        assert "Set A_KEY" in capfd.readouterr().err
        monkeypatch.setenv("A_KEY", "s3cret")
        assert command(*given) == 1
        assert "--fresh" in capfd.readouterr().err
        assert command(*given, *key, "--fresh") == 0
    assert command("calibrate", "toy", "--set", "gate.threshold=1") == 1
    assert "no option of the language model" in capfd.readouterr().err


def test_too_few_labels_do_not_calibrate(tmp_path, capfd):
    (tmp_path / "few.jsonl").write_text("{}\n" * 5)
    assert command("calibrate", str(tmp_path / "few.jsonl")) == 1
    assert "at least 50" in capfd.readouterr().err
