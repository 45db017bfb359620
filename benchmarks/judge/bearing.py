"""Fit and measure which of a user's facts bear on the sentence that decides (`decision/bearing.py`).

    python benchmarks/judge/bearing.py [--every 1]

Facts of the written exercises are mixed with six of other items. Fitted on the places of `dev`, since the judge that
reads them was trained on those of `train`; measured on `dev` in five parts of its places, each by what the others
taught, and on `test`. `top` is how often the likeliest fact is one that decides; the other figures are the share of
facts that decide among those kept where nine in ten of them are.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import exercises
import numpy as np
from exercise_rows import Place, plain
from numpy.typing import NDArray

from dragoman.decision.bearing import NEAR, READ, Bearing, inputs, read_inputs
from dragoman.decision.joint import JointRanker, placed, trained_scorer
from dragoman.decision.judge import SHIPPED_JUDGE
from dragoman.decision.relations import user_values
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.text.analyse import Analyser

_BESIDE = 6
_WITHIN = 8
"""How high the sentence that decides must rank for its facts to be measured."""
Table = NDArray[np.float64]


def rows(split: str, every: int) -> Iterator[dict[str, Any]]:
    """One row for each fact of an item: what is known of it, and whether it decides."""
    analyse, encoder = Analyser(language="en"), OnnxEncoder()
    ranker, scorer = JointRanker(encoder=encoder, analyse=analyse), trained_scorer(SHIPPED_JUDGE)
    bearing = Bearing(encoder=encoder, analyse=analyse)
    others = exercises.strangers_facts(split)
    for number, content in enumerate(exercises.places(split, every)):
        place, chance = Place(content, ranker), random.Random(number)
        for item_number, item in enumerate(content["items"]):
            if item["label"] == "none" or not item.get("used"):
                continue
            quote, question = plain(item["quotes"][0]), item["question"]
            ranked = place.ranked(item)[:_WITHIN]
            option = next((each for each in ranked if quote in plain(each.sentence)), None)
            if option is None:
                continue
            told = [(fact, n in item["used"]) for n, fact in enumerate(item["facts"])]
            told += [(fact, False) for fact in chance.sample(others, _BESIDE)]
            chance.shuffle(told)
            facts = [fact for fact, _ in told]
            bare = scorer.score(question, [("", placed(option, user_values([], question)))])[0]
            alone = scorer.score(question, [(fact, placed(option, user_values([fact], question))) for fact in facts])
            (known,) = bearing.features(question, [option], facts)
            for each, score, (_, decides) in zip(known, alone, told, strict=True):
                yield {
                    "group": (number, item_number),
                    "decides": decides,
                    "near": inputs(each),
                    "read": inputs(each) | read_inputs(score, bare),
                }


def fit(table: Table, labels: Table, *, penalty: float = 1.0) -> Table:
    """Weights of a logistic regression on inputs as they are, the bias last, by Newton's method."""
    centre, spread = table.mean(0), table.std(0) + 1e-6
    scaled = np.c_[(table - centre) / spread, np.ones(len(table))]
    weights, ridge = np.zeros(scaled.shape[1]), penalty * np.eye(scaled.shape[1])
    ridge[-1, -1] = 0.0
    for _ in range(30):
        chances = 1 / (1 + np.exp(-scaled @ weights))
        slope = scaled.T @ (chances - labels) + ridge @ weights
        weights -= np.linalg.solve((scaled * (chances * (1 - chances))[:, None]).T @ scaled + ridge, slope)
    own = weights[:-1] / spread
    return np.append(own, weights[-1] - own @ centre)


def odds(table: Table, weights: Table) -> Table:
    return np.asarray(table @ weights[:-1] + weights[-1])


def measured(known: Sequence[dict[str, Any]], scores: Table) -> str:
    """How often the likeliest fact decides, and what is kept with nine in ten of those that do."""
    groups: dict[Any, list[int]] = defaultdict(list)
    for number, row in enumerate(known):
        groups[row["group"]].append(number)
    decides = np.array([row["decides"] for row in known])
    top = np.mean([decides[max(members, key=lambda n: scores[n])] for members in groups.values()])
    order = decides[np.argsort(-scores)]
    kept = int(np.searchsorted(np.cumsum(order) / order.sum(), 0.9)) + 1
    return f"top {top:.3f}, decide among those kept {order[:kept].mean():.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--every", type=int, default=1, help="take every so many places")
    given = parser.parse_args()
    dev, test = list(rows("dev", given.every)), list(rows("test", given.every))
    print(f"{len(dev)} facts of dev, {len(test)} of test")
    for name, shipped in (("near", NEAR), ("read", READ)):
        names = list(dev[0][name])
        table, held = (np.array([[row[name][each] for each in names] for row in some]) for some in (dev, test))
        labels = np.array([row["decides"] for row in dev], float)
        places = np.array([row["group"][0] for row in dev])
        crossed = np.zeros(len(dev))
        for part in range(5):
            mine = np.isin(places, np.unique(places)[part::5])
            crossed[mine] = odds(table[mine], fit(table[~mine], labels[~mine]))
        weights = fit(table, labels)
        now = np.array([shipped.get(each, 0.0) for each in names] + [shipped["bias"]])
        print(f"{name} on dev: {measured(dev, crossed)}")
        print(f"{name} on test, as fitted now: {measured(test, odds(held, weights))}")
        print(f"{name} on test, as shipped: {measured(test, odds(held, now))}")
        print({each: round(float(weight), 2) for each, weight in zip([*names, "bias"], weights, strict=True)})
    for name in dev[0]["read"]:
        print(f"{name} alone on dev: {measured(dev, np.array([row['read'][name] for row in dev]))}")


if __name__ == "__main__":
    main()
