"""What a gate reads besides the dialogue, for training."""

from __future__ import annotations

import pytest

from dragoman.core.errors import TrainingError
from dragoman.core.examples import Example, Gold
from dragoman.core.values import Context, Draft, Passage, Source
from dragoman.gate.inputs import Inputs
from dragoman.train.contract import Corpus
from dragoman.train.gates.inputs import DRAFTS, draft_key, gate_examples, kept_drafts

SHARED = [Passage(str(i), "A", text) for i, text in enumerate(("Tea is free.", "The boat leaves at nine.", "No dogs."))]


def example(text, *, reply=None, candidates=()):
    return Example(
        text, Context.of(text), (Source("A", "things"),), tuple(candidates), Gold(retrieve=True, reply=reply)
    )


def corpus(*examples, passages=()):
    return Corpus((), examples, tuple(passages))


class Writer:
    """Says a number that grows, and may break off."""

    def __init__(self, stop_after=None):
        self.calls = 0
        self.stop_after = stop_after

    def generate(self, prompts, *, max_tokens, stop=()):
        drafts = []
        for _ in prompts:
            self.calls += 1
            drafts.append(Draft(f"draft {self.calls}"))
        if self.stop_after is not None and self.calls > self.stop_after:
            raise KeyboardInterrupt
        return drafts


def drafts(writer, folder, examples, **options):
    told = {"drafter": "some", "language": "en", "max_tokens": 8, "report": lambda progress: None, **options}
    return kept_drafts(examples, writer, folder, **told)


def test_the_reply_is_the_gold_one_and_must_be_there():
    inputs = Inputs(("contx", "resp"))
    assert gate_examples(corpus(example("When?", reply="At nine.")), inputs)[0].reply == "At nine."
    with pytest.raises(TrainingError, match="has no reply"):
        gate_examples(corpus(example("When?")), inputs)


def test_knowledge_is_what_a_plain_search_finds_best_first():
    inputs = Inputs(("contx", "know"), k=2)
    [one] = gate_examples(corpus(example("When does the boat leave?"), passages=SHARED), inputs)
    assert one.evidence == ("The boat leaves at nine.",)


def test_a_turn_without_anything_to_look_up_has_no_knowledge():
    own = [Passage("x", "A", "My boat is red.")]
    asked = corpus(example("What boat?", candidates=own), example("Hello there"))
    assert [one.evidence for one in gate_examples(asked, Inputs(("contx", "know")))] == [("My boat is red.",), ()]


def test_knowledge_that_is_nowhere_is_an_error():
    with pytest.raises(TrainingError, match="nothing to read"):
        gate_examples(corpus(example("When?")), Inputs(("contx", "know")))


def test_sources_are_those_of_the_turn():
    assert gate_examples(corpus(example("When?")), Inputs(("contx", "source")))[0].sources == (Source("A", "things"),)


def test_drafts_are_made_once_for_each_dialogue(tmp_path):
    writer = Writer()
    asked = [example("one"), example("two"), example("one")]
    first = drafts(writer, tmp_path, asked)
    assert writer.calls == 2
    assert drafts(writer, tmp_path, asked) == first
    assert writer.calls == 2
    [one, *_] = gate_examples(corpus(*asked), Inputs(("contx", "syn-resp")), first)
    assert one.synthetic == first[draft_key(Context.of("one"))] == "draft 1"


def test_drafting_that_was_stopped_goes_on_with_what_is_missing(tmp_path):
    asked = [example(f"turn {n}") for n in range(70)]
    with pytest.raises(KeyboardInterrupt):
        drafts(Writer(stop_after=40), tmp_path, asked)
    with (tmp_path / DRAFTS).open("a", encoding="utf-8") as file:
        file.write('{"of": "some 8 ')  # killed in the middle of a line
    writer = Writer()
    assert len(drafts(writer, tmp_path, asked)) == 70
    assert writer.calls == 70 - 32
    assert len((tmp_path / DRAFTS).read_text().splitlines()) == 70


def test_drafts_of_another_model_do_not_count(tmp_path):
    writer = Writer()
    drafts(writer, tmp_path, [example("one")])
    drafts(writer, tmp_path, [example("one")], drafter="other")
    assert writer.calls == 2


def test_a_damaged_file_of_drafts_is_an_error_with_a_remedy(tmp_path):
    (tmp_path / DRAFTS).write_text("nonsense\n")
    with pytest.raises(TrainingError, match="Remove it"):
        drafts(Writer(), tmp_path, [example("one")])
