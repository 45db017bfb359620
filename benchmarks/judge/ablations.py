"""What each part of a personal answer adds: the exercises with one part left out, against the whole.

    python benchmarks/judge/ablations.py [--split test] [--every 8]

An item counts where its label is said (yes, no, asked back, declined), or where a value was asked for and the deciding
words are quoted. `p` is the exact two-sided sign test over the items on which a row and the whole differ (McNemar).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import comb
from unittest.mock import patch

from exercises import places, tried

from dragoman.decision import joint
from dragoman.decision.values import Decision


@contextmanager
def without_code() -> Iterator[None]:
    """No rule is decided by code."""

    def undecided(*_: object) -> Decision:
        return Decision("none", confidence=0.1)

    with patch.object(joint, "_by_code", undecided):
        yield


@contextmanager
def without_numbers() -> Iterator[None]:
    """The judge reads sentences without how the user's numbers, days and times stand to theirs."""

    def as_it_is(text: str, _: object = ()) -> str:
        return text

    with patch.object(joint, "with_relations", as_it_is):
        yield


@contextmanager
def whole() -> Iterator[None]:
    yield


ROWS: dict[str, tuple[Callable[[], object], tuple[str, ...]]] = {
    "whole": (whole, ()),
    "without joint retrieval": (whole, ("retriever.personal=false",)),
    "without the trained judge": (whole, ("reader.joint=",)),
    "without `applies`": (without_code, ()),
    "without comparisons in words": (without_numbers, ()),
}


def right(split: str, every: int, overrides: Sequence[str]) -> list[tuple[bool, bool]]:
    """Of each item, whether it is answered rightly, and whether yes or no is the opposite of what is right."""
    results = []
    for place in places(split, every):
        for label, what, _, quoted, _ in tried(place, overrides):
            opposite = {label, what} == {"yes", "no"}
            results.append((quoted and what != "none" if label == "value" else label == what, opposite))
    return results


def chance(better: int, worse: int) -> float:
    """The probability of a split at least as uneven, were both ways equally likely."""
    total = better + worse
    tail = sum(comb(total, count) for count in range(min(better, worse) + 1)) / 2**total
    return min(1.0, 2 * tail)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--split", default="test", choices=("dev", "test"))
    parser.add_argument("--every", type=int, default=8, help="take every so many places")
    given = parser.parse_args()
    base: list[tuple[bool, bool]] = []
    for name, (setting, overrides) in ROWS.items():
        with setting():  # type: ignore[attr-defined]  # a context manager
            results = right(given.split, given.every, overrides)
        base = base or results
        pairs = [(one[0], other[0]) for one, other in zip(base, results, strict=True)]
        lost, won = sum(one and not other for one, other in pairs), sum(other and not one for one, other in pairs)
        count = len(results)
        share, opposite = sum(ok for ok, _ in results) / count, sum(wrong for _, wrong in results) / count
        against = f"lost {lost:3}, won {won:3}, p = {chance(won, lost):.4f}" if results is not base else ""
        print(f"{name:30} right {share:6.1%}  opposite {opposite:6.1%}  of {count}  {against}", flush=True)


if __name__ == "__main__":
    main()
