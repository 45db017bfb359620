"""The shipped agents hold the conversations written for them, with the real weights."""

from pathlib import Path

import pytest

from dragoman.agent.build import locate
from dragoman.agent.check import check, fresh_assistants, read_conversations

LEAST = 36
WRITTEN = 40


@pytest.mark.slow
@pytest.mark.integration
def test_the_default_agents_pass_at_least_36_of_the_40_written_conversations():
    outcomes = []
    for agent in ("harbour", "chaguan"):
        file, _ = locate(agent)
        conversations = read_conversations(Path(file).parent / "conversations.toml")
        with fresh_assistants(agent) as (fresh, _):
            outcomes += check(fresh, conversations)
    failed = [outcome for outcome in outcomes if not outcome.passed]
    assert len(outcomes) == WRITTEN
    assert len(outcomes) - len(failed) >= LEAST, failed
