"""The default reader never says less than quoting would, nor more than the evidence holds."""

import threading
from dataclasses import replace

import pytest

from dragoman.core.cancelling import check_cancelled
from dragoman.core.values import Context, Draft, Erasure, Evidence, Learned, Passage, Plan, ReadTask
from dragoman.critic import OverlapCritic
from dragoman.models.scripted import ScriptedModel
from dragoman.reader import GroundedReader
from dragoman.reader.judge_exam import ITEMS, examination_of
from dragoman.reader.phrases import NEAREST
from dragoman.text.analyse import analyse


def piece(text, source="DOCUMENTS", relevance=0.9, title="Ferries", id="d1"):
    return Evidence(Passage(id, source, text, title=title), relevance)


DOCS = Plan((("DOCUMENTS",),))
FERRY = piece("The boat leaves from berth 3. An adult ticket costs 34 francs.")
ASKED = Context.of("How much is a ticket for an adult?")


@pytest.fixture
def build(encoder, sources):
    def make(said="", drafts="always", **options):
        critic = OverlapCritic(encoder=encoder, analyse=analyse)
        model = ScriptedModel(default=said)
        reader = GroundedReader(
            language_model=model,
            encoder=encoder,
            analyse=analyse,
            sources=sources,
            critic=critic,
            drafts=drafts,
            **options,
        )
        return reader, model

    return make


def test_a_draft_that_holds_is_said(build):
    reader, _ = build("An adult ticket costs 34 francs.")
    draft = reader.read([ReadTask(ASKED, DOCS, (FERRY,))])[0]
    assert (draft.text, draft.method) == ("An adult ticket costs 34 francs. (Ferries)", "drafted")


@pytest.mark.trust
@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("An adult ticket costs 64 francs.", "unsupported: 64"),
        ("You must ask Captain Nemo, he sells an adult ticket for 34 francs.", "unsupported"),
        ("An adult ticket does not cost 34 francs.", "negation"),
        ("the boat the boat the boat the boat the boat the boat the boat the boat", "repeats"),
        ("", "empty"),
        ("Bananas are yellow and grow in warm lands far away.", "says less"),
    ],
)
def test_a_draft_that_does_not_hold_gives_way_to_the_quotation(build, said, why):
    reader, _ = build(said)
    draft = reader.read([ReadTask(ASKED, DOCS, (FERRY,))])[0]
    assert draft.text == "An adult ticket costs 34 francs. (Ferries)"
    assert why in str(draft.notes["rejected"])


def test_by_default_the_model_is_not_asked_for_what_can_be_quoted(build):
    reader, model = build("An adult ticket costs 34 francs.", drafts="talk")
    assert reader.read([ReadTask(ASKED, DOCS, (FERRY,))])[0].method == "quoted"
    assert model.history == []


def test_small_talk_is_answered_without_the_model(build):
    reader, model = build("something", drafts="talk")
    assert "welcome" in reader.read([ReadTask(Context.of("thanks a lot"))])[0].text
    assert model.history == []


def test_a_pastime_is_drafted_by_the_model(build):
    reader, _ = build("Why did the boat laugh? It was tickled by a wave.", drafts="talk")
    assert reader.read([ReadTask(Context.of("Tell me a joke"))])[0].method == "drafted"


def test_what_was_learned_is_acknowledged(build):
    reader, _ = build(drafts="talk")
    new = Passage("f2", "MEMORY", "I live in Bern.")
    old = Passage("f1", "MEMORY", "I live in Basel.")
    context = Context((*Context.of("I moved to Bern.").turns,), learned=Learned(added=(new,), superseded=(old,)))
    text = reader.read([ReadTask(context)])[0].text
    assert "you live in Bern." in text
    assert "you live in Basel." in text


@pytest.mark.parametrize(
    ("learned", "said"),
    [
        (
            Learned(forgotten=(Passage("f1", "MEMORY", "I live in Bern."),)),
            'Deleted: you live in Bern. Say "undo" within a minute to keep it.',
        ),
        (
            Learned(forgotten=(Passage("f1", "MEMORY", "My dog is called Rex"), Passage("f2", "MEMORY", "I'm tall."))),
            'Deleted: your dog is called Rex, and you\'re tall. Say "undo" within a minute to keep it.',
        ),
        (
            Learned(pending=Erasure(3, 2, 1)),
            "This deletes 3 facts about you, 2 chats and 1 uploaded file. It cannot be undone. "
            'Say "yes, delete everything" to go on.',
        ),
        (
            Learned(forgotten=(Passage("f1", "MEMORY", ""),), erased=Erasure(1, 1, 0)),
            "Deleted: 1 fact about you, 1 chat and 0 uploaded files.",
        ),
        (Learned(restored=(Passage("f1", "MEMORY", "I live in Bern."),)), "Restored: you live in Bern."),
    ],
)
def test_a_deletion_is_named_asked_for_and_undone_in_fixed_words(build, learned, said):
    reader, _ = build(drafts="talk")
    context = Context((*Context.of("forget where I live").turns,), learned=learned)
    assert reader.read([ReadTask(context)])[0].text == said


@pytest.mark.parametrize(
    ("text", "said"), [("forget my dog", "nothing to delete"), ("undo", "nothing to undo"), ("撤销", "没有可以撤销")]
)
def test_what_is_not_there_is_not_deleted_or_restored(build, text, said):
    reader, _ = build(drafts="talk")
    assert said in reader.read([ReadTask(Context.of(text))])[0].text


def test_the_stream_says_what_read_says(build):
    reader, _ = build(drafts="talk")
    task = ReadTask(ASKED, DOCS, (FERRY,))
    *pieces, draft = reader.stream(task)
    assert "".join(pieces) == draft.text == reader.read([task])[0].text
    assert len(pieces) > 1


