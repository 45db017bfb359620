"""The conversations in benchmarks/personal are well formed, so that a failure is the agent's."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.agent.build import locate
from dragoman.agent.check import read_conversations

FOLDER = Path(__file__).parents[2] / "benchmarks" / "personal"
AGENTS = sorted(path.parent for path in FOLDER.rglob("agent.toml"))
KINDS = set(
    "personal told corrected exception ask-back near-miss multi-hop table list two-users small-talk about-me".split()
)


def test_at_least_ten_agents_have_fifteen_conversations_each():
    counts = [len(read_conversations(agent / "conversations.toml")) for agent in AGENTS]
    assert counts.count(15) >= 10 and min(counts) >= 8
    assert len(read_conversations(FOLDER / "harbour.toml")) == 24


@pytest.mark.parametrize("name", [str(agent.relative_to(FOLDER)) for agent in AGENTS] + ["harbour"])
def test_expectations_can_be_met_from_the_documents(name):
    agent = locate(name)[0].parent if name == "harbour" else FOLDER / name
    file = FOLDER / "harbour.toml" if name == "harbour" else agent / "conversations.toml"
    documents = {path.name: path.read_text(encoding="utf-8").casefold() for path in agent.glob("documents/*.md")}
    for talk in read_conversations(file):
        assert talk.kind in KINDS, talk.name
        told = [*talk.facts, *(turn.say for turn in talk.turns), *documents.values()]
        known = " ".join(" ".join(told).casefold().split())
        for turn in talk.turns:
            assert all(file in documents for choices in turn.evidence for file in choices), talk.name
            # the words of a question back are the agent's own: no document need contain them
            for choices in turn.must if turn.answer != "ask" else ():
                assert any(choice.casefold() in known for choice in choices), (talk.name, choices)
