"""The attention gate on onnxruntime, without torch: a turn as rows of token ids, and its score.

Training reads turns through the same functions, so that what is scored in use is what was trained on.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dragoman.core.caches import keeps_texts
from dragoman.core.quick import quick
from dragoman.models.onnx.session import clean, open_session, open_tokenizer
from dragoman.models.onnx.word_tokenizer import PlainWords
from dragoman.models.part import Part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    IntArray: TypeAlias = NDArray[np.int64]

SEGMENTS = 16
TURNS = 8
"""Segments 1 to 8 number the dialogue's turns from the newest (8: all older ones); other fields follow."""
OTHERS = TURNS + 1
OUTPUT = "gate"
_TEXTS = 256
"""Size of the cache of non-ASCII texts' ids: all turns of a dialogue but the last were read before."""
TURN_INPUTS = ("input_ids", "attention_mask", "segment_ids")
KNOWLEDGE_INPUTS = ("know_ids", "know_mask", "know_segments")

Stream: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""Token ids, each with its segment."""


@quick
@dataclass(frozen=True, slots=True)
class TextPiece:
    """A text of a turn with its segment; an `apart` text is the memory of cross-attention (contx x know)."""

    text: str
    segment: int = 0
    apart: bool = False

    @property
    def is_said(self) -> bool:
        """Whether it is a turn of the dialogue."""
        return 1 <= self.segment <= TURNS


@quick
@dataclass(frozen=True, slots=True)
class TokenRow:
    """One turn as ids; `knowledge` is empty without cross-attention."""

    turn: Stream
    knowledge: Stream = ((), ())

    @property
    def lengths(self) -> tuple[int, int]:
        return len(self.turn[0]), len(self.knowledge[0])


class WordVocabulary:
    """The words of a part: texts to ids, cut to the most tokens.

    The tokenizer takes nearly half as long as the model; `PlainWords` gives ASCII text the same ids in a tenth of it.
    """

    def __init__(self, file: Path, max_tokens: int) -> None:
        self._tokenizer = open_tokenizer(file.parent, max_tokens)
        self._plain = PlainWords.of(json.loads(self._tokenizer.to_str()))
        self._max = max_tokens
        self._read = lru_cache(_TEXTS)(self._by_tokenizer)
        keeps_texts(self)

    def clear_cache(self) -> None:
        """Clear the cache of texts."""
        self._read.cache_clear()

    def __len__(self) -> int:
        return int(self._tokenizer.get_vocab_size())

    def rows(self, turns: Sequence[Sequence[TextPiece]]) -> list[TokenRow]:
        """Token ids of each turn: its texts joined, and the `apart` ones as a second stream."""
        rows = []
        for pieces in turns:
            apart = [piece for piece in pieces if piece.apart]
            read = [piece for piece in pieces if not piece.apart] if apart else pieces
            rows.append(TokenRow(self._joined(read), self._joined(apart)) if apart else TokenRow(self._joined(read)))
        return rows

    def _joined(self, pieces: Sequence[TextPiece]) -> Stream:
        """Join texts into one stream of ids and cut it to the limit."""
        read = [self._ids(piece.text) for piece in pieces]
        if sum(map(len, read)) > self._max:
            read = self._cut(pieces, read)
        tokens: list[int] = []
        segments: list[int] = []
        for piece, ids in zip(pieces, read, strict=True):
            tokens += ids
            segments += [piece.segment] * len(ids)
        return tuple(tokens), tuple(segments)

    def _cut(self, pieces: Sequence[TextPiece], read: Sequence[Sequence[int]]) -> list[Sequence[int]]:
        """Cut texts to the limit: the dialogue first, which keeps at least half of the room.

        Within the dialogue, and among the other texts, the last one is cut first.
        """
        sizes = {True: 0, False: 0}
        for piece, ids in zip(pieces, read, strict=True):
            sizes[piece.is_said] += len(ids)
        least = self._max // 2 if any(piece.is_said for piece in pieces) else self._max
        room_for_rest = min(sizes[False], max(self._max - sizes[True], least))
        room = {True: self._max - room_for_rest, False: room_for_rest}
        rows = []
        for piece, ids in zip(pieces, read, strict=True):
            rows.append(ids[: room[piece.is_said]])
            room[piece.is_said] -= len(rows[-1])
        return rows

    def _ids(self, text: str) -> Sequence[int]:
        text = clean(text, self._max)
        ids = self._plain.ids(text, self._max) if self._plain is not None else None
        return self._read(text) if ids is None else ids

    def _by_tokenizer(self, text: str) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(text, add_special_tokens=False).ids)


class AttentionScorer:
    """Scores turns by a part's ONNX model; one turn's score does not depend on what is scored beside it."""

    def __init__(self, part: Part, *, batch: int = 32, threads: int = 1) -> None:
        self.part = part
        self._batch = batch
        self._threads = threads  # the model is so small that threads only wait for each other
        self._loading = threading.Lock()
        self._loaded: tuple[Any, WordVocabulary, bool] | None = None

    def warm_up(self) -> None:
        """Load the weights."""
        self._load()

    def scores(self, turns: Sequence[Sequence[TextPiece]]) -> list[float]:
        """The log-odds of each turn before calibration."""
        session, vocabulary, cross = self._load()
        rows = vocabulary.rows(turns)
        if len(rows) == 1:  # as in a dialogue: nothing to put in order
            return [float(session.run([OUTPUT], _feed(rows, cross=cross))[0][0, 0])]
        scores = [0.0] * len(rows)
        order = sorted(range(len(rows)), key=lambda i: rows[i].lengths)
        for _, same in groupby(order, key=lambda i: rows[i].lengths):  # of one length: nothing is padded
            while chosen := list(islice(same, self._batch)):
                scored = session.run([OUTPUT], _feed([rows[i] for i in chosen], cross=cross))[0]
                for i, score in zip(chosen, scored[:, 0], strict=True):
                    scores[i] = float(score)
        return scores

    def _load(self) -> tuple[Any, WordVocabulary, bool]:
        import numpy  # noqa: F401  # onnxruntime imports it from the inside out: two threads at once would fail

        with self._loading:
            if self._loaded is None:
                vocabulary = WordVocabulary(self.part.file("tokenizer.json"), int(self.part.options["max_tokens"]))
                session = open_session(self.part.file("model.onnx").parent, self._threads)
                cross = any(entry.name in KNOWLEDGE_INPUTS for entry in session.get_inputs())
                self._loaded = session, vocabulary, cross
        return self._loaded


def _feed(rows: Sequence[TokenRow], *, cross: bool) -> dict[str, IntArray]:
    """Model inputs of rows of one length, with those of the knowledge where the model has cross-attention."""
    feed = _streams(TURN_INPUTS, [row.turn for row in rows])
    return feed | _streams(KNOWLEDGE_INPUTS, [row.knowledge for row in rows]) if cross else feed


def _streams(names: tuple[str, ...], streams: Sequence[Stream]) -> dict[str, IntArray]:
    import numpy as np

    if not streams[0][0]:  # nothing at all is one place that does not count
        return {name: np.zeros((len(streams), 1), dtype=np.int64) for name in names}
    both = np.array([[tokens for tokens, _ in streams], [parts for _, parts in streams]], dtype=np.int64)  # (2, B, T)
    return dict(zip(names, (both[0], np.ones(both.shape[1:], dtype=np.int64), both[1]), strict=True))
