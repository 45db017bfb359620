"""Two gates together: the mean of log-odds, by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import ConfigError
from dragoman.core.values import Context, Verdict
from dragoman.gate.ensemble import EnsembleGate

TURNS = [Context.of("How much is the boat?"), Context.of("Thanks!")]


class Sure:
    """A gate that says what it is told to."""

    def __init__(self, *probabilities, threshold=None, reads=False):
        self.probabilities, self.reads_evidence, self.warm = probabilities, reads, False
        if threshold is not None:
            self.threshold = threshold

    def warm_up(self):
        self.warm = True

    def close(self):
        self.warm = False

    def decide(self, turns, evidence=None):
        return [Verdict(one >= 0.5, one) for one in self.probabilities[: len(turns)]]


def test_the_mean_is_of_log_odds_and_so_is_the_threshold():
    # log(4) and -log(9): their mean is -log(1.5), 0.4; log(1) and -log(4): -log(2), a third
    gate = EnsembleGate(first=Sure(0.8, 0.2, threshold=0.5), second=Sure(0.1, 0.1, threshold=0.2))
    assert gate.threshold == pytest.approx(1 / 3)
    one, other = gate.decide(TURNS)
    assert one.probability == pytest.approx(0.4) and one.retrieve
    assert other.probability == pytest.approx(1 / 7) and not other.retrieve  # log(4) + log(9) = 2 log(6)
    assert one.reason == "probabilities 0.80 and 0.10, threshold 0.33"


def test_a_gate_without_a_threshold_has_one_half_and_one_can_be_given():
    assert EnsembleGate(first=Sure(), second=Sure()).threshold == 0.5
    strict = EnsembleGate(first=Sure(0.8), second=Sure(0.8), threshold=0.9)
    assert strict.threshold == 0.9 and not strict.decide(TURNS[:1])[0].retrieve


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0.01, 0.99))
def test_the_mean_lies_between_the_two_and_is_one_gates_own_where_they_agree(one, other, share):
    (found,) = EnsembleGate(first=Sure(one), second=Sure(other), share=share).decide(TURNS[:1])
    assert min(one, other) - 1e-5 <= found.probability <= max(one, other) + 1e-5
    (same,) = EnsembleGate(first=Sure(one), second=Sure(one), share=share).decide(TURNS[:1])
    assert same.probability == pytest.approx(one, abs=1e-5)


def test_it_waits_for_evidence_where_one_of_them_reads_it():
    gate = EnsembleGate(first=Sure(0.1, 0.1), second=Sure(0.1, 0.1, reads=True))
    assert gate.reads_evidence and all(verdict.retrieve for verdict in gate.decide(TURNS))
    assert not any(verdict.retrieve for verdict in gate.decide(TURNS, [(), ()]))


def test_both_are_made_ready_and_nothing_is_decided_of_nothing():
    first, second = Sure(), Sure()
    gate = EnsembleGate(first=first, second=second)
    gate.warm_up()
    assert first.warm and second.warm and gate.decide([]) == []
    gate.close()
    assert not first.warm and not second.warm


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5])
def test_a_share_that_leaves_one_out_is_refused(share):
    with pytest.raises(ConfigError, match="share"):
        EnsembleGate(first=Sure(), second=Sure(), share=share)