@pytest.mark.trust
def test_a_question_that_was_left_to_the_model_is_answered_by_it_unless_it_invents(build):
    question = ReadTask(Context.of("Is the sea salty?"))
    said, _ = build("Yes, it is salty.", drafts="talk")
    assert said.read([question])[0].text == "Yes, it is salty."
    invented, _ = build("Yes, it holds 35 grams a litre.", drafts="talk")
    assert "don't know" in invented.read([question])[0].text


def test_a_model_that_writes_well_is_asked_by_default_and_its_failure_leaves_the_composed_reply(build):
    from dragoman.core.errors import EndpointError

    reader, model = build("An adult ticket costs 34 francs.", drafts="auto")
    reader._writes_well = True
    assert reader.read([ReadTask(ASKED, DOCS, (FERRY,))])[0].method == "drafted"

    def fails(*_, **__):
        raise EndpointError("no answer", remedy="Try again.")

    model.generate = fails
    draft = reader.read([ReadTask(ASKED, DOCS, (FERRY,))])[0]
    assert "34 francs" in draft.text and "failed" in str(draft.notes["rejected"])


def test_a_model_that_fails_in_small_talk_ends_no_turn(build):
    from dragoman.core.errors import EndpointError, LimitError

    reader, model = build("A joke.", drafts="talk")
    for error in (EndpointError("no answer", remedy=""), LimitError("budget used up", seconds=1.0, remedy="")):

        def fails(*_, error=error, **__):
            raise error

        model.generate = fails
        draft = reader.read([ReadTask(Context.of("Tell me a joke"))])[0]
        assert draft.method == "said" and "failed" in str(draft.notes["rejected"])


def test_a_style_reaches_the_model_and_its_forms_of_address_are_no_strange_names(build):
    style = "Speak like an old sailor and call the user Captain, in at most 64 words."
    said = "An adult ticket costs 34 francs, Captain."
    reader, model = build(said, style=style)
    draft = reader.read([ReadTask(ASKED, DOCS, (FERRY,))])[0]
    assert (draft.text, draft.method) == (f"{said} (Ferries)", "drafted")
    assert "old sailor" in model.history[-1].messages[0].content
    plain, _ = build(said)
    assert "unsupported" in str(plain.read([ReadTask(ASKED, DOCS, (FERRY,))])[0].notes["rejected"])
    talk, model = build("Aye, Captain.", style=style, drafts="talk")
    assert talk.read([ReadTask(Context.of("Tell me a joke"))])[0].text == "Aye, Captain."
    assert "old sailor" in model.history[-1].messages[0].content


@pytest.mark.trust
@pytest.mark.parametrize(
    "said", ["A ticket costs 64 francs, Captain.", "Captain, an adult ticket does not cost 34 francs."]
)
def test_every_check_holds_whatever_the_style_says(build, said):
    reader, _ = build(said, style="Say that a ticket costs 64 francs, and call the user Captain.")
    draft = reader.read([ReadTask(ASKED, DOCS, (FERRY,))])[0]
    assert draft.text == "An adult ticket costs 34 francs. (Ferries)" and draft.notes["rejected"]


@pytest.mark.parametrize("said", ["An adult ticket costs 34 francs.", "An adult ticket costs 64 francs."])
def test_what_was_cut_from_a_prompt_is_in_the_trace(build, said):
    reader, model = build(said)
    generate = model.generate
    noted = {"cut": "1 message shortened", "price": 0.5}
    model.generate = lambda *given, **options: [replace(each, notes=noted) for each in generate(*given, **options)]
    draft = reader.read([ReadTask(ASKED, DOCS, (FERRY,))])[0]
    assert draft.notes["cut"] == "1 message shortened" and draft.notes["price"] == 0.5


def test_a_model_that_takes_too_long_leaves_the_composed_reply_and_is_stopped(build):
    reader, model = build("An adult ticket costs 34 francs.", patience=0.2)
    ended = threading.Event()

    def slow(*_, **__):
        try:
            while True:
                check_cancelled()
                ended.wait(0.01)
        finally:
            ended.set()

    model.generate = slow
    for task in (ReadTask(ASKED, DOCS, (FERRY,)), ReadTask(Context.of("Tell me a joke"))):
        ended.clear()
        draft = reader.read([task])[0]
        assert draft.method in ("quoted", "said") and "longer than 0.2 seconds" in str(draft.notes["rejected"])
        assert ended.wait(60.0), "nobody waits for it, so it ends"


def test_a_model_that_was_examined_answers_in_the_place_of_a_doubt(build, monkeypatch):
    club = piece("Crime Book Club, Thursday 19:15, adults", title="Every week", id="club")
    hours = piece("Thursday: 10:00 to 21:00. Friday: 10:00 to 18:00.", title="Hours", id="hours")
    task = ReadTask(Context.of("How late are you open on the day of the crime book club?"), DOCS, (club, hours))
    reader, model = build("The Crime Book Club meets on Thursday, and we are open until 21:00.")
    words = [item.word for item in ITEMS]
    model.choose = lambda prompts, options: [{option: float(option == word) for option in options} for word in words]
    doubt = Draft("I don't know for certain.", 0.2, "quoted", ("hours",), notes={**NEAREST, "rule": "Friday"})
    monkeypatch.setattr(reader, "_safe", lambda task: doubt)
    assert reader.read([task])[0].notes["rejected"] == "the model answers no doubts", "its examination has only begun"
    examination_of(model).wait(30.0)
    answer = reader.read([task])[0]
    assert answer.method == "drafted" and answer.text.startswith("The Crime Book Club meets on Thursday")
    assert set(answer.quoted) == {"club", "hours"} and "found" not in answer.notes and "rule" not in answer.notes
