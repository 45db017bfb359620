"""A static encoder small enough to be reckoned by hand, and a teacher without a model."""

from __future__ import annotations

import json
from typing import ClassVar

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from dragoman.models.part import Part, sha256, write_part
from dragoman.models.static_encoder import KIND, TABLE, TOKENIZER

MARKS = ("[UNK]", "[CLS]", "[SEP]")


def write_tokenizer(folder, words):
    """A tokenizer of whole words between marks."""
    folder.mkdir(parents=True, exist_ok=True)
    ids = {word: i for i, word in enumerate((*MARKS, *words))}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    ends = [("[CLS]", 1), ("[SEP]", 2)]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    tokenizer.save(str(folder / TOKENIZER))
    return ids


def write_static(folder, rows, *, teacher="teacher", digest="0" * 64, **options):
    """A part whose words have the given rows; those of the marks are nothing unless they are given."""
    words = [word for word in rows if word not in MARKS]
    write_tokenizer(folder, words)
    width = len(next(iter(rows.values())))
    table = np.array([rows.get(word, (0.0,) * width) for word in (*MARKS, *words)], dtype=np.float16)
    np.save(folder / TABLE, table)
    told = {"dimensions": width, "max_tokens": 16, "teacher": teacher, "teacher_sha256": digest} | options
    return write_part(Part(folder, KIND, {}, told), (TABLE, TOKENIZER))


def write_teacher(folder, words):
    """The files of an encoder that nobody loads."""
    write_tokenizer(folder, words)
    (folder / "model.onnx").write_bytes(json.dumps(list(words)).encode())
    return sha256(folder / "model.onnx")


class StubTeacher:
    """Reads a text as the mean of fixed vectors of its words, which a table can learn; counts what it reads."""

    read: ClassVar[list[str]] = []
    vocabularies: ClassVar[list[int]] = []
    stops_after: int | None = None
    max_tokens: int = 256

    def __init__(self, *, weights, threads=None, cache=0, **_):
        self._words = json.loads((weights_folder(weights) / "model.onnx").read_text())
        self._rows = np.random.default_rng(5).normal(size=(len(MARKS) + len(self._words), 8)).astype(np.float32)
        self._rows[: len(MARKS)] *= 0.1
        self._turn = np.linalg.qr(np.random.default_rng(6).normal(size=(8, 8)))[0].astype(np.float32)

    def vocabulary(self, tokens):
        StubTeacher.vocabularies += list(tokens)
        return self._unit(self._rows[list(tokens)])

    def encode(self, texts):
        if StubTeacher.stops_after is not None and len(StubTeacher.read) + len(texts) > StubTeacher.stops_after:
            raise KeyboardInterrupt
        StubTeacher.read += texts
        place = {word: i + len(MARKS) for i, word in enumerate(self._words)}
        means = [np.mean([self._rows[place.get(w, 0)] for w in text.split()], axis=0) for text in texts]
        return self._unit(np.array(means) @ self._turn)  # not the space of the tokens alone: a map is to be found

    def _unit(self, rows):
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def weights_folder(named):
    from dragoman.models.static_encoder import teacher_folder

    return teacher_folder(named)
