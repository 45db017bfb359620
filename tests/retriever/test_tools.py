"""Tools among the sources: judged as other evidence is, asked once a turn, and never a reason to crash."""

from __future__ import annotations

import pytest

from dragoman.core.caches import clear_caches
from dragoman.core.errors import EndpointError
from dragoman.core.values import Context, Evidence, Passage, Request, Scope, Source
from dragoman.retriever.hybrid import HybridRetriever
from dragoman.retriever.tools import KEPT_SECONDS, ToolRetriever
from dragoman.stores.in_memory import InMemoryStore
from dragoman.testing import RetrieverConformance, fill
from dragoman.text.analyse import analyse

pytestmark = pytest.mark.trust

TOOL = Source("LINES", "timetables of other lines")
DOCUMENTS = Source("DOCUMENTS")
ANA = Scope("harbour", "ana")
FERRY = Passage("t-ferry", "LINES", "The night ferry costs 50 francs.", origin="mcp:search")
TEA = Passage("t-tea", "LINES", "Tea is a drink.", origin="mcp:search")


class FakeTool:
    """Gives what it has, and keeps what it was asked."""

    def __init__(self, *passages, error=None):
        self.passages, self.error, self.asked = passages, error, []

    def ask(self, query):
        self.asked.append(query)
        if self.error is not None:
            raise self.error
        return self.passages


@pytest.fixture
def make(store, encoder):
    def make(**tools):
        inner = HybridRetriever(store=store, encoder=encoder, analyse=analyse)
        return ToolRetriever(inner, tools, encoder=encoder, analyse=analyse)

    return make


def request(text, *sources, **options):
    return Request(Context.of(text, scope=options.pop("scope", ANA)), sources, **{"k": 3, **options})


def test_what_a_tool_says_is_ranked_with_calibrated_relevance(make):
    tool = FakeTool(TEA, FERRY)
    (found,) = make(LINES=tool).retrieve([request("What does the night ferry cost?", TOOL)])
    assert [piece.id for piece in found] == ["t-ferry", "t-tea"]
    assert 1 >= found[0].relevance > 0.5 > found[1].relevance >= 0
    assert found[0].scores["cosine"] > found[1].scores["cosine"] and not found.warnings
    assert tool.asked == ["What does the night ferry cost?"]


def test_other_sources_are_searched_as_before_and_both_are_merged(make):
    retriever = make(LINES=FakeTool(FERRY))
    wanted = request("What does a ticket for the ferry cost?", DOCUMENTS, TOOL)
    (found,) = retriever.retrieve([wanted])
    assert {piece.source for piece in found} == {"DOCUMENTS", "LINES"}
    assert [piece.relevance for piece in found] == sorted((piece.relevance for piece in found), reverse=True)
    (alone,) = retriever.retrieve([request("What does a ticket for the ferry cost?", DOCUMENTS)])
    assert [piece for piece in found if piece.source == "DOCUMENTS"] == alone


def test_k_and_without_are_kept(make):
    rows = [Passage(f"t{i}", "LINES", f"Ferry number {i}.") for i in range(9)]
    (found,) = make(LINES=FakeTool(*rows)).retrieve([request("ferry", TOOL, k=2, without=frozenset({"t0", "t1"}))])
    assert len(found) == 2 and not {piece.id for piece in found} & {"t0", "t1"}


def test_rows_of_a_tools_source_count_against_the_same_k(make, store, encoder):
    rows = [Passage(f"own{i}", "LINES", "The ferry costs 3 francs.") for i in range(3)]
    store.put(ANA.shared, rows, encoder.encode([row.indexed for row in rows]))
    (found,) = make(LINES=FakeTool(FERRY)).retrieve([request("What does the ferry cost?", TOOL)])
    assert len(found) == 3 and {piece.source for piece in found} == {"LINES"}


def test_a_tool_that_fails_is_a_warning_and_no_evidence(make, caplog):
    broken = FakeTool(error=EndpointError("The tool 'search' cannot be reached: gone.", remedy="Look."))
    (found,) = make(LINES=broken).retrieve([request("my secret question about ferry fares", DOCUMENTS, TOOL)])
    assert found.warnings == ("LINES: The tool 'search' cannot be reached: gone.",)
    assert {piece.source for piece in found} == {"DOCUMENTS"}
    assert "LINES" in caplog.text and "secret" not in caplog.text


def test_a_turn_asks_a_tool_once_however_often_it_is_searched(make):
    tool, broken = FakeTool(FERRY), FakeTool(error=EndpointError("Gone."))
    retriever = make(LINES=tool, OTHER=broken)
    probing = [request("ferry", source, k=1) for source in (DOCUMENTS, TOOL, Source("OTHER"))]  # as a planner does
    retriever.retrieve(probing)
    (found,) = retriever.retrieve([request("ferry", TOOL)])
    (again,) = retriever.retrieve([request("ferry", TOOL, without=frozenset({"t-ferry"}))])  # as the refiner does
    assert [piece.id for piece in found] == ["t-ferry"] and again == []
    assert len(tool.asked) == len(broken.asked) == 1
    assert found.warnings == ("OTHER: Gone.",)  # told though the planner then left it out


def test_answers_are_kept_for_a_moment_and_for_one_user(make, monkeypatch):
    tool, clock = FakeTool(FERRY), [0.0]
    monkeypatch.setattr("dragoman.retriever.tools.monotonic", lambda: clock[0])
    retriever = make(LINES=tool)
    retriever.retrieve([request("ferry", TOOL)])
    retriever.retrieve([request("ferry", TOOL, scope=Scope("harbour", "tom"))])
    assert len(tool.asked) == 2
    clock[0] = KEPT_SECONDS + 1
    retriever.retrieve([request("ferry", TOOL)])
    assert len(tool.asked) == 3 and len(retriever._cache) == 1


def test_forgetting_reaches_what_was_asked(make):
    tool = FakeTool(FERRY)
    retriever = make(LINES=tool)
    retriever.retrieve([request("ferry", TOOL)])
    clear_caches()
    assert not retriever._cache
    retriever.retrieve([request("ferry", TOOL)])
    assert len(tool.asked) == 2


def test_what_is_remembered_about_the_user_is_not_told_to_a_tool(make):
    fact = Passage("m", "MEMORY", "I am allergic to nuts.", meta={"slot": "allergy"})
    tool = FakeTool(FERRY)
    make(LINES=tool).retrieve([request("Where can I eat?", TOOL, given=(Evidence(fact, 0.9),))])
    assert "nuts" not in tool.asked[0]


def test_a_follow_up_is_asked_so_that_it_can_be_understood_alone(make):
    tool = FakeTool(FERRY)
    context = Context.of("When does the night ferry leave?", "At 23:40.", "And what does it cost?", scope=ANA)
    make(LINES=tool).retrieve([Request(context, (TOOL,))])
    assert "ferry" in tool.asked[0] and "cost" in tool.asked[0]


class TestConformance(RetrieverConformance):
    """Held to the contract of every retriever; one of the sources is also a tool, which has nothing to say."""

    @pytest.fixture
    def retriever(self, encoder):
        store = InMemoryStore(analyse=analyse)
        fill(store, encoder)
        inner = HybridRetriever(store=store, encoder=encoder, analyse=analyse)
        return ToolRetriever(inner, {"DOCUMENTS": FakeTool()}, encoder=encoder, analyse=analyse)
