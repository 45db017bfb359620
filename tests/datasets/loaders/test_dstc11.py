"""DSTC11: logs and labels in step, and three pools to search."""

from __future__ import annotations

import json
import shutil

import pytest

from dragoman.core.errors import ConfigError, InputError
from dragoman.datasets import Dstc11


@pytest.fixture
def folder(data, tmp_path):
    """A copy of the fixture that a test may spoil."""
    shutil.copytree(data / "dstc11", tmp_path / "dstc11")
    return tmp_path / "dstc11"


def change(file, spoil):
    value = json.loads(file.read_text(encoding="utf-8"))
    spoil(value)
    file.write_text(json.dumps(value), encoding="utf-8")


def test_a_turn_has_the_plan_of_its_evidence(data, read):
    examples, problems = read(Dstc11(file=data / "dstc11" / "dev"))
    assert problems == []
    assert [example.id for example in examples] == ["dev-1#0", "dev-2#1", "dev-3#1", "dev-4#1"]
    assert [example.gold.plan for example in examples] == [(), ("REVIEWS", "FAQ"), ("FAQ",), ("REVIEWS",)]
    assert examples[1].gold.evidence == ("hotel/1/review/0/0", "hotel/1/review/1/0", "hotel/1/faq/0")
    assert [example.gold.retrieve for example in examples] == [False, True, True, True]
    assert (examples[0].gold.reply, examples[2].gold.reply) == (None, "Only cash.")
    assert [example.domain for example in examples] == ["", "hotel", "restaurant", "restaurant"]


def test_the_corpus_is_shared_and_carries_the_name(data):
    made = Dstc11(file=data / "dstc11" / "dev")
    passages = {passage.id: passage for passage in made.passages()}
    assert len(passages) == 7
    assert passages["hotel/1/review/0/1"].text == "Gulls woke us at dawn."
    assert passages["hotel/1/review/0/1"].title == "THE GREY HERON HOTEL"
    assert passages["hotel/1/review/0/1"].meta["traveler_type"] == "Couples"
    assert passages["restaurant/8/faq/3"].text == "Are dogs welcome? On the terrace."
    assert passages["restaurant/8/faq/3"].source == "FAQ"
    assert not any(source.private for source in made.sources)
    assert all(example.candidates == () for example in made.examples())


def test_logs_that_begin_alike_have_the_same_opening(folder, read):
    change(folder / "dev" / "logs.json", lambda logs: logs[3][0].update(text="FIND a hotel."))
    examples, _ = read(Dstc11(file=folder / "dev"))
    openings = [example.meta["opening"] for example in examples]
    assert openings[1] == openings[3]
    assert len(set(openings)) == 3


def test_the_logs_can_be_named_themselves(data):
    folder = data / "dstc11" / "dev"
    assert list(Dstc11(file=folder / "logs.json").examples()) == list(Dstc11(file=folder).examples())


def test_the_gold_pool_is_all_about_the_gold_entities_else_those_mentioned(data, read):
    made = Dstc11(file=data / "dstc11" / "dev", pool="gold")
    examples, problems = read(made)
    assert problems == []
    assert [example.context.scope.user for example in examples] == ["none", "hotel/1", "restaurant/7", "restaurant/7"]
    assert [len(example.candidates) for example in examples] == [0, 4, 2, 2]
    assert all(source.private for source in made.sources)
    assert list(made.passages()) == []


def test_the_mentioned_pool_says_where_it_misses_the_gold(data, read):
    examples, problems = read(Dstc11(file=data / "dstc11" / "dev", pool="mentioned"))
    assert [example.context.scope.user for example in examples] == ["none", "hotel/1", "restaurant/7", "none"]
    assert [(problem.row, problem.severity) for problem in problems] == [(4, "warning")]
    assert "does not name restaurant/7" in problems[0].what


def test_a_blind_test_has_no_labels(data, read):
    made = Dstc11(file=data / "dstc11" / "blind")
    examples, problems = read(made)
    assert made.labels == frozenset()
    assert (len(examples), problems) == (2, [])
    assert all(example.gold.retrieve is None and example.gold.plan is None for example in examples)
    assert [file.name for file in made.files] == ["logs.json", "knowledge.json"]


