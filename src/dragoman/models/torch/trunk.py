"""A pre-trained encoder with heads, in torch: the model of trained gates, planners, rerankers and critics.

`models/onnx/scorer.py` runs the exported model without torch. Only training imports this module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from dragoman.core.errors import ConfigError, WeightsError
from dragoman.models import weights as catalogue
from dragoman.models.onnx.session import clean, open_tokenizer

Text: TypeAlias = str | tuple[str, str]
"""One text, or two that are read together, as a question and a passage."""
Pooling: TypeAlias = Literal["mean", "cls"]
Rows: TypeAlias = dict[str, Tensor]
"""`input_ids`, `attention_mask` and `token_type_ids`, each (B, T)."""

_AT_ONCE = 4096


class Trunk(nn.Module):
    """An encoder with heads: token states, one vector a text, and the scores of each head."""

    def __init__(
        self, encoder: Any, heads: Mapping[str, int], *, pooling: Pooling = "mean", dropout: float = 0.1
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.pooling = pooling
        self.dropout = nn.Dropout(dropout)
        self.heads = nn.ModuleDict({name: nn.Linear(encoder.config.hidden_size, size) for name, size in heads.items()})
        self._frozen: list[nn.Module] = []

    @property
    def width(self) -> int:
        return int(self.encoder.config.hidden_size)

    def states(self, rows: Rows) -> Tensor:
        """The states of all tokens, (B, T, D)."""
        hidden: Tensor = self.encoder(**rows).last_hidden_state
        return hidden

    def pooled(self, rows: Rows) -> Tensor:
        """One vector a text, (B, D): the mean over its tokens without the padding, or the first token's state."""
        states = self.states(rows)
        if self.pooling == "cls":
            return states[:, 0]
        mask = rows["attention_mask"].unsqueeze(-1).to(states.dtype)  # (B, T, 1)
        return (states * mask).sum(1) / mask.sum(1).clamp(min=1.0)

    def vectors(self, rows: Rows) -> Tensor:
        """One unit vector a text, (B, D)."""
        return nn.functional.normalize(self.pooled(rows), dim=-1)

    def forward(self, rows: Rows) -> dict[str, Tensor]:
        """The scores of every head, (B, labels)."""
        pooled = self.dropout(self.pooled(rows))
        return {name: head(pooled) for name, head in self.heads.items()}

    @property
    def head_parameters(self) -> frozenset[str]:
        """The names of parameters that are trained from scratch."""
        return frozenset(name for name, _ in self.named_parameters() if name.startswith("heads."))

    def freeze(self, *, layers: int | None = None, embeddings: bool = True) -> None:
        """Freeze the embeddings and the first `layers` layers (None: all).

        Frozen layers get no dropout either, so that they read a text the same way every time, which is quicker.
        """
        encoder_layers = list(_layers(self.encoder, "model.fixed"))
        frozen = encoder_layers if layers is None else encoder_layers[:layers]
        self._frozen = [*([self.encoder.embeddings] if embeddings else []), *frozen]
        for module in self._frozen:
            module.requires_grad_(False)
        self.train(self.training)

    def refuse_longer(self, tokens: int) -> None:
        """Raise an error for more tokens than the encoder has positions: a long text would fail, maybe only in use."""
        places = getattr(self.encoder.config, "max_position_embeddings", None)
        embeddings = getattr(self.encoder, "embeddings", None)
        first = getattr(embeddings, "padding_idx", -1) + 1  # RoBERTa counts from the padding on
        if places is not None and tokens > places - first:
            raise ConfigError(
                f"model.max_tokens = {tokens} is more than the {places - first} tokens that the base reads.",
                remedy=f"Set model.max_tokens to {places - first} or less, or take a base with a longer window.",
            )

    def keep_fixed(self, other: Trunk) -> None:
        """Freeze what another trunk with the same encoder freezes."""
        self._frozen = list(other._frozen)
        self.train(self.training)

    def train(self, mode: bool = True) -> Trunk:
        super().train(mode)
        for module in self._frozen:
            module.eval()
        return self


class Encoded(NamedTuple):
    """The ids of a text, without the tokenizer's other fields, since many are in memory at once."""

    ids: NDArray[np.int32]
    type_ids: NDArray[np.int32]


class Tokens:
    """Tokenises texts once and batches their rows of ids many times."""

    def __init__(self, folder: Path, max_tokens: int) -> None:
        self._tokenizer = open_tokenizer(folder, max_tokens)
        self._max = max_tokens
        self.file = folder / "tokenizer.json"

    def encode(self, texts: Sequence[Text]) -> list[Encoded]:
        """The encodings of texts or pairs, cut to the most tokens."""
        rows: list[Encoded] = []
        for start in range(0, len(texts), _AT_ONCE):
            cleaned = [_clean(text, self._max) for text in texts[start : start + _AT_ONCE]]
            for encoding in self._tokenizer.encode_batch(cleaned):
                rows.append(Encoded(np.array(encoding.ids, np.int32), np.array(encoding.type_ids, np.int32)))
        return rows

    def rows(self, encodings: Sequence[Encoded], device: str = "cpu") -> Rows:
        """Pad encodings to one length, as tensors."""
        import numpy as np

        longest = max(len(encoding.ids) for encoding in encodings)
        filled = np.zeros((3, len(encodings), longest), dtype=np.int64)
        for i, encoding in enumerate(encodings):
            size = len(encoding.ids)
            filled[0, i, :size] = encoding.ids
            filled[1, i, :size] = 1
            filled[2, i, :size] = encoding.type_ids
        ids, mask, types = torch.from_numpy(filled)
        tensors = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        return {name: tensor.to(device, non_blocking=True) for name, tensor in tensors.items()}


