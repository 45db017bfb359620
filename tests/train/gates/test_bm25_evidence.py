"""What a gate that reads knowledge is trained with."""

from __future__ import annotations

import pytest

from dragoman.core.errors import TrainingError
from dragoman.core.examples import Example, Gold
from dragoman.core.values import Context, Passage, Source
from dragoman.train.contract import Corpus
from dragoman.train.gates.bm25_evidence import found_knowledge

TOWER = Passage("t", "D", "The tower has ninety steps.")
CASTLE = Passage("c", "D", "The castle is closed in winter.")
CASTLE_FEE = Passage(
    "f", "D", "Entry to the castle costs four crowns in winter and summer, more on the castle's feast day."
)


def turn(text: str, *candidates: Passage, gold: tuple[str, ...] = ()) -> Example:
    return Example(text, Context.of(text), (Source("D"),), candidates, Gold(retrieve=True, evidence=gold))


def test_the_nearest_candidates_come_first() -> None:
    corpus = Corpus((), (turn("Is the castle closed in winter?", TOWER, CASTLE_FEE, CASTLE),))
    assert found_knowledge(corpus, 2) == [(CASTLE.text, CASTLE_FEE.text)]


def test_what_shares_no_word_is_not_taken() -> None:
    corpus = Corpus((), (turn("How many steps?", TOWER, CASTLE), turn("Good morning", TOWER)))
    assert found_knowledge(corpus, 3) == [(TOWER.text,), ()]


def test_shared_passages_are_searched_too() -> None:
    corpus = Corpus((), (turn("How many steps has the tower?"),), (CASTLE, TOWER))
    assert found_knowledge(corpus, 3) == [(TOWER.text,)]


def test_gold_is_not_looked_at() -> None:
    corpus = Corpus((), (turn("How many steps?", TOWER, CASTLE, gold=("c",)),))
    assert found_knowledge(corpus, 1) == [(TOWER.text,)]


def test_no_passages_at_all_is_an_error() -> None:
    with pytest.raises(TrainingError, match="nothing to read"):
        found_knowledge(Corpus((), (turn("How many steps?"),)), 3)
