"""An encoder without a neural pass: a table of token vectors, of which a text's vector is the sum at unit length.

`train/distil/static_encoder.py` makes the table from an encoder, its teacher, in the teacher's own space. So the
vectors of passages, which are many, may come from the table, and those of questions, which are few, from the teacher.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dragoman.core.environment import home
from dragoman.core.errors import ConfigError, WeightsError
from dragoman.core.registry import encoders
from dragoman.models import weights as catalogue
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.models.onnx.session import clean, open_tokenizer
from dragoman.models.part import FILE as PART
from dragoman.models.part import Part, open_part, sha256

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dragoman.core.protocols import FloatArray

KIND = "encoder.static"
TABLE, TOKENIZER, MODEL = "table.npy", "tokenizer.json", "model.onnx"
_SMALLEST = 1e-12


@encoders.register("static.v1")
class StaticEncoder:
    """Vectors from the table of a `part` that `dragoman models distil` made: a folder, also beside the agent's own.

    With `queries = "teacher"` the table reads passages only, and the encoder that it was distilled from everything
    else: what a user asks, and the few sentences that other roles compare. With `queries = "table"` no other weights
    are needed. `teacher` is where that encoder lies, if no longer where it was. `threads` and `cache` are its own; the
    table keeps nothing of what it reads.
    """

    def __init__(
        self,
        *,
        part: str,
        queries: Literal["teacher", "table"] = "teacher",
        teacher: str | None = None,
        threads: int | None = None,
        cache: int = 4096,
        folder: Path | None = None,
    ) -> None:
        if queries == "table" and teacher is not None:
            raise ConfigError(
                'encoder.static has a teacher, and queries = "table" does not ask it.', remedy="Leave one of them out."
            )
        self._name = part
        self._queries = queries
        self._given = teacher
        self._threads = threads
        self._cache = cache
        self._folder = folder
        self._loading = threading.Lock()
        self._part: Part | None = None
        self._loaded: tuple[FloatArray, Any] | None = None
        self._taught: OnnxEncoder | None = None

    @property
    def dimensions(self) -> int:
        return int(self._load()[0].shape[1])

    @property
    def space(self) -> str:
        """The name of the vector space."""
        return f"static {sha256(self._opened().folder / PART)[:16]} {self._queries}"

    def warm_up(self) -> None:
        """Load the table, and the teacher where questions go to it."""
        self._load()
        if self._queries == "teacher":
            self._teacher().warm_up()

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of questions and other short texts."""
        return self._teacher().encode(texts) if self._queries == "teacher" else self.encode_passages(texts)

    def encode_passages(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of what is searched, always from the table."""
        table, tokenizer = self._load()
        limit = int(self._opened().options["max_tokens"])
        encodings = tokenizer.encode_batch([clean(text, limit) for text in texts])
        return unit(summed(table, [encoding.ids for encoding in encodings]))

    def clear_cache(self) -> None:
        """Drop what the teacher keeps."""
        if self._taught is not None:
            self._taught.clear_cache()

    def forget(self, texts: Sequence[str]) -> None:
        """Drop what the teacher keeps of these texts."""
        if self._taught is not None:
            self._taught.forget(texts)

    def _opened(self) -> Part:
        if self._part is None:
            self._part = open_part(self._name, kind=KIND, folder=self._folder)
        return self._part

    def _load(self) -> tuple[FloatArray, Any]:
        with self._loading:
            if self._loaded is None:
                part = self._opened()
                tokenizer = open_tokenizer(part.folder, int(part.options["max_tokens"]))
                table = read_table(part.file(TABLE))
                if table.shape != (tokenizer.get_vocab_size(), int(part.options["dimensions"])):
                    raise WeightsError(
                        f"The table of '{part.folder}' has {table.shape[0]} rows of {table.shape[1]} numbers; its "
                        f"tokenizer has {tokenizer.get_vocab_size()} tokens, and there should be "
                        f"{part.options['dimensions']} numbers.",
                        remedy="Make it again with `dragoman models distil`.",
                    )
                self._loaded = table, tokenizer
        return self._loaded

    def _teacher(self) -> OnnxEncoder:
        with self._loading:
            if self._taught is None:
                part = self._opened()
                teacher = self._given or str(part.options["teacher"])
                place = teacher_folder(teacher, self._folder)
                digest = sha256(place / MODEL)
                if digest != part.options["teacher_sha256"]:
                    raise WeightsError(
                        f"'{teacher}' is not the encoder that '{part.folder}' was distilled from: the SHA-256 of its "
                        f"{MODEL} is {digest}, not {part.options['teacher_sha256']}. Their vectors cannot be compared.",
                        remedy="Give the right one as `teacher`, distil this one with `dragoman models distil "
                        f'--teacher {teacher}`, or set queries = "table".',
                    )
                self._taught = OnnxEncoder(weights=str(place), threads=self._threads, cache=self._cache)
        return self._taught


def teacher_folder(name: str, folder: Path | None = None) -> Path:
    """Return the folder of an encoder by name or path, also relative to an agent's folder; fetch it if missing."""
    own = Path(name).expanduser()
    beside = folder / own if folder is not None else own
    here = next((place for place in (own, beside, home() / "models" / own) if (place / MODEL).is_file()), None)
    if name in catalogue.CATALOGUE:
        here = catalogue.path(name)
    if here is None or not (here / MODEL).is_file():
        raise WeightsError(
            f"There is no encoder '{name}' to be the teacher: no folder of that name has a {MODEL}.",
            remedy=f"Give as `teacher` a folder with {MODEL} and {TOKENIZER}, or a name of `dragoman models list`.",
        )
    return here


def read_table(path: Path) -> FloatArray:
    """The rows of a table, one a token, already weighted."""
    import numpy as np

    try:
        table = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise WeightsError(f"'{path}' cannot be read: {error}.", remedy="Copy the part again.") from error
    if table.ndim != 2:
        raise WeightsError(f"'{path}' is no table of vectors.", remedy="Copy the part again.")
    rows: FloatArray = table.astype(np.float32)
    return rows


def summed(table: FloatArray, texts: Sequence[Sequence[int] | NDArray[np.int64]]) -> FloatArray:
    """For each text the sum of its tokens' rows; zeros where it has none."""
    import numpy as np

    sums: FloatArray = np.zeros((len(texts), table.shape[1]), dtype=np.float32)
    for row, ids in enumerate(texts):  # one by one: what lies in the processor's cache is added three times as quickly
        if len(ids):
            sums[row] = table.take(ids, axis=0).sum(axis=0)
    return sums


def unit(vectors: FloatArray) -> FloatArray:
    """The same at unit length; a vector of nothing becomes the first axis, since every text must have a direction."""
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    normalised: FloatArray = (vectors / np.maximum(lengths, _SMALLEST)).astype(np.float32)
    normalised[lengths[:, 0] <= _SMALLEST] = np.eye(1, vectors.shape[1], dtype=np.float32)
    return normalised
