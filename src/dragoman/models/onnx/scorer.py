"""A trained part on onnxruntime: texts or pairs of texts in, the scores of a head out; no torch."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakValueDictionary

from dragoman.core.environment import cores
from dragoman.core.errors import WeightsError
from dragoman.models.onnx.session import batches, clean, open_session, open_tokenizer
from dragoman.models.part import Part, open_part

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray

Text: TypeAlias = str | tuple[str, str]


class Scorer:
    """Scores texts by the heads of a part. One text's score does not depend on what is scored beside it.

    `max_tokens` reads less of a text than the part was trained with, for speed.
    """

    def __init__(
        self, part: Part, *, batch: int = 32, threads: int | None = None, max_tokens: int | None = None
    ) -> None:
        self.part = part
        self._batch = batch
        self._threads = threads or min(cores(), 8)
        trained = int(part.options.get("max_tokens", 256))
        self._max_tokens = trained if max_tokens is None else min(max_tokens, trained)
        self._loading = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    def warm_up(self) -> None:
        """Load the weights."""
        self._load()

    def scores(self, texts: Sequence[Text], head: str) -> FloatArray:
        """The scores of a head, (N, labels); for a head of one label, the log-odds before calibration."""
        import numpy as np

        width = len(self.part.head(head).labels)
        session, tokenizer = self._load()
        outputs = [entry.name for entry in session.get_outputs()]
        output = self.part.options.get("outputs", {}).get(head, head)
        if output not in outputs:
            raise WeightsError(
                f"The model of '{self.part.folder}' has no head '{output}', only {', '.join(outputs)}.",
                remedy=f"Run `dragoman export {self.part.folder}`.",
            )
        names = {entry.name for entry in session.get_inputs()}
        encodings = tokenizer.encode_batch([_clean(text, self._max_tokens) for text in texts]) if texts else []
        lengths = [len(encoding.ids) for encoding in encodings]
        logits = np.zeros((len(texts), width), dtype=np.float32)
        for rows in batches(sorted(range(len(lengths)), key=lambda row: lengths[row]), lengths, self._batch):
            ids = np.array([encodings[row].ids for row in rows], dtype=np.int64)  # (B, T)
            types = np.array([encodings[row].type_ids for row in rows], dtype=np.int64)
            feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types}
            scores = session.run([output], {name: value for name, value in feed.items() if name in names})[0]
            if scores.shape[1] != logits.shape[1]:
                raise WeightsError(
                    f"The model of '{self.part.folder}' gives {scores.shape[1]} scores for {logits.shape[1]} labels.",
                    remedy="Train the part again.",
                )
            logits[rows] = scores
        return logits

    def probabilities(self, texts: Sequence[Text], head: str) -> list[float]:
        """The calibrated probability of a head's one label, for each text."""
        decided = self.part.head(head)
        return [decided.probability(float(score)) for score in self.scores(texts, head)[:, 0]]

    def _load(self) -> tuple[Any, Any]:
        import numpy  # noqa: F401  # onnxruntime imports it from the inside out: two threads at once would fail

        with self._loading:
            if self._loaded is None:
                tokenizer = open_tokenizer(self.part.file("tokenizer.json").parent, self._max_tokens)
                self._loaded = shared_session(self.part, self._threads), tokenizer
        return self._loaded


_sessions: WeakValueDictionary[tuple[str, int], Any] = WeakValueDictionary()
_opening = threading.Lock()


def shared_session(part: Part, threads: int) -> Any:
    """The session of a part's model: one for all parts that are heads of the same file."""
    key = part.files["model.onnx"], threads
    with _opening:
        session = _sessions.get(key)
        if session is None or not key[0]:  # a part that is being written has no hash yet
            session = open_session(part.file("model.onnx").parent, threads)
            if key[0]:
                _sessions[key] = session
        return session


class LazyScorer:
    """A part's scorer that is opened on first use, so that constructing a role is cheap."""

    def __init__(
        self,
        name: str | Path,
        *,
        kind: str,
        folder: Path | None = None,
        batch: int = 32,
        max_tokens: int | None = None,
    ) -> None:
        self._name = name
        self._kind = kind
        self._folder = folder
        self._batch = batch
        self._max_tokens = max_tokens
        self._opening = threading.Lock()
        self._scorer: Scorer | None = None

    def get(self) -> Scorer:
        """The scorer; its first use, or `warm_up`, loads the weights."""
        with self._opening:
            if self._scorer is None:
                part = open_part(self._name, kind=self._kind, folder=self._folder)
                self._scorer = Scorer(part, batch=self._batch, max_tokens=self._max_tokens)
        return self._scorer

    def warm_up(self) -> None:
        """Open the part and load the weights."""
        self.get().warm_up()


def _clean(text: Text, max_tokens: int) -> Text:
    if isinstance(text, str):
        return clean(text, max_tokens)
    return clean(text[0], max_tokens), clean(text[1], max_tokens)
