"""Write the rows that a joint scorer learns from: public sets of a folder, and invented houses.

python benchmarks/judge/joint_rows.py --data FOLDER --houses 700 --out rows
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from houses.generate import generate
from houses.grammar import Side
from pair_claims import fever, halueval, nli
from pair_reading import boolq, clapnq, policyqa, sharc, squad, strategyqa
from pair_users import ikat, personamem

from dragoman.datasets.pair_rows import PairRow, read_rows, write_rows


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


def main() -> None:
    """Write train.jsonl and dev.jsonl."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="The folder of the public sets; left out: houses alone.")
    parser.add_argument("--public", type=Path, help="A folder with public rows that were written before.")
    parser.add_argument("--houses", type=int, default=700)
    parser.add_argument("--dev-houses", type=int, default=16)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    sides: tuple[tuple[Side, int], ...] = (("train", options.houses), ("dev", options.dev_houses))
    for side, houses in sides:
        rows = [generate(side, houses=houses, seed=options.seed)] if houses else []
        if options.data:
            rows.append(public_rows(options.data, side, scale=options.scale, seed=options.seed))
        if options.public:
            rows.append(read_rows(options.public / f"{side}.jsonl"))
        print(side, write_rows(chain(*rows), options.out / f"{side}.jsonl"))


if __name__ == "__main__":
    main()