def at_once(device: str) -> int:
    """The batch size of a device: small batches leave a GPU idle."""
    return 64 if device == "cpu" else 512


def _clean(text: Text, max_tokens: int) -> Text:
    if isinstance(text, str):
        return clean(text, max_tokens)
    return clean(text[0], max_tokens), clean(text[1], max_tokens)


def load_trunk(
    base: str | Path,
    heads: Mapping[str, int],
    *,
    max_tokens: int = 256,
    pooling: Pooling = "mean",
    layers: int | None = None,
    dropout: float = 0.1,
    seed: int = 1,
) -> tuple[Trunk, Tokens]:
    """A trunk over a base: a name of the catalogue or a transformers folder; `layers` keeps the first so many."""
    from transformers import AutoConfig, AutoModel

    folder = catalogue.path(base)
    try:
        with _quiet():
            config = AutoConfig.from_pretrained(folder)
            encoder = AutoModel.from_pretrained(folder, config=config, attn_implementation="sdpa", dtype=torch.float32)
    except (OSError, ValueError, KeyError) as error:
        raise WeightsError(
            f"No encoder can be loaded from '{folder}': {str(error).splitlines()[0]}",
            remedy="Give a transformers folder (config.json, weights, tokenizer.json), or 'all-minilm-l6-v2'.",
        ) from error
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None  # nothing here reads it
    if layers is not None:
        there = len(_layers(encoder, "model.layers"))
        if layers > there:
            raise WeightsError(
                f"'{folder}' has {there} layers, not {layers}.", remedy=f"Set model.layers to at most {there}."
            )
        encoder.encoder.layer = encoder.encoder.layer[:layers]
        encoder.config.num_hidden_layers = layers
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        trunk = Trunk(encoder, heads, pooling=pooling, dropout=dropout)
    return trunk, Tokens(folder, max_tokens)


def _layers(encoder: Any, setting: str) -> Any:
    """The layers of an encoder of BERT's shape."""
    modules = getattr(getattr(encoder, "encoder", None), "layer", None)
    if modules is None:
        raise WeightsError(
            f"{setting} counts the layers of encoders like BERT; {type(encoder).__name__} has others.",
            remedy="Set model.fixed = 0 and leave model.layers out, which trains all of it, or take another base.",
        )
    return modules


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the library's progress bars and notices while loading, and restore its settings."""
    from transformers.utils import logging

    bars, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def read_weights(trunk: nn.Module, file: Path) -> None:
    """Load weights that training saved. Other names than the trunk's are an error, except training's own `beside.*`."""
    try:
        saved = load_file(file)
    except (OSError, SafetensorError) as error:
        raise WeightsError(f"'{file}' cannot be read: {error}.", remedy="Train again, or copy it again.") from error
    if not hasattr(trunk, "beside"):
        saved = {name: tensor for name, tensor in saved.items() if not name.startswith("beside.")}
    try:
        trunk.load_state_dict(saved)
    except RuntimeError as error:
        raise WeightsError(
            f"'{file}' does not fit this model: {str(error).splitlines()[-1].strip()}",
            remedy="It was trained with another recipe or version: train again into a new folder.",
        ) from error


@torch.inference_mode()
def score(
    trunk: Trunk, tokens: Tokens, texts: Sequence[Text], head: str, *, batch: int | None = None, device: str = "cpu"
) -> Tensor:
    """The scores of a head for many texts, (N, labels), batched by length."""
    encodings = tokens.encode(texts)
    order = sorted(range(len(encodings)), key=lambda row: len(encodings[row].ids))
    scores = torch.zeros((len(texts), trunk.heads[head].out_features))  # type: ignore[arg-type]  # a Linear's width
    was = trunk.training
    trunk.eval()
    batch = batch or at_once(device)
    for start in range(0, len(order), batch):
        places = order[start : start + batch]
        rows = tokens.rows([encodings[row] for row in places], device)
        scores[places] = trunk(rows)[head].float().cpu()
    trunk.train(was)
    return scores


@torch.inference_mode()
def embed(
    trunk: Trunk,
    tokens: Tokens,
    texts: Sequence[Text],
    *,
    batch: int | None = None,
    device: str = "cpu",
    unit: bool = True,
) -> Tensor:
    """Vectors for many texts, (N, D), batched by length: of length 1, or as a head reads them if not `unit`."""
    encodings = tokens.encode(texts)
    order = sorted(range(len(encodings)), key=lambda row: len(encodings[row].ids))
    vectors = torch.zeros((len(texts), trunk.width))
    was = trunk.training
    trunk.eval()
    batch = batch or at_once(device)
    for start in range(0, len(order), batch):
        places = order[start : start + batch]
        rows = tokens.rows([encodings[row] for row in places], device)
        vectors[places] = (trunk.vectors(rows) if unit else trunk.pooled(rows)).float().cpu()
    trunk.train(was)
    return vectors
