"""A sentence encoder on onnxruntime: mean-pooled, unit length, batched by length, cached by content."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dragoman.core.caches import keeps_texts
from dragoman.core.environment import cores, home
from dragoman.core.errors import ConfigError
from dragoman.core.registry import encoders
from dragoman.models import weights as catalogue
from dragoman.models.onnx.session import batches, clean, open_session, open_tokenizer, probe
from dragoman.models.part import FILE as PART
from dragoman.models.part import open_part, sha256

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray

log = logging.getLogger(__name__)
_MAX_TOKENS = 256
MODEL = "model.onnx"


@encoders.register("onnx.v1")
class OnnxEncoder:
    """Sentence vectors from a folder with `model.onnx` and `tokenizer.json`, or from a name of the catalogue.

    The folder may be a trained part's, also beside the agent's `folder`: it says by itself how many tokens are read and
    how they are pooled (else 256, by their mean). `cache` is how many vectors are kept, by the SHA-256 of their text; 0
    keeps none.
    """

    def __init__(
        self,
        *,
        weights: str = "all-minilm-l6-v2-int8",
        max_tokens: int | None = None,
        pooling: Literal["mean", "cls"] | None = None,
        batch: int = 32,
        threads: int | None = None,
        cache: int = 4096,
        folder: Path | None = None,
    ) -> None:
        most = _MAX_TOKENS if max_tokens is None else max_tokens
        for name, value in (("max_tokens", most - 2), ("batch", batch), ("threads", threads or 1)):
            if value < 1:
                raise ConfigError(f"{name} of the encoder is too small.", remedy="Give a larger number.")
        self._weights = weights
        self._folder = folder
        self._given_tokens = max_tokens
        self._max_tokens = most
        self._given_pooling = pooling
        self._pooling = pooling or "mean"
        self._batch = batch
        self._threads = threads or min(cores(), 8)
        self._kept = cache
        self._cache: OrderedDict[bytes, FloatArray] = OrderedDict()
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None
        self._dimensions: int | None = None
        keeps_texts(self)

    @property
    def dimensions(self) -> int:
        if self._dimensions is None:
            self.warm_up()
        assert self._dimensions is not None
        return self._dimensions

    @property
    def space(self) -> str:
        """The name of the vector space: another one where texts would get other vectors. Loads no weights."""
        place = None if self._weights in catalogue.CATALOGUE else self._place()
        if place is None:
            digest = catalogue.CATALOGUE[self._weights].files[0].sha256
        else:
            digest = sha256(place / (PART if (place / PART).is_file() else MODEL))
        return f"onnx {digest[:16]} {self._pooling} {self._max_tokens}"

    @property
    def max_tokens(self) -> int:
        """How many tokens of a text are read, the model's marks among them."""
        self._load()  # a trained part says it by itself
        return self._max_tokens

    def warm_up(self) -> None:
        """Load the weights, and fetch them first where they are missing."""
        self._load()

    def encode(self, texts: Sequence[str]) -> FloatArray:
        import numpy as np

        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        keys = [_key(text) for text in texts]
        missing: dict[bytes, list[int]] = {}
        with self._lock:
            for row, key in enumerate(keys):
                cached = self._cache.get(key)
                if cached is None:
                    missing.setdefault(key, []).append(row)
                else:
                    self._cache.move_to_end(key)
                    vectors[row] = cached
        fresh = self._run([texts[rows[0]] for rows in missing.values()])
        for vector, rows in zip(fresh, missing.values(), strict=True):
            vectors[rows] = vector
        self._keep(dict(zip(missing, fresh, strict=True)))
        return vectors

    def clear_cache(self) -> None:
        """Drop every kept vector."""
        with self._lock:
            self._cache.clear()

    def forget(self, texts: Sequence[str]) -> None:
        """Drop the kept vectors of these texts."""
        with self._lock:
            for text in texts:
                self._cache.pop(_key(text), None)

    def _keep(self, fresh: dict[bytes, FloatArray]) -> None:
        with self._lock:
            for key, vector in fresh.items():
                self._cache[key] = vector.copy()  # a view would keep its whole batch alive
            while len(self._cache) > self._kept:
                self._cache.popitem(last=False)

    def tokens(self, texts: Sequence[str]) -> list[FloatArray]:
        """The state of every token at unit length, an array (tokens, dimensions) a text, without the model's own marks.

        Nothing is cached: token states take many times the room of a sentence's vector.
        """
        import numpy as np

        encodings = self._encodings(texts)
        rows_of_states: list[FloatArray] = [np.zeros((0, self.dimensions), dtype=np.float32)] * len(texts)
        for rows, states in self._states([encoding.ids for encoding in encodings]):
            for row, state in zip(rows, states, strict=True):
                own = _own(encodings[row])
                if own:
                    rows_of_states[row] = state[own] / np.linalg.norm(state[own], axis=1, keepdims=True)
        return rows_of_states

    def pieces(self, texts: Sequence[str]) -> list[tuple[str, ...]]:
        """The word pieces of the rows that `tokens` returns."""
        return [tuple(encoding.tokens[i] for i in _own(encoding)) for encoding in self._encodings(texts)]

    def vocabulary(self, tokens: Sequence[int]) -> FloatArray:
        """The vectors of tokens by their numbers, each read alone between the model's marks."""
        _, tokenizer = self._load()
        marks = tokenizer.encode("").ids
        half = (len(marks) + 1) // 2
        return self._pooled([[*marks[:half], token, *marks[half:]] for token in tokens])

    def _run(self, texts: Sequence[str]) -> FloatArray:
        return self._pooled([encoding.ids for encoding in self._encodings(texts)])

    def _pooled(self, ids: Sequence[Sequence[int]]) -> FloatArray:
        import numpy as np

        vectors = np.zeros((len(ids), self.dimensions), dtype=np.float32)
        for rows, states in self._states(ids):
            pooled = states[:, 0] if self._pooling == "cls" else states.mean(axis=1)
            vectors[rows] = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return vectors

    def _encodings(self, texts: Sequence[str]) -> list[Any]:
        _, tokenizer = self._load()
        return list(tokenizer.encode_batch([clean(text, self._max_tokens) for text in texts]))

    def _states(self, texts: Sequence[Sequence[int]]) -> Iterator[tuple[list[int], FloatArray]]:
        """The token states of some rows at a time; rows of one length, so that there is no padding."""
        import numpy as np

        session, _ = self._load()
        inputs = {entry.name for entry in session.get_inputs()}
        lengths = [len(ids) for ids in texts]
        order = sorted(range(len(texts)), key=lambda row: lengths[row])
        for rows in batches(order, lengths, self._batch):
            ids = np.array([texts[row] for row in rows], dtype=np.int64)  # (B, T)
            feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
            states = session.run(None, {name: value for name, value in feed.items() if name in inputs})[0]  # (B, T, D)
            yield rows, states

    def _load(self) -> tuple[Any, Any]:
        # onnxruntime imports numpy from the inside out: while another thread imports it too, both would fail
        import numpy  # noqa: F401

        with self._loading:
            if self._loaded is None:
                folder = self._place()
                tokenizer = open_tokenizer(folder, self._max_tokens)
                session = open_session(folder, self._threads)
                size = session.get_outputs()[0].shape[-1]
                if not isinstance(size, int):
                    size = int(session.run(None, probe(session))[0].shape[-1])
                self._dimensions = size
                self._loaded = session, tokenizer
        return self._loaded

    def _place(self) -> Path:
        """Return the folder of the weights; for a trained part, check it and read its options."""
        own = Path(self._weights).expanduser()
        beside = self._folder / own if self._folder is not None else own
        for place in (own, beside, home() / "parts" / own):
            if (place / PART).is_file():
                options = open_part(place).options
                self._max_tokens = self._given_tokens or int(options.get("max_tokens", _MAX_TOKENS))
                self._pooling = self._given_pooling or options.get("pooling", "mean")
                return place
        return beside if not own.exists() and beside.exists() else catalogue.path(self._weights)


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _own(encoding: Any) -> list[int]:
    """The places of a text's own tokens, between the marks that the model puts around them."""
    return [place for place, mark in enumerate(encoding.special_tokens_mask) if not mark]
