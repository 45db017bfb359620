import pytest

from dragoman.core.errors import InputError, PlanError
from dragoman.core.trace import Reply
from dragoman.core.values import Turn
from dragoman.integrations import common


def test_search_takes_the_best_of_all_sources(made):
    hits = common.search(made.assistant, "ferry", user="ana", k=3)
    assert [hit.id for hit in hits] == ["m0", "d0", "d1"]
    assert made.retriever.requests[-1].context.scope.user == "ana"


def test_search_looks_in_the_named_sources_alone(made):
    assert {hit.source for hit in common.search(made.assistant, "ferry", sources=["DOCUMENTS"])} == {"DOCUMENTS"}
    with pytest.raises(PlanError, match="NOTES"):
        common.search(made.assistant, "ferry", sources=["NOTES"])
    with pytest.raises(InputError, match="empty"):
        common.search(made.assistant, "  ")


def test_the_dialogue_is_the_callers_and_leaves_nothing_behind(made):
    turns = [Turn("user", "hello"), Turn("agent", "hi"), Turn("user", "the ferry?")]
    *pieces, reply = common.stream(made.assistant, turns, user="ana")
    assert isinstance(reply, Reply) and "".join(pieces) == reply.text == "From d0 d1."
    assert made.reader.tasks[-1].context.turns == tuple(turns)
    assert made.assistant.dialogues(user="ana") == ()


def test_a_dialogue_that_ends_with_the_agent_is_refused(made):
    with pytest.raises(InputError, match="last message"):
        common.ask(made.assistant, [Turn("agent", "hi")])
