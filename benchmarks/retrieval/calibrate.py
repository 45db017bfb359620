"""Fit the constants of `dragoman/retriever/relevance.py` on real dialogues, and print how well they hold.

    DRAGOMAN_DATA=... python benchmarks/retrieval/calibrate.py [--weights NAME_OR_FOLDER] [--limit N]

Train splits are fitted, dev splits are reported. Positives are the gold passages among the first five that
a retriever brings; negatives are the others, what it brings from an entity of the other domain, and what
it brings for turns that need no knowledge.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from _dialogues import (
    Question,
    data_folder,
    dstc11_passages,
    dstc11_questions,
    encoder_of,
    kbp_dialogues,
    store_of,
)

from dragoman.core.protocols import Encoder, Retriever
from dragoman.core.values import Evidence, Request, Source
from dragoman.evaluate.metrics.calibration import expected_calibration_error, reliability
from dragoman.evaluate.metrics.curves import roc_auc
from dragoman.retriever.hybrid import HybridRetriever
from dragoman.retriever.relevance import Calibration
from dragoman.retriever.sparse import SparseRetriever
from dragoman.text.analyse import analyse

SEMANTIC_FEATURES = ("cosine", "coverage", "unseen", "numbers")
LEXICAL_FEATURES = ("coverage", "rarest", "unseen", "numbers")
CHINESE_FEATURES = ("characters", "numbers")
FITTED = ("answerable", "other domain", "no knowledge needed")


@dataclass(frozen=True)
class Asked:
    """What came back for one request: of which kind it was, the evidence, and which of it is gold."""

    kind: str
    evidence: Sequence[Evidence]
    gold: frozenset[str]


def ask_dstc11(questions: Sequence[Question], entities: Sequence[str], retriever: Retriever) -> list[Asked]:
    """Each question to its own entity, to that entity without the gold, to one of the other domain."""
    chance = random.Random(7)
    kinds, requests, golds = [], [], []

    def add(kind: str, question: Question, entity: str, without: frozenset[str] = frozenset()) -> None:
        kinds.append(kind)
        golds.append(question.ids - without)
        requests.append(Request(question.context, (Source(entity),), k=5, without=without))

    for question in questions:
        if not question.needs_knowledge:
            add("no knowledge needed", question, chance.choice(entities))
            continue
        entity = max(question.gold, key=lambda name: len(question.gold[name]))
        others = [name for name in entities if name.split("/")[0] != entity.split("/")[0]]
        add("answerable", question, entity)
        add("gold removed", question, entity, question.ids)
        add("other domain", question, chance.choice(others))
    return [Asked(*row) for row in zip(kinds, retriever.retrieve(requests), golds, strict=True)]


def ask_kbp(folder: Path, split: str, limit: int | None, encoder: Encoder | None) -> list[Asked]:
    """Each Chinese question to the sources of its dialogue, and to those of another one."""
    dialogues = kbp_dialogues(folder, split, limit)
    names = [passages[0].source for passages, _ in dialogues]
    store = store_of({name: passages for name, (passages, _) in zip(names, dialogues, strict=True)}, encoder)
    retriever: Retriever = SparseRetriever(store=store, analyse=analyse)
    if encoder:
        retriever = HybridRetriever(store=store, analyse=analyse, encoder=encoder)
    kinds, requests, golds = [], [], []
    for number, (_, questions) in enumerate(dialogues):
        for question in questions:
            kinds += ["answerable" if question.needs_knowledge else "no knowledge needed", "other domain"]
            other = names[(number + 1 + len(names) // 2) % len(names)]
            requests += [Request(question.context, (Source(name),), k=5) for name in (names[number], other)]
            golds += [question.ids, frozenset()]
    return [Asked(*row) for row in zip(kinds, retriever.retrieve(requests), golds, strict=True)]


def table(asked: Sequence[Asked], features: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The features of every piece of evidence, and whether it is gold."""
    rows = [(e.scores, e.id in one.gold) for one in asked if one.kind in FITTED for e in one.evidence]
    return (
        np.array([[scores.get(name, 0.0) for name in features] for scores, _ in rows]),
        np.array([float(is_gold) for _, is_gold in rows]),
    )


