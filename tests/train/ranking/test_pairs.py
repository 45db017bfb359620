"""From labelled turns to questions with what is right and what else could be taken."""

from dataclasses import replace

import pytest

from dragoman.core.errors import TrainingError
from dragoman.core.examples import Example, Gold
from dragoman.core.values import Context, Passage, Scope, Source
from dragoman.train.contract import Corpus
from dragoman.train.ranking.pairs import join_pairs, pairs

PERSONA = Source("PERSONA", about="bot", private=True)
DOCUMENTS = Source("DOCUMENTS", needs=("PERSONA",), private=True)
POOL = (
    Passage("tea", "PERSONA", "I like tea."),
    Passage("sea", "PERSONA", "I live by the sea."),
    Passage("tea-1", "DOCUMENTS", "Tea is a drink.", parent="tea"),
    Passage("tea-2", "DOCUMENTS", "Tea grows on hills.", parent="tea"),
    Passage("sea-1", "DOCUMENTS", "The sea is salt.", parent="sea"),
    Passage("sea-2", "DOCUMENTS", "Tea is a drink.", parent="sea"),
)


def example(*evidence, plan=("PERSONA", "DOCUMENTS"), texts=("Hi.", "Hello!", "What is it made of?")):
    context = Context.of(*texts, scope=Scope("t", "d1"), dialogue="d1")
    return Example("d1#1", context, (PERSONA, DOCUMENTS), POOL, Gold(bool(evidence), plan, evidence))


def made(*examples, passages=(), **options):
    given = {"query": "last", "dependency": "filter"} | options
    return pairs(Corpus((), examples, passages), **given)


def texts(found, places):
    return {found.texts[place] for place in places}


def test_one_question_a_source_that_has_something_right():
    found = made(example("tea", "tea-2"))
    assert [question.source for question in found.questions] == ["PERSONA", "DOCUMENTS"]
    persona, document = found.questions
    assert texts(found, persona.gold) == {"I like tea."}
    assert texts(found, persona.candidates) == {"I like tea.", "I live by the sea."}
    assert texts(found, document.gold) == {"Tea grows on hills."}


def test_filter_offers_the_children_of_the_right_parent_and_keeps_all_as_candidates():
    found = made(example("tea", "tea-2"))
    document = found.questions[1]
    assert texts(found, document.offered) == {"Tea is a drink.", "Tea grows on hills."}
    assert len(document.candidates) == 3, "four documents, two of which have the same text"


def test_query_joins_the_right_parent_to_what_is_asked():
    found = made(example("tea", "tea-2"), dependency="query")
    persona, document = found.questions
    assert persona.text == "What is it made of?"
    assert document.text == "I like tea. What is it made of?"
    assert document.offered == document.candidates


def test_a_mix_says_last_turn_history_and_parent_apart():
    document = made(example("tea", "tea-2"), query="mix", dependency="query").questions[1]
    assert document.said == {
        "last": "What is it made of?",
        "history": "What is it made of? Hello! Hi.",
        "given": "I like tea.",
    }


def test_a_document_without_its_persona_in_the_gold_has_its_parent_given():
    found = made(example("tea-2"))
    assert texts(found, found.questions[0].offered) == {"Tea is a drink.", "Tea grows on hills."}


def test_equal_texts_are_one_so_that_nothing_right_is_taught_as_wrong():
    found = made(example("tea", "tea-1"))
    document = found.questions[1]
    assert "Tea is a drink." not in texts(found, document.wrong)


def test_turns_that_need_nothing_are_questions_only_where_they_are_wanted():
    turns = (example("tea", "tea-2"), replace(example(plan=()), id="d1#2"))
    assert len(made(*turns).questions) == 2
    found = made(*turns, empty=True)
    assert len(found.questions) == 4
    assert len(found.answered) == 2


def test_turns_without_labels_are_passed_over():
    unlabelled = replace(example("tea"), gold=Gold())
    assert len(made(example("tea"), unlabelled, empty=True).questions) == 2


def test_nothing_labelled_is_an_error():
    with pytest.raises(TrainingError, match="training data"):
        made(example(plan=()), side="training")


def test_the_joining_of_pairs_keeps_every_text_once():
    first, second = made(example("tea", "tea-2")), made(example("sea"))
    both = join_pairs(first, second)
    assert len(both.questions) == 3
    assert sorted(both.texts) == sorted({*first.texts, *second.texts})
    assert texts(both, both.questions[2].gold) == {"I live by the sea."}


REVIEWS = Source("REVIEWS")
SHARED = tuple(
    Passage(f"{name}-{i}", "REVIEWS", text, title=name)
    for name in ("ACORN HOUSE", "ASHLEY HOTEL")
    for i, text in enumerate(("Quiet.", "Cheap."))
)


def shared(*evidence, texts=("Is the Ashley Hotel quiet?",)):
    context = Context.of(*texts, dialogue="d2")
    return Example("d2#0", context, (REVIEWS,), (), Gold(True, ("REVIEWS",), evidence))


def test_a_shared_source_is_offered_whole():
    found = made(shared("ASHLEY HOTEL-0"), passages=SHARED)
    assert len(found.questions[0].candidates) == 4


def test_linked_offers_what_stands_under_the_titles_that_the_dialogue_names():
    found = made(shared("ASHLEY HOTEL-0"), passages=SHARED, pool="linked")
    assert texts(found, found.questions[0].offered) == {"ASHLEY HOTEL\nQuiet.", "ASHLEY HOTEL\nCheap."}


def test_linked_learns_from_the_right_title_too_and_counts_it_as_missed():
    found = made(shared("ACORN HOUSE-0"), passages=SHARED, pool="linked")
    question = found.questions[0]
    assert len(question.candidates) == 4
    assert not question.gold & set(question.offered)


def test_linked_offers_everything_where_no_title_is_named():
    found = made(shared("ACORN HOUSE-0", texts=("Is it quiet?",)), passages=SHARED, pool="linked")
    assert len(found.questions[0].offered) == 4
