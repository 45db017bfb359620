"""Passes over trees: logits of some tokens are those of all, passes keep within their tokens, kept keys are true."""

from __future__ import annotations

import pytest
import torch

from dragoman.core.errors import ModelError
from dragoman.models.unified.candidate_rows import packs
from dragoman.models.unified.token_tree import Segment
from dragoman.models.unified.tree_pass import Passes, TreeRow
from dragoman.models.unified.turn_trees import Planted

TREE = (Segment((5, 6, 7, 8)), Segment((9, 10), 0), Segment((11,), 1), Segment((12, 13, 14), 0, (1,)))
PLACES = ((0, -1), (1, -1), (2, 0), (3, 2))


@pytest.fixture(params=["llama", "qwen2"])
def causal(request, make_unified):
    return make_unified(request.param)._ready()[0].causal


def passes(causal, kept=100, most=1000):
    return Passes(causal, kept_tokens=kept, pass_tokens=most)


def test_logits_of_some_tokens_are_those_of_all(causal):
    states = torch.randn(3, 64)
    run = passes(causal)
    assert torch.allclose(run.logits(states, [4, 2, 9]), run.logits(states)[:, [4, 2, 9]], atol=1e-5)
    with torch.no_grad():
        assert torch.allclose(run.logits(states), causal.model.lm_head(states), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "value", "change"),
    [
        ("logits_scaling", 4.0, lambda logits: logits / 4.0),
        ("logit_scale", 0.5, lambda logits: logits * 0.5),
        ("final_logit_softcapping", 3.0, lambda logits: torch.tanh(logits / 3.0) * 3.0),
    ],
)
def test_logits_are_finished_as_the_family_does(causal, monkeypatch, name, value, change):
    states = torch.randn(2, 64)
    plain = passes(causal).logits(states)
    monkeypatch.setattr(causal.model.config, name, value, raising=False)
    assert torch.allclose(passes(causal).logits(states), change(plain), atol=1e-5)


def test_what_is_known_of_a_trunk_is_not_read_and_changes_nothing(causal):
    run = passes(causal)
    first = run.read([TreeRow(TREE, PLACES)])[0]
    assert run.fed == 10
    again = run.read([TreeRow(TREE, PLACES[1:])])[0]
    assert run.fed == 10 + 6
    assert torch.allclose(again, first[1:], atol=1e-5)
    longer = (Segment((5, 6, 7, 8, 20)), *TREE[1:])
    assert torch.allclose(
        run.read([TreeRow(longer, PLACES)])[0], passes(causal).read([TreeRow(longer, PLACES)])[0], atol=1e-5
    )


def test_place_inside_a_known_trunk_is_read(causal):
    run = passes(causal)
    first = run.read([TreeRow(TREE, ((0, 1), (0, 3)))])[0]
    assert torch.allclose(run.read([TreeRow(TREE, ((0, 1), (0, 3)))])[0], first, atol=1e-5)


def test_rows_with_kept_beginnings_of_different_length_go_together(causal):
    run = passes(causal)
    run.read([TreeRow(TREE[:1], ((0, -1),))])
    rows = [
        TreeRow(TREE, PLACES),
        TreeRow((Segment((30, 31)), Segment((32,), 0)), ((1, 0),)),
        TreeRow((Segment((5, 6, 99)),), ((0, -1),)),
    ]
    for row, states in zip(rows, run.read(rows), strict=True):
        assert torch.allclose(states, passes(causal, kept=0).read([row])[0], atol=1e-5)


def test_passes_stay_within_their_tokens(causal):
    rows = [TreeRow((Segment(tuple(range(5, 5 + size))),), ((0, -1),)) for size in (3, 9, 4, 30, 5)]
    batches = list(passes(causal, most=20).batches(rows))
    assert sorted(number for batch in batches for number in batch) == list(range(5))
    sizes = [[len(rows[number].trunk) for number in batch] for batch in batches]
    assert all(len(batch) == 1 or max(batch) * len(batch) <= 20 for batch in sizes)


def test_device_without_memory_reads_fewer_at_a_time_and_says_so(causal, monkeypatch, caplog):
    rows = [TreeRow((Segment((5, 6, 7 + number)),), ((0, -1),)) for number in range(5)]
    wanted, run = passes(causal).read(rows), passes(causal)
    begin = run.begin

    def small(some):
        if len(some) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return begin(some)

    monkeypatch.setattr(run, "begin", small)
    assert all(torch.allclose(one, other, atol=1e-5) for one, other in zip(run.read(rows), wanted, strict=True))
    assert "two halves" in caplog.text


def test_turn_that_finds_no_memory_is_an_error_with_a_remedy(causal, monkeypatch):
    run = passes(causal)
    monkeypatch.setattr(run, "begin", lambda some: (_ for _ in ()).throw(torch.OutOfMemoryError("CUDA out of memory.")))
    with pytest.raises(ModelError, match="no memory for a turn"):
        run.read([TreeRow(TREE, PLACES)])


def test_packs_hold_what_their_candidates_stand_on():
    planted = Planted((*TREE[:3], Segment((12, 13, 14), 0)), (1, 2, 3))
    found = list(packs(7, planted, [1, 2], 3))
    assert [(pack.turn, pack.owned) for pack in found] == [(7, (1,)), (7, (2,))]
    assert found[0].row.segments == (TREE[0], TREE[1], TREE[2])
    assert found[0].row.places == ((2, -1),)
    assert found[1].row.segments == (TREE[0], Segment((12, 13, 14), 0))
    assert list(packs(0, planted, [], 3)) == []
