"""What a model may say in another language, where the user wants one: known numbers, and the decided yes or no."""

from __future__ import annotations

import pytest

from dragoman.core.values import Context, Draft, Evidence, Passage, ReadTask
from dragoman.models.scripted import ScriptedModel
from dragoman.reader.voice import Voice

SPANISH = Passage("wish-1", "standing wishes", "Answer in Spanish.", meta={"kind": "language", "value": "Spanish"})
NO = Draft("No. Dogs may not board. The fine is 40 francs.", notes={"decision": "no", "rule": "Dogs may not board."})


@pytest.fixture
def check():
    class Never:
        def consistency(self, pairs):
            return [0.0] * len(pairs)

    voice = Voice(
        language_model=ScriptedModel(),
        critic=Never(),
        analyse=lambda text: tuple(text.split()),
        language="en",
        name="Robin",
        max_tokens=10,
        consistency=0.5,
    )
    evidence = (Evidence(Passage("a", "DOCUMENTS", "Dogs may not board. The fine is 40 francs."), 1.0),)

    def run(text, *, wishes=(SPANISH,)):
        context = Context(Context.of("Can I bring my dog?").turns, wishes=wishes)
        return voice.check(ReadTask(context, evidence=evidence), Draft(text), NO)

    return run


def test_a_reply_in_the_wished_language_is_said(check):
    assert check("No, los perros no pueden subir. La multa es de 40 francos.").fault == ""


def test_it_must_keep_the_decision(check):
    assert "does not say no" in check("Sí, los perros pueden subir.").fault


def test_it_must_not_bring_numbers_of_its_own(check):
    assert check("No, la multa es de 90 francos.").fault == "unsupported: 90"


def test_nothing_decided_is_said_where_yes_and_no_are_not_known(check):
    welsh = Passage("wish-2", "standing wishes", "Answer in Welsh.", meta={"kind": "language", "value": "Welsh"})
    assert check("Na, ni chaiff cŵn ddod.", wishes=(welsh,)).fault


def test_without_a_wish_other_languages_are_refused(check):
    assert check("No, los perros no pueden subir.", wishes=()).fault
