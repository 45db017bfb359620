"""The cross-encoder over another retriever's candidates."""

import math

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
        self.relevance = 0.5  # of every passage, or by its id

    def retrieve(self, requests):
        self.asked += requests
        return [
            [self.found(p) for p in self.passages if p.source in {s.name for s in r.sources}][: r.k] for r in requests
        ]

    def found(self, passage):
        relevance = self.relevance[passage.id] if isinstance(self.relevance, dict) else self.relevance
        return Evidence(passage, relevance, {"bm25": 1.0})


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


def test_the_first_stage_keeps_its_share_of_the_log_odds(tmp_path):
    """Odds of 1 : 1 and e : 1, evenly: e ** 0.5 : 1; a quarter of e ** -3 : 1 and three of e : 1 cancel out."""
    inner, known = Inner(MUSEUM), part(tmp_path)  # 2 * 1 - 1: the part's log-odds are 1
    asked = Request(Context.of("Museum?"), (DOCUMENTS,))
    [[even]] = RerankRetriever(inner=inner, part=known, first=0.5).retrieve([asked])
    assert even.relevance == pytest.approx(1 / (1 + math.exp(-0.5)))
    assert even.scores == {"bm25": 1.0, "first": 0.5, "rerank": 1.0}
    inner.relevance = 1 / (1 + math.exp(3))
    [[level]] = RerankRetriever(inner=inner, part=known, first=0.25).retrieve([asked])
    assert level.relevance == pytest.approx(0.5)
    [[alone]] = RerankRetriever(inner=inner, part=known, first=1.0).retrieve([asked])
    assert alone.relevance == pytest.approx(inner.relevance)


def test_a_sure_first_stage_can_hold_its_best_against_the_pair(tmp_path):
    sure = Inner(FERRY, MUSEUM)
    sure.relevance = {"ferry": 0.999, "museum": 0.01}
    asked = Request(Context.of("Museum ticket?"), (DOCUMENTS,))
    order = {
        share: ids(RerankRetriever(inner=sure, part=part(tmp_path), first=share).retrieve([asked])[0])
        for share in (0.0, 0.5)
    }
    assert order == {0.0: ["museum", "ferry"], 0.5: ["ferry", "museum"]}


@pytest.mark.parametrize("share", [-0.1, 1.5])
def test_a_share_outside_of_0_to_1_is_refused(share):
    with pytest.raises(ConfigError, match=r"retriever\.rerank: first"):
        RerankRetriever(inner=Inner(), part="x", first=share)


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
