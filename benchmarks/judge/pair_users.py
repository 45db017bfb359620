"""Public sets about users as pair rows: the user facts that a reply needs, and the replies that fit a fact."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from houses.grammar import Side
from pair_reading import read_lines

from dragoman.datasets.pair_rows import PairRow

_CLIPPED = 160
_DEV_PERSONAS = ("persona3_", "persona7_")
_FEATURES = ("likes", "dislikes")


def ikat(folder: Path, side: Side) -> Iterator[PairRow]:
    """TREC iKAT 2023: the personal statements that each turn needs."""
    for topic in read_lines(folder / "ikat" / f"2023_{'train' if side == 'train' else 'test'}.jsonl.gz"):
        before = ""
        for turn in topic["turns"]:
            needed = {str(number) for number in turn.get("ptkb_provenance") or ()}
            asked = [turn["utterance"], f"{before} {turn['utterance']}".strip()]
            for place, question in enumerate(asked):
                name = "ikat" if side == "train" or place else "ikat_turn"  # dev measures the turn alone as well
                for number, fact in topic["ptkb"].items():
                    group = f"{topic['number']}/{turn['turn_id']}"
                    label = int(number in needed)
                    yield PairRow(name, question, fact, kind="ikat", group=group, needs=label)
            response = turn["response"][:_CLIPPED].rsplit(" ", 1)[0]
            before = f"{turn['utterance']} {response}"


def personamem(folder: Path, side: Side, *, most: int, seed: int = 1) -> Iterator[PairRow]:
    """PersonaMem: the fact behind a reply, the reply that uses it, and replies that use another fact."""
    rows = [
        row
        for row in read_lines(folder / "personamem" / "train.jsonl.gz")
        if any(mark in row["file"] for mark in _DEV_PERSONAS) == (side == "dev")
        and row["type"] not in ("static_factual", "abstention")
    ]
    rng = random.Random(f"{seed}/personamem")
    facts: dict[str, list[str]] = {}
    for row in rows:
        facts.setdefault(row["file"], []).extend(_facts(row["ref"]))
    for row in rng.sample(rows, min(most, len(rows))):
        own = _facts(row["ref"])
        if not own or not row["neg"]:
            continue
        fact, question = own[0], row["q"]
        needed = 0 if row["type"].startswith("identifying_new") else 1
        if needed:
            yield PairRow("personamem", question, fact, kind="personamem", group=fact, needs=1)
            yield PairRow(
                "personamem",
                question,
                row["a"],
                fact,
                "personamem/own",
                group=question,
                answers=1,
                bears=1,
                verdict="none",
            )
            for wrong in row["neg"][:3]:
                yield PairRow(
                    "personamem", question, wrong, fact, "personamem/other", group=question, answers=0, verdict="none"
                )
        for other in rng.sample(facts[row["file"]], min(3, len(facts[row["file"]]))):
            if other not in own and not _shares_word(other, fact):
                yield PairRow("personamem", question, other, kind="personamem/other", group=fact, needs=0)


def _facts(ref: Mapping[str, Any]) -> list[str]:
    """Return the newest like, dislike or event of a reference, in the first person."""
    by_rank: dict[str, str] = {}
    for key, value in ref.items():
        if isinstance(value, str) and value:
            for feature in _FEATURES:
                if key.lower().endswith(f"] {feature}"):
                    rank = "0" if "updated" in key.lower() else "1" if "[fact]" in key.lower() else "2"
                    verb = "like" if feature == "likes" else "dislike"
                    by_rank[rank] = f"I {verb} {value[:1].lower()}{value[1:]}."
    return [by_rank[rank] for rank in sorted(by_rank)][:1]


def _shares_word(first: str, second: str) -> bool:
    long = {word.strip(".,").lower() for word in first.split() if len(word) > 5}
    return bool(long & {word.strip(".,").lower() for word in second.split() if len(word) > 5})
