"""A turn as a tree, by layout, over a vocabulary of letters."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import InputError, WeightsError
from dragoman.core.tokens import Grammar, Shown, WrittenSequence
from dragoman.core.values import Context
from dragoman.models.unified.masks import layout_mask
from dragoman.models.unified.model import CandidatePassage, Judging, TreeShape, TurnTokens, Writing
from dragoman.models.unified.token_spelling import spell
from dragoman.models.unified.token_tree import laid_out
from dragoman.models.unified.turn_trees import (
    checking,
    fit_evidence,
    judged_evidence,
    judging,
    left_out_notes,
    trunk,
    writing,
)
from dragoman.text.view import View

GRAMMAR = Grammar(("P", "D"))
CONTEXT = Context.of("hi", "yes", "ok")
NAMES = {200 + i: str(token) for i, token in enumerate(GRAMMAR.tokens)}


class Letters:
    size, reserved = 200, ()

    def encode(self, text):
        return [ord(letter) for letter in text]


def turns(layout="tree", **lengths):
    shape = TreeShape(GRAMMAR, layout, View(turns=0, order="oldest", labels=False), **lengths)
    return TurnTokens(shape, spell(GRAMMAR, "rows", Letters()), Letters().encode, end=0)


def told(tokens):
    return "".join(NAMES.get(token) or chr(token) for token in tokens)


def lines(planted):
    return [told(segment.tokens) for segment in planted.segments]


ASKED = Judging(
    CONTEXT, (CandidatePassage("P", "a"), CandidatePassage("D", "b", 0), CandidatePassage("P", "c")), ("P", "D")
)


def test_in_the_tree_a_document_stands_on_its_persona():
    found = judging(turns(), ASKED)
    assert lines(found) == ["hi yes ok\n", "[EVIDENCE][P]a[EOE]", "[EVIDENCE][D]b[EOE]", "[EVIDENCE][P]c[EOE]"]
    assert [segment.parent for segment in found.segments] == [None, 0, 1, 0]
    assert found.candidates == (1, 2, 3)


def test_in_the_papers_layout_the_plan_is_in_the_trunk_and_no_evidence_sees_another():
    found = judging(turns("paper"), ASKED)
    assert lines(found)[0] == "hi yes ok\n[SOURCE][P][D][EOS]"
    assert [segment.parent for segment in found.segments] == [None, 0, 0, 0]


def test_a_plan_after_reading_sees_every_candidate():
    found = checking(turns(), ASKED, ("P",))
    assert lines(found)[-1] == "[CHECK][SOURCE][P][EOS]"
    assert layout_mask(laid_out(found.segments))[-1].all()


def test_a_plain_branch_is_written_after_plan_and_evidence():
    written = WrittenSequence(("P",), (Shown("P", "a", 7),))
    assert lines(writing(turns(), Writing(CONTEXT, written))) == ["hi yes ok\n[SOURCE][P][EOS][EVIDENCE][P]a[EOE][0.7]"]


def test_the_papers_response_sees_all_evidence_and_the_evidence_only_itself():
    written = WrittenSequence(("P",), (Shown("P", "a", 7), Shown("P", "bb", 0)))
    found = writing(turns("paper"), Writing(CONTEXT, written))
    assert lines(found)[1:] == ["[EVIDENCE][P]a[EOE][0.7]", "[EVIDENCE][P]bb[EOE][0.0]", "[EOE]"]
    layout = laid_out(found.segments)
    mask = layout_mask(layout)
    assert mask[-1].all()
    assert not mask[layout.place(2, -1), layout.starts[1] : layout.starts[2]].any()
    assert layout.positions[-1] == layout.positions[layout.place(2, -1)] + 1


def test_evidence_is_cut_to_its_most_tokens_wherever_it_stands():
    short = turns(candidate=2)
    assert told(short.branch("P", "abcdef")) == "[EVIDENCE][P]ab[EOE]"
    assert told(judged_evidence(short, Shown("P", "abcdef", 1))) == "[EVIDENCE][P]ab[EOE][0.1]"
    assert told(short.evidence([Shown("P", "abcdef", 1)])) == "[EVIDENCE][P]ab[EOE][0.1]"


def test_the_oldest_turns_give_way_first_and_are_counted():
    assert told(turns().trunk(CONTEXT, 7)[0]) == "yes ok\n"
    assert turns().trunk(CONTEXT, 7)[1] == 1
    assert told(turns().trunk(CONTEXT, 2)[0]) == "k\n"
    with pytest.raises(InputError, match="no room"):
        turns().trunk(CONTEXT, 0)


def test_what_was_cut_is_told():
    small = turns(window=20, response=4, candidate=3)
    asked = Writing(Context.of("hi", "x" * 30), WrittenSequence(("P",), (Shown("P", "abcd", 1), Shown("P", "abc", 2))))
    kept, dropped = fit_evidence(small, asked, dialogue=0)
    planted = writing(small, kept)
    assert told(planted.segments[0].tokens).startswith("x")
    expected = {"turns_left_out": 1.0, "turn_cut": 1.0, "evidence_left_out": 1.0}
    assert left_out_notes(small, kept, planted, dropped) == expected
    assert left_out_notes(small, asked, planted, 0) == {"turns_left_out": 1.0, "turn_cut": 1.0, "evidence_cut": 1.0}


def test_a_turn_that_just_fits_is_not_cut():
    assert not trunk(turns(window=7, response=4), Context.of("ok"), room=4).cut
    assert trunk(turns(window=6, response=4), Context.of("ok"), room=4).cut


@given(st.lists(st.text("ab", min_size=1, max_size=9), min_size=1, max_size=12), st.integers(1, 60))
def test_no_more_turns_are_left_out_than_must_be(said, room):
    """The same as leaving out one after another, by fewer steps."""
    context, left_out = Context.of(*said), 0
    while len(" ".join(said[left_out:])) + 1 > room and left_out < len(said) - 1:
        left_out += 1
    expected = (" ".join(said[left_out:]) + "\n")[-room:]
    found, count = turns().trunk(context, room)
    assert (told(found), count) == (expected, left_out)


def test_of_a_megabyte_only_what_can_be_kept_is_looked_at():
    read = []
    made = replace(turns(window=64), encode=lambda text: read.append(len(text)) or Letters().encode(text))
    assert len(made.trunk(Context.of("x" * 1_000_000, "yes", "y" * 1_000_000), 50)[0]) == 50
    assert len(made.branch("P", "z" * 1_000_000)) == made.shape.candidate + 3
    assert len(made.evidence((Shown("P", "z" * 1_000_000, 3),))) == made.shape.candidate + 4
    assert max(read) < 10_000


def test_a_window_leaves_room_for_what_follows():
    small = turns(window=64, response=16, candidate=8)
    long = Context.of("x" * 100)
    found = writing(small, Writing(long, WrittenSequence(("P",), (Shown("P", "y" * 30, 5),))))
    assert len(found.segments[0].tokens) + 16 == 64
    assert len(judging(small, Judging(long, (CandidatePassage("P", "z" * 30),))).segments[0].tokens) < 64


def test_a_candidate_before_its_parent_and_branches_of_a_line_are_refused():
    with pytest.raises(InputError, match="depends on candidate 1"):
        judging(turns(), Judging(CONTEXT, (CandidatePassage("D", "b", 1), CandidatePassage("P", "a"))))
    with pytest.raises(InputError, match="no branches"):
        judging(turns("plain"), ASKED)


def test_a_shape_is_read_back_as_it_was():
    shape = turns("paper", window=77).shape
    assert TreeShape.from_json(shape.to_json()) == shape
    with pytest.raises(WeightsError, match="Unknown layout"):
        TreeShape.from_json(shape.to_json() | {"layout": "bush"})
    with pytest.raises(WeightsError, match="cannot be read"):
        TreeShape.from_json({"layout": "tree"})
