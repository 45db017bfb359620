"""Label files: going on after a kill with the same bytes, and refusing labels of other data."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import InputError, ModelError, StoreLockedError
from dragoman.train.relevance.label_file import read_relevance
from dragoman.train.relevance.labelling import label_relevance
from dragoman.train.relevance.methods import TENTHS, HardLabels, Unanswered
from dragoman.train.relevance.unfinished_file import BATCH

TURNS = 2 * BATCH + 5


@pytest.fixture(scope="module")
def toys(load_beside):
    return load_beside("relevance_toys")


@pytest.fixture(scope="module")
def whole(toys, tmp_path_factory):
    """The bytes of a run that nothing stopped, by a method that hangs on what is judged together."""
    out = tmp_path_factory.mktemp("whole") / "labels.jsonl"
    label_relevance(toys.corpus(TURNS), toys.Sum(beside=True), out)
    return out.read_bytes()


def part_of(out):
    return out.with_name(f"{out.name}.part")


@given(share=st.floats(0, 1), rubbish=st.sampled_from([b"", b"\x00\x00\x00", b'{"id":"d0#1"}\n', b"{}\n"]))
def test_cut_off_anywhere_it_goes_on_to_the_same_bytes(toys, whole, tmp_path_factory, share, rubbish):
    out = tmp_path_factory.mktemp("cut") / "labels.jsonl"
    part_of(out).write_bytes(whole[: int(share * len(whole))] + rubbish)
    method = toys.Sum(beside=True)
    label_relevance(toys.corpus(TURNS), method, out)
    assert out.read_bytes() == whole
    assert not part_of(out).exists()
    kept = TURNS - len(set(method.seen))
    assert kept in (0, BATCH, 2 * BATCH, TURNS)


PROGRAM = """
import sys, time
sys.path.insert(0, sys.argv[1])
import relevance_toys as toys
from pathlib import Path
from dragoman.train.relevance.labelling import label_relevance

class Slow(toys.Sum):
    def judge(self, pools):
        time.sleep(0.4)
        return super().judge(pools)

label_relevance(toys.corpus(int(sys.argv[3])), Slow(beside=True), Path(sys.argv[2]),
                report=lambda done, total: print(done, flush=True))
