"""How often `dragoman.decision.applies` decides rightly by code alone, by kind of rule, and on ShARC's dev set.

    python benchmarks/judge/applies.py [--sharc FOLDER]

The first table is over the written cases of `tests/decision/data/rules.toml`: right, decided (not `none`), harmful (yes
or no where that is wrong). Cases held out were not tuned on. The second is over ShARC (Saeidi et al., 2018), where the
user's scenario and answered questions are the facts: Yes, No, More (a question back) and Irrelevant; accuracy is given
for each class with its mean (macro), and beside it what always saying the most frequent class would give.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

from dragoman.decision import applies

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "decision"))
_CLASSES = {"yes": "Yes", "no": "No", "unknown": "More", "none": "Irrelevant"}


def written() -> None:
    """Print the table by kind."""
    from cases import read  # the cases belong to the tests

    rows: dict[tuple[str, bool], Counter[str]] = defaultdict(Counter)
    for case in read():
        decision = case.decide()
        for kind in (case.kind, "all"):
            row = rows[kind, case.held]
            row["cases"] += 1
            row["right"] += case.is_right(decision)
            row["harmful"] += case.is_harmful(decision)
    print("| kind | right | held out: right | harmful | held out: harmful |")
    print("|---|---:|---:|---:|---:|")
    for kind in [*sorted({kind for kind, _ in rows} - {"all"}), "all"]:
        tuned, held = rows[kind, False], rows[kind, True]
        print(
            f"| {kind} | {tuned['right']} of {tuned['cases']} | {held['right']} of {held['cases']} "
            f"| {tuned['harmful']} | {held['harmful']} |"
        )


def sharc(file: Path) -> None:
    """Print accuracies on ShARC."""
    gold: Counter[str] = Counter()
    right: Counter[str] = Counter()
    said: Counter[tuple[str, str]] = Counter()
    started = time.perf_counter()
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            turn = json.loads(line)
            label = turn["answer"] if turn["answer"] in ("Yes", "No", "Irrelevant") else "More"
            told = [f"{asked['follow_up_question']} {asked['follow_up_answer']}" for asked in turn["history"]]
            facts = [turn["scenario"], *told] if turn["scenario"] else told
            verdict = _CLASSES[applies(turn["snippet"], facts, turn["question"]).verdict]
            gold[label] += 1
            right[label] += verdict == label
            said[verdict, label] += 1
    seconds = time.perf_counter() - started
    total = sum(gold.values())
    print("| ShARC dev | turns | accuracy |")
    print("|---|---:|---:|")
    for label, count in gold.most_common():
        print(f"| {label} | {count} | {right[label] / count:.3f} |")
    print(f"| macro | {total} | {sum(right[label] / gold[label] for label in gold) / len(gold):.3f} |")
    print(f"| micro | {total} | {sum(right.values()) / total:.3f} |")
    print(f"| always {gold.most_common(1)[0][0]}: macro | {total} | {1 / len(gold):.3f} |")
    decided = sum(count for (verdict, _), count in said.items() if verdict in ("Yes", "No"))
    hits = said["Yes", "Yes"] + said["No", "No"]
    print(f"\nYes or No by code: {decided} of {total}, of which right: {hits}. {1000 * seconds / total:.2f} ms a turn.")


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = os.environ.get("DRAGOMAN_DATA")
    parser.add_argument("--sharc", type=Path, default=Path(data) / "more" / "sharc" if data else None)
    folder: Path | None = parser.parse_args().sharc
    written()
    if folder is not None and (folder / "dev.jsonl.gz").exists():
        print()
        sharc(folder / "dev.jsonl.gz")


if __name__ == "__main__":
    main()
