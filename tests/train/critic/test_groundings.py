"""Pairs of what a reply rests on and the reply, from labelled turns."""

from collections import Counter

import pytest

from dragoman.core.examples import Example, Gold
from dragoman.core.values import Context, Passage, Scope
from dragoman.evaluate.metrics.consistency import join_evidence as joined_by_the_metric
from dragoman.train.contract import Corpus
from dragoman.train.critic.groundings import HARD, NEGATIVES, agrees, every_kind, groundings, labelled, supports

MATTERS = (
    ("ferry", "The ferry ticket costs 34 francs.", "You pay 34 francs for the ferry."),
    ("museum", "The museum opens at 10:30.", "At 10:30 the museum opens."),
    ("bakery", "The bakery sells rye bread.", "Rye bread is what the bakery sells."),
    ("garden", "The garden is quiet.", "It is quiet in the garden."),
    ("tower", "The tower has 212 steps.", "Climb 212 steps and you are up the tower."),
)


def turn(place):
    """A turn with one gold document, and two others beside it."""
    name, text, reply = MATTERS[place % len(MATTERS)]
    dialogue = f"d{place}"
    candidates = (
        Passage(f"{dialogue}/gold", "DOCUMENTS", text, parent="p"),
        Passage(f"{dialogue}/other", "DOCUMENTS", "Bicycles are lent out beside a red shed.", parent="p"),
        Passage(f"{dialogue}/far", "DOCUMENTS", "Snow falls late in winter.", parent="q"),
        Passage(f"{dialogue}/self", "PERSONA", f"I work at a {name}."),
    )
    context = Context.of(f"Tell me about the {name}?", scope=Scope("set", dialogue), dialogue=dialogue)
    return Example(f"{dialogue}#0", context, (), candidates, Gold(True, (), (f"{dialogue}/gold",), reply))


CORPUS = Corpus((), tuple(turn(place) for place in range(10)))
SHARES = dict.fromkeys(NEGATIVES, 1.0)


def rows(**options):
    return labelled(groundings(CORPUS), **{"negatives": 3, "shares": SHARES, "echo": 0.5, "seed": 1, **options})


def test_gold_evidence_and_its_reply_are_consistent():
    found = [row for row in rows() if row.kind == "gold"]
    assert len(found) == 10
    assert found[0].texts == (MATTERS[0][1], MATTERS[0][2])
    assert all(row.consistent for row in found)


def test_turns_without_evidence_or_reply_give_nothing():
    bare = [Example("a", Context.of("?"), (), gold=gold) for gold in (Gold(reply="Yes."), Gold(evidence=()), Gold())]
    assert groundings(Corpus((), tuple(bare))) == []


def test_several_pieces_are_joined_as_the_metric_joins_them_and_stand_alone_where_they_agree():
    pieces = (
        Passage("a", "REVIEWS", "The rooms were clean.", title="ASHLEY"),
        Passage("b", "REVIEWS", "Our rooms were dirty.", title="ASHLEY"),
        Passage("c", "REVIEWS", "Breakfast was late.", title="ASHLEY"),
    )
    gold = Gold(True, ("REVIEWS",), ("a", "b", "c"), "The rooms at the Ashley are clean.")
    corpus = Corpus((), (Example("t", Context.of("Clean?"), (), gold=gold),), pieces)
    both, alone = groundings(corpus)
    assert both.pair.grounding == joined_by_the_metric(pieces).passage.indexed
    assert both.pair.grounding.startswith("ASHLEY\n")
    assert [piece.id for piece in alone.passages] == ["a"]
    assert len(groundings(corpus, single=False)) == 1


def test_siblings_are_of_the_same_parent_and_never_gold():
    first = groundings(CORPUS)[0]
    assert [passage.id for passage in first.siblings] == ["d0/other"]


def test_siblings_in_a_shared_corpus_stand_under_the_same_title():
    shelf = [Passage(f"{title}{i}", "FAQ", f"Fact {i} of {title}.", title=title) for title in "AB" for i in range(3)]
    example = Example("t", Context.of("?"), (), gold=Gold(True, ("FAQ",), ("A0",), "Fact."))
    [found] = groundings(Corpus((), (example,), tuple(shelf)))
    assert [passage.id for passage in found.siblings] == ["A1", "A2"]


def test_evidence_of_elsewhere_is_of_another_dialogue_and_another_matter():
    for row in rows():
        if row.kind == "random":
            assert row.reply not in [reply for _, text, reply in MATTERS if text == row.grounding]


@pytest.mark.parametrize(
    ("text", "supported"),
    [
        ("The ferry ticket costs 34 francs.", True),  # says what the gold says
        ("Francs pay for the ferry.", True),  # all that it says beyond the gold is in the reply
        ("Bicycles are lent out beside a red shed.", False),
        ("The ferry leaves from pier two behind a market.", False),  # of the ferry, and something else
    ],
)
def test_other_evidence_that_may_support_the_reply_is_no_negative(text, supported):
    assert supports([Passage("x", "DOCUMENTS", text)], groundings(CORPUS)[0]) is supported


def test_a_piece_agrees_where_it_shares_words_and_excludes_none():
    reply = "The rooms at the Ashley are clean."
    assert agrees(Passage("a", "R", "The rooms were tidy.", title="ASHLEY"), reply)
    assert not agrees(Passage("a", "R", "The rooms were dirty.", title="ASHLEY"), reply)
    assert not agrees(Passage("a", "R", "Breakfast was late.", title="ASHLEY"), reply)


def test_each_positive_gets_its_negatives_and_shares_decide_their_kinds():
    kinds = Counter(row.kind for row in rows(shares={"random": 1.0}, echo=0.0))
    assert kinds == {"gold": 10, "random": 30}
    assert all(row.consistent == (row.kind in ("gold", "echo")) for row in rows(echo=1.0))


def test_an_edit_is_used_once_a_pair():
    per_turn = Counter((row.turn, row.kind) for row in rows(negatives=8))
    assert all(count == 1 for (_, kind), count in per_turn.items() if kind in HARD[1:])


def test_dev_has_one_of_every_kind_that_a_pair_allows():
    found = every_kind(groundings(CORPUS), seed=1)
    kinds = {row.kind for row in found if row.turn == "d0#0"}
    assert {"gold", "random", "sibling", "number"} <= kinds
    assert max(Counter((row.turn, row.kind) for row in found).values()) == 1


def test_the_same_seed_gives_the_same_rows_and_another_others():
    assert rows() == rows()
    assert rows(seed=2) != rows()


def test_a_pair_gets_the_same_edits_whatever_stands_beside_it():
    whole = {(row.turn, row.kind): row.texts for row in every_kind(groundings(CORPUS), seed=1)}
    half = Corpus((), CORPUS.examples[:5])
    for row in every_kind(groundings(half), seed=1):
        if row.kind in ("gold", "number", "negation", "sibling"):
            assert whole[row.turn, row.kind] == row.texts
