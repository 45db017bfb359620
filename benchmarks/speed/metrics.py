"""How quick the metrics are, each beside the library that it stands on or is held equal to, in the same run.

    python benchmarks/speed/metrics.py [--turns 10000] [--draws 100] [--only NAME]

A row is a function of the size that gives what to time of ours and of theirs, on the same input. A ratio below 1 means
that ours is quicker. A row whose library is not installed says so. Nothing is asserted: read the table.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from dragoman.core.examples import Example, Gold
from dragoman.core.trace import Reply, Trace
from dragoman.core.values import NULL_PLAN, Context, Evidence, Passage, Plan, Verdict
from dragoman.evaluate.contract import Judged, Metric, mean_scores
from dragoman.evaluate.metrics import calibration, curves, gate, overlap, plan, ranking, tokens
from dragoman.evaluate.significance import Draws, interval


@dataclass(frozen=True)
class Size:
    """How many turns a metric reads, and how many weightings of them a bootstrap asks for."""

    turns: int
    draws: int


@dataclass(frozen=True)
class Pair:
    """Two calls that compute the same; their values are compared once before they are timed."""

    ours: Callable[[], float]
    theirs: Callable[[], float]


def _labels(size: Size) -> tuple[np.ndarray, np.ndarray]:
    chance = np.random.default_rng(0)
    labels = chance.random(size.turns) < 0.2
    return labels, np.clip(0.3 * labels + chance.random(size.turns) * 0.7, 0, 1)


def _weights(size: Size) -> np.ndarray:
    return np.random.default_rng(1).multinomial(size.turns, [1 / size.turns] * size.turns, size.draws).astype(float)


def gate_f1(size: Size) -> Pair:
    from sklearn.metrics import f1_score

    labels, probabilities = _labels(size)
    taken = probabilities > 0.5
    return Pair(lambda: gate.f1(labels, taken), lambda: float(f1_score(labels, taken)))


def gate_f1_draws(size: Size) -> Pair:
    from sklearn.metrics import f1_score

    labels, probabilities = _labels(size)
    taken, weights = probabilities > 0.5, _weights(size)
    steps = {True: (("DOCUMENTS",),), False: ()}
    turns = [
        _turn(Gold(retrieve=bool(label)), opened=bool(opened), plan=Plan(steps[bool(opened)]))
        for label, opened in zip(labels, taken, strict=True)
    ]
    scores = gate.GateF1().score(turns)
    return Pair(
        lambda: float(scores.values(weights).mean()),
        lambda: float(np.mean([f1_score(labels, taken, sample_weight=row) for row in weights])),
    )


def roc_auc(size: Size) -> Pair:
    from sklearn.metrics import roc_auc_score

    labels, probabilities = _labels(size)
    return Pair(lambda: curves.roc_auc(labels, probabilities), lambda: float(roc_auc_score(labels, probabilities)))


def roc_auc_draws(size: Size) -> Pair:
    from sklearn.metrics import roc_auc_score

    labels, probabilities = _labels(size)
    weights = _weights(size)
    return Pair(
        lambda: float(curves.roc_auc_of(labels, probabilities)(weights).mean()),
        lambda: float(np.mean([roc_auc_score(labels, probabilities, sample_weight=row) for row in weights])),
    )


def average_precision_draws(size: Size) -> Pair:
    from sklearn.metrics import average_precision_score

    labels, probabilities = _labels(size)
    weights = _weights(size)
    return Pair(
        lambda: float(curves.average_precision_of(labels, probabilities)(weights).mean()),
        lambda: float(np.mean([average_precision_score(labels, probabilities, sample_weight=row) for row in weights])),
    )


def brier(size: Size) -> Pair:
    from sklearn.metrics import brier_score_loss

    labels, probabilities = _labels(size)
    return Pair(
        lambda: calibration.brier(labels, probabilities), lambda: float(brier_score_loss(labels, probabilities))
    )


def calibration_curve(size: Size) -> Pair:
    from sklearn.calibration import calibration_curve as curve

    labels, probabilities = _labels(size)
    return Pair(
        lambda: float(sum(row["true"] for row in calibration.reliability(labels, probabilities))),
        lambda: float(curve(labels, probabilities, n_bins=10)[0].sum()),
    )


def plan_macro_f1(size: Size) -> Pair:
    from sklearn.metrics import f1_score

    kinds = [frozenset(), frozenset({"PERSONA"}), frozenset({"PERSONA", "DOCUMENTS"})]
    chance = np.random.default_rng(2)
    gold, taken = chance.integers(0, 3, (2, size.turns))
    sets = [[kinds[i] for i in row] for row in (gold, taken)]
    return Pair(lambda: plan.macro_f1(*sets), lambda: float(f1_score(gold, taken, average="macro")))


def ndcg_sklearn(size: Size) -> Pair:
    from sklearn.metrics import ndcg_score

    right, total = _rankings(size)
    order = np.tile(np.arange(10, 0, -1), (size.turns, 1))
    return Pair(lambda: float(ranking.ndcg(right, total, 10).mean()), lambda: float(ndcg_score(right, order, k=10)))


def _ranx(name: str, metric: Metric) -> Callable[[Size], Pair]:
    """Ours from judged turns to the mean, theirs from rankings that it has taken in already."""

    def row(size: Size) -> Pair:
        import ranx

        right, _ = _rankings(size)
        golds = [[f"d{place}" for place in np.flatnonzero(flags)] for flags in right]
        pieces = tuple(Evidence(Passage(f"d{place}", "DOCUMENTS", ""), 1 - place / 20) for place in range(10))
        turns = [_turn(Gold(evidence=tuple(ids)), evidence=pieces) for ids in golds]
        runs = ranx.Run({f"q{i}": {piece.id: piece.relevance for piece in pieces} for i in range(size.turns)})
        wanted = ranx.Qrels({f"q{i}": dict.fromkeys(ids, 1) for i, ids in enumerate(golds)})
        once = np.ones((1, size.turns))

        def theirs() -> float:
            return float(ranx.evaluate(wanted, runs, f"{name}@10"))

        theirs()  # compiled before it is timed
        return Pair(lambda: float(metric.score(turns).values(once)[0]), theirs)

    return row


def _texts(size: Size, *, chinese: bool) -> tuple[list[str], list[str]]:
    """Replies of about twenty words or characters, each of them half its reference."""
    chance = np.random.default_rng(5)
    known = [chr(0x4E00 + i) for i in range(2000)] if chinese else [f"word{i}" for i in range(2000)]
    mark, end = ("", "。") if chinese else (" ", ".")
    lists = [[known[i] for i in row] for row in (chance.zipf(1.3, (size.turns, 20)) % 2000).tolist()]
    replies = [mark.join(row[:10] + other[10:]) + end for row, other in zip(lists, lists[1:] + lists[:1], strict=True)]
    return replies, [mark.join(row) + end for row in lists]


def _bleu(size: Size, *, chinese: bool) -> Pair:
    """As for the first system of an experiment: for the next ones the references are cut already."""
    from sacrebleu.metrics.bleu import BLEU

    replies, references = _texts(size, chinese=chinese)
    judged = [_turn(Gold(reply=gold), text=reply) for reply, gold in zip(replies, references, strict=True)]
    metric, once = overlap.Bleu(), np.ones((1, size.turns))

    def ours() -> float:
        tokens.clear_cache()
        return float(metric.score(judged).values(once)[0])

    def theirs() -> float:
        return float(BLEU(tokenize="zh" if chinese else "13a").corpus_score(replies, [references]).score)

    return Pair(ours, theirs)


def _rouge(size: Size, *, chinese: bool) -> Pair:
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh

    replies, references = _texts(size, chinese=chinese)
    judged = [_turn(Gold(reply=gold), text=reply) for reply, gold in zip(replies, references, strict=True)]
    metric, once = overlap.Rouge(), np.ones((1, size.turns))

    class Characters:
        """The same tokens as ours, straight from the library that defines them."""

        def __init__(self) -> None:
            self._cut = TokenizerZh()

        def tokenize(self, text: str) -> list[str]:
            return self._cut(text).split()

    def ours() -> float:
        tokens.clear_cache()
        return float(metric.score(judged).values(once)[0])

    def theirs() -> float:
        scorer = RougeScorer(["rougeL"], tokenizer=Characters() if chinese else None)
        pairs = zip(references, replies, strict=True)
        return float(np.mean([scorer.score(gold, reply)["rougeL"].fmeasure for gold, reply in pairs]))

    return Pair(ours, theirs)


def _turn(
    gold: Gold,
    *,
    opened: bool = True,
    plan: Plan = NULL_PLAN,
    evidence: tuple[Evidence, ...] = (),
    text: str = "",
) -> Judged:
    example = Example("t", Context.of("hello"), (), gold=gold)
    return Judged(example, Reply(text, Verdict(opened, 0.5), plan, evidence, Trace()))


def _rankings(size: Size) -> tuple[np.ndarray, np.ndarray]:
    right = np.random.default_rng(3).random((size.turns, 10)) < 0.2
    right[:, 4] = True  # something to find in each
    return right, right.sum(axis=1)


def _bootstrap(size: Size, *, kept: bool) -> Pair:
    """The lower end of a mean's interval. Theirs draws turns, so ours has one turn a dialogue, and draws the same."""
    from scipy.stats import bootstrap

    numbers = np.random.default_rng(4).normal(5, 1, size.turns)
    names = [str(i) for i in range(size.turns)]
    scores, draws = mean_scores(numbers), Draws.of(names, count=size.draws)

    def theirs() -> float:
        found = bootstrap((numbers,), np.mean, n_resamples=size.draws, method="percentile", rng=0, batch=100)
        return float(found.confidence_interval.low)

    return Pair(lambda: interval(scores, draws if kept else Draws.of(names, count=size.draws)).low, theirs)


