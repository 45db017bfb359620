"""Our own roles, held to the suites without any weights."""

from __future__ import annotations

import pytest

from dragoman.agent.create import Creator
from dragoman.models.scripted import ScriptedEncoder, ScriptedModel
from dragoman.stores.in_memory import InMemoryStore
from dragoman.testing import (
    CriticConformance,
    EncoderConformance,
    GateConformance,
    LanguageModelConformance,
    MemoryConformance,
    PlannerConformance,
    ReaderConformance,
    RetrieverConformance,
    fill,
)
from dragoman.testing.samples import SOURCES
from dragoman.text.analyse import Analyser

ENCODER = ScriptedEncoder()


def model():
    return ScriptedModel(rules=[("Sources for the last turn:", "PERSONA, DOCUMENTS")], default="It costs 34 francs.")


def creator(*, filled=False):
    analyse = Analyser()
    store = InMemoryStore(analyse=analyse)
    if filled:
        fill(store, ENCODER)
    parts = {
        "language_model": model(),
        "encoder": ENCODER,
        "store": store,
        "sources": SOURCES,
        "analyse": analyse,
        "language": "en",
        "name": "Marlow",
        "folder": None,
    }
    kinds = {"critic": "overlap", "retriever": "hybrid", "reader": "prompted"}
    return Creator(parts, {role: {"kind": kind} for role, kind in kinds.items()})


def make(role, kind, **options):
    return creator(filled=True).create(role, {"kind": kind, **options}, where=role)


class TestGates(GateConformance):
    @pytest.fixture(params=["always", "never", "random", "prompted", "uncertainty", "similarity"])
    def gate(self, request):
        return make("gate", request.param)


class TestPlanners(PlannerConformance):
    @pytest.fixture(params=["all", "prompted", "similarity"])
    def planner(self, request):
        return make("planner", request.param)


class TestRetrievers(RetrieverConformance):
    @pytest.fixture(params=["sparse", "dense", "hybrid", "prompted", "joint"])
    def retriever(self, request):
        return make("retriever", request.param)


class TestReaders(ReaderConformance):
    @pytest.fixture(params=["prompted", "extractive", "grounded"])
    def reader(self, request):
        return make("reader", request.param)


class TestOverlapCritic(CriticConformance):
    @pytest.fixture
    def critic(self):
        return make("critic", "overlap")


class TestRuleMemory(MemoryConformance):
    @pytest.fixture
    def memory(self):
        return creator().create("memory", {"kind": "rules"}, where="memory")


class TestScriptedModel(LanguageModelConformance):
    @pytest.fixture
    def language_model(self):
        return model()


class TestScriptedEncoder(EncoderConformance):
    @pytest.fixture
    def encoder(self):
        return ENCODER
