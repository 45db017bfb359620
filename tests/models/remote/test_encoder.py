from __future__ import annotations

import json

import httpx
import numpy as np
import pytest

from dragoman.core.errors import ConfigError, EndpointError
from dragoman.models.remote.encoder import RemoteEncoder
from dragoman.testing import EncoderConformance, StubEncoder

URL = "http://models.test/v1"


class Embeddings:
    """An endpoint for embeddings that refuses empty texts and large batches, and shuffles what it returns."""

    def __init__(self, *, largest=64, change=lambda data: data):
        self.stub, self.largest, self.change = StubEncoder(), largest, change
        self.bodies = []

    def __call__(self, request):
        body = json.loads(request.content)
        self.bodies.append(body)
        texts = body["input"]
        if len(texts) > self.largest or not all(text.strip() for text in texts):
            return httpx.Response(400, json={"error": {"message": "'$.input' is invalid"}})
        vectors = self.stub.encode(texts) * 3.0
        data = [{"object": "embedding", "index": i, "embedding": row.tolist()} for i, row in enumerate(vectors)]
        return httpx.Response(200, json={"data": self.change(data[::-1]), "usage": {"prompt_tokens": 1}})

    def encoder(self, **options):
        defaults = {"url": URL, "model": "e", "transport": httpx.MockTransport(self), "sleep": lambda _: None}
        return RemoteEncoder(**defaults | options)


class TestRemoteEncoderConforms(EncoderConformance):
    @pytest.fixture
    def encoder(self):
        return Embeddings().encoder()


def test_texts_go_in_batches_and_are_kept_by_their_content():
    served = Embeddings(largest=10)
    encoder = served.encoder(batch=10)
    texts = [f"text {n}" for n in range(25)]
    first = encoder.encode([*texts, *texts])
    assert [len(body["input"]) for body in served.bodies] == [10, 10, 5]
    assert np.allclose(encoder.encode(texts), first[:25])
    assert len(served.bodies) == 3
    encoder.forget(texts[:1])
    encoder.encode(texts)
    assert len(served.bodies) == 4


def test_questions_and_passages_have_prefixes_of_their_own():
    served = Embeddings()
    encoder = served.encoder(query="query: ", passage="passage: ")
    encoder.encode(["a"])
    encoder.encode_passages(["a"])
    assert [body["input"] for body in served.bodies] == [["query: a"], ["passage: a"]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data[1:], "1 vectors for 2 texts"),
        (lambda data: [{**row, "embedding": row["embedding"][:3]} for row in data], "vectors of 3 numbers, not 64"),
        (lambda data: [{**row, "embedding": "AAAA"} for row in data], "cannot be used"),
        (lambda data: [{**row, "embedding": [0.0] * 64} for row in data], "cannot be used"),
        (lambda data: [{**row, "embedding": [1e39] * 64} for row in data], "cannot be used"),
        (lambda data: "x", "0 vectors for 2 texts"),
    ],
)
def test_wrong_vectors_are_an_error(change, words):
    with pytest.raises(EndpointError, match=words):
        Embeddings(change=change).encoder(dimensions=64).encode(["a", "b"])


def test_impossible_options_are_refused():
    with pytest.raises(ConfigError):
        Embeddings().encoder(url="nowhere")
