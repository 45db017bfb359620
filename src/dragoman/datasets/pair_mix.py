"""Training rows of the joint scorer: public sets whose licences allow published weights, and generated houses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dragoman.datasets.houses.generate import generate
from dragoman.datasets.houses.grammar import Side
from dragoman.datasets.pair_claims import fever, halueval, nli
from dragoman.datasets.pair_reading import boolq, clapnq, policyqa, sharc, squad, strategyqa
from dragoman.datasets.pair_rows import PairRow
from dragoman.datasets.pair_users import ikat, personamem

LICENCES = {
    "houses": "Apache-2.0 (invented)",
    "exercises": "Apache-2.0 (written for it; half of the labels by a fine-tuned Qwen2.5-Coder-1.5B, Apache-2.0)",
    "squad": "CC BY-SA 4.0",
    "policyqa": "MIT",
    "clapnq": "Apache-2.0",
    "boolq": "CC BY-SA 3.0",
    "strategyqa": "MIT",
    "sharc": "CC BY-SA 3.0",
    "ikat": "MIT",
    "personamem": "MIT",
    "nli": "SNLI CC BY-SA 4.0, MNLI OANC, SciTail Apache-2.0, e-SNLI MIT, CommitmentBank CC BY-SA 3.0",
    "halueval": "MIT",
    "fever_symmetric": "CC BY-SA 3.0",
}


def public_rows(folder: Path, side: Side, *, scale: float = 1.0, seed: int = 1) -> Iterator[PairRow]:
    """Return the rows of all public sets in a folder; `scale` reduces the large ones."""
    train = side == "train"
    yield from squad(folder, side, most=int((30_000 if train else 600) * scale), seed=seed)
    yield from policyqa(folder, side, most=int((2_000 if train else 400) * scale), seed=seed)
    yield from clapnq(folder, side)
    yield from boolq(folder, side)
    yield from strategyqa(folder, side)
    yield from sharc(folder, side)
    yield from ikat(folder, side)
    yield from personamem(folder, side, most=int((7_000 if train else 400) * scale), seed=seed)
    yield from nli(folder, side)
    yield from halueval(folder, side, most=int((12_000 if train else 800) * scale), seed=seed)
    yield from fever(folder, side)


def house_rows(side: Side, *, houses: int, seed: int = 1) -> Iterator[PairRow]:
    """Return the rows of generated houses."""
    yield from generate(side, houses=houses, seed=seed)
