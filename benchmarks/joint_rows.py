"""Write the rows that a joint scorer learns from: public sets of a folder, and invented houses.

python benchmarks/joint_rows.py --data FOLDER --houses 700 --out rows
"""

from __future__ import annotations

import argparse
from itertools import chain
from pathlib import Path

from dragoman.datasets.services.grammar import Side

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
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    sides: tuple[tuple[Side, int], ...] = (("train", given.services), ("dev", given.dev_houses))
    for side, services in sides:
        rows = [house_rows(side, services=services, seed=given.seed)] if services else []
        if given.data:
            rows.append(public_rows(given.data, side, scale=given.scale, seed=given.seed))
        if given.public:
            rows.append(read_rows(given.public / f"{side}.jsonl"))
        print(side, write_rows(chain(*rows), given.out / f"{side}.jsonl"))


if __name__ == "__main__":
    main()
