"""How many replies of a run go round in circles, and how many letters too many they have.

    python benchmarks/replies/circles.py RUN

RUN is the folder of an evaluation, as `dragoman evaluate --out` writes it. A reply goes round in circles where it says
the same three times and more in a row (`text/circles.py`). The unified reader says that once; replies that it wrote
before it did, and those of other readers, are counted as they stand.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from dragoman.text.circles import unwound


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    files = sorted((parser.parse_args().run / "rows").glob("*/*.jsonl"))
    if not files:
        sys.stderr.write("The run holds no rows.\n")
        return 1
    print(f"{'set / system':80} {'replies':>8} {'circles':>8} {'letters':>8} {'too many':>9}")
    for file in files:
        texts = [json.loads(line)["text"] for line in file.read_text(encoding="utf-8").splitlines()]
        spared = [len(text) - len(unwound(text)) for text in texts]
        name = f"{file.parent.name} / {file.stem}"[:80]
        print(f"{name:80} {len(texts):8} {sum(map(bool, spared)):8} {sum(map(len, texts)):8} {sum(spared):9}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
