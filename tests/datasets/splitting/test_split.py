"""Examples and files cut into parts."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

from dragoman.core.errors import InputError
from dragoman.core.examples import Example, Gold
from dragoman.core.values import Context, Passage, Scope, Source
from dragoman.datasets.loaders.dstc11 import Dstc11
from dragoman.datasets.loaders.jsonl import Jsonl
from dragoman.datasets.loaders.kbp import Kbp
from dragoman.datasets.splitting.split import normalised, split, units
from dragoman.datasets.splitting.split_files import split_files
from dragoman.datasets.writing import write_jsonl

PERSONA = Source("PERSONA", private=True)
FAQ = Source("FAQ")
OPENING = "I would like to book a table for five on Thursday evening."


def example(name, *said, evidence=(), dialogue="", plan=("PERSONA",)):
    texts = tuple(said) or (f"hello {name}",)
    candidates = tuple(Passage(f"p{number}", "PERSONA", text) for number, text in enumerate(evidence))
    context = Context.of(*texts, scope=Scope("s", name), dialogue=dialogue or name)
    return Example(name, context, (PERSONA,), candidates, Gold(bool(plan), plan, (), "yes"))


def dialogues(examples):
    return {found.context.dialogue for found in examples}


def test_turns_of_a_dialogue_stay_together():
    turns = [example(f"{dialogue}.{turn}", dialogue=f"d{dialogue}") for dialogue in range(30) for turn in range(3)]
    made = split(turns, seed=1)
    assert made.dropped == []
    assert sorted(len(part) for part in made.parts.values()) == [9, 9, 72]
    parts = [dialogues(part) for part in made.parts.values()]
    assert sum(len(part) for part in parts) == len(set().union(*parts)) == 30


def test_logs_that_open_alike_are_one_dialogue():
    logs = [example(f"log-{number}", *([OPENING, "Where?", "Here."][: 1 + 2 * (number % 2)])) for number in range(4)]
    grouped = units([*logs, example("x", "hi"), example("y", "hi")])
    assert [unit.id for unit in grouped.units] == ["log-0", "x", "y"]
    assert set(grouped.of) == {"log-0", "log-1", "log-2", "log-3", "x", "y"}


def test_chinese_openings_need_fewer_characters():
    said = "我想周四晚上订一张五个人的桌子"
    assert len(units([example("a", said), example("b", said)]).units) == 1
    assert len(units([example("a", "你好呀"), example("b", "你好呀")]).units) == 2


def test_dialogues_that_share_one_pool_all_have_its_evidence():
    first, second = example("a", evidence=["the same"]), example("b")
    first_unit, second_unit = units([first, replace(second, candidates=first.candidates)]).units
    assert first_unit.evidence == second_unit.evidence != frozenset()


def test_unseen_evidence_goes_by_normalised_text():
    pairs = ["I keep bees.", "i keep  BEES", "Ｉ　keep bees!"]
    turns = [example(f"d{number}", evidence=[f"{number // 3} {pairs[number % 3]}"]) for number in range(60)]
    made = split(turns, by="evidence", parts={"train": 0.7, "test": 0.3}, seed=1)
    texts = [
        {normalised(passage.text) for found in part for passage in found.candidates} for part in made.parts.values()
    ]
    assert made.dropped == [] and texts[0].isdisjoint(texts[1])
    assert len(texts[0] | texts[1]) == 20


def test_shared_evidence_counts_where_it_is_gold():
    passages = [Passage(f"q{number}", "FAQ", f"answer {number}", title=f"house {number // 2}") for number in range(20)]
    turns = [
        Example(f"d{n}", Context.of(f"ask {n}", dialogue=f"d{n}"), (FAQ,), gold=Gold(evidence=(f"q{n % 20}",)))
        for n in range(60)
    ]
    made = split(turns, by="evidence", passages=passages, seed=1)
    houses = [{int(found.gold.evidence[0][1:]) // 2 for found in part} for part in made.parts.values()]
    assert houses[0].isdisjoint(houses[1] | houses[2]), "a house of dev or test is not asked about in train"


def test_a_part_that_gets_nothing_is_an_error():
    turns = [example(f"d{number}", evidence=["the same"]) for number in range(20)]
    with pytest.raises(InputError, match="No dialogue is left for the part 'dev'"):
        split(turns, by="evidence")


def test_normalised_leaves_what_has_no_letters():
    assert normalised(" ?! ") == "?!"
    assert normalised("Ａ b，c") == "abc"


@pytest.fixture
def own(tmp_path):
    """Writes dialogues of two turns as JSON lines and opens them."""

    def opened(count=20, name="own.jsonl", start=0):
        turns = [
            example(f"d{number}#{turn}", dialogue=f"d{number}", evidence=[f"fact {number // 2}"])
            for number in range(start, start + count)
            for turn in range(2)
        ]
        write_jsonl(turns, tmp_path / name)
        return Jsonl(file=tmp_path / name)

    return opened


def read(path):
    found = list(Jsonl(file=path).examples())
    assert all(isinstance(each, Example) for each in found)
    return found


def test_files_hold_what_the_summary_says(own, tmp_path):
    report = split_files([own()], tmp_path / "cut", seed=4)
    summary = json.loads((tmp_path / "cut" / "split.json").read_text())
    assert (summary["by"], summary["seed"]) == ("dialogue", 4)
    assert list(summary["parts"]) == ["train", "dev", "test"]
    for name, part in summary["parts"].items():
        turns = read(tmp_path / "cut" / part["file"])
        assert (len(turns), len(dialogues(turns))) == (part["turns"], part["dialogues"])
        assert report.parts[name].sha256 == part["sha256"]
    assert sum(part["turns"] for part in summary["parts"].values()) == 40
    assert summary["dropped"] == {"dialogues": 0, "turns": 0, "ids": []}


def test_the_same_seed_writes_the_same_bytes(own, tmp_path):
    dataset = own()
    for folder in ("a", "b"):
        split_files([dataset], tmp_path / folder, by="evidence", seed=2)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_by_evidence_says_that_none_is_seen(own, tmp_path):
    report = split_files([own(40)], tmp_path / "cut", by="evidence")
    assert report.parts["dev"].seen == report.parts["test"].seen == 0
    assert report.parts["train"].seen is None


@pytest.fixture
def tangled(tmp_path):
    """Dialogues of one to three turns that share facts with others, so that some are dropped by evidence."""
    turns = [
        example(f"d{n}#{turn}", dialogue=f"d{n}", evidence=[f"fact {n % 40}", f"fact {n * 7 // 9 % 40}"])
        for n in range(120)
        for turn in range(1 + n % 3)
    ]
    write_jsonl(turns, tmp_path / "tangled.jsonl")
    return Jsonl(file=tmp_path / "tangled.jsonl")


def test_a_control_is_as_long_as_train_and_knows_the_evidence(tangled, tmp_path):
    report = split_files([tangled], tmp_path / "cut", by="evidence", control=True)
    assert list(report.parts) == ["train", "dev", "test", "control"]
    turns = {name: read(part.file) for name, part in report.parts.items()}
    held = [*turns["dev"], *turns["test"]]
    assert report.dropped_dialogues and abs(len(turns["control"]) - len(turns["train"])) < 3
    assert dialogues(turns["control"]).isdisjoint(dialogues(held))
    assert dialogues(turns["control"]) <= dialogues(turns["train"]) | set(report.dropped_dialogues)
    ours, theirs = (
        {passage.text for found in part for passage in found.candidates} for part in (turns["control"], held)
    )
    assert report.parts["control"].held_out_seen == len(ours & theirs) / len(theirs) > 0


def test_the_summary_tells_the_control_apart(tangled, tmp_path):
    report = split_files([tangled], tmp_path / "cut", by="evidence", control=True)
    parts = json.loads((tmp_path / "cut" / "split.json").read_text())["parts"]
    control = parts["control"]
    assert control["held_out_seen"] == round(report.parts["control"].held_out_seen, 6)
    assert (control["file"], control["turns"]) == ("control.jsonl", len(read(tmp_path / "cut" / "control.jsonl")))
    assert "evidence_seen" not in control
    assert all("held_out_seen" not in part for name, part in parts.items() if name != "control")


def test_a_control_changes_no_other_part(tangled, tmp_path):
    for folder, wanted in (("a", True), ("b", True), ("c", False)):
        split_files([tangled], tmp_path / folder, by="evidence", seed=2, control=wanted)
    written = {path.name: path.read_bytes() for path in (tmp_path / "a").iterdir()}
    assert written == {path.name: path.read_bytes() for path in (tmp_path / "b").iterdir()}
    without = {path.name: path.read_bytes() for path in (tmp_path / "c").iterdir()}
    assert written.keys() - without.keys() == {"control.jsonl"}
    assert {name for name in without if written[name] != without[name]} == {"split.json"}


def test_dialogues_that_open_alike_come_into_a_control_together(tmp_path):
    logs = [
        example(f"{n}-{log}", f"{n} {OPENING}", evidence=[f"fact {n % 40}", f"fact {n * 7 // 9 % 40}"])
        for n in range(80)
        for log in range(2)
    ]
    write_jsonl(logs, tmp_path / "logs.jsonl")
    report = split_files([Jsonl(file=tmp_path / "logs.jsonl")], tmp_path / "cut", by="evidence", control=True)
    drawn = dialogues(read(report.parts["control"].file))
    assert drawn == {f"{name.partition('-')[0]}-{log}" for name in drawn for log in range(2)}
    assert abs(report.parts["control"].turns - report.parts["train"].turns) < 2


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"by": "dialogue"}, "A cut by dialogue has no control"),
        ({"by": "folds"}, "A cut by folds has no control"),
        ({"by": "evidence", "parts": {"train": 0.8, "control": 0.2}}, "A part is named 'control'"),
    ],
)
def test_a_control_that_cannot_be_is_refused(own, tmp_path, options, what):
    with pytest.raises(InputError, match=what) as caught:
        split_files([own()], tmp_path / "cut", control=True, **options)
    assert caught.value.remedy
    assert not (tmp_path / "cut").exists()


def test_a_part_may_be_named_control_where_none_is_drawn(own, tmp_path):
    split_files([own()], tmp_path / "cut", by="evidence", parts={"train": 0.8, "control": 0.2})
    parts = json.loads((tmp_path / "cut" / "split.json").read_text())["parts"]
    assert parts["control"]["evidence_seen"] == 0


def test_by_dialogue_says_how_much_is_seen(own, tmp_path):
    report = split_files([own(40)], tmp_path / "cut", parts={"train": 0.5, "test": 0.5})
    train, test = (
        {passage.text for found in read(part.file) for passage in found.candidates} for part in report.parts.values()
    )
    assert report.parts["test"].seen == len(train & test) / len(test) > 0


def test_folds_are_trained_on_the_others(own, tmp_path):
    split_files([own(9)], tmp_path / "cut", by="folds", folds=3)
    tested = []
    for number in (1, 2, 3):
        train = dialogues(read(tmp_path / "cut" / f"fold-{number}" / "train.jsonl"))
        test = dialogues(read(tmp_path / "cut" / f"fold-{number}" / "test.jsonl"))
        assert train.isdisjoint(test) and len(train | test) == 9
        tested += sorted(test)
    assert sorted(tested) == sorted(f"d{number}" for number in range(9))


def test_pooled_files_with_the_same_ids_are_told_apart(own, tmp_path):
    report = split_files([own(10), own(10, "more.jsonl")], tmp_path / "cut")
    assert sum(part.dialogues for part in report.parts.values()) == 20
    names = set().union(*(dialogues(read(part.file)) for part in report.parts.values()))
    assert {"1/d0", "2/d0"} <= names


def test_pooled_files_with_other_ids_keep_them(own, tmp_path):
    report = split_files([own(10), own(10, "more.jsonl", start=10)], tmp_path / "cut")
    names = set().union(*(dialogues(read(part.file)) for part in report.parts.values()))
    assert names == {f"d{number}" for number in range(20)}


def test_a_file_given_twice_is_refused(own, tmp_path):
    dataset = own()
    with pytest.raises(InputError, match="is given twice"):
        split_files([dataset, dataset], tmp_path / "cut")


def test_a_file_that_is_read_is_not_replaced(own, tmp_path):
    dataset = own(20, "train.jsonl")
    before = (tmp_path / "train.jsonl").read_bytes()
    with pytest.raises(InputError, match=r"train\.jsonl is read, and would be replaced"):
        split_files([dataset], tmp_path)
    assert (tmp_path / "train.jsonl").read_bytes() == before
    assert not (tmp_path / "dev.jsonl").exists()


def test_a_part_of_an_earlier_split_does_not_stay_beside_those_of_another(own, tmp_path):
    split_files([own(20)], tmp_path / "cut")
    split_files([own(20)], tmp_path / "cut", seed=2)  # the same parts are written over
    with pytest.raises(InputError, match=r"dev\.jsonl is a part of the split"):
        split_files([own(20)], tmp_path / "cut", parts={"train": 0.8, "test": 0.2})
    (tmp_path / "cut" / "dev.jsonl").unlink()
    split_files([own(20)], tmp_path / "cut", parts={"train": 0.8, "test": 0.2})


def test_a_shared_corpus_is_written_once(data, tmp_path):
    dataset = Dstc11(file=data / "dstc11" / "dev")
    report = split_files([dataset], tmp_path / "cut", by="folds", folds=2)
    assert (tmp_path / "cut" / "passages.jsonl").is_file()
    for part in report.parts.values():
        assert list(Jsonl(file=part.file).passages()) == list(dataset.passages())
    assert sum(part.turns for name, part in report.parts.items() if name.endswith("test")) == sum(
        isinstance(found, Example) for found in dataset.examples()
    )


def test_wrong_rows_are_named_in_the_summary(own, tmp_path):
    dataset = own()
    with dataset.files[0].open("a") as file:
        file.write("{\n")
    report = split_files([dataset], tmp_path / "cut")
    (problem,) = report.problems
    assert problem.row == 42
    assert json.loads((tmp_path / "cut" / "split.json").read_text())["left_out"] == [str(problem)]


@pytest.mark.parametrize("name", ["../up", "", "passages", "a b"])
def test_a_name_that_is_no_file_is_refused(own, tmp_path, name):
    with pytest.raises(InputError, match="cannot name a part"):
        split_files([own()], tmp_path / "cut", parts={name: 0.5, "test": 0.5})
    assert not (tmp_path / "cut").exists()


def test_a_full_disk_leaves_no_part(own, tmp_path, monkeypatch):
    dataset = own()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="The disk is full"):
        split_files([dataset], tmp_path / "cut")
    assert list((tmp_path / "cut").iterdir()) == []


@pytest.mark.slow
def test_kbp_can_be_cut_so_that_no_evidence_is_seen(real_data):
    """The release is one connected whole, so a good part is lost; more than a third is kept."""
    sets = [Kbp(file=real_data / "kbp" / name) for name in ("train.json", "dev.json")]
    turns = [found for each in sets for found in each.examples() if isinstance(found, Example)]
    made = split(turns, by="evidence", seed=1)
    texts = {
        name: {normalised(passage.text) for found in part for passage in found.candidates}
        for name, part in made.parts.items()
    }
    assert texts["train"].isdisjoint(texts["dev"] | texts["test"])
    kept = {name: len(dialogues(part)) for name, part in made.parts.items()}
    assert sum(kept.values()) + len(dialogues(made.dropped)) == 2229
    assert sum(kept.values()) > 750
    assert abs(kept["train"] / sum(kept.values()) - 0.8) < 0.03
