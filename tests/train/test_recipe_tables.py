"""A learner's own tables: defaults, wrong keys in the file's words, the set's language; and a gate as a teacher."""

from __future__ import annotations

import pytest

from dragoman.core.errors import ConfigError, TrainingError
from dragoman.core.values import Context
from dragoman.models.part import Head
from dragoman.text.view import View
from dragoman.train.contract import Corpus, Job
from dragoman.train.gates.teacher import soft_labels, teacher_probabilities
from dragoman.train.recipe_tables import TrunkTable, ViewTable, typed
from dragoman.train.spec import Recipe


class Chinese:
    language = "zh"


def job(*sets):
    return Job(Recipe(kind="gate.x"), Corpus(sets, ()), Corpus((), ()), folder=None)


def test_unknown_key_is_told_with_a_suggestion():
    with pytest.raises(ConfigError, match=r"\[model\] of the recipe: unknown key 'max_token'.*'max_tokens'"):
        typed(TrunkTable, {"max_token": 12}, "model")


def test_wrong_value_is_told():
    with pytest.raises(ConfigError, match="dropout"):
        typed(TrunkTable, {"dropout": 1.0}, "model")


def test_language_of_a_view_is_the_training_sets():
    assert ViewTable().view(job(Chinese())) == View(language="zh")
    assert ViewTable().view(job()) == View(language="en")
    assert ViewTable(language="en").view(job(Chinese())).language == "en"


def test_first_layers_are_fixed_where_that_is_asked(make_bert):
    trunk, _ = TrunkTable(base=str(make_bert()), fixed=1).open({"gate": 1}, seed=1)
    assert not any(parameter.requires_grad for parameter in trunk.encoder.embeddings.parameters())
    free, _ = TrunkTable(base=str(make_bert())).open({"gate": 1}, seed=1)
    assert all(parameter.requires_grad for parameter in free.parameters())


def test_soft_labels_lie_between_label_and_teacher():
    assert soft_labels([1.0, 0.0], [0.5, 0.25], 0.5) == [0.75, 0.125]
    assert soft_labels([1.0, 0.0], [0.5, 0.25], 0.0) == [1.0, 0.0]


def test_teacher_is_a_gate_of_any_kind(make_part):
    folder = make_part("gate.encoder", {"gate": Head(("retrieve",))}, view=View().to_json())
    found = teacher_probabilities(folder, [Context.of("hello")] * 300)
    assert len(found) == 300
    assert len(set(found)) == 1


def test_teacher_that_is_no_gate_is_refused(make_part):
    folder = make_part("planner.classifier", {"plan": Head(("a", "b", "c"))})
    with pytest.raises(TrainingError, match="is a planner, not a gate"):
        teacher_probabilities(folder, [])
