"""Which critic can tell a reply that holds from one that does not: the untrained one beside trained parts.

    DRAGOMAN_DATA=... python benchmarks/replies/critics.py [PART ...] [--data FILE ...] [--turns 120]

Pairs of evidence and reply are those that `dragoman train critic-nli` measures dev by: gold ones, and negatives of each
kind. Figures are balanced accuracies at 0.5, and the area under the curve, which no threshold decides.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

from sklearn.metrics import roc_auc_score

from dragoman.core.protocols import Critic
from dragoman.core.values import Evidence, Passage
from dragoman.critic.nli import NliCritic
from dragoman.critic.overlap import OverlapCritic
from dragoman.datasets.open import open_dataset
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.text.analyse import Analyser
from dragoman.train.contract import Corpus
from dragoman.train.critic.groundings import every_kind, groundings
from dragoman.train.critic.measures import figures
from dragoman.train.data import read_sides


def dev(file: str, turns: int) -> Corpus:
    """Turns of a set with evidence and a reply; the toy set's dev part."""
    _, corpus, _ = read_sides({"train": [file.replace("dev", "train")], "dev": [file]}, held_out=0.2, seed=1)
    kept = [example for example in corpus.examples if example.gold.evidence and example.gold.reply]
    return replace(corpus, examples=tuple(kept[:: max(1, len(kept) // turns)][:turns]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["english/critic"])
    parser.add_argument("--data", nargs="+", default=["dstc11/dev", "toy"])
    parser.add_argument("--turns", type=int, default=120)
    asked = parser.parse_args()
    critics: dict[str, Critic] = {"overlap": OverlapCritic(encoder=OnnxEncoder(), analyse=Analyser(language="en"))}
    critics |= {name: NliCritic(part=name) for name in asked.parts}
    for file in asked.data:
        corpus = dev(file, asked.turns)
        rows = every_kind(groundings(corpus, single=True), seed=1)
        name = open_dataset(None, file).name
        print(f"\n{name}: {len(corpus.examples)} turns, {len(rows)} pairs")
        print(f"{'critic':16} {'random':>7} {'hard':>7} {'AUC':>7} {'ms a pair':>10}")
        for critic, judge in critics.items():
            pairs = [(Evidence(Passage("e", row.source, row.grounding), 1.0), row.reply) for row in rows]
            began = time.perf_counter()
            told = judge.consistency(pairs)
            each = 1000 * (time.perf_counter() - began) / len(rows)
            found = figures(rows, told)
            area = roc_auc_score([row.consistent for row in rows], told)
            print(f"{critic:16} {found['random']:7.3f} {found['hard']:7.3f} {area:7.3f} {each:10.1f}")


if __name__ == "__main__":
    main()
