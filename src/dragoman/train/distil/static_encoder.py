"""Distil a static encoder from a neural teacher: token vectors whose weighted mean is near the teacher's vector.

1. The teacher reads each token of its vocabulary alone: E, a row a token, centred.
2. A token that is frequent in the sample weighs less: w(t) = a / (a + p(t)) (SIF, Arora et al. 2017). A passage is the
   weighted mean of its tokens' rows: X E, with a row of X for each passage; Y are the teacher's vectors of them.
3. One matrix for all rows, min |X E W - Y|^2 + r |W - c I|^2: it also moves tokens that no passage of the sample has,
   and leaves directions that the sample does not cover as they are; c I is the best scaling.
4. An offset for each token of the sample, min |X (E W + D) - Y|^2 + s |D|^2, by conjugate gradients, as long as
   held-out passages come nearer to the teacher's.

The table is w (E W + D). Only numpy is needed.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.core.errors import TrainingError
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.models.onnx.session import clean, open_tokenizer
from dragoman.models.part import Part, sha256, write_part
from dragoman.models.static_encoder import KIND, MODEL, TABLE, TOKENIZER, summed, teacher_folder, unit
from dragoman.train.contract import Progress, Report
from dragoman.train.distil.card import CARD, card
from dragoman.train.distil.defaults import LEAST, MOST, TEACHER
from dragoman.train.training_folder import write_whole, writing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dragoman.core.protocols import FloatArray

WORK = "work"
_FREQUENT = 0.01  # a: of 0.0001, 0.001 and 0.01 the one by which held-out passages of DSTC11 came nearest
_MAP = 1.0  # r: of 0.1, 1 and 10, for samples of 60 to 9,000 passages
_OFFSETS = 0.1  # s: of 0.003 to 1
_HELD_OUT, _MOST_HELD_OUT = 0.1, 2000
_STEPS, _EVERY, _GAIN = 40, 5, 1e-4
_CHUNK = 512
_NEIGHBOURS, _FEWEST = 10, 50  # among fewer passages, ten neighbours are too often found by chance
_SMALLEST = 1e-20
_LIBRARIES = ("dragoman", "numpy", "onnxruntime", "tokenizers")


@dataclass(frozen=True, slots=True)
class Bags:
    """Passages as bags of weighted tokens: the matrix `X` of the module's text, and products with it."""

    passages: Sequence[Sequence[int]]
    holders: Sequence[NDArray[np.int64]]
    """For each token its passages, repeated by its count in them."""
    weights: FloatArray
    totals: FloatArray
    """For each passage the sum of its tokens' weights."""

    @classmethod
    def of(cls, passages: Sequence[Sequence[int]], weights: FloatArray) -> Bags:
        import numpy as np

        tokens = np.concatenate([np.asarray(ids, dtype=np.int64) for ids in passages])
        rows = np.repeat(np.arange(len(passages)), [len(ids) for ids in passages])
        order = np.argsort(tokens, kind="stable")
        bounds = np.searchsorted(tokens[order], np.arange(1, len(weights)))
        totals = np.bincount(rows, weights=weights[tokens], minlength=len(passages)).astype(np.float32)
        return cls(passages, np.split(rows[order], bounds), weights, np.maximum(totals, 1e-9))

    def means(self, table: FloatArray) -> FloatArray:
        """X table: the weighted mean of each passage."""
        return summed(table * self.weights[:, None], self.passages) / self.totals[:, None]

    def spread(self, rows: FloatArray) -> FloatArray:
        """X^T rows: the sum over each token's passages."""
        return summed(rows / self.totals[:, None], self.holders) * self.weights[:, None]

    def squares(self) -> FloatArray:
        """Approximate the diagonal of X^T X; exact for tokens that occur at most once in each passage."""
        squares: FloatArray = summed(1.0 / self.totals[:, None] ** 2, self.holders)[:, 0] * self.weights**2
        return squares


