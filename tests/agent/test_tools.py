"""An agent one of whose sources is a tool on somebody's MCP server."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import dragoman
from dragoman.config import load_config
from dragoman.core.errors import ConfigError
from dragoman.core.trace import Trace

SERVER = Path(__file__).parents[1] / "sources" / "tool_server.py"
AGENT = """
[[sources]]
name = "DOCUMENTS"
description = "prices"
[[sources]]
name = "LINES"
description = "timetables of ferries"
tool = "search_docs"
argument = "query"
mcp = {command = [COMMAND], seconds = 60}
[models.language]
kind = "model.scripted.v1"
default = "I would not know."
[models.encoder]
kind = "encoder.hashing.v1"
[gate]
kind = "gate.always.v1"
[memory]
ask_model = false
"""


def agent(folder, *command, planner="planner.all.v1"):
    words = ", ".join(f"'{word}'" for word in command)
    text = AGENT.replace("COMMAND", words) + f'[planner]\nkind = "{planner}"\n'
    (folder / "agent.toml").write_text(text, encoding="utf-8")
    return dragoman.load(folder)


def test_the_planner_chooses_a_tool_and_the_reply_quotes_it(tmp_path):
    with agent(tmp_path, sys.executable, str(SERVER), planner="planner.similarity.v1") as assistant:
        reply = assistant.ask("When does the night ferry leave?")
    assert reply.plan.steps == (("LINES",),) and "23:40" in reply.text
    assert reply.evidence[0].passage.origin == "mcp:search_docs"
    assert reply.trace.of("retriever")[0].value.warnings == ()


def test_a_server_that_is_down_is_a_warning_in_the_trace_and_the_turn_goes_on(tmp_path):
    with agent(tmp_path, "no-such-program-anywhere") as assistant:
        reply = assistant.ask("When does the night ferry leave?")
        kept = assistant.trace()
    warnings = [warning for note in reply.trace.of("retriever") for warning in note.value.warnings]
    assert warnings and "no-such-program-anywhere cannot be reached" in warnings[0]
    assert reply.evidence == () and reply.text
    assert kept == reply.trace == Trace.from_json(reply.trace.to_json())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('tool = "t"', "a tool needs both"),
        ('mcp = {url = "https://x.example"}', "a tool needs both"),
        ('tool = "t"\nmcp = {}', "either the command"),
        ('tool = "t"\nmcp = {url = "https://x.example", command = ["y"]}', "either the command"),
        ('tool = "t"\nmcp = {url = "ftp://x.example"}', "pattern"),
        ('tool = "t"\nmcp = {url = "https://x.example", token = "abc"}', "looks like a secret"),
        ('tool = "t"\nmcp = {urk = "https://x.example"}', "url"),
    ],
)
def test_what_is_wrong_with_a_tool_is_said_when_the_agent_is_read(tmp_path, line, words):
    (tmp_path / "agent.toml").write_text(f'[[sources]]\nname = "LINES"\n{line}\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=words):
        load_config(tmp_path)
