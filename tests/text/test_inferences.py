"""Statements that ask for a yes or no are told from what users tell of themselves."""

from __future__ import annotations

import pytest

from dragoman.text.form import form
from dragoman.text.inferences import is_inference, tells_a_plan


@pytest.mark.parametrize(
    "text",
    [
        "So there's no charge for me.",
        "then I pay half",
        "I guess I can bring my dog",
        "So a missed appointment costs 30 euros.",
        "Then we don't have to book",
        "so no dogs in the breakfast room",
        "I take it the parking is included.",
        "I can bring two bikes then",
        "So Rex needs to be carried.",
        "I thought dogs were free",
        "So you do take cards.",
        "then my cat stays free",
    ],
)
def test_a_conclusion_about_what_is_allowed_or_due_is_a_question(text: str) -> None:
    assert is_inference(text)
    assert form(text).act == "question"


@pytest.mark.parametrize(
    "text",
    [
        "I pay for two children",
        "I have to use a wheelchair",
        "so I'm 72 now",
        "So my husband broke his leg.",
        "Then we got a second dog.",
        "So Rex is 9 weeks old.",
        "So we are four people.",
        "I guess I'm just old",
        "In that case I'll come tomorrow.",
        "Then I'd like two tickets.",
        "I suppose I should mention my asthma",
        "I would need a wheelchair then.",
    ],
)
def test_what_users_tell_of_themselves_stays_a_statement(text: str) -> None:
    assert not is_inference(text)
    assert form(text).act != "question"


@pytest.mark.parametrize(
    "text", ["we'd bring our dog", "I'm going to come with my stroller", "And I will pay in cash."]
)
def test_what_somebody_is_about_to_do_is_a_plan(text: str) -> None:
    assert tells_a_plan(text)


@pytest.mark.parametrize(
    "text", ["We have a dog.", "I went to Rome.", "Would we bring a dog?", "My son would like it."]
)
def test_what_is_so_or_was_is_no_plan(text: str) -> None:
    assert not tells_a_plan(text)
