"""A text encoder behind an endpoint: `/embeddings` as OpenAI, Gemini, Ollama, vLLM, TEI and others have it."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from dragoman.core.caches import keeps_texts
from dragoman.core.errors import ConfigError
from dragoman.core.registry import encoders
from dragoman.models.remote.answers import rows, table
from dragoman.models.remote.endpoint import Endpoint, is_url
from dragoman.models.remote.profiles import PROFILES, ProfileName

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray

_BLANK = "."
"""Stands for an empty text, which most endpoints refuse."""


@encoders.register("remote.v1")
class RemoteEncoder:
    """Vectors from an endpoint, at unit length, `batch` texts a request.

    `query` and `passage` are put before questions and passages, for models that want it ("query: "). `dimensions` is
    checked; where it is not given, the first vector says it. `cache` vectors are kept by the SHA-256 of their text.
    Longer texts are cut to `characters`.
    """

    def __init__(
        self,
        *,
        model: str,
        url: str = "",
        profile: ProfileName = "auto",
        key_env: str | None = None,
        dimensions: int = 0,
        query: str = "",
        passage: str = "",
        batch: int = 64,
        cache: int = 4096,
        characters: int = 24_000,
        timeout: float = 60.0,
        deadline: float = 300.0,
        retries: int = 3,
        concurrency: int = 4,
        extra: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        transport: object | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        base = PROFILES[profile]
        url = url or base.url
        if not is_url(url):
            raise ConfigError(f"'{url}' is not an address.", remedy="Give a url that begins with http:// or https://.")
        if min(batch, characters, concurrency) < 1 or min(dimensions, cache) < 0 or min(timeout, deadline) <= 0:
            raise ConfigError("An option of the remote encoder is too small.", remedy="Give larger numbers.")
        self._model = model
        self._dimensions = self._asked_dimensions = dimensions
        self._query = query
        self._passage = passage
        self._batch = batch
        self._most = characters
        self._concurrency = concurrency
        self._extra = dict(extra or {})
        self._kept = cache
        self._cache: OrderedDict[bytes, FloatArray] = OrderedDict()
        self._lock = threading.Lock()
        self.endpoint = Endpoint(
            url,
            key_env=base.key_env if key_env is None and url == base.url else key_env or "",
            timeout=timeout,
            deadline=deadline,
            retries=retries,
            concurrency=concurrency,
            headers=headers,
            transport=transport,
            sleep=sleep,
        )
        keeps_texts(self)

    @property
    def dimensions(self) -> int:
        """The length of a vector; the first call may ask the endpoint."""
        if not self._dimensions:
            self.encode([_BLANK])
        return self._dimensions

    @property
    def space(self) -> str:
        """The name of the vector space, by what is asked of the endpoint; its address may change."""
        settings = json.dumps(
            [self._asked_dimensions, self._query, self._passage, self._most, self._extra], default=str
        )
        return f"remote {self._model} {hashlib.sha256(settings.encode()).hexdigest()[:16]}"

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of questions, and of passages where these are read no differently."""
        return self._vectors([self._query + text for text in texts])

    def encode_passages(self, texts: Sequence[str]) -> FloatArray:
        """Vectors of passages."""
        return self._vectors([self._passage + text for text in texts])

    def clear_cache(self) -> None:
        """Drop every kept vector."""
        with self._lock:
            self._cache.clear()

    def forget(self, texts: Sequence[str]) -> None:
        """Drop the kept vectors of these texts."""
        with self._lock:
            for text in texts:
                for sent in (self._query + text, self._passage + text):
                    self._cache.pop(_key(self._sent(sent)), None)

    def close(self) -> None:
        self.endpoint.close()

    def _vectors(self, texts: Sequence[str]) -> FloatArray:
        import numpy as np

        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        sent = [self._sent(text) for text in texts]
        with self._lock:
            by_text = {text: self._cache[_key(text)] for text in dict.fromkeys(sent) if _key(text) in self._cache}
        missing = [text for text in dict.fromkeys(sent) if text not in by_text]
        batches = [missing[start : start + self._batch] for start in range(0, len(missing), self._batch)]
        with ThreadPoolExecutor(min(self._concurrency, max(len(batches), 1)), "dragoman-embed") as pool:
            for batch, vectors in zip(batches, pool.map(self._embedded, batches), strict=True):
                by_text.update(zip(batch, vectors, strict=True))
        self._keep({text: by_text[text] for text in missing})
        return np.stack([by_text[text] for text in sent])

    def _embedded(self, texts: Sequence[str]) -> list[FloatArray]:
        import numpy as np

        body = {"model": self._model, "input": list(texts), "encoding_format": "float"} | self._extra
        answer = self.endpoint.post("/embeddings", body)
        entries = [table(entry) for entry in rows(answer.get("data"))]
        vectors: dict[int, FloatArray] = {}
        for place, entry in enumerate(entries):
            index = entry.get("index", place)
            try:
                with np.errstate(over="ignore"):  # what overflows is not finite, and refused below
                    vector = np.asarray(entry.get("embedding"), dtype=np.float32)
            except (TypeError, ValueError, OverflowError):
                vector = np.zeros(0, dtype=np.float32)
            length = float(np.linalg.norm(vector)) if vector.ndim == 1 and vector.size else 0.0
            if not np.isfinite(length) or length == 0.0 or not isinstance(index, int):
                raise self.endpoint.error("answered a vector that cannot be used", "Check that model is an encoder.")
            vectors[index] = vector / length
        if set(vectors) != set(range(len(texts))):
            raise self.endpoint.error(
                f"answered {len(vectors)} vectors for {len(texts)} texts", "Lower batch, or check model."
            )
        self._check({vector.size for vector in vectors.values()})
        return [vectors[place] for place in range(len(texts))]

    def _check(self, sizes: set[int]) -> None:
        with self._lock:
            self._dimensions = self._dimensions or min(sizes)
            if sizes != {self._dimensions}:
                raise self.endpoint.error(
                    f"answered vectors of {max(sizes)} numbers, not {self._dimensions}",
                    "Set dimensions to the model's.",
                )

    def _keep(self, fresh: Mapping[str, FloatArray]) -> None:
        with self._lock:
            for text, vector in fresh.items():
                self._cache[_key(text)] = vector
            while len(self._cache) > self._kept:
                self._cache.popitem(last=False)

    def _sent(self, text: str) -> str:
        cut = text[: self._most].encode("utf-8", "replace").decode("utf-8")
        return cut if cut.strip() else _BLANK


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8")).digest()