def distil(
    texts: Sequence[str],
    folder: Path,
    *,
    teacher: str = TEACHER,
    most: int = MOST,
    seed: int = 1,
    threads: int | None = None,
    files: Sequence[Mapping[str, Any]] = (),
    command: str = "",
    report: Report = lambda progress: None,
) -> Part:
    """Fit a table to a sample of passages, and write it as a part into a folder.

    The teacher's vectors stay in `work` below the folder until the end, so that a stopped run resumes. One process at a
    time may write in it (`claimed`). `files` describe the origin of the texts.
    """
    import numpy as np

    source = teacher_folder(teacher)
    sample = sampled(texts, most=most, seed=seed)
    digest = hashlib.sha256("\0".join(sample).encode("utf-8", "surrogatepass")).hexdigest()
    encoder = OnnxEncoder(weights=str(source), threads=threads, cache=0)
    taught, limit = sha256(source / MODEL), encoder.max_tokens
    key = f"{taught} {sha256(source / TOKENIZER)} {limit} {digest}"
    work = folder / WORK / hashlib.sha256(key.encode()).hexdigest()[:16]
    with writing(work):
        work.mkdir(parents=True, exist_ok=True)
    tokenizer = open_tokenizer(source, limit)
    bags = [encoding.ids for encoding in tokenizer.encode_batch([clean(text, limit) for text in sample])]
    size = tokenizer.get_vocab_size()
    alone = _in_chunks(work, "vocabulary", size, lambda a, b: encoder.vocabulary(range(a, b)), report)
    targets = _in_chunks(work, "passages", len(sample), lambda a, b: encoder.encode(sample[a:b]), report)
    table, metrics = fitted(alone, bags, targets, report=report)
    with writing(folder):
        partial = folder / f".{TABLE}"
        with partial.open("wb") as opened:
            np.save(opened, table.astype(np.float16))
        partial.replace(folder / TABLE)
        shutil.copyfile(source / TOKENIZER, folder / TOKENIZER)
        options = {
            "dimensions": int(table.shape[1]),
            "max_tokens": limit,
            "teacher": teacher,
            "teacher_sha256": taught,
        }
        made = {
            "base": teacher,
            "data": {"passages": len(sample), "sha256": digest, "seed": seed, "files": [dict(each) for each in files]},
            "metrics": {name: round(value, 6) for name, value in metrics.items()},
            "versions": dict(_versions()),
        }
        part = write_part(Part(folder, KIND, {}, options, made=made), (TABLE, TOKENIZER))
        write_whole(folder / CARD, card(part, command=command))
        shutil.rmtree(folder / WORK)
    return part


def sampled(texts: Sequence[str], *, most: int, seed: int) -> list[str]:
    """Distinct texts in random order, at most `most`; raise an error for too few."""
    import numpy as np

    different = sorted({text for text in texts if text.strip()})
    if len(different) < LEAST:
        raise TrainingError(
            f"There are only {len(different)} different passages to fit the table to.",
            remedy=f"Give at least {LEAST}; some thousands of those that will be searched make a good one.",
        )
    order = np.random.default_rng(seed).permutation(len(different))[:most]
    return [different[place] for place in order]


def fitted(
    alone: FloatArray, passages: Sequence[Sequence[int]], targets: FloatArray, *, report: Report = lambda progress: None
) -> tuple[FloatArray, dict[str, float]]:
    """Fit the table to the teacher's vectors of tokens and passages, and measure it on held-out passages.

    Passages are in random order; the first ones are held out.
    """
    import numpy as np

    count = min(_MOST_HELD_OUT, max(1, round(_HELD_OUT * len(passages))))
    held_out, target = passages[:count], targets[:count]
    weights = inverse_frequencies(passages[count:], len(alone))
    bags, truth = Bags.of(passages[count:], weights), targets[count:]
    rows = unit(alone)
    rows = unit(rows - rows.mean(axis=0))
    before = nearness(rows * weights[:, None], held_out, target)
    rows = rows @ mapped(bags.means(rows), truth)
    metrics = {"cosine/vocabulary": before, "cosine/map": nearness(rows * weights[:, None], held_out, target)}
    best, table = metrics["cosine/map"], rows * weights[:, None]
    for step, offsets in enumerate(descent(bags, truth - bags.means(rows)), 1):
        report(Progress("Fitting", step, _STEPS, metric=best))
        if step % _EVERY:
            continue
        candidate = (rows + offsets) * weights[:, None]
        near = nearness(candidate, held_out, target)
        enough = near < best + _GAIN
        if near > best:
            best, table = near, candidate
        if enough or step >= _STEPS:
            break
    report(Progress("Fitting", _STEPS, _STEPS, metric=best))
    metrics["cosine"] = best
    share = neighbours(unit(summed(table, held_out)), target)
    if share is not None:
        metrics["neighbours"] = share
    return table.astype(np.float32), metrics


