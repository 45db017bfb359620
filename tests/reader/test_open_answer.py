"""A model answers where only the closest sentence was found: what of its words may be said."""

from __future__ import annotations

import pytest

from dragoman.core.values import Context, Draft, Evidence, Passage, ReadTask
from dragoman.models.scripted import ScriptedModel
from dragoman.reader.judge_exam import ITEMS, examination_of
from dragoman.reader.phrases import NEAREST
from dragoman.reader.voice import Voice
from dragoman.text.analyse import analyse

CLUB = Evidence(Passage("club", "DOCUMENTS", "Crime Book Club, Thursday 19:15, adults", title="Every week"), 0.6)
HOURS = Evidence(Passage("hours", "DOCUMENTS", "Thursday: 10:00 to 21:00. Friday: 10:00 to 18:00."), 0.5)
TOLD = Evidence(Passage("fact", "MEMORY", "I work until six."), 0.4)
DOUBT = Draft("I don't know for certain. The closest: Crime Book Club, Thursday 19:15", notes=dict(NEAREST))
TASK = ReadTask(Context.of("How late are you open on the day of the book club?"), evidence=(CLUB, HOURS, TOLD))


class Examined(ScriptedModel):
    """Answers the examination as it should be, or always with yes."""

    passes = True

    def choose(self, prompts, options):
        words = [item.word if self.passes else "yes" for item in ITEMS]
        return [{option: float(option == word) for option in options} for word in words]


def voice_of(model=None, agrees=1.0) -> Voice:
    class Same:
        def consistency(self, pairs):
            return [agrees] * len(pairs)

    return Voice(
        language_model=model or ScriptedModel(),
        critic=Same(),
        analyse=analyse,
        language="en",
        name="Odette",
        max_tokens=40,
        consistency=0.5,
    )


def test_an_answer_of_two_passages_is_said_and_names_both():
    checked = voice_of().check(TASK, Draft("The book club meets on Thursday, and we are open until 21:00."), DOUBT)
    assert checked.fault == ""
    assert set(checked.quoted) == {"club", "hours"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("I don't know.", "does not know"),
        ("The notes do not mention it.", "does not know"),
        ("There is no information about that in the notes.", "does not know"),
        ("We are open until 23:00 on Thursday.", "unsupported: 23:00"),
        ("Open on the day of the book club.", "repeats the question"),
    ],
)
def test_what_is_not_known_or_invented_leaves_the_doubt(text, fault):
    assert fault in voice_of().check(TASK, Draft(text), DOUBT).fault


def test_the_critic_is_heard():
    assert "not consistent" in voice_of(agrees=0.1).check(TASK, Draft("Thursday until 21:00."), DOUBT).fault


def test_the_model_reads_all_evidence_under_its_headings_and_is_not_told_the_doubt():
    class Heard(Examined):
        def generate(self, prompts, *, max_tokens, stop=()):
            seen.extend(prompts)
            return [Draft("Thursday until 21:00.") for _ in prompts]

    seen = []
    model = Heard()
    voice = voice_of(model)
    assert voice.write([TASK], [DOUBT], [[TOLD]])[0].text == "", "the examination has only begun"
    examination_of(model).wait(30.0)
    assert voice.write([TASK], [DOUBT], [[TOLD]])[0].text == "Thursday until 21:00."
    text = seen[0].messages[-1].content
    assert "- Every week Crime Book Club, Thursday 19:15, adults" in text
    assert "What the user told you:\n- I work until six." in text
    assert "for certain" not in text and text.rstrip().endswith("book club?")


def test_a_model_that_fails_the_examination_answers_no_doubts():
    model = Examined()
    model.passes = False
    voice = voice_of(model)
    voice.write([TASK], [DOUBT], [[]])
    examination_of(model).wait(30.0)
    drafts = voice.write([TASK], [DOUBT], [[]])
    assert drafts[0].text == "" and voice.check(TASK, drafts[0], DOUBT).fault == "the model answers no doubts"


def test_yes_and_no_are_left_to_the_judge():
    polar = ReadTask(Context.of("Are you open until 21:00 on Thursday?"), evidence=TASK.evidence)
    model = Examined()
    assert examination_of(model).is_passed() is False
    examination_of(model).wait(30.0)
    assert examination_of(model).is_passed()
    assert voice_of(model).write([polar], [DOUBT], [[]])[0].text == ""


def test_a_result_is_kept_for_the_next_process(own_home):
    class Named(Examined):
        identity = "a model"

        def choose(self, prompts, options):
            asked.append(len(prompts))
            return super().choose(prompts, options)

    asked = []
    first = Named()
    assert not examination_of(first).is_passed()
    examination_of(first).wait(30.0)
    assert examination_of(Named()).is_passed() and len(asked) == 1
