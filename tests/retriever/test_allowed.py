"""The retriever that keeps searches within the allowed sources."""

from __future__ import annotations

from dataclasses import replace

from dragoman.core.control import TurnControl
from dragoman.core.values import Context, Passage, Request, Source
from dragoman.retriever.allowed import AllowedRetriever
from dragoman.testing.stubs import StubRetriever

MEMORY = Source("MEMORY", about="user", private=True)
DOCUMENTS = Source("DOCUMENTS")
PASSAGES = (Passage("m", "MEMORY", "I like tea."), Passage("d", "DOCUMENTS", "Tea is served at four."))


class Watching:
    """Notes which sources reach the retriever."""

    def __init__(self):
        self.seen = []
        self._inner = StubRetriever(PASSAGES)

    def retrieve(self, requests):
        self.seen.append([tuple(source.name for source in request.sources) for request in requests])
        return self._inner.retrieve(requests)


def test_excluded_sources_never_reach_the_retriever_and_answers_stay_in_order():
    inner = Watching()
    context = Context.of("tea?")
    off = replace(context, control=TurnControl(memory="off"))
    only = replace(context, control=TurnControl(sources=("DOCUMENTS",)))
    requests = [
        Request(context, (MEMORY, DOCUMENTS)),
        Request(off, (MEMORY,)),
        Request(off, (MEMORY, DOCUMENTS)),
        Request(only, (MEMORY,)),
        Request(only, (DOCUMENTS,)),
    ]
    found = AllowedRetriever(inner).retrieve(requests)
    assert inner.seen == [[("MEMORY", "DOCUMENTS"), ("DOCUMENTS",), ("DOCUMENTS",)]]
    assert [{piece.source for piece in evidence} for evidence in found] == [
        {"MEMORY", "DOCUMENTS"},
        set(),
        {"DOCUMENTS"},
        set(),
        {"DOCUMENTS"},
    ]


def test_without_limits_requests_pass_untouched():
    inner = Watching()
    requests = [Request(Context.of("tea?"), (MEMORY,))]
    assert len(AllowedRetriever(inner).retrieve(requests)) == 1 and inner.seen == [[("MEMORY",)]]
