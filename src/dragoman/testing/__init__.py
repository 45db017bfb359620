"""Conformance suites for every contract, and stub roles: subclass a suite, give its fixture, be held to it.

class TestMyGate(GateConformance):
    @pytest.fixture
    def gate(self):
        return MyGate()
"""

from dragoman.testing.datasets import DatasetConformance
from dragoman.testing.endpoints import EndpointConformance
from dragoman.testing.models import EncoderConformance, LanguageModelConformance
from dragoman.testing.retrieval import MemoryConformance, RetrieverConformance, fill
from dragoman.testing.roles import CriticConformance, GateConformance, PlannerConformance, ReaderConformance
from dragoman.testing.stores import StoreConformance
from dragoman.testing.stubs import (
    StubCritic,
    StubEncoder,
    StubGate,
    StubMemory,
    StubPlanner,
    StubReader,
    StubRetriever,
)

__all__ = [
    "CriticConformance",
    "DatasetConformance",
    "EncoderConformance",
    "EndpointConformance",
    "GateConformance",
    "LanguageModelConformance",
    "MemoryConformance",
    "PlannerConformance",
    "ReaderConformance",
    "RetrieverConformance",
    "StoreConformance",
    "StubCritic",
    "StubEncoder",
    "StubGate",
    "StubMemory",
    "StubPlanner",
    "StubReader",
    "StubRetriever",
    "fill",
]