ROWS: list[tuple[str, str, Callable[[Size], Pair]]] = [
    ("gate F1", "scikit-learn", gate_f1),
    ("gate F1, all draws", "scikit-learn", gate_f1_draws),
    ("ROC-AUC", "scikit-learn", roc_auc),
    ("ROC-AUC, all draws", "scikit-learn", roc_auc_draws),
    ("average precision, all draws", "scikit-learn", average_precision_draws),
    ("Brier score", "scikit-learn", brier),
    ("reliability curve", "scikit-learn", calibration_curve),
    ("plan macro F1", "scikit-learn", plan_macro_f1),
    ("nDCG@10", "scikit-learn", ndcg_sklearn),
    ("nDCG@10", "ranx", _ranx("ndcg", ranking.Ndcg(k=10))),
    ("recall@10", "ranx", _ranx("recall", ranking.Recall(k=10))),
    ("MRR@10", "ranx", _ranx("mrr", ranking.Mrr(k=10))),
    ("BLEU-4, English", "sacrebleu", partial(_bleu, chinese=False)),
    ("BLEU-4, Chinese by characters", "sacrebleu", partial(_bleu, chinese=True)),
    ("ROUGE-L, English", "rouge-score", partial(_rouge, chinese=False)),
    ("ROUGE-L, Chinese by characters", "rouge-score", partial(_rouge, chinese=True)),
    ("interval of a mean, first metric", "scipy", partial(_bootstrap, kept=False)),
    ("interval of a mean, next metrics", "scipy", partial(_bootstrap, kept=True)),
]
"""What is measured, against which library: add a row here."""


