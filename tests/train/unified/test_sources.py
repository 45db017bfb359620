"""The sources of unified training: all that turns name, with one meaning each, in the orders that their needs allow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dragoman.core.errors import ConfigError, TrainingError
from dragoman.core.examples import Example, Gold
from dragoman.core.values import Context, Passage, Source, Turn
from dragoman.train.contract import Corpus
from dragoman.train.unified.sources import check_names, orders_of, rename_sources, sources_of

TIMES, PRICES = Source("TIMES", "when boats leave"), Source("PRICES", "what boats cost", needs=("TIMES",))
TURN = Example("x", Context.of("when?"), (TIMES, PRICES), (), Gold())


def test_each_source_is_named_once_in_the_order_in_which_it_is_met():
    assert sources_of([replace(TURN, sources=(TIMES,)), TURN, replace(TURN, sources=(TIMES, PRICES))]) == (
        TIMES,
        PRICES,
    )


def test_turns_without_a_source_are_refused():
    with pytest.raises(TrainingError, match="name no source"):
        sources_of([replace(TURN, sources=())])


def test_one_source_with_two_needs_is_refused():
    other = replace(TURN, sources=(TIMES, replace(PRICES, needs=())))
    with pytest.raises(TrainingError, match="'PRICES' needs \\['TIMES'\\] in one set and \\[\\] in another"):
        sources_of([TURN, other])


def test_orders_have_what_a_source_needs_before_it():
    assert set(orders_of((TIMES, PRICES))) == {(), ("TIMES",), ("TIMES", "PRICES")}


REVIEWS = Source("REVIEWS", "what guests wrote")
FAQ = Source("FAQ", "questions", needs=("REVIEWS",))
USER = Source("USER", "who asks", about="user", private=True)
SAID = Passage("r1", "REVIEWS", "The view is fine.")
ASKED = Passage("f1", "FAQ", "Is there a lift? Yes.", parent="r1")
SHARED = Passage("f2", "FAQ", "Is there a bar? No.")
LABELLED = Example(
    "d/0",
    Context((Turn("user", "Is there a lift?"),)),
    (REVIEWS, FAQ, USER),
    (SAID, ASKED),
    Gold(True, ("USER", "REVIEWS", "FAQ"), ("f1",), "Yes."),
)
CORPUS = Corpus((), (LABELLED,), (SHARED,))
NAMES = {"REVIEWS": "DOCUMENTS", "FAQ": "DOCUMENTS", "USER": "MEMORY"}


def test_two_sources_of_one_name_become_one_and_plans_follow() -> None:
    [made] = rename_sources(CORPUS, NAMES).examples
    assert made.sources == (replace(REVIEWS, name="DOCUMENTS"), replace(USER, name="MEMORY"))
    assert made.gold.plan == ("MEMORY", "DOCUMENTS")


def test_passages_change_their_source_alone() -> None:
    made = rename_sources(CORPUS, NAMES)
    wanted = (replace(SAID, source="DOCUMENTS"), replace(ASKED, source="DOCUMENTS"))
    assert made.examples[0].candidates == wanted
    assert made.passages == (replace(SHARED, source="DOCUMENTS"),)
    assert made.examples[0].gold.evidence == ("f1",)


def test_needs_are_left_to_the_agent_also_where_a_name_stays() -> None:
    [made] = rename_sources(CORPUS, {"USER": "MEMORY"}).examples
    assert [(source.name, source.needs) for source in made.sources] == [("REVIEWS", ()), ("FAQ", ()), ("MEMORY", ())]


def test_a_turn_without_a_plan_has_none_and_no_name_changes_nothing() -> None:
    bare = Corpus((), (replace(LABELLED, gold=Gold()),))
    assert rename_sources(bare, NAMES).examples[0].gold.plan is None
    assert rename_sources(CORPUS, {}) is CORPUS


def test_a_name_that_no_set_has_is_told_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match="PERSNA") as told:
        check_names({"PERSNA": "BOT"}, frozenset({"USER", "PERSONA"}))
    assert "PERSONA, USER" in told.value.remedy
