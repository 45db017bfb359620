"""A larger model judges yes or no questions that the rules leave open, and nothing else."""

import pytest

from dragoman.core.errors import EndpointError, LimitError
from dragoman.core.values import Context, Evidence, Passage, Plan, ReadTask
from dragoman.critic import OverlapCritic
from dragoman.models.scripted import ScriptedModel
from dragoman.reader import GroundedReader
from dragoman.reader.judge_choice import MOST_CALLS, Judgement
from dragoman.reader.judge_exam import ITEMS
from dragoman.text.analyse import analyse

PLAN = Plan((("MEMORY", "DOCUMENTS"),))
RULE = "Guests may bring a hammock to the garden of the lodge, but no tent."
OTHER = "The garden of the lodge has three old apple trees."
ASKED = Context.of("Is a hammock in the garden of the lodge all right?")


def piece(text, *, source="DOCUMENTS", id="d1"):
    return Evidence(Passage(id, source, text, title="Garden" if source == "DOCUMENTS" else ""), 0.9)


def task(context=ASKED, text=f"{RULE} {OTHER}"):
    return ReadTask(context, PLAN, (piece("I sleep outdoors.", source="MEMORY", id="m1"), piece(text)))


@pytest.fixture
def build(encoder, sources):
    def make(choices=(), judge="always", model=None):
        model = model or ScriptedModel(choices=choices)
        critic = OverlapCritic(encoder=encoder, analyse=analyse)
        reader = GroundedReader(
            language_model=model,
            encoder=encoder,
            analyse=analyse,
            sources=sources,
            critic=critic,
            drafts="never",
            judge=judge,
        )
        return reader, model

    return make


def test_a_sure_verdict_opens_the_composed_reply_and_stands_in_the_trace(build):
    reader, model = build([("re:Rule: Garden: Guests may bring a hammock", {"no": 0.9, "yes": 0.1}), ("", "unknown")])
    draft = reader.read([task()])[0]
    assert draft.text.startswith("No. ") and RULE.rstrip(".") in draft.text
    assert draft.notes["by"] == "model" and str(draft.notes["judge"]).startswith("no (")
    assert draft.usage.calls == len(model.history) <= MOST_CALLS


def test_an_unsure_model_changes_nothing(build):
    without = build(judge="never")[0].read([task()])[0]
    reader, model = build([("", {"yes": 0.3, "no": 0.28, "depends": 0.22, "unknown": 0.2})])
    draft = reader.read([task()])[0]
    assert (draft.text, draft.method) == (without.text, without.method)
    assert model.history and str(draft.notes["judge"]).startswith("none")


def test_a_sentence_that_rules_nothing_makes_no_verdict(build):
    without = build(judge="never")[0].read([task(text=OTHER)])[0]
    reader, model = build([("", {"yes": 1.0})])
    assert reader.read([task(text=OTHER)])[0].text == without.text
    assert model.history


def test_a_refusal_makes_no_yes(build):
    text = "Hammocks are not allowed in the garden of the lodge."
    without = build(judge="never")[0].read([task(text=text)])[0]
    reader, _ = build([("", "yes")])
    assert reader.read([task(text=text)])[0].text == without.text


def test_what_depends_on_the_user_is_asked_back(build):
    reader, _ = build([("hammock to the garden", "depends"), ("", "unknown")])
    text = reader.read([task()])[0].text
    assert text.startswith("That depends") and text.endswith("?")


def test_only_open_yes_or_no_questions_are_judged(build):
    reader, model = build([("", "yes")])
    reader.read([task(Context.of("What grows in the garden of the lodge?"))])
    rule = "Children under 8 may not enter the garden of the lodge."
    facts = piece("My daughter Ada is five.", source="MEMORY", id="m1")
    decided = reader.read([ReadTask(Context.of("May Ada enter the garden of the lodge?"), PLAN, (facts, piece(rule)))])
    assert decided[0].notes["by"] == "code" and model.history == []


def test_by_default_the_embedded_model_does_not_judge(build):
    reader, model = build([("", "yes")], judge="auto")
    reader.read([task()])
    assert model.history == []


class Large(ScriptedModel):
    """A model that counts as large."""

    writes_well = True


def asked(words):
    """Scripted choices: each item's word, after a rule for the lodge."""
    items = [(f"Rule: {item.rule}\nThe user told: {item.facts}", word) for item, word in zip(ITEMS, words, strict=True)]
    return [("Guests may bring a hammock", "yes"), *items, ("", "unknown")]


def test_a_large_model_judges_after_it_passed_its_examination(build):
    model = Large(choices=asked([item.word for item in ITEMS]))
    reader, _ = build(judge="auto", model=model)
    assert not reader.read([task()])[0].text.startswith("Yes.")  # the examination runs beside the first turn
    reader._judge.wait(10.0)
    assert reader.read([task()])[0].text.startswith("Yes.")


def test_a_model_that_turns_refusals_round_never_judges(build):
    words = [item.word for item in ITEMS]
    words[0] = "yes"  # eleven right, one permission for a refusal
    model = Large(choices=asked(words))
    reader, _ = build(judge="auto", model=model)
    for _ in range(2):
        assert not reader.read([task()])[0].text.startswith("Yes.")
        reader._judge.wait(10.0)
    assert len(model.history) == len(ITEMS)


@pytest.mark.parametrize(
    "error", [EndpointError("no answer", remedy=""), LimitError("budget used up", seconds=1.0, remedy="")]
)
def test_a_judge_that_fails_leaves_the_rules_answer(build, error):
    without = build(judge="never")[0].read([task()])[0]
    reader, model = build()

    def fails(*_, **__):
        raise error

    model.choose = fails
    draft = reader.read([task()])[0]
    assert draft.text == without.text and "failed" in str(draft.notes["judge"])


@pytest.mark.parametrize(
    ("yes", "no", "unknown", "none", "verdict"),
    [
        (0.66, 0.13, 0.07, 0.14, "yes"),
        (0.33, 0.20, 0.13, 0.34, "none"),
        (0.10, 0.60, 0.10, 0.20, "no"),
        (0.46, 0.02, 0.01, 0.51, "none"),
    ],
)
def test_a_verdict_must_lead_clearly(yes, no, unknown, none, verdict):
    chances = {"yes": yes, "no": no, "unknown": unknown, "none": none}
    assert Judgement(None, chances).verdict == verdict
