"""The cross-encoder over another retriever's candidates."""

import numpy as np
import pytest

from dragoman.core.errors import ConfigError
from dragoman.core.values import Context, Evidence, Passage, Request, Scope, Source
from dragoman.models.calibration import Isotonic, Logistic
from dragoman.models.part import Head, Part, write_part
from dragoman.retriever import DenseRetriever, RerankRetriever, rerank
from dragoman.stores.in_memory import InMemoryStore
from dragoman.testing import RetrieverConformance, StubEncoder, fill
from dragoman.text.analyse import analyse

PERSONA = Source("P", about="bot")
DOCUMENTS = Source("D", needs=("P",))


class Inner:
    """A first stage with a fixed list of passages for each source."""

    def __init__(self, *passages):
        self.passages = passages
        self.asked = []

    def retrieve(self, requests):
        self.asked += requests
        return [
            [Evidence(p, 0.5, {"bm25": 1.0}) for p in self.passages if p.source in {s.name for s in r.sources}][: r.k]
            for r in requests
        ]


class Words:
    """Scores a pair by the words that it shares; counts its calls."""

    calls = 0
    pairs = ()

    def __init__(self, part, **options):
        self.part = part

    def warm_up(self):
        pass

    def scores(self, texts, head):
        type(self).calls += 1
        type(self).pairs = texts
        assert head == "relevance"
        shared = [len(set(analyse(query)) & set(analyse(passage))) for query, passage in texts]
        return np.array(shared, dtype=np.float32).reshape(-1, 1)


@pytest.fixture(autouse=True)
def words(monkeypatch):
    monkeypatch.setattr(rerank, "Scorer", Words)
    Words.calls, Words.pairs = 0, ()


def part(folder, calibration=None, **options):
    head = Head(("relevant",), {"relevant": calibration or Logistic(2.0, -1.0)})
    write_part(Part(folder, "retriever.cross", {"relevance": head}, {"query": "last", **options}), ())
    return str(folder)


def doc(key, text, parent=None):
    return Passage(key, "D", text, parent=parent)


def ids(found):
    return [piece.id for piece in found]


FERRY, TEA, MUSEUM = (
    doc("ferry", "The ferry ticket"),
    doc("tea", "A pot of tea", "p-tea"),
    doc("museum", "The museum ticket"),
)


def test_scores_order_the_candidates_and_probabilities_are_calibrated(tmp_path):
    inner = Inner(TEA, FERRY, MUSEUM)
    retriever = RerankRetriever(inner=inner, part=part(tmp_path))
    [found] = retriever.retrieve([Request(Context.of("Museum ticket?"), (DOCUMENTS,), k=2)])
    assert ids(found) == ["museum", "ferry"]
    assert [piece.relevance for piece in found] == [
        pytest.approx(Logistic(2.0, -1.0).probability(2)),
        pytest.approx(Logistic(2.0, -1.0).probability(1)),
    ]
    assert found[0].scores == {"bm25": 1.0, "first": 0.5, "rerank": 2.0}


def test_the_inner_retriever_is_asked_for_the_pool_and_keeps_the_rest_of_the_request(tmp_path):
    inner = Inner(TEA)
    asked = Request(Context.of("x"), (DOCUMENTS,), k=2, without=frozenset({"z"}))
    RerankRetriever(inner=inner, part=part(tmp_path), pool=7).retrieve([asked])
    assert (inner.asked[0].k, inner.asked[0].without) == (7, frozenset({"z"}))


def test_a_batch_is_scored_in_one_pass(tmp_path):
    retriever = RerankRetriever(inner=Inner(TEA, FERRY), part=part(tmp_path))
    found = retriever.retrieve([Request(Context.of(text), (DOCUMENTS,)) for text in ("tea", "ferry")])
    assert Words.calls == 1
    assert [ids(row)[0] for row in found] == ["tea", "ferry"]


def test_no_candidates_ask_no_model(tmp_path):
    assert RerankRetriever(inner=Inner(), part=part(tmp_path)).retrieve([Request(Context.of("x"), (DOCUMENTS,))]) == [
        []
    ]
    assert Words.calls == 0


def given(key):
    return (Evidence(Passage(key, "P", "I like tea"), 0.9),)


def test_filter_keeps_children_of_the_given_evidence_and_rows_without_a_parent(tmp_path):
    stranger = doc("s", "Museum ticket", "p-other")
    retriever = RerankRetriever(inner=Inner(stranger, TEA, MUSEUM), part=part(tmp_path, dependency="filter"))
    [found] = retriever.retrieve([Request(Context.of("Museum ticket?"), (DOCUMENTS,), given=given("p-tea"))])
    assert ids(found) == ["museum", "tea"]


def test_query_reads_the_given_evidence_too(tmp_path):
    retriever = RerankRetriever(inner=Inner(TEA, MUSEUM), part=part(tmp_path, dependency="query"))
    [found] = retriever.retrieve([Request(Context.of("How much?"), (DOCUMENTS,), given=given("p-tea"))])
    assert Words.pairs[0][0] == "I like tea How much?"
    assert ids(found)[0] == "tea"


def test_prefer_moves_children_up_and_leaves_their_relevance(tmp_path):
    gentle = Logistic(0.1, 0.0)
    retriever = RerankRetriever(inner=Inner(MUSEUM, TEA), part=part(tmp_path, gentle, dependency="prefer"))
    [found] = retriever.retrieve([Request(Context.of("Museum ticket?"), (DOCUMENTS,), given=given("p-tea"))])
    assert ids(found) == ["tea", "museum"]
    assert found[0].relevance < found[1].relevance


def test_where_calibration_is_flat_the_score_decides(tmp_path):
    flat = Isotonic((0.0, 9.0), (0.3, 0.3))
    retriever = RerankRetriever(inner=Inner(FERRY, MUSEUM), part=part(tmp_path, flat))
    [found] = retriever.retrieve([Request(Context.of("Museum ticket?"), (DOCUMENTS,))])
    assert ids(found) == ["museum", "ferry"]


def test_a_pool_of_none_is_refused():
    with pytest.raises(ConfigError, match="pool = 0"):
        RerankRetriever(inner=Inner(), part="x", pool=0)


class TestRerankConformance(RetrieverConformance):
    @pytest.fixture
    def retriever(self, tmp_path):
        store, encoder = InMemoryStore(analyse=analyse), StubEncoder()
        fill(store, encoder)
        inner = DenseRetriever(store=store, encoder=encoder, analyse=analyse)
        return RerankRetriever(inner=inner, part=part(tmp_path))


def test_scopes_are_the_inner_retrievers_to_keep(store, encoder, tmp_path):
    inner = DenseRetriever(store=store, encoder=encoder, analyse=analyse)
    retriever = RerankRetriever(inner=inner, part=part(tmp_path))
    memory = Source("MEMORY", private=True)
    for user in ("ana", "tom"):
        asked = Request(Context.of("What is my dog called?", scope=Scope("harbour", user)), (memory,))
        assert ids(retriever.retrieve([asked])[0]) == [f"m-{user}"]
