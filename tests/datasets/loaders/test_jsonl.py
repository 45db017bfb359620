"""Users' own JSON lines: what is read, what is shared, and what each wrong line is told."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from dragoman.core.errors import InputError
from dragoman.core.registry import datasets
from dragoman.core.values import Source, Turn
from dragoman.datasets import lines as lines_module
from dragoman.datasets.loaders.jsonl import Jsonl
from dragoman.testing.datasets import DatasetConformance

CANDIDATES = [
    {"id": "p1", "source": "PERSONA", "text": "I keep bees."},
    {"id": "d1", "source": "DOCUMENTS", "text": "Bees sleep in winter.", "parent": "p1", "title": "Bees"},
]
HEADER = {
    "dataset": {
        "name": "bees",
        "language": "en",
        "sources": [
            {"name": "PERSONA", "description": "who I am", "about": "bot"},
            {"name": "DOCUMENTS", "needs": ["PERSONA"]},
        ],
    }
}


def row(**changes):
    """A whole, right row."""
    made = {
        "dialogue": "a",
        "context": [{"speaker": "user", "text": "Do you have a hobby?"}],
        "candidates": CANDIDATES,
        "retrieve": True,
        "plan": ["PERSONA"],
        "evidence": ["p1"],
        "reply": "I keep bees.",
    }
    made.update(changes)
    return {key: value for key, value in made.items() if value is not ...}


def second(**changes):
    said = ["Do you have a hobby?", "I keep bees.", "And in winter?"]
    context = [{"speaker": "agent" if place == 1 else "user", "text": text} for place, text in enumerate(said)]
    return row(context=context, plan=["PERSONA", "DOCUMENTS"], evidence=["p1", "d1"], reply="They sleep.", **changes)


@pytest.fixture
def own(write):
    """Writes rows, or lines as they stand, and opens them."""

    def opened(*rows, name="own.jsonl"):
        texts = [line if isinstance(line, str | bytes) else json.dumps(line, ensure_ascii=False) for line in rows]
        content = b"\n".join(text if isinstance(text, bytes) else text.encode() for text in texts)
        return Jsonl(file=write(content + b"\n", name))

    return opened


class TestWithHeader(DatasetConformance):
    @pytest.fixture
    def dataset(self, own):
        return own(HEADER, row(), second(), row(dialogue="b", candidates=..., retrieve=False, plan=[], evidence=[]))


class TestWithoutHeader(DatasetConformance):
    @pytest.fixture
    def dataset(self, own):
        return own(row(), second())


class TestWithCorpus(DatasetConformance):
    @pytest.fixture
    def dataset(self, own, write):
        write('{"id": "x", "source": "FAQ", "text": "We open at nine."}\n', "faq.jsonl")
        return own({"dataset": {"passages": "faq.jsonl"}}, row(candidates=..., plan=["FAQ"], evidence=["x"]))


class TestGateLabelsOnly(DatasetConformance):
    @pytest.fixture
    def dataset(self, own):
        return own(row(candidates=..., plan=..., evidence=..., reply=...))


def test_is_registered():
    assert datasets.factory("jsonl") is Jsonl


def test_row_becomes_an_example(own, read):
    (first, after), problems = read(own(HEADER, row(domain="bees"), second()))
    assert problems == []
    assert (first.id, first.position, first.domain) == ("a#0", 0, "bees")
    assert (after.id, after.position) == ("a#1", 1)
    assert after.context.turns[1] == Turn("agent", "I keep bees.")
    assert after.gold.plan == ("PERSONA", "DOCUMENTS") and after.gold.evidence == ("p1", "d1")
    assert after.candidates[1].parent == "p1" and after.candidates[1].title == "Bees"
    assert first.context.scope.tenant == "bees"


def test_header_declares_the_sources(own):
    assert own(HEADER, row()).sources == (
        Source("PERSONA", "who I am", about="bot", private=True),
        Source("DOCUMENTS", needs=("PERSONA",), private=True),
    )


def test_without_a_header_sources_are_those_that_occur(own):
    dataset = own(row(), row(dialogue="b", plan=["PERSONA", "MAPS"]))
    assert [source.name for source in dataset.sources] == ["PERSONA", "DOCUMENTS", "MAPS"]
    assert dataset.name == "own"


def test_labels_are_those_that_any_row_has(own):
    bare = {"dialogue": "a", "context": [{"speaker": "user", "text": "hi"}]}
    assert own(bare, bare | {"dialogue": "b", "retrieve": False}).labels == {"retrieve"}
    assert own(bare).labels == frozenset()


def test_language_is_told_by_the_text(own):
    assert own(row(context=[{"speaker": "user", "text": "你有什么爱好？"}])).language == "zh"
    assert own(row()).language == "en"


def test_equal_candidates_of_a_dialogue_share_a_scope(own, read):
    fewer = row(id="x", candidates=CANDIDATES[:1])
    (first, after, other, fourth), _ = read(own(HEADER, row(), second(), row(dialogue="b"), fewer))
    assert first.context.scope == after.context.scope
    assert first.candidates is after.candidates
    assert len({first.context.scope, other.context.scope, fourth.context.scope}) == 3


def test_scopes_are_the_same_in_every_run(own, read):
    (example,), _ = read(own(HEADER, row()))
    assert example.context.scope.user == "a#4fd65eb42687ccbc"


def test_shared_passages_come_from_their_file(own, write, read):
    write('{"id": "x", "source": "FAQ", "text": "We open at nine.", "title": "Hours"}\n', "faq.jsonl")
    dataset = own({"dataset": {"passages": "faq.jsonl"}}, row(candidates=..., plan=["FAQ"], evidence=["x"]))
    (passage,) = dataset.passages()
    assert (passage.id, passage.title) == ("x", "Hours")
    assert dataset.sources == (Source("FAQ", private=False),)
    assert [file.name for file in dataset.files] == ["own.jsonl", "faq.jsonl"]
    assert read(dataset)[1] == []


WRONG = {
    "truncated": ('{"dialogue": "a", "context": [', "this is not whole, valid JSON: EOF while parsing a list"),
    "no object": ("[1, 2]", "a line must be a JSON object, not [1, 2]"),
    "wrong type": (row(retrieve="yes"), "'retrieve' should be a valid boolean, not \"yes\""),
    "number for text": (row(reply=7), "'reply' should be a valid string, not 7"),
    "unknown key": (row(candidate=[]), "unknown key 'candidate' (did you mean 'candidates'?"),
    "unknown key inside": (
        row(context=[{"speaker": "user", "txt": "hi"}]),
        "unknown key 'context[0].txt' (did you mean 'text'? known: speaker, text); 'context[0].text' is missing",
    ),
    "speaker": (row(context=[{"speaker": "bot", "text": "hi"}]), "'context[0].speaker' should be 'user' or 'agent'"),
    "no dialogue": (row(dialogue=...), "'dialogue' is missing"),
    "blank dialogue": (row(dialogue=" "), "'dialogue' is blank"),
    "empty context": (row(context=[]), "'context' is empty"),
    "agent last": (row(context=[{"speaker": "agent", "text": "hi"}]), "is not the user's"),
    "user says nothing": (row(context=[{"speaker": "user", "text": " "}]), "the user's last turn is empty"),
    "empty reply": (row(reply=""), "'reply' is empty"),
    "blank reply": (row(reply=" \n"), "'reply' is empty; leave it out"),
    "stray evidence": (row(evidence=["p2"]), "the evidence 'p2' is not among the candidates (did you mean 'p1'?"),
    "evidence twice": (row(evidence=["p1", "p1"]), "the evidence names a passage twice"),
    "unknown source": (
        row(candidates=[CANDIDATES[0] | {"source": "PERSONAS"}]),
        "a candidate is of the unknown source 'PERSONAS' (did you mean 'PERSONA'?",
    ),
    "unplannable source": (row(plan=["WEB"]), "the plan names the unknown source 'WEB' (known: PERSONA, DOCUMENTS)"),
    "null by name": (row(plan=["NULL"]), "write [] for a plan that asks nothing"),
    "broken needs": (row(plan=["DOCUMENTS"]), "the plan asks 'DOCUMENTS' without 'PERSONA' before it"),
    "broken order": (row(plan=["DOCUMENTS", "PERSONA"]), "the plan asks 'DOCUMENTS' without 'PERSONA' before it"),
    "source twice": (row(plan=["PERSONA", "PERSONA"]), "the plan asks 'PERSONA' twice"),
    "candidates twice": (row(candidates=[CANDIDATES[0]] * 2), "two candidates have the id 'p1'"),
    "not UTF-8": (b'{"dialogue": "\xff"}', "byte 15 is not UTF-8"),
    "negative position": (row(position=-1), "'position' should be greater than or equal to 0"),
}


@pytest.mark.parametrize(("line", "what"), WRONG.values(), ids=WRONG)
def test_a_wrong_row_is_named_by_its_line_and_the_others_come(own, read, line, what):
    examples, (problem,) = read(own(HEADER, row(), line, row(dialogue="b")))
    assert [example.context.dialogue for example in examples] == ["a", "b"]
    assert (problem.row, problem.severity) == (3, "error")
    assert problem.file.endswith("own.jsonl")
    assert what in problem.what


def test_an_id_that_is_taken_names_both_lines(own, read):
    examples, (problem,) = read(own(HEADER, row(), row()))
    assert len(examples) == 1
    assert str(problem).endswith("own.jsonl:3: the id 'a#0' is taken by line 2. Give another id or position.")


def test_all_wrong_rows_are_told(own, read):
    examples, problems = read(own(HEADER, "{", row(), "[]", row(plan=["WEB"])))
    assert len(examples) == 1
    assert [problem.row for problem in problems] == [2, 4, 5]


ODD = {
    "gate against plan": (row(retrieve=False), "'retrieve' is false, but the plan asks PERSONA."),
    "evidence unasked": (row(evidence=["d1"]), "the evidence 'd1' is of a source that the plan does not ask."),
    "lost parent": (row(candidates=CANDIDATES[1:], evidence=[]), "the parent 'p1' of 'd1' is not among"),
}


@pytest.mark.parametrize(("line", "what"), ODD.values(), ids=ODD)
def test_an_odd_row_is_kept_with_a_warning(own, read, line, what):
    (example,), (problem,) = read(own(HEADER, line))
    assert example.id == "a#0"
    assert problem.severity == "warning" and what in problem.what


HEADERS = {
    "unknown key": ({"dataset": {"nam": "x"}}, "unknown key 'dataset.nam' (did you mean 'name'?"),
    "undeclared need": ({"dataset": {"sources": [{"name": "A", "needs": ["B"]}]}}, "needs the unknown source 'B'"),
    "circle": (
        {"dataset": {"sources": [{"name": "A", "needs": ["B"]}, {"name": "B", "needs": ["A"]}]}},
        "the sources A, B need each other in a circle",
    ),
    "twice": ({"dataset": {"sources": [{"name": "A"}, {"name": "A"}]}}, "the source 'A' is declared twice"),
    "null": ({"dataset": {"sources": [{"name": "null"}]}}, "cannot be called NULL"),
    "name": ({"dataset": {"sources": [{"name": "a/b"}]}}, "'dataset.sources[0].name' cannot name a source"),
    "language": ({"dataset": {"language": "de"}}, "'dataset.language' should be 'en' or 'zh'"),
}


@pytest.mark.parametrize(("header", "what"), HEADERS.values(), ids=HEADERS)
def test_a_wrong_header_is_told_and_the_rows_are_still_read(own, read, header, what):
    (example,), (problem,) = read(own(header, row()))
    assert example.id == "a#0"
    assert problem.row == 1 and what in problem.what


def test_wrong_lines_of_the_corpus_are_told(own, write, read):
    write('{"id": "x", "source": "FAQ", "text": "a"}\n{"id": "x", "source": "FAQ", "text": "b"}\n{\n', "faq.jsonl")
    dataset = own({"dataset": {"passages": "faq.jsonl"}}, row(candidates=..., plan=["FAQ"], evidence=["x"]))
    examples, (twice, broken) = read(dataset)
    assert len(examples) == 1
    assert str(twice).endswith("faq.jsonl:2: the id 'x' is taken by a line before.")
    assert broken.row == 3
    assert [passage.text for passage in dataset.passages()] == ["a"]


def test_a_corpus_of_an_undeclared_source_is_told(own, write, read):
    write('{"id": "x", "source": "FAQS", "text": "a"}\n', "faq.jsonl")
    header = {"dataset": {"passages": "faq.jsonl", "sources": [{"name": "FAQ"}]}}
    _, (problem,) = read(own(header, row(candidates=..., plan=[], retrieve=False, evidence=[])))
    assert "source 'FAQS', which is not declared (did you mean 'FAQ'?" in problem.what


def test_a_turn_cannot_bring_candidates_of_a_shared_source(own, write, read):
    write('{"id": "x", "source": "PERSONA", "text": "a"}\n', "shared.jsonl")
    _, (problem,) = read(own({"dataset": {"passages": "shared.jsonl"}}, row()))
    assert "the source 'PERSONA' is shared by all turns" in problem.what


def test_a_missing_corpus_is_an_error(own):
    with pytest.raises(InputError, match=r"There is no file '.*faq.jsonl'"):
        list(own({"dataset": {"passages": "faq.jsonl"}}, row()).examples())


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_an_empty_file_is_an_error(write, content):
    with pytest.raises(InputError, match="is empty"):
        list(Jsonl(file=write(content, "own.jsonl")).examples())


def test_a_folder_is_an_error(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        _ = Jsonl(file=tmp_path).labels


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(InputError, match="There is no file"):
        _ = Jsonl(file=tmp_path / "none.jsonl").sources


def test_byte_order_mark_blank_lines_and_crlf_are_borne(write, read):
    content = b"\xef\xbb\xbf" + json.dumps(HEADER).encode() + b"\r\n\r\n" + json.dumps(row()).encode()
    (example,), problems = read(Jsonl(file=write(content, "own.jsonl")))
    assert problems == [] and example.context.scope.tenant == "bees"


def test_a_line_that_would_fill_the_memory_is_passed_over(own, read, monkeypatch):
    for module in (lines_module,):
        monkeypatch.setattr(module, "LONGEST", 2000)
    long = row(dialogue="long", reply="x" * 5000)
    examples, (problem,) = read(own(HEADER, row(), long, row(dialogue="b")))
    assert [example.context.dialogue for example in examples] == ["a", "b"]
    assert problem.row == 3 and "longer than" in problem.what


def test_a_changed_file_is_surveyed_again(own, write):
    dataset = own(row())
    assert "MAPS" not in {source.name for source in dataset.sources}
    write(json.dumps(row(plan=["MAPS"], evidence=[])), "own.jsonl")
    assert "MAPS" in {source.name for source in dataset.sources}


def test_reading_holds_one_row_at_a_time(own):
    rows = [row(dialogue=f"d{number}", reply=f"{number} " * 200) for number in range(2000)]
    dataset = own(HEADER, *rows)
    size = dataset.files[0].stat().st_size
    tracemalloc.start()
    count = sum(1 for _ in dataset.examples())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 2000
    assert peak < size / 2, f"{peak} bytes for a file of {size}"
