"""Train the part that tells questions for what the user told from other turns, and measure it.

    python benchmarks/memory/asked_memory.py            # measure what is shipped on turns that it was not trained on
    python benchmarks/memory/asked_memory.py --train    # train anew and write the weights into the package

`benchmarks/asked_memory/*.tsv.gz` has a turn a line, after what it does: `memory` asks for what the user told,
`documents` asks for something else, `tell` tells something. The turns of `train` are made of written frames and
topics, in English and Chinese; taught are also questions and facts of `benchmarks/exercises` and turns of
`benchmarks/memory_turns`. `held` was written before, sentence by sentence, in many voices; nobody has looked at its
errors, its totals were watched a dozen times.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

from dragoman.memory.linear import PROBE
from dragoman.memory.recall.asked import ASKS, AskedMemory, encoded_as, word_features
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.text.language import language

TURNS = Path(__file__).parents[1] / "asked_memory"
EXERCISES = Path(__file__).parents[1] / "exercises" / "train.jsonl.gz"
TOLD = Path(__file__).parents[1] / "memory_turns" / "train.jsonl.gz"
WEIGHTS = Path(__file__).parents[2] / "src" / "dragoman" / "memory" / "data" / "asked_memory.json.gz"
_OF_FACTS, _OF_QUESTIONS = 700, 1800
_STRENGTH, _SCALE = 0.5, 2.0
_LEAST = 6
"""In how many turns a run of words must stand."""
_BATCH = 256


def read_turns(split: str) -> list[tuple[str, str]]:
    with gzip.open(TURNS / f"{split}.tsv.gz", "rt", encoding="utf-8") as lines:
        return [(kind, text) for kind, _, text in (line.rstrip("\n").partition("\t") for line in lines)]


def of_exercises() -> list[tuple[str, str]]:
    stated, asked = set[str](), set[str]()
    with gzip.open(EXERCISES, "rt", encoding="utf-8") as lines:
        for line in lines:
            for item in json.loads(line)["items"]:
                stated.update(item.get("facts", ()))
                asked.add(item["question"])
    chance = random.Random(3)
    facts = [("tell", text) for text in chance.sample(sorted(stated), _OF_FACTS)]
    return facts + [("documents", text) for text in chance.sample(sorted(asked), _OF_QUESTIONS)]


def of_memory_turns() -> list[tuple[str, str]]:
    """Turns that tell something and ask nothing."""
    with gzip.open(TOLD, "rt", encoding="utf-8") as lines:
        turns = [json.loads(line) for line in lines]
    return [("tell", turn["text"]) for turn in turns if turn["keep"] and "?" not in turn["text"]]


def train() -> dict[str, Any]:
    """The weights of a logistic regression over the vector and the words of a turn."""
    import numpy as np
    from scipy import sparse
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    rows = [*read_turns("train"), *of_exercises(), *of_memory_turns()]
    encoder = OnnxEncoder()
    read = [encoded_as(text) for _, text in rows]
    vectors = np.vstack(
        [np.asarray(encoder.encode(read[start : start + _BATCH])) for start in range(0, len(read), _BATCH)]
    )
    named = [word_features(text) for _, text in rows]
    counts = Counter(word for words in named for word in words)
    vectorizer = DictVectorizer()
    words = vectorizer.fit_transform(
        [{word: _SCALE / math.sqrt(len(each)) for word in each if counts[word] >= _LEAST} for each in named]
    )
    table = sparse.hstack([vectors * _SCALE, words]).tocsr()
    model = LogisticRegression(C=_STRENGTH, max_iter=3000).fit(table, [kind == "memory" for kind, _ in rows])
    weights, width = model.coef_[0] * _SCALE, vectors.shape[1]
    return {
        "bias": round(float(model.intercept_[0]), 5),
        "text": [round(float(value), 4) for value in weights[:width]],
        "words": {
            word: round(float(value), 3)
            for word, value in zip(vectorizer.feature_names_, weights[width:], strict=True)
            if round(float(value), 3)
        },
        "probe": [round(float(value), 4) for value in encoder.encode([PROBE])[0]],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", action="store_true", help="train anew and write the weights")
    arguments = parser.parse_args()
    if arguments.train:
        packed = gzip.compress(json.dumps(train(), ensure_ascii=False).encode(), mtime=0)
        WEIGHTS.write_bytes(packed)
        print(f"{WEIGHTS.name}: {len(packed) / 1e3:.0f} kB")
    asked, counts = AskedMemory(OnnxEncoder()), Counter[tuple[str, str, bool]]()
    for kind, text in read_turns("held"):
        counts[language(text), kind, asked.chance(text) >= ASKS] += 1
    for one in ("en", "zh"):
        for kind in ("memory", "documents", "tell"):
            print(
                f"{one} {kind:<10} taken for a question to memory: {counts[one, kind, True]:3} of "
                f"{counts[one, kind, True] + counts[one, kind, False]}"
            )


if __name__ == "__main__":
    main()