"""


def test_killed_in_the_middle_it_goes_on_to_the_same_bytes(toys, whole, tmp_path):
    out = tmp_path / "labels.jsonl"
    command = [sys.executable, "-c", PROGRAM, str(Path(__file__).parents[1]), str(out), str(TURNS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while int(process.stdout.readline()) < BATCH:
            pass
        time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
    assert not out.exists()
    method = toys.Sum(beside=True)
    done = label_relevance(toys.corpus(TURNS), method, out)
    assert done.found >= BATCH
    assert "d0#1" not in method.seen
    assert out.read_bytes() == whole


def test_stopped_by_hand_it_keeps_what_was_done(toys, whole, tmp_path):
    out = tmp_path / "labels.jsonl"
    with pytest.raises(KeyboardInterrupt):
        label_relevance(toys.corpus(TURNS), toys.Sum(beside=True, stop=2 * BATCH), out)
    assert label_relevance(toys.corpus(TURNS), toys.Sum(beside=True), out).found == BATCH
    assert out.read_bytes() == whole


def test_a_finished_file_is_not_made_again(toys, tmp_path):
    out = tmp_path / "labels.jsonl"
    label_relevance(toys.corpus(3), toys.Sum(), out)
    again = toys.Sum()
    assert label_relevance(toys.corpus(3), again, out).found == 3
    assert again.seen == []


def test_another_method_or_other_turns_are_refused_and_fresh_begins_anew(toys, tmp_path):
    out = tmp_path / "labels.jsonl"
    label_relevance(toys.corpus(3), toys.Sum(), out)
    before = out.read_bytes()
    with pytest.raises(InputError, match=r"by\.method was sum, is now hard.*--fresh"):
        label_relevance(toys.corpus(3), HardLabels(), out)
    with pytest.raises(InputError, match=r"data\.turns was 3, is now 4"):
        label_relevance(toys.corpus(4), toys.Sum(), out)
    assert out.read_bytes() == before
    label_relevance(toys.corpus(3), HardLabels(), out, fresh=True)
    assert read_relevance(out, toys.corpus(3).examples)["d1#1", "tea"] == 1.0


def test_what_was_begun_by_another_method_is_refused(toys, tmp_path):
    out = tmp_path / "labels.jsonl"
    with pytest.raises(KeyboardInterrupt):
        label_relevance(toys.corpus(TURNS), toys.Sum(stop=1), out)
    with pytest.raises(InputError, match=r"labels\.jsonl\.part holds other labels"):
        label_relevance(toys.corpus(TURNS), HardLabels(), out)


def test_two_processes_cannot_write_one_file(toys, tmp_path):
    out = tmp_path / "labels.jsonl"

    class Meddling(toys.Sum):
        def judge(self, pools):
            with pytest.raises(StoreLockedError, match="Another process"):
                label_relevance(toys.corpus(3), toys.Sum(), out)
            return super().judge(pools)

    label_relevance(toys.corpus(3), Meddling(), out)
    assert out.exists()


def test_data_without_candidates_says_so(toys, tmp_path):
    bare = replace(toys.corpus(1), examples=(replace(toys.turn(), candidates=()),))
    with pytest.raises(InputError, match="candidates of its own"):
        label_relevance(bare, HardLabels(), tmp_path / "x.jsonl")
    with pytest.raises(InputError, match="--sources all"):
        label_relevance(toys.corpus(2, plan=()), HardLabels(), tmp_path / "x.jsonl")


class Failing:
    """Cannot judge documents."""

    about = {"method": "failing", "version": 1}  # noqa: RUF012 - a method's is a mapping

    def judge(self, pools):
        return [Unanswered("no answer") if p.source.name == "DOCUMENTS" else [1.0] * len(p.candidates) for p in pools]


def test_what_cannot_be_judged_stops_it_or_is_left_without_labels(toys, tmp_path, caplog):
    out = tmp_path / "labels.jsonl"
    with pytest.raises(ModelError, match=r"'d0#1' in DOCUMENTS.*no answer.*--skip-failed"):
        label_relevance(toys.corpus(2), Failing(), out)
    assert label_relevance(toys.corpus(2), Failing(), out, skip_failed=True).failed == 2
    assert set(read_relevance(out, toys.corpus(2).examples)) == {
        ("d0#1", "tea"),
        ("d0#1", "sea"),
        ("d1#1", "tea"),
        ("d1#1", "sea"),
    }
    assert "2 turns have no labels" in caplog.text


class TestReading:
    @pytest.fixture
    def labels(self, toys, tmp_path):
        out = tmp_path / "labels.jsonl"
        label_relevance(toys.corpus(3), toys.Sum(), out)
        return out

    def test_every_candidate_of_every_turn(self, toys, labels):
        found = read_relevance(labels, toys.corpus(3).examples)
        assert len(found) == 3 * 5
        assert set(found.values()) <= set(TENTHS)

    def test_a_turn_that_the_data_does_not_have(self, toys, labels):
        with pytest.raises(InputError, match=r"the turn 'd2#1', which is not in the data.*same options"):
            read_relevance(labels, toys.corpus(2).examples)
        assert len(read_relevance(labels, toys.corpus(2).examples, partial=True)) == 2 * 5

    @pytest.mark.parametrize("partial", [False, True])
    def test_a_turn_that_was_not_labelled(self, toys, labels, partial):
        with pytest.raises(InputError, match=r"'d3#1' \(and 1 more\) has no labels"):
            read_relevance(labels, toys.corpus(5).examples, partial=partial)

    def test_a_turn_that_says_its_evidence_may_go_without(self, toys, labels):
        examples = (*toys.corpus(3).examples, toys.turn(7))
        assert read_relevance(labels, examples, gold=True) == read_relevance(labels, examples[:3])
        with pytest.raises(InputError, match=r"'d8#1' has no labels"):
            read_relevance(labels, (*examples[:3], toys.turn(8, evidence=None)), gold=True)

    def test_a_turn_without_candidates_in_its_plan_needs_no_labels(self, toys, labels):
        more = (*toys.corpus(3).examples, toys.turn(7, plan=()))
        assert len(read_relevance(labels, more)) == 3 * 5

    @pytest.mark.parametrize("partial", [False, True])
    def test_a_turn_that_changed(self, toys, labels, partial):
        examples = toys.corpus(3).examples
        other = toys.turn(1, text="Something else?")
        with pytest.raises(InputError, match="'d1#1' changed"):
            read_relevance(labels, (examples[0], other, examples[2]), partial=partial)

    def test_a_passage_that_the_turn_does_not_have(self, toys, labels):
        examples = tuple(replace(each, candidates=each.candidates[1:]) for each in toys.corpus(3).examples)
        with pytest.raises(InputError, match="no candidate 'tea'"):
            read_relevance(labels, examples)

    def test_several_files_of_several_sets(self, toys, labels, tmp_path):
        more = tmp_path / "more.jsonl"
        others = replace(toys.corpus(0), examples=(toys.turn(8), toys.turn(9)))
        label_relevance(others, toys.Sum(), more)
        assert len(read_relevance([labels, more], (*toys.corpus(3).examples, *others.examples))) == 5 * 5
        with pytest.raises(InputError, match=r"labelled in .*labels\.jsonl too"):
            read_relevance([labels, labels], toys.corpus(3).examples)

    def test_lines_that_were_removed_or_swapped(self, toys, labels):
        lines = labels.read_bytes().splitlines(keepends=True)
        for wrong in (lines[:-1], [lines[0], lines[2], lines[1], lines[3]]):
            labels.write_bytes(b"".join(wrong))
            with pytest.raises(InputError, match="is damaged"):
                read_relevance(labels, toys.corpus(3).examples)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"scores": {"tea": 0.55}}, "one of 0.0, 0.1"),
            ({"scores": {"tea": 0.5}}, "lacks labels of some"),
            ({"scores": {"nobody": 0.5}}, "no candidate 'nobody'"),
            ({"extra": 1}, "unknown key 'extra'"),
        ],
    )
    def test_a_line_that_was_changed(self, toys, labels, change, message):
        lines = labels.read_bytes().splitlines(keepends=True)
        lines[2] = json.dumps(json.loads(lines[2]) | change).encode() + b"\n"
        labels.write_bytes(b"".join(lines))
        with pytest.raises(InputError, match=message):
            read_relevance(labels, toys.corpus(3).examples)

    @pytest.mark.parametrize("text", ["{}\n", "[1]\n", '{"dialogue": "1"}\n', '{"relevance": {"format": 2}}\n'])
    def test_a_file_that_is_something_else(self, toys, tmp_path, text):
        other = tmp_path / "other.jsonl"
        other.write_text(text)
        with pytest.raises(InputError, match="no file of relevance labels"):
            read_relevance(other, toys.corpus(1).examples)

    def test_the_header_says_of_what_by_what(self, labels):
        header = json.loads(labels.read_text().splitlines()[0])["relevance"]
        assert header["by"] == {"method": "sum", "version": 1}
        assert header["data"]["turns"] == 3
        assert header["data"]["pairs"] == 15
        assert len(header["data"]["sha256"]) == 64
        assert header["sources"] == "plan"
        assert header["dragoman"]
