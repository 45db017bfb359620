from __future__ import annotations

import numpy as np
import pytest

from dragoman.core.errors import ModelError
from dragoman.core.values import Prompt
from dragoman.models.scripted import ScriptedEncoder, ScriptedModel
from dragoman.testing import LanguageModelConformance

FERRY = Prompt.user("When does the ferry leave?")


class TestRulesConform(LanguageModelConformance):
    @pytest.fixture
    def language_model(self):
        return ScriptedModel(rules=[("two and two", "4")], default="Hello there, traveller.")


def test_answers_come_in_order_and_then_by_rule():
    model = ScriptedModel(answers=["one", "two"], rules=[("ferry", "at nine")])
    said = [draft.text for draft in model.generate([FERRY] * 3, max_tokens=9)]
    assert said == ["one", "two", "at nine"]


def test_a_rule_may_be_a_regular_expression():
    assert ScriptedModel(rules=[(r"re:leave\?$", "at nine")]).generate([FERRY], max_tokens=9)[0].text == "at nine"


def test_without_an_answer_the_model_says_what_to_add():
    with pytest.raises(ModelError, match="Add an answer"):
        ScriptedModel(rules=[("boat", "x")]).generate([FERRY], max_tokens=9)


def test_a_choice_follows_the_weights_of_its_rule():
    model = ScriptedModel(choices=[("ferry", {"yes": 3.0, "no": 1.0, "other": 9.0})])
    assert model.choose([FERRY], ["yes", "no"])[0] == pytest.approx({"yes": 0.75, "no": 0.25})


def test_a_choice_may_be_certain():
    assert ScriptedModel(choices=[("ferry", "no")]).choose([FERRY], ["yes", "no"])[0] == {"yes": 0.0, "no": 1.0}


def test_an_undecided_choice_is_uniform_or_the_first():
    assert ScriptedModel().choose([FERRY], ["a", "b"])[0] == {"a": 0.5, "b": 0.5}
    assert ScriptedModel(undecided="first").choose([FERRY], ["a", "b"])[0] == {"a": 1.0, "b": 0.0}


def test_a_scripted_choice_outside_the_options_is_an_error():
    with pytest.raises(ModelError, match="none of the options"):
        ScriptedModel(choices=[("ferry", "maybe")]).choose([FERRY], ["yes", "no"])


def test_history_holds_the_prompts_seen():
    model = ScriptedModel(default="x")
    model.generate([FERRY], max_tokens=1)
    model.choose([FERRY], ["a", "b"])
    assert model.history == [FERRY, FERRY]


def test_hashed_vectors_are_units_that_repeat_and_differ():
    texts = ["the ferry leaves", "the ferry leaves", "a cat sleeps", "", "猫在睡觉"]
    vectors = ScriptedEncoder().encode(texts)
    assert vectors.shape == (5, 256)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(5), abs=1e-6)
    assert np.array_equal(vectors[0], vectors[1])
    assert vectors[0] @ vectors[2] < 0.5


def test_hashed_texts_that_share_words_are_closer():
    ferry, boat, cat = ScriptedEncoder().encode(["渡轮九点出发", "渡轮何时出发", "cats sleep"])
    assert ferry @ boat > ferry @ cat + 0.3


def test_no_texts_give_no_rows():
    assert ScriptedEncoder(dimensions=8).encode([]).shape == (0, 8)
