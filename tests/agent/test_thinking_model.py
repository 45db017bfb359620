"""A model that thinks before it writes holds a whole conversation, by every way in which thoughts arrive."""

from __future__ import annotations

import json

import pytest

from dragoman.agent.build import assemble
from dragoman.config import load_config
from dragoman.core.codec import encode
from dragoman.models.remote.model import RemoteModel
from dragoman.testing import StubEncoder
from dragoman.testing.vendors import (
    MOCKS,
    AnthropicAdaptiveMock,
    AnthropicMock,
    LlamaCppMock,
    OllamaMock,
    OpenRouterMock,
    PlainMock,
    VllmMock,
)

THOUGHTS = "Okay, let me ponder zxqv. The notes mention the fare, so that is the answer. "
AGENT = """
name = "Robin"

[gate]
kind = "prompted"

[planner]
kind = "prompted"

[reader]
kind = "prompted"

[[sources]]
name = "documents"
description = "What the harbour's notices say."

[[sources]]
name = "memory"
about = "user"
private = true
"""


def written(prompt):
    if "True or False" in prompt:
        return "False" if "Hello!" in prompt.splitlines()[-3] else "True"
    if "NULL" in prompt:
        return "documents"
    return "A day ticket costs 6 francs."


@pytest.fixture(
    params=[
        *((kind, name, "off") for name, kind in MOCKS.items()),
        (PlainMock, "auto", "off"),
        (VllmMock, "vllm", "default"),
        (OllamaMock, "ollama", "low"),
        (LlamaCppMock, "auto", "default"),
        (AnthropicMock, "anthropic", "high"),
        (AnthropicAdaptiveMock, "anthropic", "off"),
    ],
    ids=lambda param: f"{param[0].__name__} as {param[1]}, reasoning {param[2]}",
)
def assistant(request, tmp_path, monkeypatch):
    monkeypatch.setenv("MOCK_KEY", "s3cret")
    kind, profile, reasoning = request.param
    (tmp_path / "agent.toml").write_text(AGENT, encoding="utf-8")
    (tmp_path / "prices.md").write_text("# Prices\n\nA day ticket costs 6 francs.\n", encoding="utf-8")
    mock = kind(written, thoughts=THOUGHTS)
    model = RemoteModel(
        url="http://models.test/v1",
        model=mock.model,
        profile=profile,
        key_env="MOCK_KEY",
        reasoning=reasoning,
        transport=mock.transport(),
        sleep=lambda _: None,
    )
    encoder = StubEncoder()
    config = load_config(tmp_path / "agent.toml")
    made = assemble(config, folder=tmp_path, state=tmp_path / "state", models=(model, encoder))
    made.ingest([tmp_path / "prices.md"], source="documents")
    yield made
    made.close()


def test_a_thinking_model_holds_a_whole_conversation(assistant):
    turns = ("Hello!", "What does a day ticket cost?", "I live in Bern.", "And what does it cost for a day?")
    replies = []
    for i, turn in enumerate(turns):
        if i % 2:
            *pieces, reply = assistant.stream(turn, user="ana", dialogue="d")
            assert "zxqv" not in str(pieces)
        else:
            reply = assistant.ask(turn, user="ana", dialogue="d")
        replies.append(reply)
    assert all(reply.text.strip() for reply in replies)
    assert "6 francs" in replies[1].text
    assert replies[1].verdict.probability != 0.5, "the gate decided"
    told = json.dumps([encode(reply.trace) for reply in replies], default=str)
    history = str(assistant.history(user="ana", dialogue="d")) + str(assistant.recall(user="ana"))
    for text in (told, history, *(reply.text for reply in replies)):
        assert "zxqv" not in text, "thoughts are neither shown nor kept"
        assert "think>" not in text


def test_a_reply_that_is_stopped_midway_is_not_kept_and_the_next_turn_works(assistant):
    stream = assistant.stream("What does a day ticket cost?", user="ana", dialogue="d")
    assert "zxqv" not in next(piece for piece in stream if isinstance(piece, str))
    stream.close()
    assert assistant.history(user="ana", dialogue="d") == ()
    assert "6 francs" in assistant.ask("What does a day ticket cost?", user="ana", dialogue="d").text


def test_every_role_notes_what_it_asked_of_the_model(assistant):
    reply = assistant.ask("How much is a day ticket?")
    asked = {note.role: note.total_usage.calls for note in reply.trace}
    assert asked["gate"] >= 1 and asked["planner"] == asked["reader"] == 1 and asked["retriever"] == 0
    assert reply.trace.usage.calls == sum(asked.values())
    told = reply.trace.price is not None
    assert told == (assistant.model.name == OpenRouterMock.model), "no list prices here; a router says its own"
