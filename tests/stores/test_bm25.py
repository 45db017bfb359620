"""BM25 against a worked example, against an independent implementation, and against its own two ways of counting."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from dragoman.stores.bm25 import Bm25, lucene_idf

ROWS = [["ferry", "nine", "ferry"], ["museum", "ten"], ["tram", "night", "ferry", "late"]]
TOKEN_ROWS = st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=12), min_size=1, max_size=12)
QUERY = st.lists(st.sampled_from("abcdefghxyz"), min_size=1, max_size=6)


def test_the_worked_example():
    # N = 3, n(ferry) = 2, lengths 3, 2, 4, average 3; k1 = 1.2, b = 0.75
    idf = log(1 + 1.5 / 2.5)
    first = idf * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 3))
    third = idf * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 4 / 3))
    assert Bm25(ROWS).scores(["ferry"]) == pytest.approx([first, 0.0, third])


def test_a_token_said_twice_counts_twice():
    assert Bm25(ROWS).scores(["ferry", "ferry"]) == pytest.approx(2 * Bm25(ROWS).scores(["ferry"]))


def test_a_word_in_every_row_still_counts_for_something():
    assert lucene_idf(10, 10) > 0
    assert (Bm25([["a"], ["a", "b"]]).scores(["a"]) > 0).all()


def test_rows_that_share_no_token_score_nothing():
    assert Bm25(ROWS).scores(["zeppelin"]).tolist() == [0.0, 0.0, 0.0]
    assert Bm25([]).scores(["a"]).tolist() == []
    assert Bm25([[]]).scores(["a"]).tolist() == [0.0]


@given(rows=TOKEN_ROWS, query=QUERY, k1=st.floats(0.5, 2.0), b=st.floats(0.0, 1.0))
def test_but_for_the_idf_it_equals_rank_bm25(rows, query, k1, b):
    theirs = BM25Okapi(rows, k1=k1, b=b)
    theirs.idf = {token: log(1 + (len(rows) - n + 0.5) / (n + 0.5)) for token, n in numbers(rows).items()}
    assert Bm25(rows, k1=k1, b=b).scores(query) == pytest.approx(theirs.get_scores(query), abs=1e-9)


def numbers(rows):
    """In how many rows each token is."""
    return {token: sum(token in row for row in rows) for row in rows for token in row}


@given(rows=st.lists(st.lists(st.sampled_from(["a", "aa", "ab", "渡", "渡轮"]), max_size=6), max_size=8))
def test_tokens_are_counted_row_by_row(rows):
    scorer = Bm25(rows)
    for token in ("a", "aa", "ab", "b", "渡", "渡轮", "", " ", "\n", "a a"):
        assert scorer.containing(token) == sum(token in row for row in rows)
        found, frequencies = scorer._posting(token)
        assert dict(zip(found.tolist(), frequencies.tolist(), strict=True)) == {
            i: row.count(token) for i, row in enumerate(rows) if token in row
        }


def test_rows_that_are_joined_already_score_the_same():
    joined = Bm25.of_lines([" ".join(row) for row in ROWS], [len(row) for row in ROWS])
    assert np.allclose(joined.scores(["ferry", "late"]), Bm25(ROWS).scores(["ferry", "late"]), rtol=1e-6)


def test_words_that_were_only_asked_for_are_not_kept():
    bm25 = Bm25([("ferry", "desk"), ("ferry",)])
    assert bm25.scores(("ferry", "quillfeather")).tolist() == bm25.scores(("ferry",)).tolist()
    assert bm25.containing("quillfeather") == 0
    assert "quillfeather" not in str(vars(bm25))
