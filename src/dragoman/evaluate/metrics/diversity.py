"""Diversity of replies: distinct n-grams, length, empty replies, the most frequent reply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dragoman.core.errors import ConfigError
from dragoman.core.registry import metrics
from dragoman.evaluate.contract import About, Judged, Scores, mean_scores, quotient
from dragoman.evaluate.metrics.tokens import check, choose, tokenizer

if TYPE_CHECKING:
    from dragoman.evaluate.contract import Floats

_DRAWS_AT_ONCE = 64


@metrics.register("distinct.v1")
class Distinct:
    """Distinct n-grams over all n-grams of the replies, in [0, 1].

    A turn that was drawn counts once however often it was drawn, since a repeated draw is no repetition of the system.
    The value falls as more text is read, so its interval, from draws that hold about two turns in three, lies above
    it: compare systems on the same turns, not figures from sets of different size.
    """

    def __init__(self, *, n: int = 1, tokens: str = "auto", language: str = "") -> None:
        if not 1 <= n <= 4:
            raise ConfigError(f"metric.distinct: n is {n}.", remedy="Give 1, 2, 3 or 4.")
        self._n = n
        self._tokens = check(tokens)
        self._language = language

    @property
    def about(self) -> About:
        cite = "Li et al. 2016 (distinct-n), over n-grams where they divide by tokens"
        return About(f"distinct-{self._n}", "up", (0.0, 1.0), cite)

    def score(self, turns: Sequence[Judged]) -> Scores:
        import numpy as np

        scheme = choose(self._tokens, _user_texts(turns), otherwise="basic", language=self._language)
        cut = tokenizer(scheme)
        turn_grams = [_grams(cut(turn.reply.text), self._n) for turn in turns]
        sizes = np.array([len(grams) for grams in turn_grams], dtype=np.float64)
        where: dict[tuple[str, ...], list[int]] = {}
        for turn, grams in enumerate(turn_grams):
            for gram in set(grams):
                where.setdefault(gram, []).append(turn)
        # what a single turn says adds up over turns; only what several say has to be looked at draw by draw
        alone = [rows[0] for rows in where.values() if len(rows) == 1]
        own = np.bincount(np.array(alone, dtype=np.int64), minlength=len(turns)).astype(np.float64)
        shared = [rows for rows in where.values() if len(rows) > 1]
        turn_of = np.array([turn for rows in shared for turn in rows], dtype=np.int64)
        sizes_of = np.array([0, *(len(rows) for rows in shared)], dtype=np.int64)
        starts = sizes_of.cumsum()[:-1]

        def values(weights: Floats) -> Floats:
            present = weights > 0
            kinds = present.astype(np.float64) @ own
            for row, chosen in enumerate(present if shared else ()):
                kinds[row] += np.logical_or.reduceat(chosen[turn_of], starts).sum()
            return quotient(kinds, present.astype(np.float64) @ sizes)

        return Scores([True] * len(turns), values, details={"tokens": scheme})


@metrics.register("length.v1")
class Length:
    """The mean number of tokens of a reply: neither good nor bad, but BLEU and ROUGE move with it."""

    def __init__(self, *, tokens: str = "auto", language: str = "") -> None:
        self._tokens = check(tokens)
        self._language = language

    @property
    def about(self) -> About:
        return About("length", "none", (0.0, float("inf")), "tokens of a reply")

    def score(self, turns: Sequence[Judged]) -> Scores:
        import numpy as np

        scheme = choose(self._tokens, _user_texts(turns), otherwise="basic", language=self._language)
        cut = tokenizer(scheme)
        return mean_scores(np.array([float(len(cut(turn.reply.text))) for turn in turns]), {"tokens": scheme})


@metrics.register("empty.v1")
class Empty:
    """The share of replies that say nothing."""

    @property
    def about(self) -> About:
        return About("empty replies", "down", (0.0, 1.0), "replies without any text over all replies")

    def score(self, turns: Sequence[Judged]) -> Scores:
        import numpy as np

        return mean_scores(np.array([float(not turn.reply.text.strip()) for turn in turns]))


@metrics.register("repeated.v1")
class Repeated:
    """The share of replies that are the system's most frequent one, letter for letter."""

    @property
    def about(self) -> About:
        return About("most frequent reply", "down", (0.0, 1.0), "the largest group of equal replies over all replies")

    def score(self, turns: Sequence[Judged]) -> Scores:
        import numpy as np

        group_of: dict[str, int] = {}
        groups = np.array(
            [group_of.setdefault(turn.reply.text.strip(), len(group_of)) for turn in turns], dtype=np.int64
        )
        order = np.argsort(groups, kind="stable")
        starts = np.searchsorted(groups[order], np.arange(len(group_of)))

        def values(weights: Floats) -> Floats:
            if not len(groups):
                return np.full(len(weights), np.nan)
            most = np.zeros(len(weights))
            for row in range(0, len(weights), _DRAWS_AT_ONCE):  # sorted copies of all draws would fill memory
                part = slice(row, row + _DRAWS_AT_ONCE)
                most[part] = np.add.reduceat(weights[part][:, order], starts, axis=1).max(axis=1)
            return quotient(most, weights.sum(axis=1))

        counts = np.bincount(groups, minlength=len(group_of)).tolist()
        most_common = max(group_of, key=lambda text: counts[group_of[text]], default="")
        return Scores([True] * len(turns), values, details={"reply": most_common, "times": max(counts, default=0)})


def distinct(replies: Sequence[str], *, n: int = 1, tokens: str = "auto") -> float:
    """Distinct n-grams over all n-grams of some texts (Li et al. 2016); NaN where there are none."""
    cut = tokenizer(choose(tokens, replies, otherwise="basic"))
    grams = [gram for reply in replies for gram in _grams(cut(reply), n)]
    return len(set(grams)) / len(grams) if grams else float("nan")


def repeated(replies: Sequence[str]) -> float:
    """The share of the most frequent text; NaN where there is none."""
    counts = Counter(reply.strip() for reply in replies)
    return max(counts.values()) / len(replies) if counts else float("nan")


def _grams(tokens: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]


def _user_texts(turns: Sequence[Judged]) -> list[str]:
    """Return the users' texts, by which `auto` chooses tokens: they are the same for every system."""
    return [turn.example.context.last for turn in turns]