def best(call: Callable[[], float], least: int = 3, seconds: float = 0.5) -> float:
    """The quickest of some calls: the others were disturbed."""
    times: list[float] = []
    while len(times) < least or sum(times) < seconds:
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--turns", type=int, default=10_000)
    options.add_argument("--draws", type=int, default=100)
    options.add_argument("--only", default="", help="rows whose name holds this")
    given = options.parse_args()
    size = Size(given.turns, given.draws)
    print(f"{size.turns:,} turns, {size.draws:,} draws\n")
    print(f"{'metric':<36}{'library':<16}{'ours ms':>10}{'theirs ms':>12}{'ratio':>8}  values")
    for name, library, row in ROWS:
        if given.only.casefold() not in name.casefold():
            continue
        try:
            pair = row(size)
        except ImportError as error:
            print(f"{name:<36}{library:<16}{error.name} is not installed")
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = pair.ours(), pair.theirs()
            ours, theirs = best(pair.ours), best(pair.theirs)
        same = "equal" if np.isclose(*values, rtol=1e-6) else f"{values[0]:.6g} and {values[1]:.6g}"
        print(f"{name:<36}{library:<16}{ours * 1000:>10.2f}{theirs * 1000:>12.2f}{ours / theirs:>8.2f}  {same}")


if __name__ == "__main__":
    main()
