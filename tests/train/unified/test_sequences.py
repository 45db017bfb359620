"""What is learned of a turn, and what is not, drawn by hand for each layout."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import TrainingError
from dragoman.core.tokens import EVALUATION
from dragoman.core.values import Passage
from dragoman.models.unified.token_tree import laid_out
from dragoman.train.unified.sequences import Sequences
from dragoman.train.unified.training_trees import DrawOptions

from ..lettered import CANDIDATES, END, example, orders, passage, told, turns


def sequences(
    layout="tree", style="unims", way="rows", lengths=None, shared=(), relevance=None, weights=None, **drawing
):
    made = turns(layout, style, way, **(lengths or {}))
    options = {"distractors": 0, "noise": 0, **drawing}
    return made, Sequences(
        made, DrawOptions(**options), orders=orders, shared=shared, relevance=relevance, weights=weights
    )


def drawn(made, lesson):
    """Each segment as text with its parent; each learned place as (text before it in its segment, what is learned)."""
    segments = [(told(made, segment.tokens), segment.parent) for segment in lesson.segments]
    places = {}
    for place in lesson.places:
        before = told(made, lesson.segments[place.segment].tokens[: place.offset + 1])
        what = place.value if place.kind == "similarity" else told(made, (place.target,))
        places.setdefault(place.kind, []).append((before, what))
    return segments, places


def test_the_tree_learns_plan_similarities_response_and_check_and_nothing_else():
    made, making = sequences()
    lesson = making.tree(example(), 0)
    segments, places = drawn(made, lesson)
    assert segments[:2] == [("hi\n", None), ("[SOURCE][P][D][EOS]", 0)]
    branches = segments[2:7]
    assert sorted(text for text, _ in branches) == sorted(
        f"[EVIDENCE][{one.source}]{one.text}[EOE]" for one in CANDIDATES
    )
    for text, parent in branches:  # documents on their persona, personas on the dialogue
        above = {"x": "a", "y": "a", "z": "b"}.get(text[-6])
        assert segments[parent][0] == (f"[EVIDENCE][P]{above}[EOE]" if above else "hi\n")
    line = segments[7]
    assert line[1] == 1
    assert line[0] in (
        "[EVIDENCE][P]a[EOE][1.0][EVIDENCE][D]y[EOE][1.0]ok",
        "[EVIDENCE][D]y[EOE][1.0][EVIDENCE][P]a[EOE][1.0]ok",
    )
    assert segments[8] == ("[CHECK][SOURCE][P][D][EOS]", 0)
    assert set(lesson.segments[8].sees) == {2, 3, 4, 5, 6}

    plan = [("[SOURCE]", "[P]"), ("[SOURCE][P]", "[D]"), ("[SOURCE][P][D]", "[EOS]")]
    assert places["plan"] == plan
    assert places["check"] == [(f"[CHECK]{before}", what) for before, what in plan]
    before = line[0].removesuffix("ok")
    assert places["response"] == [(before, "o"), (f"{before}o", "k"), (f"{before}ok", "|")]
    right = {"[EVIDENCE][P]a[EOE]", "[EVIDENCE][D]y[EOE]"}
    assert dict(places["similarity"]) == {text: float(text in right) for text, _ in branches}
    # not learned: the dialogue, [SOURCE], the evidence's words, and the similarities that the response reads
    assert not [place for place in lesson.places if place.segment == 0]
    main = [place for place in lesson.places if place.segment == 7]
    assert {place.kind for place in main} == {"response"}


def test_candidates_of_a_source_are_compared_where_one_is_right():
    made, making = sequences()
    lesson = making.tree(example(), 0)
    found = {}
    for group in lesson.groups:
        texts = [told(made, lesson.segments[lesson.places[place].segment].tokens) for place in group.places]
        found[group.source] = {text[-6]: right for text, right in zip(texts, group.gold, strict=True)}
    assert found == {"P": {"a": True, "b": False}, "D": {"x": False, "y": True, "z": False}}


def test_a_null_turn_judges_its_candidates_too_and_says_its_first_word_after_the_plan():
    made, making = sequences()
    lesson = making.tree(example(plan=(), evidence=()), 0)
    segments, places = drawn(made, lesson)
    assert places["plan"] == [("[SOURCE]", "[NULL]"), ("[SOURCE][NULL]", "[EOS]")]
    assert [value for _, value in places["similarity"]] == [0.0] * 5
    assert lesson.groups == ()
    assert places["response"] == [("[SOURCE][NULL][EOS]", "o"), ("o", "k"), ("ok", "|")]
    assert segments[7] == ("ok", 1)


def test_the_papers_response_sees_its_evidence_and_each_similarity_its_own_alone():
    made, making = sequences("paper")
    lesson = making.tree(example(), 0)
    segments, places = drawn(made, lesson)
    assert segments[:2] == [("hi\n", None), ("[SOURCE][P][D][EOS]", 0)]
    assert {parent for _, parent in segments[2:]} == {1}
    taken = [i for i, (text, _) in enumerate(segments) if text.endswith("[1.0]")]
    assert sorted(segments[i][0] for i in taken) == ["[EVIDENCE][D]y[EOE][1.0]", "[EVIDENCE][P]a[EOE][1.0]"]
    assert segments[-1][0] == "[EOE]ok" and set(lesson.segments[-1].sees) == set(taken)
    right = {"[EVIDENCE][P]a[EOE]", "[EVIDENCE][D]y[EOE]"}
    assert dict(places["similarity"]) == {
        text.removesuffix("[1.0]"): float(text.removesuffix("[1.0]") in right) for text, _ in segments[2:-1]
    }
    assert places["response"] == [("[EOE]", "o"), ("[EOE]o", "k"), ("[EOE]ok", "|")]
    assert "check" not in places


def test_in_the_papers_layout_nothing_is_judged_for_null():
    made, making = sequences("paper")
    segments, places = drawn(made, making.tree(example(plan=(), evidence=()), 0))
    assert segments == [("hi\n", None), ("[SOURCE][NULL][EOS]", 0), ("[EOE]ok", 1)]
    assert set(places) == {"plan", "response"}


def test_the_plain_line_learns_each_similarity_after_all_before_it():
    made, making = sequences("plain", distractors=2, seed=3)
    lesson = making.tree(example(), 0)
    segments, places = drawn(made, lesson)
    assert [parent for _, parent in segments] == [None, 0, 1]
    line = segments[2][0]
    said = [(before, value) for before, value in places["similarity"]]
    assert len(said) == line.count("[EVIDENCE]") >= 2
    for before, value in said:
        assert line.startswith(before) and before.endswith("[EOE]")
        assert line[len(before) :].startswith(f"[{value:.1f}]")  # what is learned is what stands there
    assert places["response"][0][0] == line.removesuffix("ok")


def test_safari_learns_plan_and_response_alone():
    made, making = sequences("plain", "safari")
    lesson = making.tree(example(), 0)
    segments, places = drawn(made, lesson)
    assert segments[2][0] in ("[MIDDLE][P]a[AND][D]y[EOM]ok", "[MIDDLE][D]y[AND][P]a[EOM]ok")
    assert set(places) == {"plan", "response"}
    assert lesson.groups == ()


def test_plain_text_tokens_are_learned_letter_by_letter():
    _, making = sequences(way="text")
    lesson = making.tree(example(plan=("P",), evidence=("p1",)), 0)
    places = [place for place in lesson.places if place.kind == "plan"]
    assert "".join(chr(place.target) for place in places) == "[P][EOS]"
    assert places[0].offset == len("[SOURCE]") - 1
    options = {"".join(map(chr, sorted(place.options))) for place in places}
    assert options == {"[", "NP", "]", "DE", "O", "S"}  # [NULL] or [P]; then [D] or [EOS]


def test_closed_learning_leaves_out_what_could_not_be_otherwise():
    _, making = sequences(closed=True)
    lesson = making.tree(example(), 0)
    plan = [place for place in lesson.places if place.kind == "plan"]
    assert len(plan) == 2 and all(len(place.options) == 2 for place in plan)


def test_what_has_no_label_is_not_learned():
    _, making = sequences()
    lesson = making.tree(example(reply=None), 0)
    assert "response" not in {place.kind for place in lesson.places}
    unknown = making.tree(example(evidence=None), 0)
    assert {place.kind for place in unknown.places} == {"plan", "response"}


def test_distractors_are_of_the_same_sources_and_their_similarities_fit():
    made, making = sequences(distractors=2, noise=2)
    seen = set()
    for epoch in range(40):
        lesson = making.tree(example(plan=("P",), evidence=("p1",)), epoch)
        line = told(made, lesson.segments[-2].tokens)
        for piece in line.split("[EVIDENCE]")[1:]:
            assert piece.startswith("[P]")
            tenth = float(piece.partition("[EOE][")[2][:3])
            assert tenth >= 0.8 if piece.startswith("[P]a") else tenth <= 0.2
            seen.add((piece[3], tenth))
    assert {("a", 1.0), ("a", 0.8), ("b", 0.0), ("b", 0.2)} <= seen


def test_evidence_is_shuffled_by_seed_epoch_and_example_alone():
    made, making = sequences()
    lines = [told(made, making.tree(example(), epoch).segments[7].tokens) for epoch in range(12)]
    assert len(set(lines)) == 2
    again = [told(made, sequences()[1].tree(example(), epoch).segments[7].tokens) for epoch in range(12)]
    assert lines == again
    assert making.tree(example(name="t2"), 0).segments != making.tree(example(), 0).segments


@given(st.integers(2, 9), st.integers(0, 50))
def test_a_cap_keeps_what_is_right_and_what_it_depends_on(most, epoch):
    many = (*CANDIDATES, *(passage(f"d{i}", "D", chr(65 + i), f"p{1 + i % 2}") for i in range(4, 12)))
    made, making = sequences(most_candidates=most)
    lesson = making.tree(example(candidates=many), epoch)
    branches = [i for i, one in enumerate(lesson.segments) if told(made, one.tokens).endswith("[EOE]")]
    texts = [told(made, lesson.segments[i].tokens) for i in branches]
    assert "[EVIDENCE][P]a[EOE]" in texts and "[EVIDENCE][D]y[EOE]" in texts
    assert len(branches) <= max(most, 2)
    for i in branches:
        is_document = "[D]" in told(made, lesson.segments[i].tokens)
        assert (lesson.segments[i].parent in branches) == is_document
    laid_out(lesson.segments)  # every segment stands after its parent


def test_soft_labels_of_a_file_stand_in_for_gold():
    labels = {("t1", "p1"): 0.9, ("t1", "p2"): 0.3, ("t1", "d1"): 0.4, ("t1", "d2"): 0.8}
    made, making = sequences(relevance=labels)
    lesson = making.tree(example(), 0)
    _, places = drawn(made, lesson)
    found = {text[-6]: value for text, value in places["similarity"]}
    assert found == {"a": 0.9, "b": 0.3, "x": 0.4, "y": 0.8}  # nothing is known of z, which is not learned
    null = making.tree(example(plan=(), evidence=(), name="t9"), 0)
    assert [place.value for place in null.places if place.kind == "similarity"] == [0.0] * 5


def test_the_same_words_are_never_right_and_wrong_at_once():
    twice = (*CANDIDATES, passage("p9", "P", "a"))
    _, making = sequences()
    lesson = making.tree(example(candidates=twice), 0)
    assert sum(place.kind == "similarity" for place in lesson.places) == 5


def test_shared_passages_are_drawn_where_a_turn_has_none():
    shared = tuple(Passage(f"s{i}", "P", chr(97 + i)) for i in range(20))
    made, making = sequences(shared=shared, most_candidates=4)
    lesson = making.tree(example(plan=("P",), evidence=("s3",), candidates=()), 0)
    judged = [told(made, lesson.segments[p.segment].tokens) for p in lesson.places if p.kind == "similarity"]
    assert len(judged) == 4 and "[EVIDENCE][P]d[EOE]" in judged


def test_long_evidence_is_cut_and_the_least_similar_left_out_before_the_dialogue():
    lengths = {"window": 110, "candidate": 30, "response": 8}
    many = tuple(passage(f"p{i}", "P", chr(97 + i) * 200) for i in range(4))
    made, making = sequences("tree", lengths=lengths)
    lesson = making.tree(example(plan=("P",), evidence=("p0", "p1"), candidates=many, said="hello " * 40), 0)
    line = told(made, lesson.segments[-2].tokens)
    assert line.count("[EVIDENCE]") == 1 and ("a" * 30 in line or "b" * 30 in line)
    row = laid_out(lesson.segments)
    assert max(row.positions) < 110


def test_a_window_without_room_is_refused_with_the_turn():
    _, making = sequences(lengths={"window": 40, "candidate": 60, "response": 4})
    long = (passage("p1", "P", "a" * 200), passage("d2", "D", "b" * 200, "p1"))
    with pytest.raises(TrainingError, match=r"'t1' needs 1\d\d tokens after its dialogue, and the window has 40"):
        making.tree(example(candidates=long), 0)


def test_a_plan_that_breaks_the_sources_needs_is_refused():
    _, making = sequences()
    with pytest.raises(TrainingError, match="The plan D of the turn 't1' is no order"):
        making.tree(example(plan=("D",), evidence=("d1",)), 0)


def test_a_rare_plan_counts_more():
    _, making = sequences(weights={("P",): 3.0})
    lesson = making.tree(example(plan=("P",), evidence=("p1",)), 0)
    assert {place.weight for place in lesson.places if place.kind in ("plan", "check")} == {3.0}
    assert {place.weight for place in lesson.places if place.kind in ("similarity", "response")} == {1.0}


@pytest.mark.parametrize("layout", ["tree", "paper", "plain"])
def test_on_dev_every_order_candidate_and_word_is_asked(layout):
    made, making = sequences(layout)
    found = making.examined(example())
    assert found.gold == ("P", "D")
    first, tree = found.plan
    assert set(tree.sequences) == {(), ("P",), ("P", "D")}
    assert told(made, found.segments[first].tokens) == "[SOURCE]"
    judged = {told(made, found.segments[place].tokens): right for place, _, right in found.candidates}
    assert len(judged) == 5 and judged["[EVIDENCE][D]y[EOE]"] and not judged["[EVIDENCE][D]x[EOE]"]
    assert [place.target for place in found.places] == [ord("o"), ord("k"), END]
    assert (found.check is not None) == (layout == "tree")
    laid_out(found.segments)


@pytest.mark.parametrize("layout", ["tree", "paper", "plain"])
def test_titles_are_read_wherever_evidence_stands(layout):
    titled = tuple(replace(one, title=f"t{one.id}") for one in CANDIDATES)
    made, making = sequences(layout)
    given = example(candidates=titled)
    text = "".join(told(made, segment.tokens) for segment in making.tree(given, 0).segments)
    for name, letter in (("p1", "a"), ("d2", "y")):
        before = "[P]" if name == "p1" else "[D]"
        assert text.count(f"{before}t{name}\n{letter}[EOE]") == text.count(f"{letter}[EOE]") > 0
    read = "".join(told(made, segment.tokens) for segment in making.examined(given).segments)
    assert "tp1\na[EOE]" in read and "\na[EOE]" in read and "]a[EOE]" not in read


def test_a_turn_of_dev_that_is_not_read_whole_is_only_planned():
    _, making = sequences()
    part, whole = making.examined(example(), whole=False), making.examined(example())
    assert (part.candidates, part.places, part.check) == ((), (), None)
    assert part.plan == whole.plan and part.gold == whole.gold
    assert part.segments == whole.segments[: len(part.segments)]


def test_evaluation_tokens_have_one_id_each():
    made, _ = sequences()
    assert len({made.spelling.one(token) for token in EVALUATION}) == 11


def test_outside_of_the_share_only_the_plan_is_learned_and_without_answers_no_response():
    _, making = sequences(share=0.4)
    kinds = [frozenset(place.kind for place in making.tree(example(), epoch).places) for epoch in range(200)]
    whole = [found for found in kinds if found != {"plan"}]
    assert 50 < len(whole) < 110 and set(whole) == {frozenset(("plan", "similarity", "response", "check"))}
    made, silent = sequences(answer=False)
    lesson = silent.tree(example(), 0)
    assert {place.kind for place in lesson.places} == {"plan", "similarity", "check"}
    assert not any("[1.0]" in told(made, segment.tokens) for segment in lesson.segments)


def test_on_dev_nothing_is_wrong_where_nobody_said_what_is_right():
    _, making = sequences(relevance={("t1", "p1"): 0.9})
    assert making.examined(example()).candidates
    assert not making.examined(example(evidence=None)).candidates


def test_a_turn_may_be_asked_for_whole():
    _, making = sequences(share=1e-9)
    assert {place.kind for place in making.tree(example(), 0).places} == {"plan"}
    assert {place.kind for place in making.tree(example(), 0, whole=True).places} > {"plan", "similarity"}