def inverse_frequencies(passages: Sequence[Sequence[int]], size: int) -> FloatArray:
    """w(t) = a / (a + p(t)), p(t) the share of token t among all tokens."""
    import numpy as np

    counts = np.bincount(np.concatenate([np.asarray(ids, dtype=np.int64) for ids in passages]), minlength=size)
    weights: FloatArray = (_FREQUENT / (_FREQUENT + counts / max(1, counts.sum()))).astype(np.float32)
    return weights


def mapped(means: FloatArray, truth: FloatArray) -> FloatArray:
    """W of min |means W - truth|^2 + r |W - c I|^2."""
    import numpy as np

    inputs, targets = means.astype(np.float64), truth.astype(np.float64)
    scale = (inputs * targets).sum() / max(_SMALLEST, (inputs * inputs).sum())  # c
    alike = np.eye(means.shape[1])
    change = np.linalg.solve(inputs.T @ inputs + _MAP * alike, inputs.T @ (targets - scale * inputs))
    vectors: FloatArray = (scale * alike + change).astype(np.float32)
    return vectors


def descent(bags: Bags, missing: FloatArray, strength: float = _OFFSETS) -> Iterator[FloatArray]:
    """D of min |X D - missing|^2 + s |D|^2 by conjugate gradients, column by column; yields D after each step.

    Rows are scaled by their token's frequency; otherwise the first steps would fit only the frequent ones.
    """
    import numpy as np

    scale = 1.0 / (bags.squares() + strength)[:, None]
    residual = bags.spread(missing)
    offsets = np.zeros_like(residual)
    direction = scale * residual
    size = (residual * direction).sum(axis=0)
    while True:
        pushed = bags.spread(bags.means(direction)) + strength * direction
        step = size / np.maximum((direction * pushed).sum(axis=0), _SMALLEST)
        offsets = offsets + step * direction
        residual = residual - step * pushed
        scaled = scale * residual
        smaller = (residual * scaled).sum(axis=0)
        direction = scaled + smaller / np.maximum(size, _SMALLEST) * direction
        size = smaller
        yield offsets


def nearness(table: FloatArray, passages: Sequence[Sequence[int]], targets: FloatArray) -> float:
    """The mean cosine of the table's vectors and the teacher's."""
    return float((unit(summed(table, passages)) * targets).sum(axis=1).mean())


def neighbours(vectors: FloatArray, targets: FloatArray) -> float | None:
    """Recall of the teacher's ten nearest passages by the table's vectors; None for too few passages.

    The query vector is the teacher's, as for questions.
    """
    import numpy as np

    k = _NEIGHBOURS
    if len(targets) < _FEWEST:
        return None
    shares = []
    for row, vector in enumerate(targets):
        lists = []
        for rows in (targets, vectors):
            likeness = rows @ vector
            likeness[row] = -np.inf
            lists.append(set(np.argpartition(-likeness, k - 1)[:k].tolist()))
        shares.append(len(lists[0] & lists[1]) / k)
    return float(np.mean(shares))


def _in_chunks(work: Path, name: str, count: int, make: Any, report: Report) -> FloatArray:
    """Compute vectors in chunks, each cached in a file; a resumed run computes only missing or damaged ones."""
    import numpy as np

    label = "Reading the vocabulary" if name == "vocabulary" else "Reading passages"
    parts = []
    for start in range(0, count, _CHUNK):
        end = min(count, start + _CHUNK)
        file = work / f"{name}-{start}.npy"
        chunk = _read(file, end - start)
        if chunk is None:
            chunk = make(start, end)
            partial = file.with_suffix(".part")
            with writing(file):
                with partial.open("wb") as opened:
                    np.save(opened, chunk)
                partial.replace(file)
        parts.append(chunk)
        report(Progress(label, end, count))
    vectors: FloatArray = np.concatenate(parts)
    return vectors


def _read(file: Path, rows: int) -> FloatArray | None:
    """The vectors in a file; None where it is missing or damaged."""
    import numpy as np

    try:
        with file.open("rb") as opened:
            vectors: FloatArray = np.lib.format.read_array(opened, allow_pickle=False)
    except (OSError, ValueError):
        return None
    return vectors if vectors.ndim == 2 and len(vectors) == rows else None


def _versions() -> Iterator[tuple[str, str]]:
    for library in _LIBRARIES:
        try:
            yield library, version(library)
        except PackageNotFoundError:  # run from its source
            continue
