"""PK-ICR's pairs: the worked example by hand, who is paired with whom, and what the rank test is told."""

from __future__ import annotations

import numpy as np
import pytest

from dragoman.core.errors import ConfigError
from dragoman.core.values import Context, Evidence, Passage, Request, Scope, Source
from dragoman.models.onnx.scorer import Scorer
from dragoman.models.part import Head, open_part
from dragoman.retriever.joint import JointRetriever
from dragoman.stores.in_memory import InMemoryStore
from dragoman.testing import RetrieverConformance, StubEncoder, fill
from dragoman.text.analyse import Analyser

PERSONA = Source("PERSONA", about="bot", private=True)
DOCUMENTS = Source("DOCUMENTS", needs=("PERSONA",), private=True)
SCOPE = Scope("set", "turn")

# two dimensions are enough: the angle of a text is all that counts
_ANGLES = {
    "q": 0,
    "cats q": 60,
    "tea q": 20,
    "about cats": 70,
    "about tea": 15,
    "tea and cats": 45,
    "cats": 65,
    "tea": 5,
}


class AngleEncoder:
    dimensions = 2

    def __init__(self):
        self.read: list[str] = []

    def encode(self, texts):
        self.read += texts
        angles = np.deg2rad([_ANGLES[text] for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


@pytest.fixture
def encoder():
    return AngleEncoder()


def joint(encoder, **options):
    store = InMemoryStore(analyse=Analyser())
    rows = [
        Passage("P1", "PERSONA", "cats"),
        Passage("P2", "PERSONA", "tea"),
        Passage("K1", "DOCUMENTS", "about cats", parent="P1"),
        Passage("K2", "DOCUMENTS", "about tea", parent="P2"),
        Passage("K3", "DOCUMENTS", "tea and cats", parent="P1"),
    ]
    store.put(SCOPE, rows, encoder.encode([row.text for row in rows]))
    encoder.read.clear()
    return JointRetriever(store=store, encoder=encoder, **options)


def request(*sources, k=5, given=(), without=frozenset()):
    return Request(Context.of("q", scope=SCOPE), sources or (PERSONA, DOCUMENTS), k, given, without)


def scores(found, source, name="joint"):
    return {
        piece.id: round(piece.scores[name], 3) for piece in found if piece.source == source and name in piece.scores
    }


def cosine(degrees):
    return round(float(np.cos(np.deg2rad(degrees))), 3)


def test_knowledge_is_worth_its_best_pair(encoder):
    [found] = joint(encoder).retrieve([request()])
    # K1: max(cos 10, cos 50); K2: max(cos 45, cos 5); K3: max(cos 15, cos 25)
    assert scores(found, "DOCUMENTS") == {"K2": cosine(5), "K1": cosine(10), "K3": cosine(15)}
    assert [piece.id for piece in found if piece.source == "DOCUMENTS"] == ["K2", "K1", "K3"]


def test_personas_are_scored_with_the_chosen_knowledge_and_beside_the_bare_question(encoder):
    [found] = joint(encoder).retrieve([request()])
    assert scores(found, "PERSONA") == {"P2": cosine(5), "P1": cosine(45)}  # with K2
    assert set(scores(found, "PERSONA", "null").values()) == {cosine(15)}  # q with K2


def test_only_parents_are_paired_where_pairing_is_by_children(encoder):
    [found] = joint(encoder, pairing="children").retrieve([request()])
    # K3 only with its parent, cats: cos 15; K1 cos 10; K2 with tea: cos 5
    assert scores(found, "DOCUMENTS") == {"K2": cosine(5), "K1": cosine(10), "K3": cosine(15)}
    alone = joint(encoder, pairing="children").retrieve([request(without=frozenset({"P2"}))])[0]
    assert scores(alone, "DOCUMENTS")["K2"] == cosine(15)  # its persona is not there: the bare question


def test_by_vectors_each_question_is_read_once_and_no_row_again(encoder):
    joint(encoder).retrieve([request(), request()])
    assert sorted(encoder.read) == ["cats q", "q", "tea q"]  # for the pairs and the personas, whatever the batch


def test_a_persona_below_the_threshold_is_not_returned(encoder):
    [found] = joint(encoder, threshold=0.999).retrieve([request()])  # 20 cos 45 - 8 is 0.998, 20 cos 5 - 8 is more
    assert [piece.id for piece in found if piece.source == "PERSONA"] == ["P2"]


def test_personas_of_an_earlier_step_stand_fixed(encoder):
    given = (Evidence(Passage("P1", "PERSONA", "cats"), 1.0),)
    [found] = joint(encoder).retrieve([request(DOCUMENTS, given=given)])
    assert {piece.source for piece in found} == {"DOCUMENTS"}
    assert found[0].id == "K1"  # cos 10 beats tea's cos 45


def test_personas_alone_are_compared_with_the_question(encoder):
    [found] = joint(encoder).retrieve([request(PERSONA)])
    assert [piece.id for piece in found] == ["P2", "P1"]
    assert not scores(found, "PERSONA", "null")


def test_personas_may_ask_alone_without_the_question(encoder):
    [found] = joint(encoder, asking="persona").retrieve([request()])
    # cats at 65 and tea at 5 degrees: K1 (70) has cos 5 and cos 65; K2 (15) cos 50 and cos 10; K3 (45) cos 20 and 40
    assert scores(found, "DOCUMENTS") == {"K1": cosine(5), "K2": cosine(10), "K3": cosine(20)}
    assert scores(found, "PERSONA") == {"P1": cosine(5), "P2": cosine(65)}  # with K1
    assert not scores(found, "PERSONA", "null")
    assert "q" not in encoder.read


def test_without_a_persona_the_question_is_asked_even_where_personas_ask_alone(encoder):
    [found] = joint(encoder, asking="persona").retrieve([request(DOCUMENTS)])
    assert found[0].id == "K2"  # q is at 0 degrees, K2 at 15


def test_a_mix_of_vectors_is_refused(encoder):
    with pytest.raises(ConfigError, match="one text"):
        joint(encoder, query="mix")


@pytest.mark.parametrize("pairing", ["all", "children"])
def test_a_cross_encoder_reads_each_pair_once_and_scores_it_as_alone(encoder, make_part, monkeypatch, pairing):
    heads = {"relevance": Head(("relevant",))}
    folder = make_part("retriever.cross", heads, outputs={"relevance": "gate"})
    read, real = [], Scorer.scores
    monkeypatch.setattr(Scorer, "scores", lambda self, texts, head: read.extend(texts) or real(self, texts, head))
    [found] = joint(encoder, knowledge=str(folder), pairing=pairing).retrieve([request()])
    assert len(read) == len(set(read))
    alone, best = Scorer(open_part(folder)), next(piece for piece in found if piece.source == "DOCUMENTS")
    for piece in found:
        if piece.source == "PERSONA":
            score, null = (real(alone, [(said, best.text)], "relevance")[0, 0] for said in (f"{piece.text} q", "q"))
            assert piece.scores == {"joint": pytest.approx(score, abs=1e-4), "null": pytest.approx(null, abs=1e-4)}


class TestJoint(RetrieverConformance):
    @pytest.fixture
    def retriever(self):
        store, encoder = InMemoryStore(analyse=Analyser()), StubEncoder()
        fill(store, encoder)
        return JointRetriever(store=store, encoder=encoder)


def test_a_pair_outside_of_its_own_questions_pool_is_scored_all_the_same(encoder):
    # nearest to "q" (0) are K2 (15) and K3 (45); to "cats q" (60) K1 and K3: K2 is none of its hits
    [found] = joint(encoder, pool=2).retrieve([request()])
    assert scores(found, "DOCUMENTS") == {"K2": cosine(5), "K3": cosine(15)}
    assert scores(found, "PERSONA") == {"P2": cosine(5), "P1": cosine(45)}  # with K2
