"""The reader that quotes."""

import math

import pytest

from dragoman.core.values import Context, Evidence, Passage, Plan, ReadTask, Source
from dragoman.decision.choose import _shares, rank
from dragoman.reader import ExtractiveReader
from dragoman.text.analyse import analyse

DOCS = Plan((("PERSONA",), ("DOCUMENTS",)))
FERRY = "The boat leaves from berth 3. An adult ticket costs 34 francs. A child pays 17 francs."


def piece(text, source="DOCUMENTS", relevance=0.9, title="Ferries", id="d1"):
    return Evidence(Passage(id, source, text, title=title), relevance)


@pytest.fixture
def reader(encoder, sources):
    return ExtractiveReader(encoder=encoder, analyse=analyse, sources=sources)


def test_shared_words_are_summed_in_an_order_that_is_the_same_in_every_process():
    asked = frozenset(f"word{n}" for n in range(40))
    units = [frozenset(f"word{n}" for n in range(unit, 40, 3)) for unit in range(7)]
    weight = {}
    for word in sorted(asked):
        held = sum(word in unit for unit in units)
        weight[word] = math.log(1.0 + (len(units) - held + 0.5) / (held + 0.5))
    expected = [sum(weight[word] for word in weight if word in unit) / sum(weight.values()) for unit in units]
    assert _shares(asked, units, {}) == expected


def test_quotes_the_sentence_that_answers_with_its_title(reader):
    draft = reader.read([ReadTask(Context.of("How much is a ticket for an adult?"), DOCS, (piece(FERRY),))])[0]
    assert draft.text == "An adult ticket costs 34 francs. (Ferries)"
    assert (draft.method, draft.quoted) == ("quoted", ("d1",))


def test_a_follow_up_is_answered_from_the_topic_before(reader):
    context = Context.of("How much is a ticket for an adult?", "An adult ticket costs 34 francs.", "And for a child?")
    assert "17 francs" in reader.read([ReadTask(context, DOCS, (piece(FERRY),))])[0].text


def test_says_so_where_nothing_relevant_was_found(reader):
    weak = piece(FERRY, relevance=0.05)
    draft = reader.read([ReadTask(Context.of("How much is a taxi?"), DOCS, (weak,))])[0]
    assert "don't know" in draft.text
    assert draft.quoted == ()


def test_what_the_user_told_is_quoted_back(reader):
    fact = piece("I live in Basel.", "MEMORY", title="home", id="m1")
    draft = reader.read([ReadTask(Context.of("Where do I live?"), Plan((("MEMORY",),)), (fact,))])[0]
    assert draft.text == "You told me: you live in Basel."


def test_a_general_question_about_the_user_gets_every_fact(reader):
    facts = (piece("I live in Basel.", "MEMORY", 0.2, id="m1"), piece("I like jazz.", "MEMORY", 0.1, id="m2"))
    draft = reader.read([ReadTask(Context.of("What do you know about me?"), Plan((("MEMORY",),)), facts)])[0]
    assert "Basel" in draft.text
    assert "jazz" in draft.text


def test_evidence_asked_for_another_source_is_not_the_answer(reader):
    persona = piece("I sell the tickets for both boats.", "PERSONA", 0.95, title="", id="p1")
    draft = reader.read([ReadTask(Context.of("How much does an adult ticket cost?"), DOCS, (persona, piece(FERRY)))])[0]
    assert draft.quoted == ("d1",)


def test_what_an_earlier_source_about_the_world_found_may_be_the_answer(encoder, sources):
    reader = ExtractiveReader(encoder=encoder, analyse=analyse, sources=[*sources, Source("NEWS")])
    plan = Plan((("PERSONA",), ("DOCUMENTS",), ("NEWS",)))
    draft = reader.read([ReadTask(Context.of("How much is a ticket for an adult?"), plan, (piece(FERRY),))])[0]
    assert draft.quoted == ("d1",)


def test_what_the_world_says_answers_wherever_it_stands_in_the_plan(reader):
    home = piece("I live in Veldhaven.", "MEMORY", 0.9, title="", id="m1")
    turn = Context.of("How much is an adult ticket for me?")
    for steps in ((("DOCUMENTS",), ("MEMORY",)), (("MEMORY",), ("DOCUMENTS",))):
        assert reader.read([ReadTask(turn, Plan(steps), (piece(FERRY), home))])[0].quoted == ("d1",)


def test_the_stream_ends_in_the_draft_that_read_gives(reader):
    task = ReadTask(Context.of("How much is a ticket for an adult?"), DOCS, (piece(FERRY),))
    *pieces, draft = reader.stream(task)
    assert "".join(pieces) == draft.text
    assert draft == reader.read([task])[0]


def test_chinese_turns_get_chinese_phrases(reader):
    draft = reader.read([ReadTask(Context.of("龙井多少钱？"), DOCS, ())])[0]
    assert "不知道" in draft.text


def test_a_doubtful_quotation_says_so(reader):
    text = "Rooms on the second floor look out over the harbour and the old customs house."
    draft = reader.read([ReadTask(Context.of("Which floor has the best harbour rooms?"), DOCS, (piece(text),))])[0]
    assert text in draft.text
    assert ("for certain" in draft.text) == (draft.confidence < 0.35)


def test_a_fact_about_another_thing_is_not_given_for_the_thing_asked(reader):
    name = piece("My name is Gus.", "MEMORY", 0.9, title="", id="m1")
    task = ReadTask(Context.of("What's my dog called?"), Plan((("MEMORY",),)), (name,))
    assert "not told" in reader.read([task])[0].text


def test_lines_of_a_table_that_answer_alike_are_quoted_together(reader):
    table = piece("- Ticket: island, adult; Fare: 34 francs\n- Ticket: island, child; Fare: 17 francs")
    draft = reader.read([ReadTask(Context.of("What is the fare of a ticket to the island?"), DOCS, (table,))])[0]
    assert "34 francs" in draft.text
    assert "17 francs" in draft.text
    one = reader.read([ReadTask(Context.of("What is the fare of a child ticket to the island?"), DOCS, (table,))])[0]
    assert "34 francs" not in one.text


def test_a_follow_up_stays_where_the_reply_before_was_quoted(encoder):
    here = Evidence(Passage("a", "DOCUMENTS", "It costs 60 francs.", title="Classes", headings=("Puppies",)), 0.5)
    there = Evidence(Passage("b", "DOCUMENTS", "It costs 58 francs.", title="Prices", headings=("Vaccines",)), 0.5)
    context = Context.of("Is there a class for puppies?", "Puppies may join. (Classes › Puppies)", "What does it cost?")
    assert rank(context, (there, here), encoder=encoder, analyse=analyse)[0].evidence is here
