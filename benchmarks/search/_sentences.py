"""Real English from the data folder: reviews, questions with answers, personas and what people said, each text once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np


def sentences(data: Path, *, seed: int = 11) -> list[str]:
    """Every distinct text of DSTC11, KETOD and ConvAI2, shuffled, so that the first n are of all of them."""
    found = sorted({text.strip() for text in [*_dstc11(data), *_ketod(data), *_convai2(data)]} - {""})
    return [found[i] for i in np.random.default_rng(seed).permutation(len(found))]


def encoded(texts: Sequence[str], folder: Path) -> np.ndarray:
    """Vectors of unit length by the default encoder; those that are in the folder already are not made again."""
    from dragoman.models.onnx.encoder import OnnxEncoder

    encoder, parts = OnnxEncoder(cache=0), []
    for at in range(0, len(texts), 1000):
        path = folder / f"vectors-{at}.npy"
        if not path.exists() or len(np.load(path)) < len(texts[at : at + 1000]):
            np.save(path, encoder.encode(texts[at : at + 1000]))
        parts.append(np.load(path)[: len(texts[at : at + 1000])])
    found = np.concatenate(parts).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def _dstc11(data: Path) -> Iterator[str]:
    for domain in json.loads((data / "dstc11/knowledge.json").read_text("utf-8")).values():
        for entity in domain.values():
            for review in (entity.get("reviews") or {}).values():
                yield from review["sentences"].values()
            for faq in (entity.get("faqs") or {}).values():
                yield from (faq["question"], faq["answer"])
    for path in sorted(data.glob("dstc11/*/logs.json")):
        for dialogue in json.loads(path.read_text("utf-8")):
            yield from (turn["text"] for turn in dialogue)


def _ketod(data: Path) -> Iterator[str]:
    for path in sorted(data.glob("ketod/gate_*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            turn = json.loads(line)
            yield from (said["text"] for said in turn["context"])
            yield turn["response"]


def _convai2(data: Path) -> Iterator[str]:
    for path in sorted(data.glob("convai2/*.txt")):
        for line in path.read_text("utf-8").splitlines():
            said = line.partition(" ")[2]
            yield from said.removeprefix("your persona: ").removeprefix("partner's persona: ").split("\t")