def test_the_knowledge_can_lie_elsewhere(folder, tmp_path):
    shutil.move(folder / "knowledge.json", tmp_path / "known.json")
    with pytest.raises(InputError, match=r"no file '.*knowledge\.json'"):
        list(Dstc11(file=folder / "dev").examples())
    assert len(list(Dstc11(file=folder / "dev", knowledge=tmp_path / "known.json").examples())) == 4


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda labels: labels[1]["knowledge"].clear(), "names none"),
        (lambda labels: labels[1]["knowledge"][0].update(sent_id=9), "'hotel/1/review/0/9' is not in the knowledge"),
        (lambda labels: labels[1]["knowledge"][2].update(entity_id=5), "'hotel/5/faq/0' is not in the knowledge"),
        (lambda labels: labels[1].update(response=""), "the reply is empty"),
        (lambda labels: labels[1].update(target="yes"), "target: Input should be a valid boolean"),
        (lambda labels: labels[1]["knowledge"][0].update(doc_type="blog"), "knowledge.0.doc_type"),
    ],
)
def test_a_bad_label_is_an_error_and_the_others_stay_in_step(folder, read, spoil, said):
    change(folder / "dev" / "labels.json", spoil)
    examples, problems = read(Dstc11(file=folder / "dev"))
    assert [example.id for example in examples] == ["dev-1#0", "dev-3#1", "dev-4#1"]
    assert [(problem.row, problem.severity) for problem in problems] == [(2, "error")]
    assert said in problems[0].what


@pytest.mark.parametrize(
    "spoil",
    [
        lambda logs: logs[1].clear(),
        lambda logs: logs[1].pop(),
        lambda logs: logs[1][-1].update(text=""),
        lambda logs: logs[1][0].update(speaker="X"),
    ],
)
def test_a_bad_log_is_an_error_and_the_others_stay_in_step(folder, read, spoil):
    change(folder / "dev" / "logs.json", spoil)
    examples, problems = read(Dstc11(file=folder / "dev"))
    assert [example.gold.reply for example in examples[1:]] == ["Only cash.", "It is famous."]
    assert [(problem.row, problem.severity) for problem in problems] == [(2, "error")]


@pytest.mark.parametrize("short", ["logs", "labels"])
def test_a_file_that_ends_early_is_a_problem(folder, read, short):
    change(folder / "dev" / f"{short}.json", lambda members: members.pop())
    examples, problems = read(Dstc11(file=folder / "dev"))
    assert len(examples) == 3
    assert problems[0].what == f"'{short}.json' ends before record 4"
    assert problems[0].file.endswith(f"{short}.json")


def test_a_cut_file_gives_what_was_before(folder, read):
    file = folder / "dev" / "labels.json"
    file.write_text(file.read_text(encoding="utf-8")[:-20], encoding="utf-8")
    examples, problems = read(Dstc11(file=folder / "dev"))
    assert len(examples) == 3
    assert (problems[0].row, problems[0].file) == (4, str(file))
    assert "breaks off" in problems[0].what


def test_damaged_knowledge_is_an_error_at_once(folder):
    change(folder / "knowledge.json", lambda knowledge: knowledge["hotel"]["1"].pop("name"))
    for reading in (Dstc11(file=folder / "dev").examples(), Dstc11(file=folder / "dev").passages()):
        with pytest.raises(InputError, match=r"knowledge is damaged: .*name: Field required"):
            next(reading)


def test_an_entity_that_comes_twice_is_an_error(folder):
    one = '{"name": "X", "reviews": {}, "faqs": {}}'
    (folder / "knowledge.json").write_text(f'{{"hotel": {{"1": {one}, "1": {one}}}}}', encoding="utf-8")
    with pytest.raises(InputError, match="'hotel/1' twice"):
        list(Dstc11(file=folder / "dev").passages())


def test_a_folder_without_logs_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"no file '.*logs\.json'"):
        list(Dstc11(file=tmp_path).examples())


def test_an_unknown_pool_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="pool = 'web'"):
        Dstc11(file=tmp_path, pool="web")
