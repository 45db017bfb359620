"""The suite for data sets catches sets that break the contract."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dragoman.core.examples import Example, Gold
from dragoman.core.values import Context, Passage, Scope, Source
from dragoman.testing import DatasetConformance

NOTES = Source("NOTES", "notes", private=True)
PAGES = Source("PAGES", "pages", needs=("NOTES",), private=True)
POOL = (Passage("n1", "NOTES", "A note."), Passage("p1", "PAGES", "A page.", parent="n1"))
SCOPE = Scope("mine", "d")
FIRST = Example("d#0", Context.of("Hi", scope=SCOPE, dialogue="d"), (NOTES, PAGES), POOL, Gold(False, (), (), "Hello"))
SECOND = Example(
    "d#1",
    Context.of("Hi", "Hello", "Well?", scope=SCOPE, dialogue="d"),
    (NOTES, PAGES),
    POOL,
    Gold(True, ("NOTES", "PAGES"), ("n1", "p1"), "So."),
    1,
)


class Mine:
    name = "mine"
    language = "en"
    sources = (NOTES, PAGES)
    labels = frozenset({"retrieve", "plan", "evidence", "reply"})
    files = ()

    def __init__(self, *examples, shared=()):
        self._examples = examples
        self._shared = shared

    def examples(self):
        return iter(self._examples)

    def passages(self):
        return iter(self._shared)


class TestMine(DatasetConformance):
    @pytest.fixture
    def dataset(self):
        return Mine(FIRST, SECOND)


def broken(dataset, suite=DatasetConformance):
    failed = set()
    for name in dir(suite):
        if name.startswith("test_"):
            try:
                getattr(suite(), name)(dataset)
            except AssertionError as error:
                assert str(error), f"{name} fails without a word"
                failed.add(name.removeprefix("test_"))
    return failed


@pytest.mark.parametrize(
    ("change", "failed"),
    [
        ({"id": "d#0"}, {"ids_are_unique"}),
        ({"position": 3}, {"positions_count_the_agents_turns"}),
        ({"position": 0}, {"positions_count_the_agents_turns"}),
        ({"candidates": POOL[::-1]}, {"equal_scopes_have_equal_candidates"}),
        ({"sources": ()}, {"sources_fit_together"}),
        ({"gold": replace(SECOND.gold, evidence=("n9",))}, {"gold_evidence_is_among_the_candidates"}),
        ({"gold": replace(SECOND.gold, plan=("PAGES",))}, {"gold_agrees_with_itself"}),
        ({"gold": replace(SECOND.gold, retrieve=False)}, {"gold_agrees_with_itself"}),
        ({"gold": replace(SECOND.gold, reply=" ")}, {"gold_agrees_with_itself"}),
        (
            {"context": Context(SECOND.context.turns[:2], SCOPE, "d")},
            {"a_turn_ends_with_the_user"},
        ),
    ],
)
def test_a_broken_turn_is_caught(change, failed):
    assert broken(Mine(FIRST, replace(SECOND, **change))) == failed


def test_a_window_of_the_dialogue_is_allowed_where_the_suite_is_told():
    class Windowed(DatasetConformance):
        whole = False

    assert broken(Mine(FIRST, replace(SECOND, position=7)), Windowed) == set()
    assert broken(Mine(FIRST, replace(SECOND, position=0)), Windowed) == {"positions_count_the_agents_turns"}


def test_gold_that_cannot_be_found_is_allowed_where_the_suite_is_told():
    class Incomplete(DatasetConformance):
        complete = False

    lost = replace(SECOND, gold=replace(SECOND.gold, evidence=("n9",)))
    assert broken(Mine(FIRST, lost), Incomplete) == set()


def test_a_set_that_promises_labels_it_lacks_is_caught():
    silent = [replace(example, gold=replace(example.gold, reply=None)) for example in (FIRST, SECOND)]
    assert broken(Mine(*silent)) == {"labels_are_those_that_turns_have"}


def test_shared_passages_in_a_private_source_are_caught():
    name = "candidates_lie_in_private_sources_and_the_corpus_in_shared_ones"
    assert broken(Mine(FIRST, SECOND, shared=(Passage("s", "NOTES", "x"),))) == {name}


def test_a_set_that_can_be_read_once_is_caught():
    class Once(Mine):
        def examples(self):
            taken, self._examples = self._examples, ()
            return iter(taken)

    with pytest.raises(AssertionError, match="leave no state behind"):
        DatasetConformance().test_reading_twice_gives_the_same(Once(FIRST, SECOND))


def test_a_set_that_yields_something_else_is_caught():
    assert broken(Mine(FIRST, SECOND, "a turn")) == {"yields_examples_and_problems"}


def test_a_set_without_a_usable_turn_is_caught():
    assert "yields_examples_and_problems" in broken(Mine())
