"""The papers' BM25: its formula by hand, its ties, what it asks for, and which candidates it weighs."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from dragoman.core.errors import ConfigError
from dragoman.core.registry import retrievers
from dragoman.core.values import Context, Evidence, Passage, Request, Scope, Source
from dragoman.retriever import OkapiRetriever
from dragoman.retriever.ranking import Okapi, TfIdf
from dragoman.stores.in_memory import InMemoryStore
from dragoman.testing import RetrieverConformance
from dragoman.testing.retrieval import fill
from dragoman.text.analyse import forget_texts
from dragoman.text.cutting import cut

SCOPE = Scope("kbp", "1")
PERSONA = Source("PERSONA", about="bot", private=True)
DOCUMENTS = Source("DOCUMENTS", needs=("PERSONA",), private=True)
ROWS = (
    Passage("B0", "PERSONA", "tea morning"),
    Passage("B1", "PERSONA", "ferry desk"),
    Passage("B0-K0", "DOCUMENTS", "green tea leaves", parent="B0"),
    Passage("B0-K1", "DOCUMENTS", "black tea leaves", parent="B0"),
    Passage("B0-K2", "DOCUMENTS", "tea room", parent="B0"),
    Passage("B1-K0", "DOCUMENTS", "ferry fares", parent="B1"),
    Passage("B1-K1", "DOCUMENTS", "ferry times", parent="B1"),
)


def store_of(rows, scope=SCOPE):
    store = InMemoryStore()
    store.put(scope, rows)
    return store


def found(request, rows=ROWS, **options):
    retriever = OkapiRetriever(store=store_of(rows), **{"cut": "space", "labels": ("", ""), **options})
    return retriever.retrieve([request])[0]


def asking(*texts, source=DOCUMENTS, **fields):
    return Request(Context.of(*texts, scope=SCOPE), (source,), **fields)


def ids(evidence):
    return [piece.id for piece in evidence]


def test_it_is_registered():
    assert retrievers.resolve("okapi") == "retriever.okapi.v1"


def test_bm25_of_a_worked_example():
    """N = 3, lengths 2, 1, 3, mean 2; n(a) = 1: idf = ln(2.5 / 1.5); f = 2, norm = 2 + 1.5 (0.25 + 0.75 * 1.5)."""
    okapi = Okapi([["b", "c"], ["d"], ["a", "a", "e"]])
    expected = math.log(2.5 / 1.5) * 2 * 2.5 / (2 + 1.5 * (0.25 + 0.75 * 3 / 2))
    assert okapi.scores(["a"]) == [0.0, 0.0, pytest.approx(expected)]
    assert okapi.scores(["a", "a"])[2] == pytest.approx(2 * expected)  # a word said twice counts twice


def test_a_word_in_most_candidates_weighs_a_quarter_of_the_mean_idf():
    """N = 3: n(a) = 2 gives ln(1.5 / 2.5) < 0; b, c, d have ln(2.5 / 1.5); the mean is half of that."""
    one = math.log(2.5 / 1.5)
    okapi = Okapi([["a", "b"], ["a", "c"], ["d"]])
    assert okapi.idf["b"] == pytest.approx(one)
    assert okapi.idf["a"] == pytest.approx(0.25 * (3 * one - one) / 4)


def test_the_floor_is_negative_where_the_mean_idf_is():
    okapi = Okapi([["a", "b"], ["a", "b"], ["a", "b"]])
    assert okapi.idf["a"] == pytest.approx(0.25 * math.log(0.5 / 3.5))
    [best] = found(asking("x", k=1), [Passage(str(i), "DOCUMENTS", "x y") for i in range(3)])
    assert best.scores["bm25"] < 0
    assert best.relevance == 0.0


WORDS = st.lists(st.sampled_from("abcde"), min_size=1, max_size=6)


@given(rows=st.one_of(st.lists(WORDS, min_size=1, max_size=6), st.lists(WORDS, min_size=65, max_size=70)), query=WORDS)
def test_scores_equal_an_independent_implementation(rows, query):
    expected = BM25Okapi(rows).get_scores(query).tolist()
    assert Okapi(rows).scores(query) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(rows=st.one_of(st.lists(WORDS, min_size=1, max_size=6), st.lists(WORDS, min_size=65, max_size=70)), query=WORDS)
def test_tfidf_is_the_cosine_over_the_whole_vocabulary(rows, query):
    vocabulary = sorted({token for row in (query, *rows) for token in row})
    weights = [1 + math.log((1 + len(rows)) / (1 + sum(token in row for row in rows))) for token in vocabulary]

    def vector(tokens):
        return [tokens.count(token) * weight for token, weight in zip(vocabulary, weights, strict=True)]

    asked = vector(query)
    for score, row in zip(TfIdf(rows).scores(query), map(vector, rows), strict=True):
        product = sum(a * b for a, b in zip(asked, row, strict=True))
        assert score == pytest.approx(product / (math.hypot(*asked) * math.hypot(*row)))


def test_no_candidates_and_empty_candidates_score_nothing():
    assert Okapi([]).scores(["a"]) == []
    assert Okapi([[], []]).scores(["a"]) == TfIdf([[], []]).scores(["a"]) == [0.0, 0.0]
    assert TfIdf([["a"]]).scores([]) == [0.0]


def test_of_equal_scores_the_last_candidate_wins():
    assert ids(found(asking("ferry", k=2))) == ["B1-K1", "B1-K0"]


def test_a_query_that_shares_nothing_still_brings_k():
    assert ids(found(asking("zeppelin", k=3))) == ["B1-K1", "B1-K0", "B0-K2"]


def test_the_query_is_the_whole_history_with_labels():
    retriever = OkapiRetriever(store=store_of(()))
    request = asking("你好\n呀", "你 好", "喜欢茶吗？")
    assert retriever.describe(request) == "用户：你好 呀 系统：你 好 用户：喜欢茶吗？"


def test_the_texts_given_stand_at_the_end_of_the_query_where_dependency_says_so():
    given_rows = (Evidence(Passage("B0", "PERSONA", "我 爱 茶"), 0.9), Evidence(Passage("x", "OTHER", "别的"), 0.9))
    request = asking("喜欢茶吗？", given=given_rows)
    for dependency, end in (("query", "我爱茶"), ("filter", ""), ("off", "")):
        retriever = OkapiRetriever(store=store_of(()), dependency=dependency)
        assert retriever.describe(request) == f"用户：喜欢茶吗？ {end}".strip()


def test_filter_weighs_the_documents_of_the_given_persona_alone():
    given_row = (Evidence(ROWS[0], 0.9),)
    assert set(ids(found(asking("ferry tea", k=9, given=given_row)))) == {"B0-K0", "B0-K1", "B0-K2"}
    # Among its own three documents "tea" is no rare word any more: rarity is counted in the pool.
    filtered = found(asking("tea", k=1, given=given_row))[0].scores["bm25"]
    assert filtered != found(asking("tea", k=1, given=given_row), dependency="off")[0].scores["bm25"]


def test_filter_takes_all_where_nothing_was_given_or_it_has_no_documents():
    childless = (Evidence(Passage("B9", "PERSONA", "I snore."), 0.9),)
    assert len(found(asking("tea", k=9))) == len(found(asking("tea", k=9, given=childless))) == 5


def test_off_and_query_search_all_documents():
    given_row = (Evidence(ROWS[1], 0.9),)
    assert ids(found(asking("leaves", k=1, given=given_row), dependency="off")) == ["B0-K1"]
    assert ids(found(asking("times", k=2, given=given_row), dependency="query")) == ["B1-K1", "B1-K0"]


def test_what_is_left_out_does_not_change_the_scores_of_the_rest():
    everything = found(asking("tea ferry fares", k=5))
    rest = found(asking("tea ferry fares", k=5, without=frozenset({everything[0].id})))
    assert rest == everything[1:]


def test_tfidf_ranks_by_cosine_in_the_same_protocol():
    [best] = found(asking("green tea", k=1), weighting="tfidf")
    assert best.id == "B0-K0"
    assert best.relevance == best.scores["tfidf"]


def test_relevance_is_the_share_of_the_most_that_could_be_scored():
    [best] = found(asking("fares", k=1))
    assert best.relevance == pytest.approx(best.scores["bm25"] / (2.5 * math.log(4.5 / 1.5)))


def test_rows_written_later_are_found_in_private_and_in_shared_sources():
    shared = Source("DOCUMENTS")
    for source, scope in ((DOCUMENTS, SCOPE), (shared, SCOPE.shared)):
        store = store_of(ROWS, scope)
        retriever = OkapiRetriever(store=store, cut="space", labels=("", ""))
        assert ids(retriever.retrieve([asking("zeppelin fares", source=source, k=1)])[0]) == ["B1-K0"]
        store.put(scope, [Passage("late", "DOCUMENTS", "zeppelin fares")])
        assert ids(retriever.retrieve([asking("zeppelin fares", source=source, k=1)])[0]) == ["late"]
        store.remove(scope, ["late"])
        assert ids(retriever.retrieve([asking("zeppelin fares", source=source, k=1)])[0]) == ["B1-K0"]


def test_a_changed_row_is_weighed_anew():
    store = store_of(ROWS, SCOPE.shared)
    retriever = OkapiRetriever(store=store, cut="space", labels=("", ""))
    request = asking("zeppelin", source=Source("DOCUMENTS"), k=1)
    assert retriever.retrieve([request])[0][0].scores["bm25"] == 0.0
    store.put(SCOPE.shared, [Passage("B0-K0", "DOCUMENTS", "zeppelin leaves", parent="B0")])
    assert ids(retriever.retrieve([request])[0]) == ["B0-K0"]


def test_a_constant_outside_its_range_is_refused():
    with pytest.raises(ConfigError, match="b = 2"):
        OkapiRetriever(store=store_of(()), b=2)


@given(st.lists(st.text(alphabet="我爱北京天安门 a1.。？\r\t\u3000用户：", max_size=12), max_size=4))
def test_a_dialogue_cut_turn_by_turn_is_cut_as_a_whole(texts):
    lines = [f"用户：{text} " for text in texts]
    assert [token for line in lines for token in cut(line, "jieba")] == list(cut("".join(lines), "jieba"))


def test_jieba_leaves_spaces_and_words_leaves_marks():
    assert cut("我 喜欢 茶", "jieba") == ("我", " ", "喜欢", " ", "茶")
    assert cut("What's THAT?", "words") == ("what", "'", "s", "that", "?")
    assert cut(" a  B\n", "space") == ("a", "B")


def test_what_was_cut_is_forgotten_with_the_rest():
    cut("私事", "jieba")
    assert cut.cache_info().currsize > 0
    forget_texts()
    assert cut.cache_info().currsize == 0


class TestConformance(RetrieverConformance):
    @pytest.fixture(params=("filter", "query", "off"))
    def retriever(self, request):
        store = InMemoryStore()
        fill(store)
        return OkapiRetriever(store=store, dependency=request.param)
