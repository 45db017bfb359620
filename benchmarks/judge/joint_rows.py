"""Write the rows that a joint scorer learns from: public sets of a folder, and invented houses.

python benchmarks/judge/joint_rows.py --data FOLDER --houses 700 --out rows
"""

from __future__ import annotations

import argparse
from itertools import chain
from pathlib import Path

from dragoman.datasets.houses.grammar import Side
from dragoman.datasets.pair_mix import house_rows, public_rows
from dragoman.datasets.pair_rows import read_rows, write_rows


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
        rows = [house_rows(side, houses=houses, seed=options.seed)] if houses else []
        if options.data:
            rows.append(public_rows(options.data, side, scale=options.scale, seed=options.seed))
        if options.public:
            rows.append(read_rows(options.public / f"{side}.jsonl"))
        print(side, write_rows(chain(*rows), options.out / f"{side}.jsonl"))


if __name__ == "__main__":
    main()