def fit(values: np.ndarray, labels: np.ndarray, features: Sequence[str], l2: float = 1e-4) -> Calibration:
    """Logistic regression by Newton's method."""
    design = np.c_[np.ones(len(values)), values]
    ridge = np.diag([0.0] + [l2] * values.shape[1])
    beta = np.zeros(design.shape[1])
    for _ in range(50):
        probability = 1 / (1 + np.exp(-design @ beta))
        gradient = design.T @ (probability - labels) / len(labels) + ridge @ beta
        hessian = (design * (probability * (1 - probability))[:, None]).T @ design / len(labels) + ridge
        step = np.linalg.solve(hessian, gradient)
        beta -= step
        if np.abs(step).max() < 1e-8:
            break
    weights = {name: round(float(weight), 2) for name, weight in zip(features, beta[1:], strict=True)}
    return Calibration(round(float(beta[0]), 2), weights)


def auc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """The probability that a positive one scores above a negative one."""
    return roc_auc([True] * len(positive) + [False] * len(negative), [*positive, *negative])


def report(name: str, calibration: Calibration, asked: Sequence[Asked], features: Sequence[str]) -> None:
    values, labels = table(asked, features)
    scored = np.array([calibration.probability(dict(zip(features, row, strict=True))) for row in values])
    golden = [bool(label) for label in labels]
    error, area = expected_calibration_error(golden, scored), roc_auc(golden, scored)
    print(f"\n{name} = {calibration}")
    print(f"  pieces {len(labels)}, gold {labels.mean():.3f}, AUC {area:.3f}, ECE {error:.3f}")
    bins = [(row["probability"], row["true"], row["count"]) for row in reliability(golden, scored)]
    print("  said -> true: " + "  ".join(f"{said:.2f}->{true:.2f} ({n})" for said, true, n in bins))
    best: dict[str, list[float]] = {}
    for one in asked:
        top = max((calibration.probability(piece.scores) for piece in one.evidence), default=0.0)
        best.setdefault(one.kind, []).append(top)
    for kind, tops in best.items():
        low, middle, high = np.quantile(tops, [0.1, 0.5, 0.9])
        line = f"  best of a search, {kind:20} n {len(tops):4}  10/50/90 %: {low:.2f} {middle:.2f} {high:.2f}"
        print(line if kind == "answerable" else f"{line}  AUC answerable over it {auc(best['answerable'], tops):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", default="all-minilm-l6-v2-int8")
    parser.add_argument("--train", type=int, default=1200, help="dialogues of DSTC11 to fit on")
    parser.add_argument("--limit", type=int, help="dialogues of every other part, for a quick look")
    arguments = parser.parse_args()
    folder = data_folder()
    encoder = encoder_of(arguments.weights)
    entities = dstc11_passages(folder)
    store = store_of(entities, encoder)
    train, dev = dstc11_questions(folder, "train", arguments.train), dstc11_questions(folder, "dev", arguments.limit)
    fitted: list[tuple[str, Retriever, Sequence[str]]] = [
        ("SEMANTIC", HybridRetriever(store=store, encoder=encoder, analyse=analyse), SEMANTIC_FEATURES),
        ("LEXICAL", SparseRetriever(store=store, analyse=analyse), LEXICAL_FEATURES),
    ]
    for name, retriever, features in fitted:
        calibration = fit(*table(ask_dstc11(train, list(entities), retriever), features), features)
        report(name, calibration, ask_dstc11(dev, list(entities), retriever), features)
    calibration = fit(
        *table(ask_kbp(folder, "train", arguments.limit or 600, None), CHINESE_FEATURES), CHINESE_FEATURES
    )
    report("CHINESE", calibration, ask_kbp(folder, "dev", arguments.limit, None), CHINESE_FEATURES)


if __name__ == "__main__":
    main()
