"""A set as it is measured."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from dragoman.core.errors import ConfigError, InputError, NoDataError
from dragoman.core.examples import Example, Gold, Label, Problem
from dragoman.core.values import Context, Passage, Scope, Source
from dragoman.evaluate.running.dataset_table import DatasetTable, open_table
from dragoman.evaluate.spec import DataSpec, SplitSpec


class Listed:
    """A set from a list."""

    name = "listed"
    language = "en"
    sources: tuple[Source, ...] = (Source("DOCS"),)
    labels: frozenset[Label] = frozenset({"reply"})

    def __init__(self, found: Sequence[Example | Problem], file: str = "listed.json") -> None:
        self._found = found
        self.files = (Path(file),)
        self.read = 0

    def examples(self) -> Iterator[Example | Problem]:
        for one in self._found:
            self.read += 1
            yield one

    def passages(self) -> Iterator[Passage]:
        yield Passage("c1", "DOCS", "shared")


def turn(id: str, dialogue: str = "d", reply: str = "yes") -> Example:
    context = Context.of(f"question {id}", scope=Scope("listed", dialogue), dialogue=dialogue)
    return Example(id, context, Listed.sources, (), Gold(reply=reply))


def spec(**options: object) -> DataSpec:
    return DataSpec(**{"name": "set", "kind": "toy", **options})


def test_examples_are_streamed_up_to_the_limit() -> None:
    dataset = Listed([turn(str(i)) for i in range(10)])
    block = DatasetTable(spec(), dataset, limit=3)
    assert [example.id for example in block.examples()] == ["0", "1", "2"]
    assert dataset.read == 3
    assert block.count() == 3


def test_an_error_row_stops_the_reading_with_its_place_and_the_way_out() -> None:
    block = DatasetTable(spec(), Listed([turn("a"), Problem("listed.json", 7, "the reply is empty")]))
    with pytest.raises(InputError, match=r"listed.json:7: the reply is empty") as caught:
        block.count()
    assert "dragoman data check listed.json" in caught.value.remedy
    assert "--skip-bad" in caught.value.remedy
    assert caught.value.fields["row"] == 7


def test_error_rows_are_left_out_and_told_where_that_was_asked_for() -> None:
    bad = Problem("listed.json", 7, "the reply is empty")
    block = DatasetTable(spec(), Listed([turn("a"), bad, turn("b")]), skip_bad=True)
    assert [example.id for example in block.examples()] == ["a", "b"]
    assert block.problems == (bad,)


def test_rows_that_are_left_out_are_counted_beyond_those_that_are_kept() -> None:
    odd = [Problem("listed.json", row, "odd", "warning") for row in range(1000)]
    bad = [Problem("listed.json", row, "bad") for row in range(1000, 1200)]
    block = DatasetTable(spec(), Listed([turn("a"), *odd, *bad]), skip_bad=True)
    assert block.count() == len(list(block.examples())) == 1
    assert (block.skipped, len(block.problems)) == (200, 1000)


def test_rows_of_a_training_file_are_not_counted_as_left_out_of_the_set() -> None:
    train = Listed([turn("t"), Problem("train.json", 1, "bad")], "train.json")
    block = DatasetTable(spec(), Listed([turn("a"), Problem("listed.json", 2, "bad")]), train=train, skip_bad=True)
    assert (len(list(block.examples())), len(list(block.train()))) == (1, 1)
    assert block.skipped == 1
    assert len(block.problems) == 2


def test_warnings_are_kept_once_however_often_the_set_is_read() -> None:
    odd = Problem("listed.json", 2, "odd", "warning")
    block = DatasetTable(spec(), Listed([turn("a"), odd]))
    assert block.count() == len(list(block.examples())) == 1
    assert block.problems == (odd,)


def test_an_id_that_stands_twice_is_an_error_with_both_places() -> None:
    dataset = Listed([turn("a"), turn("b"), turn("a")])
    with pytest.raises(InputError, match=r"listed.json:3: turn 3 has the id 'a', as turn 1 of listed.json has"):
        DatasetTable(spec(), dataset).count()
    skipping = DatasetTable(spec(), dataset, skip_bad=True)
    assert [example.id for example in skipping.examples()] == ["a", "b"]


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ConfigError, match="A limit of 0"):
        DatasetTable(spec(), Listed([]), limit=0)


def test_a_cut_set_gives_its_part_and_the_training_part() -> None:
    dataset = Listed([turn(f"{d}-{i}", f"d{d}") for d in range(10) for i in range(2)])
    cut = SplitSpec(by="dialogue", part="dev", parts={"train": 0.8, "dev": 0.2})
    block = DatasetTable(spec(split=cut), dataset, limit=3)
    dev, train = list(block.examples()), list(block.train())
    assert (len(dev), len(train)) == (3, 16)
    assert not {example.context.dialogue for example in dev} & {example.context.dialogue for example in train}


def test_a_cut_joins_the_pool_before_it_cuts() -> None:
    main = Listed([turn(f"m{d}", f"m{d}") for d in range(5)])
    pool = Listed([turn(f"p{d}", f"p{d}") for d in range(5)], "pool.json")
    cut = SplitSpec(by="dialogue", part="dev", parts={"train": 0.5, "dev": 0.5})
    block = DatasetTable(spec(split=cut), main, pool=[pool])
    assert len(list(block.examples())) + len(list(block.train())) == 10
    assert [file.name for file in block.files] == ["listed.json", "pool.json"]
    assert [passage.id for passage in block.passages()] == ["c1"]


def test_a_part_that_the_cut_does_not_make_is_refused() -> None:
    cut = SplitSpec(by="dialogue", part="valid")
    with pytest.raises(ConfigError, match="no part 'valid'"):
        list(DatasetTable(spec(split=cut), Listed([turn("a")])).examples())


def test_training_comes_from_its_own_file_first() -> None:
    block = DatasetTable(spec(), Listed([turn("a")]), train=Listed([turn("t")], "train.json"))
    assert [example.id for example in block.train()] == ["t"]
    assert [file.name for file in block.files] == ["listed.json", "train.json"]


def test_the_shipped_set_trains_on_its_own_part() -> None:
    block = open_table(spec(part="dev", dialogues=20))
    dev, train = [e.context.dialogue for e in block.examples()], [e.context.dialogue for e in block.train()]
    assert train and dev and not set(dev) & set(train)


def test_a_set_without_a_training_part_says_so() -> None:
    with pytest.raises(ConfigError, match="no training part"):
        list(open_table(spec(dialogues=0)).train())


def written(folder: Path, name: str = "turns.jsonl") -> Path:
    rows = [
        {"dialogue": f"d{i}", "context": [{"speaker": "user", "text": f"hello {i}"}], "reply": "hi"} for i in range(3)
    ]
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_relative_file_is_looked_up_in_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path)
    monkeypatch.setenv("DRAGOMAN_DATA", str(tmp_path))
    block = open_table(spec(kind="jsonl", file="turns.jsonl"))
    assert block.count() == 3
    assert block.files == (tmp_path / "turns.jsonl",)


def test_a_given_file_is_read_instead(tmp_path: Path) -> None:
    block = open_table(spec(kind="jsonl", file="missing.jsonl"), file=written(tmp_path))
    assert block.count() == 3


def test_a_file_that_is_not_there_means_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_DATA", str(tmp_path))
    written(tmp_path, "here.jsonl")
    with pytest.raises(NoDataError, match=r"turns\.jsonl"):
        open_table(spec(kind="jsonl", file="turns.jsonl"))


def test_a_path_among_the_options_is_looked_up_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_DATA", str(tmp_path))
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "logs.json").write_text("[]")
    with pytest.raises(NoDataError, match=r"knowledge\.json"):
        open_table(spec(kind="dstc11", file="dev", knowledge="lost/knowledge.json"))


def test_a_view_changes_the_options_of_the_set() -> None:
    assert open_table(spec(part="dev"), view={"language": "zh"}).language == "zh"


def test_a_training_file_that_is_not_here_is_told_when_somebody_asks_for_it(tmp_path: Path) -> None:
    file = tmp_path / "set.jsonl"
    row = {"dialogue": "1", "context": [{"speaker": "user", "text": "Hi"}], "reply": "Hello!"}
    file.write_text(json.dumps(row) + "\n", encoding="utf-8")
    block = open_table(DataSpec(name="mine", kind="jsonl", file=str(file), train=str(tmp_path / "gone.jsonl")))
    assert [example.id for example in block.examples()] == ["1#0"]
    assert block.is_untaught
    with pytest.raises(NoDataError, match=r"--set data\.mine\.train=FILE"):
        next(block.train())


def test_a_view_is_cut_as_the_set_itself(tmp_path: Path) -> None:
    records = [
        {
            "persona": {"B0": f"我 喜欢 {word}"},
            "persona_kg": {"B0": {"K0": f"{word} 的 知识"}},
            "conversation": [{"U": f"{word} 呢", "S": "好", "P-K": [["B0"], ["B0-K0"]]}],
        }
        for word in ("茶", "酒", "鱼", "书", "花", "船", "云", "山", "河", "桥")
    ]
    file = tmp_path / "kbp.json"
    file.write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")
    cut = SplitSpec(by="evidence", part="dev", parts={"train": 0.5, "dev": 0.5})
    block = open_table(DataSpec(name="kbp", kind="kbp", file=str(file), split=cut))
    seen = block.viewed({"spaces": "keep"})
    assert [example.id for example in seen.examples()] == [example.id for example in block.examples()]
    assert "我 喜欢" in next(seen.examples()).candidates[0].text
    assert "我喜欢" in next(block.examples()).candidates[0].text
    assert block.viewed({"spaces": "keep"}) is seen
