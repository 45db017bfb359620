"""An assistant of stub roles: no weights, no network."""

import asyncio

import pytest

from dragoman.agent.agent import Agent
from dragoman.agent.assistant import Assistant
from dragoman.core.values import Passage, Plan, Source
from dragoman.stores.in_memory import InMemoryStore
from dragoman.testing.stubs import StubEncoder, StubGate, StubMemory, StubPlanner, StubReader, StubRetriever

SOURCES = (Source("MEMORY", about="user", private=True), Source("DOCUMENTS"))
PASSAGES = (
    Passage("m0", "MEMORY", "The user likes tea."),
    *(Passage(f"d{i}", "DOCUMENTS", f"Ferry number {i}.", title="Ferries", origin="ferries.md") for i in range(5)),
)


class Made:
    """The assistant with the stubs that remember what they were asked."""

    def __init__(self):
        self.retriever, self.reader = StubRetriever(PASSAGES), StubReader()
        agent = Agent(
            gate=StubGate(words=("ferry",)),
            planner=StubPlanner(Plan((("DOCUMENTS",),))),
            retriever=self.retriever,
            reader=self.reader,
            sources=SOURCES,
            k=2,
        )
        self.store = InMemoryStore()
        self.assistant = Assistant(agent, self.store, StubMemory(), SOURCES, StubEncoder())


@pytest.fixture
def made():
    return Made()


@pytest.fixture
def loop(closed_network):
    """An event loop that was made before sockets were closed: it opens a pair for itself."""
    from pytest_socket import disable_socket, enable_socket

    enable_socket()
    loop = asyncio.new_event_loop()
    disable_socket(allow_unix_socket=True)
    yield loop
    loop.close()
