"""Any set written as JSON lines reads back as it was, and no half of a file is ever left."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import InputError
from dragoman.core.examples import Example, Gold, Problem
from dragoman.core.values import Context, Passage, Scope, Source, Turn
from dragoman.datasets.loaders.convai2 import ConvAi2
from dragoman.datasets.loaders.dstc11 import Dstc11
from dragoman.datasets.loaders.dulemon import Dulemon
from dragoman.datasets.loaders.jsonl import Jsonl
from dragoman.datasets.loaders.kbp import Kbp
from dragoman.datasets.loaders.ketod_gate import KetodGate
from dragoman.datasets.writing import TextFile, together, write_jsonl

SOURCES = (Source("PERSONA", "who", about="bot", private=True), Source("DOCS", needs=("PERSONA",), private=True))


def examples_of(dataset):
    return [found for found in dataset.examples() if isinstance(found, Example)]


def comparable(examples):
    """Examples without the names of their scopes, which are the loader's own; which are equal is kept."""
    names = {}
    return [
        replace(each, context=replace(each.context, scope=Scope("t", str(names.setdefault(key, len(names))))))
        for each in examples
        for key in [(each.context.dialogue, repr(each.candidates))]
    ]


text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=12)
word = text.filter(str.strip)
meta = st.dictionaries(text, text, max_size=2)


@st.composite
def example(draw, number):
    ids = draw(st.lists(word, unique=True, max_size=4))
    candidates = tuple(
        Passage(
            name,
            draw(st.sampled_from(["PERSONA", "DOCS"])),
            draw(word),
            draw(st.just("") | text),
            tuple(draw(st.lists(text, max_size=2))),
            draw(st.none() | word),
            draw(st.integers(0, 5)),
            draw(st.just("") | text),
            draw(meta),
        )
        for name in ids
    )
    history = draw(st.lists(st.builds(Turn, st.sampled_from(["user", "agent"]), text), max_size=3))
    gold = Gold(
        draw(st.none() | st.booleans()),
        draw(st.sampled_from([None, (), ("PERSONA",), ("PERSONA", "DOCS")])),
        draw(st.none() | st.lists(st.sampled_from(ids), unique=True).map(tuple))
        if ids
        else draw(st.none() | st.just(())),
        draw(st.none() | word),
    )
    dialogue = draw(st.sampled_from(["a", "b", "对话"]))
    return Example(
        f"{number}",
        Context((*history, Turn("user", draw(word))), Scope("t", f"{number}"), dialogue),
        SOURCES,
        candidates,
        gold,
        draw(st.integers(0, 9)),
        draw(st.just("") | text),
        draw(meta),
    )


@given(st.data())
def test_round_trip_gives_equal_examples(tmp_path_factory, data):
    made = [data.draw(example(number)) for number in range(data.draw(st.integers(1, 4)))]
    path = tmp_path_factory.mktemp("round") / "set.jsonl"
    written = write_jsonl(made, path, name="t", sources=SOURCES)
    assert written.problems == () and written.rows == len(made)
    back = Jsonl(file=path)
    assert back.sources == SOURCES and back.name == "t"
    assert comparable(examples_of(back)) == comparable(made)
    again = path.with_name("again.jsonl")
    assert write_jsonl(back, again).sha256 == written.sha256
    assert again.read_bytes() == path.read_bytes()


LOADERS = {
    "kbp": lambda data: Kbp(file=data / "kbp.json"),
    "dulemon": lambda data: Dulemon(file=data / "dulemon.jsonl"),
    "ketod": lambda data: KetodGate(file=data / "ketod_gate.jsonl"),
    "convai2": lambda data: ConvAi2(file=data / "convai2.txt"),
    "dstc11": lambda data: Dstc11(file=data / "dstc11" / "dev"),
}


@pytest.mark.parametrize("name", LOADERS)
def test_every_set_reads_back_as_it_was(name, data, tmp_path):
    dataset = LOADERS[name](data)
    written = write_jsonl(dataset, tmp_path / "set.jsonl")
    back = Jsonl(file=tmp_path / "set.jsonl")
    assert [problem for problem in written.problems if problem.file == dataset.name] == []
    assert comparable(examples_of(back)) == comparable(examples_of(dataset))
    assert list(back.passages()) == list(dataset.passages())
    assert (back.name, back.language, back.sources) == (dataset.name, dataset.language, dataset.sources)


def turn(name="1", **changes):
    return replace(Example(name, Context.of("hi", dialogue="a"), SOURCES, gold=Gold(reply="yes")), **changes)


def test_what_cannot_be_written_is_named(tmp_path):
    odd = [turn(), turn("2", gold=Gold(reply=" ")), turn(), turn("3", context=Context.of("\ud800", dialogue="a"))]
    problem = Problem("elsewhere.json", 4, "broken")
    written = write_jsonl([*odd, problem], tmp_path / "set.jsonl", name="mine")
    assert written.rows == 1
    assert [str(found) for found in written.problems] == [
        "mine:2: 2: 'reply' is empty; leave it out where none is known.",
        "mine:3: 1: the id '1' is taken by an earlier turn.",
        "mine:4: 3: it holds half a character (a lone surrogate), which no file can carry.",
        "elsewhere.json:4: broken",
    ]


def test_shared_passages_go_beside_the_turns(tmp_path):
    shared = (Source("FAQ"),)
    gold = Gold(evidence=("x",), plan=("FAQ",))
    written = write_jsonl(
        [turn(sources=shared, gold=gold)], tmp_path / "set.jsonl", passages=[Passage("x", "FAQ", "At nine.")]
    )
    assert written.problems == ()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["set.jsonl", "set.passages.jsonl"]
    assert [passage.text for passage in Jsonl(file=tmp_path / "set.jsonl").passages()] == ["At nine."]


def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_said_and_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "set.jsonl"
    path.write_text("before")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"The disk is full: .*set.jsonl was not written. Make room"):
        write_jsonl([turn()], path)
    assert [place.name for place in tmp_path.iterdir()] == ["set.jsonl"]
    assert path.read_text() == "before"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_disk_that_is_full_while_writing_is_said(tmp_path):
    (tmp_path / f".set.jsonl.{os.getpid()}.part").symlink_to("/dev/full")
    with pytest.raises(InputError, match="The disk is full"):
        write_jsonl([turn(gold=Gold(reply="x" * 100_000))], tmp_path / "set.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_an_error_in_the_middle_leaves_nothing(tmp_path):
    def broken():
        yield turn()
        raise InputError("The set breaks off.")

    class Set:
        name, language, sources, labels, files = "s", "en", SOURCES, frozenset(), ()

        def examples(self):
            return broken()

        def passages(self):
            return iter(())

    with pytest.raises(InputError, match="breaks off"):
        write_jsonl(Set(), tmp_path / "set.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_files_appear_together_or_not_at_all(tmp_path, monkeypatch):
    finish = TextFile.finish

    def second_fails(file):
        if file.path.name == "b":
            full()
        finish(file)

    monkeypatch.setattr(TextFile, "finish", second_fails)
    with pytest.raises(OSError), together([tmp_path / "a", tmp_path / "b"]) as (first, _):
        first.write(b"x")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_said(tmp_path):
    with pytest.raises(InputError, match="There is no folder"):
        write_jsonl([turn()], tmp_path / "no" / "set.jsonl")


def test_a_folder_in_the_files_place_is_said(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        write_jsonl([turn()], tmp_path)
