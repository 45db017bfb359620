"""The words of a composed reply: how sure it is, whose fact decides, and rows of tables."""

from __future__ import annotations

import pytest

from dragoman.agent.answers import answer_problem
from dragoman.core.values import Evidence, Passage
from dragoman.decision.joint import Option
from dragoman.decision.tables.cells import row_sentence
from dragoman.decision.values import Decision
from dragoman.reader.compose import Answer, compose

RULE = "Children under six go free."
FACT = Evidence(Passage("f", "MEMORY", "My daughter Mia is four."), 1.0)


def reply(verdict="yes", confidence=0.9, by="model", facts=(FACT,), **given):
    option = Option(RULE, "", Evidence(Passage("r", "DOCUMENTS", RULE), 1.0), None, 1.0, 0.5, 0.0)
    return compose(Answer((option,), facts, Decision(verdict, confidence=confidence, by=by)), "en", **given)


def test_a_verdict_comes_with_the_fact_that_decides_and_then_the_rule():
    assert reply() == f"Yes: you told me that your daughter Mia is four. {RULE}"
    assert reply(facts=()) == f"Yes. {RULE}"


@pytest.mark.parametrize(("verdict", "words"), [("yes", "Probably yes"), ("no", "Probably not")])
def test_a_model_that_is_not_sure_says_so_and_code_compares_or_does_not(verdict, words):
    assert reply(verdict, 0.7).startswith(f"{words}: you told me that ")
    assert not reply(verdict, 0.7, by="code").startswith("Probably")


def test_a_fact_that_was_said_back_is_not_told_once_more():
    assert reply(noted={FACT.text}) == f"Yes. {RULE}"


def test_checks_take_a_likely_verdict_for_what_it_says():
    assert answer_problem("yes", "Probably not: it is shut.") == "says no"
    assert answer_problem("no", "Probably yes. It is open.") == "says yes"
    assert answer_problem("no", "Probably not. It is open to members.") is None


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("Ticket: Child; Price: 8.00 €; Notes: 6 to 17 years", "Child: 8.00 €, 6 to 17 years"),
        ("Animals: Rays; Time: 15:15; Days: daily except Mon", "Rays: 15:15, daily except Mon"),
        ("Plate: Standard; Fee: 27", "Standard: Fee 27"),
        ("Ticket: Day; Adults: 28 euros; Students: 22 euros", "Day: Adults 28 euros, Students 22 euros"),
    ],
)
def test_a_column_is_named_where_its_value_does_not_say_what_it_is(row, words):
    assert row_sentence(row) == words


def test_a_table_row_before_a_sentence_ends_with_a_full_stop():
    from dragoman.reader.compose import quoted

    assert quoted(["Guest room: 25 euros", "It can be booked for five nights."], "en") == (
        "Guest room: 25 euros. It can be booked for five nights."
    )
