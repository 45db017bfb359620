"""The run folder: what is written comes back, and nothing that was written is lost."""

from __future__ import annotations

import errno
import math
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import StoreCorruptError, StoreError, StoreFullError, StoreLockedError
from dragoman.core.trace import Note, Refinement, Reply, Retrieval, Trace
from dragoman.core.values import Draft, Evidence, Learned, Passage, Plan, Usage, Verdict
from dragoman.evaluate.results import Outcome
from dragoman.evaluate.running import run_folder as folders
from dragoman.evaluate.running.outcome_lines import outcome_lines, outcome_of
from dragoman.evaluate.running.run_folder import RunFolder, file_name

texts = st.text(max_size=20)
numbers = st.floats(0, 1)
passages = st.builds(
    Passage, texts, texts, texts, texts, st.tuples(texts), st.none() | texts, st.integers(0, 9), texts,
    st.dictionaries(texts, texts, max_size=1),
)  # fmt: skip
evidences = st.builds(Evidence, passages, numbers, st.dictionaries(texts, numbers, max_size=2))
verdicts = st.builds(Verdict, st.booleans(), numbers, texts)
plans = st.builds(Plan, st.tuples(st.tuples(texts)), st.dictionaries(texts, numbers, max_size=2), texts)
usages = st.builds(Usage, st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
drafts = st.builds(
    Draft, texts, numbers, texts, st.tuples(texts), usages, st.dictionaries(texts, texts | numbers, max_size=2)
)
several = st.lists(evidences, max_size=3).map(tuple)
values = st.one_of(
    verdicts,
    plans,
    drafts,
    st.builds(Retrieval, st.tuples(texts), several, texts),
    st.builds(Refinement, st.tuples(st.tuples(texts, numbers)), st.tuples(st.tuples(texts, texts)), several, drafts),
    st.builds(Learned, st.lists(passages, max_size=1).map(tuple)),
)
notes = st.builds(Note, st.sampled_from(["memory", "gate", "reader"]), texts, numbers, values)
replies = st.builds(
    Reply, texts, verdicts, plans, several, st.lists(notes, max_size=3).map(lambda found: Trace(tuple(found))), numbers
)


def outcome(number, seconds=0.5):
    evidence = (Evidence(Passage(f"p{number}", "DOCUMENTS", "一段文字\u2028 text"), 0.25, {"bm25": 1.5}),)
    verdict, plan = Verdict(True, 0.7), Plan((("DOCUMENTS",),))
    trace = Trace(
        (
            Note("gate", "gate.always.v1", seconds, verdict),
            Note("retriever", "retriever.sparse.v1", seconds, Retrieval(("DOCUMENTS",), evidence, "q")),
        )
    )
    return Outcome(f"e{number}", Reply(f"reply {number}", verdict, plan, evidence, trace), Usage(3, 2, 1), 4)


OUTCOMES = [outcome(number) for number in range(10)]


def files_of(path):
    return next((path / "rows").rglob("*.jsonl")), next((path / "times").rglob("*.jsonl"))


@given(st.builds(Outcome, texts, replies, usages, st.integers(0, 9)))
def test_an_outcome_comes_back_as_it_was(found):
    assert outcome_of(*outcome_lines(found)) == found


def test_seconds_stand_in_the_twin_alone():
    slow, fast = outcome_lines(outcome(1, seconds=9.0)), outcome_lines(outcome(1, seconds=0.1))
    assert slow[0] == fast[0]
    assert slow[1] != fast[1]
    back = outcome_of(slow[0], None)
    assert math.isnan(back.reply.trace.seconds)


def test_evidence_of_several_notes_is_written_once():
    assert outcome_lines(OUTCOMES[0])[0].count("一段文字") == 1


def test_rows_come_back_in_order_after_several_batches(tmp_path):
    with RunFolder(tmp_path) as folder:
        folder.append("set", "system", OUTCOMES[:4])
        folder.append("set", "system", OUTCOMES[4:])
        assert folder.done("set", "system") == 10
    assert list(RunFolder(tmp_path).outcomes("set", "system")) == OUTCOMES
    assert RunFolder(tmp_path).done("set", "system") == 10


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("cut", [1, 30, 150])
def test_a_torn_end_of_either_file_is_dropped_from_both(tmp_path, kind, cut):
    with RunFolder(tmp_path) as folder:
        folder.append("set", "system", OUTCOMES)
    torn = files_of(tmp_path)[kind]
    os.truncate(torn, torn.stat().st_size - cut)
    with RunFolder(tmp_path) as folder:
        kept = folder.done("set", "system")
        assert 0 < kept < 10
        folder.append("set", "system", OUTCOMES[kept:])
        assert list(folder.outcomes("set", "system")) == OUTCOMES
    assert [len(file.read_bytes().splitlines()) for file in files_of(tmp_path)] == [10, 10]


def test_reading_stops_before_a_line_that_is_being_written(tmp_path):
    with RunFolder(tmp_path) as folder:
        folder.append("set", "system", OUTCOMES)
    rows, _ = files_of(tmp_path)
    os.truncate(rows, rows.stat().st_size - 5)
    assert list(RunFolder(tmp_path).outcomes("set", "system")) == OUTCOMES[:-1]


def test_a_damaged_line_is_named(tmp_path):
    with RunFolder(tmp_path) as folder:
        folder.append("set", "system", OUTCOMES)
    rows, _ = files_of(tmp_path)
    lines = rows.read_bytes().splitlines(keepends=True)
    rows.write_bytes(b"".join([*lines[:3], b"{}\n", *lines[4:]]))
    with pytest.raises(StoreCorruptError, match="Line 4 of"):
        list(RunFolder(tmp_path).outcomes("set", "system"))


def test_a_full_disk_loses_nothing_and_the_run_goes_on(tmp_path, monkeypatch):
    with RunFolder(tmp_path) as folder:
        folder.append("set", "system", OUTCOMES[:4])
        real, calls = folders._add, []

        def full(file, text):
            calls.append(file)
            if len(calls) == 2:  # the times are written, the rows come half through
                with file.open("ab") as opened:
                    opened.write(text.encode()[:50])
                raise OSError(errno.ENOSPC, "No space left on device")
            real(file, text)

        monkeypatch.setattr(folders, "_add", full)
        with pytest.raises(StoreFullError, match="is kept") as error:
            folder.append("set", "system", OUTCOMES[4:8])
        assert "run the same command again" in error.value.remedy
        monkeypatch.setattr(folders, "_add", real)
        assert folder.done("set", "system") == 4
        folder.append("set", "system", OUTCOMES[4:])
    assert list(RunFolder(tmp_path).outcomes("set", "system")) == OUTCOMES


def test_a_write_that_fails_half_way_leaves_the_file_as_it_was(tmp_path):
    resource = pytest.importorskip("resource")
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b"before\n")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, before[1]))  # room for a part of what comes
    try:
        with pytest.raises(OSError, match="large"):
            folders._add(file, "after\n" * 10)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert file.read_bytes() == b"before\n"


