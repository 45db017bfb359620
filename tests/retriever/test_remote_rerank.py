from __future__ import annotations

import json

import httpx
import pytest

from dragoman.core.errors import EndpointError
from dragoman.core.values import Context, Passage, Request, Source
from dragoman.retriever import RemoteRerankRetriever
from dragoman.testing import StubEncoder, StubRetriever
from dragoman.text.analyse import analyse

TEXTS = ("The pier is closed.", "The ferry leaves at nine.", "Bicycles travel free.")
INNER = StubRetriever([Passage(text, "D", text) for text in TEXTS])


def cohere(body):
    """Cohere, Jina, vLLM and llama.cpp: sorted results by index."""
    if "documents" not in body:
        return httpx.Response(422, json={"detail": [{"loc": ["body", "documents"], "msg": "Field required"}]})
    scores = [("ferry" in text) * 0.9 + 0.05 for text in body["documents"]]
    ranked = sorted(enumerate(scores), key=lambda row: -row[1])
    return httpx.Response(200, json={"results": [{"index": i, "relevance_score": score} for i, score in ranked]})


def logits(body):
    """A reranker without a sigmoid."""
    scores = [5.0 if "ferry" in text else -5.0 for text in body["documents"]]
    return httpx.Response(200, json={"results": [{"index": i, "relevance_score": s} for i, s in enumerate(scores)]})


def tei(body):
    """text-embeddings-inference: `texts`, and a bare list."""
    if "texts" not in body:
        return httpx.Response(422, json={"error": "missing field `texts`", "error_type": "Validation"})
    return httpx.Response(200, json=[{"index": i, "score": 0.9 * ("ferry" in t)} for i, t in enumerate(body["texts"])])


def retriever(shape, bodies=None, **options):
    def handle(request):
        body = json.loads(request.content)
        if bodies is not None:
            bodies.append(body)
        return shape(body)

    return RemoteRerankRetriever(
        url="http://models.test/v1",
        model="r",
        store=None,
        encoder=StubEncoder(),
        analyse=analyse,
        inner=INNER,
        transport=httpx.MockTransport(handle),
        sleep=lambda _: None,
        **options,
    )


REQUEST = Request(Context.of("When does the ferry leave?"), (Source("D"),), k=2)


@pytest.mark.parametrize("shape", [cohere, logits, tei])
def test_every_shape_puts_the_answer_first(shape):
    found = retriever(shape).retrieve([REQUEST])[0]
    assert found[0].text == TEXTS[1]
    assert len(found) == 2
    assert all(0 <= piece.relevance <= 1 for piece in found)
    assert found[0].scores["first"] == pytest.approx(0.5)


def test_the_shape_is_found_out_once():
    bodies = []
    reranking = retriever(tei, bodies)
    reranking.retrieve([REQUEST])
    reranking.retrieve([REQUEST])
    assert ["texts" in body for body in bodies] == [False, True, True]


@pytest.mark.parametrize("answer", [{"results": []}, {"results": [{"index": 0, "relevance_score": "x"}]}, [], {"x": 1}])
def test_missing_scores_are_an_error(answer):
    with pytest.raises(EndpointError, match="of 3 documents"):
        retriever(lambda body: httpx.Response(200, json=answer)).retrieve([REQUEST])


def test_nothing_found_asks_nobody():
    empty = retriever(cohere)
    empty._inner = StubRetriever()
    assert empty.retrieve([REQUEST]) == [[]]
