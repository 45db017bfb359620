"""PK-ICR's persona model: which pairs it learns from, and that it is used as it was trained."""

from __future__ import annotations

import pytest
from tests.train.agreeing import assert_agrees

from dragoman.core.errors import TrainingError
from dragoman.core.examples import Example, Gold
from dragoman.core.values import Context, Passage, Request, Scope, Source
from dragoman.models.scripted import ScriptedEncoder
from dragoman.retriever.joint import JointRetriever
from dragoman.stores.in_memory import InMemoryStore
from dragoman.text.analyse import Analyser
from dragoman.train.contract import Corpus, Job
from dragoman.train.learners.retriever_joint import RetrieverJoint, grounded
from dragoman.train.spec import Recipe

PERSONA = Source("PERSONA", about="bot", private=True)
DOCUMENTS = Source("DOCUMENTS", needs=("PERSONA",), private=True)
SOURCES = (PERSONA, DOCUMENTS)
CATS, TEA = Passage("P1", "PERSONA", "cats"), Passage("P2", "PERSONA", "tea")
CANDIDATES = (CATS, TEA, Passage("K1", "DOCUMENTS", "about cats", parent="P1"))


def example(number, evidence=("P1", "K1")):
    context = Context.of("hi", "hello", "which animal", scope=Scope("set", f"d{number}"), dialogue=f"d{number}")
    return Example(f"d{number}#1", context, SOURCES, CANDIDATES, Gold(bool(evidence), None, evidence))


def corpus(count, start=0):
    return Corpus((), tuple(example(start + i) for i in range(count)))


def test_every_persona_is_paired_with_the_right_knowledge():
    found = grounded(corpus(1), "last", "training")
    assert list(found.pairs) == [("cats which animal", "about cats"), ("tea which animal", "about cats")]
    assert list(found.labels) == [1.0, 0.0]


def test_the_dialogue_or_the_persona_alone_may_be_asked():
    history = grounded(corpus(1), "history", "training")
    assert history.pairs[0][0] == "cats which animal hello hi"
    alone = grounded(corpus(1), "last", "training", "persona")
    assert [question for question, _ in alone.pairs] == ["cats", "tea"]


def test_turns_without_knowledge_teach_nothing():
    with pytest.raises(TrainingError, match="no turn with right knowledge"):
        grounded(Corpus((), (example(0, ("P1",)), example(1, ()))), "last", "training")


@pytest.fixture
def trained(make_bert, tmp_path):
    recipe = Recipe.model_validate(
        {
            "kind": "retriever.joint",
            "input": {"query": "history", "asking": "persona"},
            "model": {"base": str(make_bert(words="cats tea about which animal hello hi")), "max_tokens": 32},
            "train": {"epochs": 1, "batch": 4, "metric": "f1"},
            "export": {"int8": "never"},
        }
    )
    return RetrieverJoint().fit(Job(recipe, corpus(8), corpus(4, start=8), tmp_path / "part"))


@pytest.mark.slow
def test_it_is_used_as_it_was_trained(trained):
    assert trained.options["query"] == "history"
    assert trained.options["asking"] == "persona"
    encoder, store = ScriptedEncoder(), InMemoryStore(analyse=Analyser())
    one = example(0)
    store.put(one.context.scope, CANDIDATES, encoder.encode([row.text for row in CANDIDATES]))
    ask = Request(one.context, SOURCES, 5)
    [found] = JointRetriever(store=store, encoder=encoder, part=str(trained.folder)).retrieve([ask])
    assert {piece.id for piece in found} == {"P1", "P2", "K1"}
    assert not any("null" in piece.scores for piece in found)  # personas alone: no bare question
    [both] = JointRetriever(store=store, encoder=encoder, part=str(trained.folder), asking="both").retrieve([ask])
    assert any("null" in piece.scores for piece in both)
    assert all(0 <= piece.relevance <= 1 for piece in both)


@pytest.mark.slow
def test_the_exported_persona_model_says_what_torch_says(trained, tmp_path):
    assert_agrees(trained.folder, grounded(corpus(2), "history", "training").pairs, "persona", tmp_path)
