"""What the notes of a turn say, put together for the picture."""

from __future__ import annotations

import pytest

from dragoman.core.trace import Note, Refinement, Retrieval
from dragoman.core.values import Draft, Evidence, Learned, Passage, Plan, Verdict
from dragoman.reader.phrases import NEAREST, NO_ANSWER
from dragoman.server.page.turn_view import Bar, Round, Stop, turn_picture


def piece(name, relevance, source="DOCUMENTS", text="Dogs travel free on the open deck."):
    return Evidence(Passage(name, source, text), relevance)


FIRST, SECOND, THIRD = piece("a", 0.8), piece("b", 0.4), piece("c", 0.5)
OPEN = Note("gate", "gate.always.v1", 0.25, Verdict(True, 0.97, "asks something"))
PLANNED = Note("planner", "planner.all.v1", 0.5, Plan((("PERSONA",), ("DOCUMENTS",))))
FOUND = Note("retriever", "retriever.sparse.v1", 1.0, Retrieval(("DOCUMENTS",), (FIRST, SECOND)))
READ = Note("reader", "reader.extractive.v1", 0.25, Draft("Dogs travel free on the open deck.", 0.6, "quoted", ("a",)))


def test_nothing_is_told_before_anything_is_decided():
    picture = turn_picture([])
    assert (picture.verdict, picture.plan, picture.cards, picture.bars, picture.confidence) == (
        None,
        None,
        (),
        (),
        None,
    )


def test_sources_are_asked_in_the_order_of_the_plan():
    assert turn_picture([OPEN, PLANNED]).stops == (Stop("PERSONA", 0), Stop("DOCUMENTS", 1))
    assert turn_picture([OPEN, PLANNED, FOUND]).stops == (Stop("PERSONA", 0), Stop("DOCUMENTS", 1, 2, 0.8))


def test_what_the_draft_rests_on_is_marked_in_the_passage():
    first, second = turn_picture([OPEN, PLANNED, FOUND, READ]).cards
    assert (first.quoted, second.quoted) == (True, False)
    assert first.spans == ((0, len(FIRST.text)),)
    assert first.consistency is None


def test_seconds_add_up_one_after_the_other():
    picture = turn_picture([OPEN, PLANNED, FOUND])
    assert [bar.start for bar in picture.bars] == [0.0, 0.25, 0.75]
    assert picture.bars[1] == Bar("planner", "planner.all.v1", 0.25, 0.5)
    assert picture.seconds == 1.75


def test_a_gate_that_closes_on_reading_drops_plan_and_evidence():
    closed = Note("gate", "gate.always.v1", 0.1, Verdict(False, 0.2))
    picture = turn_picture([OPEN, PLANNED, FOUND, closed])
    assert picture.plan == Plan()
    assert picture.stops == ()
    assert {card.fate for card in picture.cards} == {"dropped"}


def test_refinement_tells_what_was_replaced_and_how_the_text_changed():
    # By hand: S = S_nli * S_c (Alg. 1, line 6), so that 0.4 of relevance 0.8 was consistent by 0.5.
    refined = Refinement((("a", 0.4), ("b", 0.02)), (("b", "c"),), (FIRST, THIRD), Draft("Dogs pay.", 0.7, "generated"))
    picture = turn_picture([OPEN, PLANNED, FOUND, READ, Note("refiner", "refiner.v1", 0.5, refined)])
    assert [(card.evidence.id, card.fate) for card in picture.cards] == [
        ("a", "kept"),
        ("b", "replaced"),
        ("c", "novel"),
    ]
    assert [card.consistency for card in picture.cards] == [0.5, 0.02 / 0.4, None]
    assert picture.rounds == (Round((("b", "c"),), READ.value.text, "Dogs pay."),)
    assert (picture.text, picture.confidence, picture.method) == ("Dogs pay.", 0.7, "generated")


@pytest.mark.parametrize(
    ("draft", "worth"),
    [
        (Draft("Dogs travel free.", 0.9, "quoted", ("a",)), "answer"),
        (Draft("The nearest that I found: dogs.", 0.2, "quoted", ("a",), notes={"score": 0.1, **NEAREST}), "nearest"),
        (Draft("I don't know.", 0.99, "said", notes=NO_ANSWER), "no answer"),
        (Draft("You're welcome!", 1.0, "said"), "phrase"),
    ],
)
def test_what_is_no_answer_is_not_told_as_a_sure_one(draft, worth):
    picture = turn_picture([OPEN, PLANNED, FOUND, Note("reader", "reader.v1", 0.1, draft)])
    assert (picture.worth, picture.best) == (worth, 0.8)


def test_a_standard_phrase_after_a_search_says_that_nothing_of_it_is_used():
    thanked = Note("reader", "reader.v1", 0.1, Draft("You're welcome!", 1.0, "said"))
    assert turn_picture([OPEN, PLANNED, FOUND, thanked]).origin == "said_unused"
    assert turn_picture([thanked]).origin == "said"
    assert turn_picture([OPEN, PLANNED, FOUND, READ]).origin == READ.value.method


def test_time_is_told_with_the_sources_that_took_it():
    assert [bar.about for bar in turn_picture([OPEN, PLANNED, FOUND]).bars] == [(), (), ("DOCUMENTS",)]


def test_what_memory_learned_is_told():
    learned = Learned(added=(Passage("f", "MEMORY", "I travel with a dog."),))
    assert turn_picture([Note("memory", "memory.rules.v1", 0.0, learned)]).learned == learned


def test_what_went_wrong_on_the_way_is_told_once():
    hurt = Note(
        "retriever", "retriever.sparse.v1", 0.1, Retrieval(("DOCUMENTS",), (), "", ("The tool did not answer.",))
    )
    assert turn_picture([OPEN, PLANNED, hurt, hurt]).warnings == ("The tool did not answer.",)


def test_a_source_that_failed_is_told_from_one_that_found_nothing():
    warned = Retrieval(("PERSONA", "DOCUMENTS"), (), "", ("DOCUMENTS: The tool did not answer.",))
    stops = turn_picture([OPEN, PLANNED, Note("retriever", "retriever.tools", 0.1, warned)]).stops
    assert stops == (Stop("PERSONA", 0, 0), Stop("DOCUMENTS", 1, 0, failed=True))


def test_the_explanation_of_a_composed_reply_comes_with_the_view():
    notes = {"rule": "Dogs travel free on the open deck.", "decision": "yes", "by": "code"}
    composed = Note(
        "reader", "reader.grounded.v1", 0.1, Draft("Yes. Dogs travel free.", 0.9, "composed", ("a",), notes=notes)
    )
    picture = turn_picture([OPEN, PLANNED, FOUND, composed])
    assert picture.explanation is not None
    assert (picture.explanation.rule, picture.explanation.outcome) == ("Dogs travel free on the open deck.", "yes")
    assert turn_picture([OPEN, PLANNED, FOUND, READ]).explanation is None
