"""Measure a joint part on dev rows and on sets that nothing was trained on, beside MiniLM's cosine.

python benchmarks/judge/joint_dev.py --part english-joint --rows rows/dev.jsonl --data FOLDER [--base all-minilm-l6-v2]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from pair_claims import begin, q2
from pair_reading import read_lines

from dragoman.datasets.pair_rows import PairRow, read_rows
from dragoman.models.joint import HEADS, JointScorer, pair_text
from dragoman.text.sentences import sentences
from dragoman.train.joint_measures import auc, by_kind, measured, ranked

Cosine = Callable[[Sequence[str], Sequence[str]], Sequence[float]]
_SENTENCES = 40


def main() -> None:
    """Print the tables, and write them as JSON where a file is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", type=Path, required=True)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--base", help="The encoder of the cosine; left out: no cosine.")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    scorer = JointScorer(given.part, threads=given.threads)
    cosine = _cosine(given.base, given.device) if given.base else None
    rows = list(read_rows(given.rows))
    if given.data:
        rows += [*q2(given.data), *begin(given.data)]
    table: dict[str, float] = {}
    scores = scorer.read([(pair_text(row.question, row.fact), row.text) for row in rows], tuple(HEADS))
    table |= measured(rows, scores)
    table |= {f"kind/{kind} ({count})": share for kind, (share, count) in by_kind(rows, scores).items()}
    if cosine:
        table |= _cosine_table(rows, cosine)
    if given.data and (given.data / "prefeval").is_dir():
        table |= prefeval(scorer, given.data, cosine)
    if given.data and (given.data / "mtragun").is_dir():
        table |= mtragun(scorer, given.data, cosine)
    for name, value in table.items():
        print(f"{name:60} {value:.4f}")
    if given.out:
        given.out.write_text(json.dumps({key: round(value, 4) for key, value in table.items()}, indent=1) + "\n")


def _cosine(base: str, device: str) -> Cosine:
    from dragoman.models.torch.trunk import embed, load_trunk

    trunk, tokens = load_trunk(base, {"unused": 1}, max_tokens=192)
    trunk.to(device)

    def similar(first: Sequence[str], second: Sequence[str]) -> Sequence[float]:
        texts = list(dict.fromkeys([*first, *second]))
        vectors = embed(trunk, tokens, texts, device=device).numpy()
        place = {text: row for row, text in enumerate(texts)}
        left = vectors[[place[text] for text in first]]
        right = vectors[[place[text] for text in second]]
        found: list[float] = (left * right).sum(axis=1).tolist()
        return found

    return similar


def _cosine_table(rows: Sequence[PairRow], cosine: Cosine) -> dict[str, float]:
    """What the untrained encoder says where a head decides: the nearness of the two texts."""
    near = cosine([pair_text(row.question, row.fact).replace("[SEP]", "") for row in rows], [row.text for row in rows])
    found: dict[str, float] = {}
    for name in dict.fromkeys(row.set for row in rows):
        for head in ("answers", "needs", "entails"):
            own = [number for number, row in enumerate(rows) if row.set == name and getattr(row, head) is not None]
            truth = [
                rows[number].entails == "entailed" if head == "entails" else float(getattr(rows[number], head)) > 0.5
                for number in own
            ]
            if 0 < sum(truth) < len(truth):
                given = [near[number] for number in own]
                found[f"cosine/{name}/{head}/auc"] = auc(given, truth)
                lists = ranked(given, truth, [rows[number].group for number in own])
                found |= {f"cosine/{name}/{head}/{key}": value for key, value in lists.items()}
    return found


def prefeval(scorer: JointScorer, data: Path, cosine: Cosine | None) -> dict[str, float]:
    """PrefEval, multiple choice: the option that the scorer finds to answer, given the stated preference."""
    items = [row for file in sorted((data / "prefeval" / "mcq_options").glob("*.gz")) for row in read_lines(file)]
    options = [option for item in items for option in item["classification_task_options"][:4]]
    told = [item["preference"] for item in items for _ in range(4)]
    asked = [item["question"] for item in items for _ in range(4)]
    readings = {
        "question": [
            (pair_text(question, fact), text) for question, fact, text in zip(asked, told, options, strict=True)
        ],
        "suits": [(pair_text("Would this suit me?", fact), text) for fact, text in zip(told, options, strict=True)],
    }
    found: dict[str, float] = {"prefeval/items": float(len(items))}

    def right(scores: np.ndarray) -> float:  # the first option is the right one
        return float((np.asarray(scores).reshape(-1, 4).argmax(axis=1) == 0).mean())

    for name, texts in readings.items():
        given = scorer.read(texts, ("answers", "verdict"))
        verdict = given["verdict"][:, 0] - given["verdict"][:, 1]
        found[f"prefeval/{name}/answers"] = right(given["answers"][:, 0])
        found[f"prefeval/{name}/verdict"] = right(verdict)
        found[f"prefeval/{name}/both"] = right(given["answers"][:, 0] + verdict)
    claims = scorer.read(list(zip(told, options, strict=True)), ("entails",))["entails"]
    found["prefeval/not contradicted"] = right(claims[:, 0] - claims[:, 2])
    if cosine:
        joint = [f"{question} {fact}" for question, fact in zip(asked, told, strict=True)]
        found["cosine/prefeval"] = right(np.array(cosine(joint, options)))
    return found


def mtragun(scorer: JointScorer, data: Path, cosine: Cosine | None) -> dict[str, float]:
    """MTRAG-UN: does the best sentence of the passages tell answerable turns from the others."""
    questions: list[str] = []
    pieces: list[str] = []
    places: list[int] = []
    truth: list[bool] = []
    for task in read_lines(data / "mtragun" / "dev.jsonl.gz"):
        own = list(_pieces(task["contexts"]))[:_SENTENCES]
        if not own:
            continue
        question = [turn["text"] for turn in task["input"] if turn["speaker"] == "user"][-1]
        questions += [question] * len(own)
        pieces += own
        places += [len(truth)] * len(own)
        truth.append("ANSWERABLE" in task["answerability"])
    if not 0 < sum(truth) < len(truth):
        return {}
    given = {"answers": scorer.read(list(zip(questions, pieces, strict=True)), ("answers",))["answers"][:, 0].tolist()}
    if cosine:
        given["cosine"] = list(cosine(questions, pieces))
    found = {"mtragun/tasks": float(len(truth)), "mtragun/answerable": float(sum(truth))}
    for name, scores in given.items():
        best = [-np.inf] * len(truth)
        for place, score in zip(places, scores, strict=True):
            best[place] = max(best[place], score)
        found[f"mtragun/{name}/auc"] = auc(best, truth)
    return found


def _pieces(contexts: Iterable[dict[str, str]]) -> Iterable[str]:
    for context in contexts:
        yield from (piece for piece in sentences(context["text"]) if len(piece.split()) > 2)


if __name__ == "__main__":
    main()
