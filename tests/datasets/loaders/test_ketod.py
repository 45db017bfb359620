"""KETOD as released, joined with the right dialogue of SGD."""

from __future__ import annotations

import json
from itertools import chain

import pytest

from dragoman.core.errors import InputError
from dragoman.core.values import Turn
from dragoman.datasets import Ketod
from dragoman.datasets.loaders.sgd import SgdDialogue, best


@pytest.fixture
def ketod(data, write):
    """A KETOD file of our own beside the SGD fixture."""

    def make(*dialogues, name="dev_ketod.json"):
        return Ketod(file=write(list(dialogues), name), sgd=data / "ketod" / "sgd")

    return make


def enriched(*snippets, text="One leaves at nine for Heron Island. It has herons."):
    return {"enrich": True, "enriched_utter": text, "kg_snippets": list(snippets)}


def boat(*turns, name="1_00001", **fields):
    passages = {"q": [["Heron Island", [0, "It is small."], [1, "Herons nest there."]]]}
    return {"dialogue_id": name, "turns": list(turns), "entity_passages_sents": passages} | fields


def test_a_collision_is_repaired_by_the_text_and_reported(data, read):
    examples, problems = read(Ketod(file=data / "ketod" / "dev_ketod.json", sgd=data / "ketod" / "sgd"))
    first = examples[0]
    assert first.context.last == "I need a boat to an island."  # train's dialogue; dev has a song under this id
    assert first.meta == {"turn_index": "1", "split": "train", "plain": "One leaves at nine for Heron Island."}
    assert first.gold.reply.endswith("Herons have nested there for a century.")
    assert first.gold.evidence == ("1_00001/1",)
    assert first.gold.plan == ("KNOWLEDGE",)
    assert (first.domain, first.id, first.position) == ("Boats_1", "1_00001#0", 0)
    assert [(one.id, one.title, one.text) for one in first.candidates] == [
        ("1_00001/0", "Heron Island", "Heron Island is small."),
        ("1_00001/1", "Heron Island", "Herons have nested on the island for a hundred years."),
    ]
    assert (problems[0].row, problems[0].severity) == (1, "warning")
    assert "joined with train/1_00001 of SGD; dev/1_00001" in problems[0].what


def test_a_plain_turn_needs_nothing_and_has_the_plain_reply(data, read):
    examples, _ = read(Ketod(file=data / "ketod" / "dev_ketod.json", sgd=data / "ketod" / "sgd"))
    second = examples[1]
    assert second.gold.retrieve is False
    assert (second.gold.plan, second.gold.evidence, second.gold.reply) == ((), (), "Your seat is booked.")
    assert second.context.turns[1].text == "One leaves at nine for Heron Island."  # history stays plain


def test_what_nothing_tells_apart_is_joined_as_released_and_reported(data, read):
    examples, problems = read(Ketod(file=data / "ketod" / "dev_ketod.json", sgd=data / "ketod" / "sgd"))
    unsure = next(example for example in examples if example.context.dialogue == "1_00003")
    assert unsure.meta["split"] == "dev"
    assert [problem.row for problem in problems if "nothing here tells which" in problem.what] == [2]


def test_a_dialogue_that_only_train_has_is_joined_without_a_word(data, read):
    examples, problems = read(Ketod(file=data / "ketod" / "dev_ketod.json", sgd=data / "ketod" / "sgd"))
    assert examples[-1].context.last == "Find me a lamp shop."
    assert all(problem.row != 3 for problem in problems)


def test_no_warning_where_the_release_takes_the_right_one(ketod, read):
    examples, problems = read(ketod(boat({}, enriched(0), {}, {"enrich": False}), name="train_ketod.json"))
    assert problems == []
    assert examples[0].meta["split"] == "train"


def test_the_number_of_turns_tells_where_no_text_does():
    short, long = (SgdDialogue("1", split, (), (Turn("user", "a"),) * n) for split, n in (("dev", 2), ("train", 4)))
    found = best([short, long], {}, 4)
    assert found.dialogue is long
    assert not found.ambiguous


def test_text_tells_more_than_the_number_of_turns():
    right = SgdDialogue("1", "train", (), (Turn("user", "a"), Turn("agent", "red boats sail"), Turn("user", "x")))
    wrong = SgdDialogue("1", "dev", (), (Turn("user", "a"), Turn("agent", "green tea")))
    assert best([wrong, right], {1: "red boats sail far"}, 2).dialogue is right


