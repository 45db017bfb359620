"""Public claim sets as pair rows: the evidence supports the claim, contradicts it, or neither."""

from __future__ import annotations

import csv
import gzip
import random
from collections.abc import Iterator
from pathlib import Path

from houses.grammar import Side
from pair_reading import held_out, read_lines

from dragoman.datasets.pair_rows import Entailment, PairRow

_LONG = 900
_MODIFIED: dict[str, tuple[Entailment, Entailment]] = {
    "task184": ("entailed", "neutral"),
    "task185": ("contradicted", "neutral"),
    "task186": ("contradicted", "entailed"),
    "task187": ("entailed", "contradicted"),
    "task188": ("neutral", "entailed"),
    "task189": ("neutral", "contradicted"),
}
"""SNLI pairs whose second sentence was rewritten: the relation before and after."""
_CHOSEN: dict[str, Entailment] = {"task200": "entailed", "task201": "neutral", "task202": "contradicted"}
"""MNLI statements with three claims; the annotated choice has this relation."""
_SETS = ("snli", "mnli", "scitail", "esnli", "cb_")
_LABELS: dict[str, Entailment] = {
    "entailment": "entailed",
    "neutral": "neutral",
    "contradiction": "contradicted",
    "e": "entailed",
    "n": "neutral",
    "c": "contradicted",
    "entails": "entailed",
}


def nli(folder: Path, side: Side) -> Iterator[PairRow]:
    """SNLI, MNLI, SciTail, e-SNLI and CommitmentBank in the format of Super-NaturalInstructions."""
    for row in read_lines(folder / "superni" / "instances.jsonl.gz"):
        task, _, name = row["t"].partition("_")
        if not name.startswith(_SETS):  # some numbers stand for two tasks
            continue
        output = row["o"] if isinstance(row["o"], str) else row["o"][0]
        for premise, claim, label in _pairs(task, row["i"], output):
            if held_out(premise) == (side == "dev"):
                yield PairRow("nli", premise[:_LONG], claim, kind=f"nli {task}", entails=label)


def _pairs(task: str, text: str, output: str) -> Iterator[tuple[str, str, Entailment]]:
    if task in _MODIFIED:
        premise, _, claim = text.removeprefix("Sentence 1: ").partition(" Sentence 2: ")
        before, after = _MODIFIED[task]
        yield premise, claim.strip(), before
        yield premise, output.strip(), after
    elif task in _CHOSEN and output.strip() in ("1", "2", "3"):
        premise, _, rest = text.removeprefix("Statement: ").partition(" Choices:")
        claims = [
            part.strip() for part in rest.replace("2. ", "1. ").replace("3. ", "1. ").split("1. ") if part.strip()
        ]
        if len(claims) == 3:
            yield premise, claims[int(output) - 1], _CHOSEN[task]
    elif task in ("task640", "task641", "task1388"):
        premise, _, claim = text.removeprefix("Premise: ").partition("<sep>")
        label = _LABELS.get(output.strip().lower())
        if label and claim:
            yield premise.strip(), claim.strip().removeprefix("Hypothesis: "), label
    elif task == "task1529":
        premise, _, claim = text.removeprefix("Premise: ").partition("Hypothesis: ")
        yield premise.strip(), claim.strip(), "entailed" if output == "entails" else "unsupported"
    elif task == "task1554":
        claim, _, premise = text.removeprefix("Sentence 1: ").partition("Sentence 2: ")
        yield premise.strip(), claim.strip(), "entailed" if output == "entails" else "unsupported"


def halueval(folder: Path, side: Side, *, most: int, seed: int = 1) -> Iterator[PairRow]:
    """HaluEval: a correct and a hallucinated answer to the same knowledge."""
    rng = random.Random(f"{seed}/halueval")
    for name in ("qa", "dialogue"):
        rows = read_lines(folder / "halueval" / f"{name}.jsonl.gz")
        own = [row for row in rows if held_out(row["knowledge"]) == (side == "dev")]
        for row in rng.sample(own, min(most // 2, len(own))):
            if name == "qa":
                # hallucinated answers are whole sentences, right ones single words: both stand after the question
                right, wrong = row["right_answer"], row["hallucinated_answer"]
                if len(right.split()) < 3 <= len(wrong.split()) and rng.random() < 0.5:
                    continue
                claims = [f"{row['question']} {right}", f"{row['question']} {wrong}"]
            else:
                claims = [row["right_response"], row["hallucinated_response"]]
            for claim, label in zip(claims, ("entailed", "unsupported"), strict=True):
                yield PairRow("halueval", row["knowledge"][:_LONG], claim, kind=f"halueval {name}", entails=label)  # type: ignore[arg-type]


def fever(folder: Path, side: Side) -> Iterator[PairRow]:
    """Symmetric FEVER: claims that cannot be classified without their evidence."""
    part = "dev" if side == "train" else "test"
    for row in read_lines(folder / "fever_symmetric" / f"symmetric_v0.2-fever_symmetric_{part}.jsonl.gz"):
        label: Entailment | None = {"SUPPORTS": "entailed", "REFUTES": "contradicted"}.get(row["gold_label"])  # type: ignore[assignment]
        if label:
            yield PairRow("fever_symmetric", row["evidence"], row["claim"], kind="fever", entails=label)


def q2(folder: Path) -> Iterator[PairRow]:
    """Q2: replies of two systems, and whether their knowledge supports them; for evaluation only."""
    for system in ("dodeca", "memnet"):
        for label in ("consistent", "inconsistent"):
            with gzip.open(folder / "q2" / f"{system}_{label}.csv.gz", "rt", encoding="utf-8") as opened:
                for row in csv.DictReader(opened):
                    truth: Entailment = "entailed" if label == "consistent" else "unsupported"
                    yield PairRow("q2", row["knowledge"], row["response"], kind="q2", entails=truth)


def begin(folder: Path) -> Iterator[PairRow]:
    """BEGIN, the Wizard of Wikipedia part of dev; for evaluation only."""
    with gzip.open(folder / "begin" / "wow-begin_dev_wow.tsv.gz", "rt", encoding="utf-8") as opened:
        for row in csv.DictReader(opened, delimiter="\t"):
            truth: Entailment = "entailed" if row["begin_label"] == "Fully attributable" else "unsupported"
            yield PairRow("begin", row["knowledge"], row["response"], kind="begin", entails=truth)
