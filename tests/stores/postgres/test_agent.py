"""An agent whose config names a PostgreSQL store: two processes' worth of assistants know the same things."""

from __future__ import annotations

import json

import pytest

from dragoman.agent.build import load
from dragoman.agent.check import fresh_assistants
from dragoman.cli.terminal.diagnosis import examine
from dragoman.core.errors import ConfigError, StoreError
from dragoman.stores.transfer.copying import MARK
from dragoman.stores.transfer.table_records import NOTE

from ...agent_files import DOCUMENTS, MEMORY

pytestmark = pytest.mark.slow
AGENT = """
name = "Marlow"
[models.language]
kind = "model.scripted.v1"
[models.encoder]
kind = "encoder.hashing.v1"
[store]
kind = "store.postgres.v1"
url = "env:AGENT_STORE"
connections = 3
[gate]
kind = "always"
[planner]
kind = "all"
[retriever]
kind = "sparse"
[reader]
kind = "extractive"
"""
AGENT += MEMORY + DOCUMENTS


@pytest.fixture
def agent(make_store, schema, tmp_path, monkeypatch):
    make_store()
    monkeypatch.setenv("AGENT_STORE", schema.url())
    folder = tmp_path / "agent"
    (folder / "documents").mkdir(parents=True)
    (folder / "agent.toml").write_text(AGENT)
    (folder / "documents" / "ferry.md").write_text("The ferry leaves at nine.")
    return folder


def test_what_one_replica_learns_another_knows(agent, tmp_path):
    with load(agent, state=tmp_path / "one") as one, load(agent, state=tmp_path / "two") as two:
        one.remember("I live in Basel.", user="ana")
        reply = one.ask("When does the ferry leave?", user="ana", dialogue="d")
        assert "nine" in reply.text
        assert any("Basel" in fact.text for fact in two.recall(user="ana"))
        assert two.history(user="ana", dialogue="d")[1].text == reply.text
        assert two.recall(user="ben") == ()
        assert one.config["store"] == {"kind": "store.postgres.v1", "url": "env:AGENT_STORE", "connections": 3}


@pytest.mark.trust
def test_half_a_copy_is_not_taken_for_the_agents_store(agent, make_store):
    make_store().receive(MARK, (), {NOTE: json.dumps({"from": "other", "state": "copying"})})
    with pytest.raises(StoreError, match="half a copy of the store other"):
        load(agent)


def test_conversations_are_checked_on_a_store_of_their_own(agent, schema):
    with fresh_assistants(agent) as (fresh, _), fresh() as assistant:
        assistant.ask("When does the ferry leave?", user="ana", dialogue="d")
    assert schema.run("SELECT count(*) FROM dragoman.turns") == [(0,)]


def test_the_doctor_looks_at_the_server(agent):
    with load(agent):
        pass
    finding = [found for found in examine(str(agent)) if found.what == "store"][-1]
    assert finding.state == "ok" and finding.found.startswith("postgresql://")


@pytest.mark.trust
def test_a_password_in_the_config_is_refused(agent):
    text = (agent / "agent.toml").read_text().replace("env:AGENT_STORE", "postgresql://ana:hunter2@db/agents")
    (agent / "agent.toml").write_text(text)
    with pytest.raises(ConfigError, match=r"'store\.url' holds a password") as raised:
        load(agent)
    assert "hunter2" not in str(raised.value) and "env:" in raised.value.remedy
