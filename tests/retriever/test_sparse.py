"""The two weightings against independent computations."""

import math

import numpy as np
import pytest
from rank_bm25 import BM25Okapi

from dragoman.core.values import Context, Passage, Request, Scope, Source
from dragoman.retriever import SparseRetriever
from dragoman.retriever.ranking import TfIdf
from dragoman.stores.in_memory import InMemoryStore
from dragoman.text.analyse import analyse

SCOPE = Scope("t", "u")
TEXTS = [
    "The ferry leaves the harbour at nine.",
    "Tea in the harbour café costs five francs.",
    "The museum shows the old ferry and the old harbour.",
    "Nobody remembers the storm.",
    "A lighthouse stands on the rocks, and the lighthouse keeper drinks tea.",
]


def retrieve(text, weighting):
    store = InMemoryStore(analyse=analyse)
    store.put(SCOPE.shared, [Passage(str(i), "D", words) for i, words in enumerate(TEXTS)])
    retriever = SparseRetriever(store=store, analyse=analyse, weighting=weighting)
    [found] = retriever.retrieve([Request(Context.of(text, scope=SCOPE), (Source("D"),), k=5)])
    return found


def test_tfidf_of_a_worked_example():
    """N = 3; n(a) = 1, n(b) = 3: w(a) = 1 + ln(4/2), w(b) = 1 + ln(4/4) = 1; query a, row a b b."""
    a, b = 1 + math.log(2), 1.0
    [score] = TfIdf([["a", "b", "b"]], count=3, containing={"a": 1, "b": 3}).scores(["a"])
    assert score == pytest.approx(a / math.sqrt(a * a + (2 * b) ** 2))


def test_tfidf_equals_cosine_over_the_whole_vocabulary():
    query = "Which old ferry is in the harbour museum?"
    rows = [analyse(text) for text in TEXTS]
    vocabulary = sorted({token for row in rows for token in row} | set(analyse(query)))
    counts = np.array([[row.count(token) for token in vocabulary] for row in rows], float)
    weights = 1 + np.log((1 + len(rows)) / (1 + (counts > 0).sum(axis=0)))
    asked = np.array([float(token in analyse(query)) for token in vocabulary]) * weights
    matrix = counts * weights
    expected = matrix @ asked / (np.linalg.norm(matrix, axis=1) * np.linalg.norm(asked))
    found = retrieve(query, "tfidf")
    assert [piece.id for piece in found] == [str(i) for i in np.argsort(-expected) if expected[i] > 0]
    for piece in found:
        assert piece.scores["tfidf"] == pytest.approx(expected[int(piece.id)])


def test_bm25_is_the_textbook_formula():
    """k1 = 1.2, b = 0.75 and the idf that is never negative, computed here term by term."""
    query, rows = "old ferry tea", [analyse(text) for text in TEXTS]
    average = sum(map(len, rows)) / len(rows)

    def score(row):
        total = 0.0
        for token in analyse(query):
            n, tf = sum(token in other for other in rows), row.count(token)
            idf = math.log(1 + (len(rows) - n + 0.5) / (n + 0.5))
            total += idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * len(row) / average))
        return total

    found = retrieve(query, "bm25")
    assert {piece.id for piece in found} == {str(i) for i, row in enumerate(rows) if score(row) > 0}
    for piece in found:
        assert piece.scores["bm25"] == pytest.approx(score(rows[int(piece.id)]), rel=1e-4)


def test_bm25_ranks_as_an_independent_implementation_does():
    query = "harbour ferry"
    rows = [list(analyse(text)) for text in TEXTS]
    expected = BM25Okapi(rows, k1=1.2, b=0.75).get_scores(list(analyse(query)))
    found = [int(piece.id) for piece in retrieve(query, "bm25")]
    assert found == [int(i) for i in np.argsort(-expected, kind="stable") if set(rows[i]) & set(analyse(query))]