def test_a_small_file_is_whole_or_the_old_one(tmp_path, monkeypatch):
    folder = RunFolder(tmp_path)
    folder.write("run.json", "old")
    monkeypatch.setattr(folders.os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    with pytest.raises(StoreFullError):
        folder.write("run.json", "new")
    assert folder.read("run.json") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_a_folder_that_cannot_be_made_is_an_error_with_its_name(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file/run"), RunFolder(tmp_path / "file" / "run"):
        pass


def test_two_processes_on_one_folder_are_refused(tmp_path):
    code = (
        "import sys; from dragoman.evaluate.running.run_folder import RunFolder\n"
        "with RunFolder(sys.argv[1]): print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(StoreLockedError, match="Another process"), RunFolder(tmp_path):
            pass
        other.stdin.close()
        other.wait(60)
    with RunFolder(tmp_path) as folder:
        assert folder.done("set", "system") == 0


def test_appending_without_the_lock_is_refused(tmp_path):
    with pytest.raises(StoreError, match="open for reading"):
        RunFolder(tmp_path).append("set", "system", OUTCOMES)


def test_dropping_takes_one_system_or_all(tmp_path):
    with RunFolder(tmp_path) as folder:
        for name in ("a", "b"):
            folder.append("set", name, OUTCOMES)
        folder.drop("set", "a")
        assert (folder.done("set", "a"), folder.done("set", "b")) == (0, 10)
        folder.drop()
        assert folder.done("set", "b") == 0


@given(texts, texts)
def test_names_of_files_are_plain_and_differ_where_names_do(one, other):
    assert set(file_name(one)) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert (file_name(one) == file_name(other)) == (one == other)


def test_text_with_lone_surrogates_survives(tmp_path):
    odd = replace(OUTCOMES[0], reply=replace(OUTCOMES[0].reply, text="\udc80"))
    with RunFolder(tmp_path) as folder:
        folder.append("set", "system", [odd])
    assert list(RunFolder(tmp_path).outcomes("set", "system")) == [odd]