def test_utterances_of_a_file_joined_before_help_to_tell(ketod, read):
    plain = boat({"utterance": "Any rooms today?"}, {"utterance": "None left, sorry.", "enrich": False}, name="1_00003")
    examples, problems = read(ketod(plain))
    assert examples[0].meta["split"] == "test"
    assert len(problems) == 1


@pytest.mark.parametrize(
    ("dialogue", "said"),
    [
        (boat({}, {}, name="0_0"), "SGD has no dialogue 0_0"),
        (boat({}, enriched(0, text="Something else entirely")), "no SGD dialogue 1_00001 has the text"),
        (boat(*[{}] * 9), "no SGD dialogue 1_00001 has the text"),
        (boat({}, enriched(7), {}, {}), "turn 1: the gold evidence '7' is not among the candidates"),
        (boat({}, enriched(), {}, {}), "turn 1: an enriched turn names no snippet"),
        (boat({}, {"enrich": True, "kg_snippets": [0], "utterance": "One leaves at nine."}, {}, {}), "reply is empty"),
        (boat({"enrich": "no"}), "turns.0.enrich"),
        ({"dialogue_id": "1_00001"}, "turns: Field required"),
    ],
)
def test_what_cannot_be_used_is_an_error(ketod, read, dialogue, said):
    _, problems = read(ketod(dialogue))
    errors = [problem for problem in problems if problem.severity == "error"]
    assert len(errors) == 1
    assert said in errors[0].what


def test_a_dialogue_that_comes_twice_is_a_problem(ketod, read):
    one = boat({}, enriched(0), {}, {})
    examples, problems = read(ketod(one, one, name="train_ketod.json"))
    assert len(examples) == 2
    assert [(problem.row, problem.what) for problem in problems] == [(2, "the dialogue 1_00001 is also record 1")]


def test_odd_snippets_are_warned_of(ketod, read):
    odd = {"q": [["T", [0, "a"], [0, "b"], [1, " "], "x"], []]}
    examples, problems = read(ketod(boat({}, enriched(0), {}, {}, entity_passages_sents=odd), name="train_ketod.json"))
    assert [one.text for one in examples[0].candidates] == ["a"]
    assert [problem.severity for problem in problems] == ["warning"] * 3


def test_the_readmes_spelling_of_the_passages_is_read_too(ketod, read):
    dialogue = boat({}, enriched(1), {}, {})
    dialogue["entity_passage_sents"] = dialogue.pop("entity_passages_sents")
    examples, _ = read(ketod(dialogue))
    assert examples[0].gold.evidence == ("1_00001/1",)


def test_a_broken_sgd_file_is_reported_by_its_own_name(data, write, read, tmp_path):
    whole = (data / "ketod" / "sgd" / "train" / "dialogues_001.json").read_text(encoding="utf-8")
    write(whole[:-30], "sgd/train/dialogues_001.json")
    file = write([boat({}, enriched(0), {}, {})], "train_ketod.json")
    examples, problems = read(Ketod(file=file, sgd=tmp_path / "sgd"))
    assert len(examples) == 2
    assert problems[0].file.endswith("train/dialogues_001.json")
    assert problems[0].row == 2


def test_a_folder_that_is_no_sgd_is_refused(data, tmp_path):
    file = data / "ketod" / "dev_ketod.json"
    with pytest.raises(InputError, match="no SGD folder"):
        list(Ketod(file=file, sgd=tmp_path / "none").examples())
    with pytest.raises(InputError, match="holds no SGD dialogues"):
        list(Ketod(file=file, sgd=tmp_path).examples())


def test_every_file_that_is_read_is_named(data):
    made = Ketod(file=data / "ketod" / "dev_ketod.json", sgd=data / "ketod" / "sgd")
    names = [file.relative_to(data / "ketod").as_posix() for file in made.files]
    assert names == ["dev_ketod.json", *(f"sgd/{split}/dialogues_001.json" for split in ("train", "dev", "test"))]


def test_the_fixture_really_collides(data):
    ids = chain.from_iterable(
        (one["dialogue_id"] for one in json.loads((data / f"ketod/sgd/{split}/dialogues_001.json").read_text("utf-8")))
        for split in ("train", "dev")
    )
    assert list(ids).count("1_00001") == 2
