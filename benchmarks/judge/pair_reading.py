"""Public reading comprehension sets as pair rows: answer sentences, and verdicts on yes-or-no questions."""

from __future__ import annotations

import gzip
import json
import random
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from houses.grammar import Side

from dragoman.datasets.pair_rows import PairRow, Verdict
from dragoman.text.sentences import sentences

_NEGATIVES = 2
_LONG = 900
"""Longest passage in characters, since the model reads a few hundred tokens of a pair."""
_DEV_SHARE = 20


def held_out(name: str) -> bool:
    """Whether a text, page or conversation belongs to dev, for sets without a dev part."""
    return zlib.crc32(name.encode()) % _DEV_SHARE == 0


def read_json(file: Path) -> Any:
    """Read a gzip file with one JSON value."""
    with gzip.open(file, "rt", encoding="utf-8") as opened:
        return json.load(opened)


def read_lines(file: Path) -> Iterator[Any]:
    """Read a gzip file of JSON lines."""
    with gzip.open(file, "rt", encoding="utf-8") as opened:
        for line in opened:
            if line.strip():
                yield json.loads(line)


def squad(folder: Path, side: Side, *, most: int, seed: int = 1) -> Iterator[PairRow]:
    """SQuAD 1.1: the sentence with the answer, and other sentences of the passage."""
    table = read_json(folder / "squad" / ("train-v1.1.json.gz" if side == "train" else "dev-v1.1.json.gz"))
    yield from _spans("squad", table["data"], most=most, seed=seed, every=side == "dev")


def policyqa(folder: Path, side: Side, *, most: int, seed: int = 1) -> Iterator[PairRow]:
    """PolicyQA: the sentence of a privacy policy with the answer."""
    file = "test.json.gz" if side == "train" else "dev.json.gz"
    yield from _spans("policyqa", read_json(folder / "policyqa" / file)["data"], most=most, seed=seed, every=False)


def _spans(name: str, pages: list[Any], *, most: int, seed: int, every: bool) -> Iterator[PairRow]:
    asked = [
        (page["title"], paragraph["context"], question)
        for page in pages
        for paragraph in page["paragraphs"]
        for question in paragraph["qas"]
        if question["answers"]
    ]
    rng = random.Random(f"{seed}/{name}")
    for title, context, question in rng.sample(asked, min(most, len(asked))):
        pieces = sentences(context)
        start = question["answers"][0]["answer_start"]
        at, right = 0, -1
        for place, piece in enumerate(pieces):
            offset = context.find(piece, at)
            at = offset + len(piece) if offset >= 0 else at
            if offset >= 0 and offset <= start < at:
                right = place
        if right < 0 or len(pieces) < 2:
            continue
        answer = question["answers"][0]["text"]
        others = [place for place, piece in enumerate(pieces) if place != right and answer not in piece]
        chosen = others if every else rng.sample(others, min(_NEGATIVES, len(others)))
        heading = f"{title.replace('_', ' ')}: " if rng.random() < 0.5 else ""
        asked_as = question["question"].strip()
        for place in [right, *chosen]:
            text = heading + pieces[place]
            label = int(place == right)
            verdict: Verdict = "none"
            yield PairRow(name, asked_as, text, kind=name, group=question["id"], answers=label, verdict=verdict)


def clapnq(folder: Path, side: Side) -> Iterator[PairRow]:
    """CLAPnq: the sentences of a passage that annotators selected for a long answer."""
    for row in read_lines(folder / "clapnq" / "clapnq_dev_answerable.jsonl.gz"):
        if held_out(row["id"]) != (side == "dev"):
            continue
        selected = set(row["output"][0]["selected_sentences"])
        passage = row["passages"][0]
        for piece in passage["sentences"]:
            text = f"{passage['title']}: {piece}"
            yield PairRow("clapnq", row["input"], text, group=row["id"], answers=int(piece in selected), verdict="none")


def boolq(folder: Path, side: Side) -> Iterator[PairRow]:
    """BoolQ: yes or no given a passage; passages of other questions are negatives."""
    entries: list[tuple[str, str, Verdict]] = []
    for row in read_json(folder / "boolq" / "task_train.json.gz"):
        question, _, passage = row["sentence"].removeprefix("question: ").partition("\npassage: ")
        entries.append((question, passage.replace(" -- ", ": ", 1), "yes" if row["label"] == "True" else "no"))
    for row in read_lines(folder / "boolq" / "dev.jsonl.gz"):
        entries.append((row["question"], f"{row['title']}: {row['passage']}", "yes" if row["answer"] else "no"))
    own = [entry for entry in entries if held_out(entry[1]) == (side == "dev")]
    for place, (question, passage, verdict) in enumerate(own):
        yield PairRow("boolq", f"{question}?", passage[:_LONG], kind="boolq", answers=1, verdict=verdict)
        other = own[(place + 7) % len(own)][1]
        if place % 3 == 0 and other != passage:
            yield PairRow("boolq", f"{question}?", other[:_LONG], kind="boolq other", answers=0, verdict="none")


def strategyqa(folder: Path, side: Side) -> Iterator[PairRow]:
    """StrategyQA: yes or no given several facts."""
    file = "strategyqa-train.json.gz" if side == "train" else "strategyqa-dev.json.gz"
    for row in read_json(folder / "strategyqa" / file):
        verdict: Verdict = "yes" if row["answer"] else "no"
        text = " ".join(row["facts"])[:_LONG]
        yield PairRow("strategyqa", row["question"], text, kind="strategyqa", answers=1, verdict=verdict)


def sharc(folder: Path, side: Side) -> Iterator[PairRow]:
    """ShARC: a rule, a scenario and earlier answers; a follow-up question means the verdict is unknown."""
    verdicts: dict[str, Verdict] = {"Yes": "yes", "No": "no", "Irrelevant": "none"}
    for row in read_lines(folder / "sharc" / f"{side}.jsonl.gz"):
        asked = " ".join(f"{turn['follow_up_question']} {turn['follow_up_answer']}." for turn in row["history"])
        fact = " ".join(text for text in (row["scenario"].strip(), asked) if text)
        text = re.sub(r"[#*\s]+", " ", row["snippet"]).strip()
        verdict = verdicts.get(row["answer"], "unknown")
        label = int(verdict != "none")
        yield PairRow("sharc", row["question"], text[:_LONG], fact, f"sharc/{verdict}", answers=label, verdict=verdict)
        if fact and side == "train" and row["answer"] == "Irrelevant":
            yield PairRow("sharc", row["question"], text[:_LONG], "", "sharc/none", answers=0, verdict="none")
