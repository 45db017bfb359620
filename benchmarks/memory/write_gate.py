"""Train the memory's write gate on written turns, and say how well it tells what to keep.

    python benchmarks/memory/write_gate.py                 # measure what is shipped on turns that it was not trained on
    python benchmarks/memory/write_gate.py --train         # train anew and write the weights into the package

`benchmarks/memory_turns/*.jsonl.gz` has one turn a line: its `text`, and in `keep` the parts of it that tell something
about the user. `train` teaches; `test` was written apart, and nobody has looked at its errors. Training turns are also
the facts (to keep) and the questions (nothing to keep) of `benchmarks/exercises`, and requests of CLINC (nothing to
keep; `--data`, CC BY 3.0), which people type without a question mark, and messages of chitchat (MIT) that speak of
nobody; those in which junk is counted (`benchmarks/memory/memory_facts.py`) are not among them.
A part counts as met where the facts hold three fifths of its words, a fact as right where three fifths of its words
are of such parts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import random
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from dragoman.core.values import Fact
from dragoman.memory.facts import facts
from dragoman.memory.linear import PROBE
from dragoman.memory.people import people_of
from dragoman.memory.write_gate import (
    KEEP,
    Piece,
    WriteGate,
    _content,
    form_features,
    pieces,
    word_features,
)
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.text.spelling import spelt

TURNS = Path(__file__).parents[1] / "memory_turns"
EXERCISES = Path(__file__).parents[1] / "exercises" / "train.jsonl.gz"
WEIGHTS = Path(__file__).parents[2] / "src" / "dragoman" / "memory" / "data" / "english_write_gate.json.gz"
_OF_EXERCISES = 400
_OF_CLINC = 1500
_OF_CHITCHAT = 1000
_COUNTED_DIALOGUES = 500
"""Those of chitchat in which junk is counted."""
_OF_SOMEBODY = re.compile(r"\b(?:i|im|ive|my|me|mine|we|our|us|he|his|she|her|they|their)\b", re.IGNORECASE)
_OF_ONESELF = re.compile(
    r"(?:(?:hey|hi|so|well|because|since),? )?(?:i|i'm|i've|my|we|our)\b(?! (?:want|need|would|wanna|wish|must know))"
)
_STRENGTH = 2.0
_TURN, _FORM = 0.7, 0.5
"""How much the vector of the whole turn, and the features of form, count before training."""
_MET = 0.6


def read_turns(split: str) -> list[dict[str, Any]]:
    with gzip.open(TURNS / f"{split}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def of_exercises() -> list[dict[str, Any]]:
    """Facts of the exercises as turns to keep, and questions that state nothing as turns not to keep."""
    stated, asked = set(), set()
    with gzip.open(EXERCISES, "rt", encoding="utf-8") as lines:
        for line in lines:
            for item in json.loads(line)["items"]:
                stated.update(item.get("facts", ()))
                asked.add(item["question"])
    chance = random.Random(0)
    plain = [text for text in sorted(asked) if ", and" not in text and "I'm " not in text and " I am " not in text]
    keep = [{"text": text, "keep": [text]} for text in chance.sample(sorted(stated), _OF_EXERCISES)]
    return keep + [{"text": text, "keep": []} for text in chance.sample(plain, _OF_EXERCISES)]


def of_clinc(data: Path) -> list[dict[str, Any]]:
    """Questions and requests to an assistant; what may also tell of the user is left out."""
    with gzip.open(data / "more" / "clinc_oos" / "data_full.json.gz", "rt", encoding="utf-8") as file:
        texts = sorted({text for text, _ in json.load(file)["train"]})
    requests = [text for text in texts if not _OF_ONESELF.match(text)]
    return [{"text": text, "keep": []} for text in random.Random(0).sample(requests, _OF_CLINC)]


def of_chitchat(data: Path) -> list[dict[str, Any]]:
    """Messages of small talk that say nothing of anybody."""
    with gzip.open(data / "more" / "chitchat" / "dialogues.jsonl.gz", "rt", encoding="utf-8") as lines:
        dialogues = [json.loads(line)["messages"] for line in lines][_COUNTED_DIALOGUES:]
    texts = sorted({text for messages in dialogues for message in messages for text in message})
    told = [text for text in texts if len(text) > 1 and not _OF_SOMEBODY.search(spelt(text))]
    return [{"text": text, "keep": []} for text in random.Random(0).sample(told, _OF_CHITCHAT)]


def is_kept(turn: dict[str, Any], piece: Piece) -> bool:
    """Whether more than half of a piece is to be kept."""
    shared, start = 0, 0
    for part in turn["keep"]:
        start = turn["text"].index(part, start)
        shared += max(0, min(piece.end, start + len(part)) - max(piece.start, start))
        start += len(part)
    return shared > (piece.end - piece.start) / 2


def train(data: Path) -> dict[str, Any]:
    """The weights of a logistic regression over vectors, words and form of every piece."""
    import numpy as np
    from scipy import sparse
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    turns = [*read_turns("train"), *of_exercises(), *of_clinc(data), *of_chitchat(data)]
    rows = [(turn, piece) for turn in turns for piece in pieces(turn["text"])]
    encoder = OnnxEncoder()
    parts = np.asarray(encoder.encode([spelt(piece.text).strip() for _, piece in rows]))
    wholes = np.asarray(encoder.encode([spelt(turn["text"]).strip() for turn, _ in rows])) * _TURN
    forms = np.asarray([form_features(turn["text"], piece) for turn, piece in rows]) * _FORM
    named = [word_features(turn["text"], piece) for turn, piece in rows]
    counts: dict[str, int] = {}
    for words in named:
        for word in words:
            counts[word] = counts.get(word, 0) + 1
    vectorizer = DictVectorizer()
    words = vectorizer.fit_transform(
        [{word: 1 / math.sqrt(len(each)) for word in each if counts[word] > 1} for each in named]
    )
    labels = [is_kept(turn, piece) for turn, piece in rows]
    table = sparse.hstack([parts, wholes, forms, words]).tocsr()
    model = LogisticRegression(C=_STRENGTH, max_iter=5000).fit(table, labels)
    first, second, third = parts.shape[1], 2 * parts.shape[1], 2 * parts.shape[1] + forms.shape[1]
    weights = model.coef_[0]
    return {
        "bias": round(float(model.intercept_[0]), 5),
        "piece": _rounded(weights[:first]),
        "turn": _rounded(weights[first:second] * _TURN),
        "form": _rounded(weights[second:third] * _FORM),
        "words": dict(zip(vectorizer.feature_names_, _rounded(weights[third:]), strict=True)),
        "probe": _rounded(encoder.encode([PROBE])[0]),
    }


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(float(value), 4) for value in values]


def measure(turns: Sequence[dict[str, Any]], learn: Callable[[dict[str, Any]], Sequence[Fact]]) -> str:
    """Precision and recall of what is learned from turns."""
    found = right = wanted = met = 0
    for turn in turns:
        learned = [_content(fact.text) for fact in learn(turn)]
        wishes = [_content(part) for part in turn["keep"]]
        every, kept = set().union(*learned), set().union(*wishes)
        found += len(learned)
        right += sum(bool(words) and len(words & kept) >= _MET * len(words) for words in learned)
        wanted += len(wishes)
        met += sum(len(words & every) >= _MET * len(words) for words in wishes)
    return f"{right / max(1, found):9.3f} {met / wanted:7.3f}   {right}/{found} right, {met}/{wanted} met"


def by_rules(turn: dict[str, Any]) -> Sequence[Fact]:
    return facts(turn["text"], people=partial(people_of, facts(turn.get("before", ""))))


def by_both(turn: dict[str, Any], gate: WriteGate) -> Sequence[Fact]:
    placed = by_rules(turn)
    return [*placed, *gate.facts(turn["text"], placed, people=partial(people_of, facts(turn.get("before", ""))))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", action="store_true", help="train anew and write the weights")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("DRAGOMAN_DATA", "data")))
    parser.add_argument(
        "--keep", type=float, default=KEEP, help=f"least probability to keep a piece; {KEEP} unless told"
    )
    arguments = parser.parse_args()
    if arguments.train:
        packed = gzip.compress(json.dumps(train(arguments.data)).encode(), mtime=0)
        WEIGHTS.write_bytes(packed)
        print(f"{WEIGHTS.name}: {len(packed) / 1e3:.0f} kB")
    gate = WriteGate(OnnxEncoder(), keep=arguments.keep)
    turns = read_turns("test")
    print(f"{len(turns)} turns{'':<18} precision  recall")
    print(f"{'rules':<28} {measure(turns, by_rules)}")
    print(f"{'rules and write gate':<28} {measure(turns, partial(by_both, gate=gate))}")


if __name__ == "__main__":
    main()
