"""Cost of a turn: seconds by role, model calls, tokens, retrievals, passages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from dragoman.agent.create import parameters
from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.core.registry import REGISTRIES, metrics
from dragoman.core.trace import Note, Refinement, Retrieval, Role, Trace
from dragoman.core.values import Draft, Usage
from dragoman.evaluate.contract import About, Judged, Scores, mean_scores

if TYPE_CHECKING:
    from dragoman.evaluate.contract import Floats

Spent: TypeAlias = Literal["calls", "prompt_tokens", "completion_tokens", "encoded", "retrievals", "passages"]
_QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_DRAWS_AT_ONCE = 64
_OF_MODELS = ("calls", "prompt_tokens", "completion_tokens")


@metrics.register("latency.v1")
class Latency:
    """Seconds a turn: their mean, or the time within which a share of the turns was answered (`p50`, `p95`).

    `role` asks for one role's part. In a batch a turn's time is its share of the batch's, which is throughput; run
    with a batch of one where the wait of a single user is wanted.
    """

    def __init__(self, *, statistic: str = "mean", role: Role | None = None) -> None:
        if statistic != "mean" and statistic not in _QUANTILES:
            choices = ", ".join(("mean", *_QUANTILES))
            raise ConfigError(f"metric.latency: statistic is '{statistic}'.", remedy=f"Give one of {choices}.")
        if role is not None and role not in get_args(Role):
            raise ConfigError(
                f"metric.latency: role is '{role}'.",
                remedy=f"Give one of {', '.join(get_args(Role))}, or leave it out.",
            )
        self._statistic = statistic
        self._role = role

    @property
    def about(self) -> About:
        whose = f" of the {self._role}" if self._role else ""
        title = f"seconds{whose} ({self._statistic})"
        return About(title, "down", (0.0, math.inf), "seconds of the trace's notes", repeatable=False)

    def score(self, turns: Sequence[Judged]) -> Scores:
        import numpy as np

        per_turn = np.array([seconds(turn.reply.trace, self._role) for turn in turns], dtype=np.float64)
        if self._statistic == "mean":
            return mean_scores(per_turn)
        share = _QUANTILES[self._statistic]
        return Scores([True] * len(turns), lambda weights: quantiles(per_turn, weights, share), per_turn)


@metrics.register("cost.v1")
class Cost:
    """The mean a turn of what it spent: `calls` of a language model, `prompt_tokens`, `completion_tokens`, texts
    `encoded`, `retrievals` or `passages` brought.

    Calls and tokens are those that the run's meter counted for all roles, and those that drafts of a model of its own
    report; without a meter, those of the drafts in the trace, and `details` says so. Choices over closed sets are calls
    whose tokens no runtime tells. Where another role runs a model of its own (a tuned gate, an acting planner), nobody
    counts its calls, and none are told of the system.
    """

    def __init__(self, *, of: Spent = "calls") -> None:
        if of not in get_args(Spent):
            raise ConfigError(f"metric.cost: of is '{of}'.", remedy=f"Give one of {', '.join(get_args(Spent))}.")
        self._of: Spent = of

    @property
    def about(self) -> About:
        titles = {"calls": "model calls", "encoded": "texts encoded", "passages": "passages read"}
        title = titles.get(self._of, self._of.replace("_", " "))
        return About(title, "down", (0.0, math.inf), "counted by the run's meter and in the trace")

    def score(self, turns: Sequence[Judged]) -> Scores:
        import numpy as np

        details = {"counted": "trace" if any(turn.usage is None for turn in turns) else "meter"}
        per_turn = [self._one(turn) for turn in turns]
        if self._of in _OF_MODELS and any(_is_uncounted(note) for turn in turns for note in turn.reply.trace):
            per_turn = [math.nan] * len(turns)  # a mean over the turns without such a note would be of other turns
        return mean_scores(np.array(per_turn, dtype=np.float64), dict(details))

    def _one(self, turn: Judged) -> float:
        if self._of == "encoded":
            return math.nan if turn.encoded is None else float(turn.encoded)
        if self._of == "retrievals":
            return float(len(retrievals(turn.reply.trace)))
        if self._of == "passages":
            return float(sum(len(retrieval.evidence) for retrieval in retrievals(turn.reply.trace)))
        usage = usage_of(turn.reply.trace) if turn.usage is None else turn.usage
        return float(getattr(usage, self._of))


def seconds(trace: Trace, role: Role | None = None) -> float:
    """Return the seconds of a turn, or of one role."""
    return trace.seconds if role is None else math.fsum(note.seconds for note in trace.of(role))


def retrievals(trace: Trace) -> list[Retrieval]:
    """Return the retrievals of a turn."""
    return [note.value for note in trace if isinstance(note.value, Retrieval)]


def usage_of(trace: Trace) -> Usage:
    """Return the usage that the drafts of a turn report, with refinements."""
    total = Usage()
    for note in trace:
        if isinstance(note.value, Draft):
            total += note.value.usage
        elif isinstance(note.value, Refinement):
            total += note.value.draft.usage
    return total


def _is_uncounted(note: Note) -> bool:
    """Whether a role ran its own language model, which reports no usage."""
    return not isinstance(note.value, Draft | Refinement) and _has_own_model(note.role, note.component)


@cache
def _has_own_model(role: str, component: str) -> bool:
    """Whether a component loads its own language model, outside of the meter; such components have a `runtime`."""
    try:
        return role in REGISTRIES and "runtime" in parameters(REGISTRIES[role].factory(component))
    except UnknownNameError:
        return False  # a name that is no kind, of a component made in Python


def quantiles(numbers: Floats, weights: Floats, share: float) -> Floats:
    """For each row of weights, the least number such that the numbers up to it hold at least a share of the weight."""
    import numpy as np

    values = np.full(len(weights), np.nan)
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    for start in range(0, len(weights), _DRAWS_AT_ONCE):  # running sums of all draws would fill memory
        part = weights[start : start + _DRAWS_AT_ONCE][:, order]
        running = part.cumsum(axis=1)
        for row, sums in enumerate(running):
            if len(sums) and sums[-1] > 0:
                values[start + row] = ordered[np.searchsorted(sums, share * sums[-1])]
    return values
