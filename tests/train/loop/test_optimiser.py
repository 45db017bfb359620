"""The rate's rise and fall, and which parameters get which rate and decay."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import ConfigError, TrainingError
from dragoman.train.loop.optimiser import adamw, factor, set_rate
from dragoman.train.spec import LoopSpec


def test_a_linear_schedule_by_hand():
    """Ten steps, two of them warming up: halves up to 1, then eighths down."""
    found = [factor("linear", step, total=10, warmup=0.2) for step in range(10)]
    assert found == pytest.approx([0.5, 1.0, 1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125])


def test_a_cosine_schedule_by_hand():
    found = [factor("cosine", step, total=4, warmup=0.0) for step in range(5)]
    assert found == pytest.approx([1.0, 0.853553, 0.5, 0.146447, 0.0], abs=1e-6)


def test_a_constant_schedule_stays_after_the_warm_up():
    assert [factor("constant", step, total=4, warmup=0.5) for step in range(4)] == [0.5, 1.0, 1.0, 1.0]


@given(st.sampled_from(["linear", "cosine", "constant"]), st.integers(1, 500), st.integers(0, 600), st.floats(0.0, 1.0))
def test_a_factor_is_never_outside_of_zero_and_one(schedule, total, step, warmup):
    assert 0.0 <= factor(schedule, step, total=total, warmup=warmup) <= 1.0


def model():
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.LayerNorm(4), torch.nn.Linear(4, 1))


def test_heads_get_their_rate_and_vectors_do_not_decay():
    net = model()
    optimiser = adamw(net, LoopSpec(rate=1e-4, head_rate=1e-2, decay=0.1), ("2",))
    groups = {(group["base"], group["weight_decay"]): group["params"] for group in optimiser.param_groups}
    assert {key: len(parameters) for key, parameters in groups.items()} == {
        (1e-4, 0.1): 1, (1e-4, 0.0): 3, (1e-2, 0.1): 1, (1e-2, 0.0): 1,
    }  # fmt: skip
    assert groups[1e-2, 0.1][0] is net[2].weight


def test_without_a_rate_of_their_own_heads_learn_like_the_rest():
    optimiser = adamw(model(), LoopSpec(rate=1e-4), ("2",))
    assert {group["base"] for group in optimiser.param_groups} == {1e-4}


def test_a_share_of_the_rate_keeps_the_groups_apart():
    optimiser = adamw(model(), LoopSpec(rate=1e-4, head_rate=1e-2), ("2",))
    assert set_rate(optimiser, 0.5) == pytest.approx(5e-5)
    assert {round(group["lr"], 6) for group in optimiser.param_groups} == {5e-5, 5e-3}


def test_a_head_that_is_not_there_and_a_model_without_anything_to_learn_are_told():
    with pytest.raises(ConfigError, match="names the head 'classifier'"):
        adamw(model(), LoopSpec(), ("classifier",))
    with pytest.raises(TrainingError, match="no parameter that is trained"):
        adamw(model().requires_grad_(False), LoopSpec())
