"""The weights of a unified model: a base with an adapter, or all of its weights, and new rows of its vocabulary.

`for_training` makes them, `save_weights` writes the files of a part, `open_weights` loads them to run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from dragoman.core.errors import WeightsError
from dragoman.core.tokens import END_OF_SOURCES, STEPS, Token
from dragoman.models.base_weights import base_digest
from dragoman.models.part import Part
from dragoman.models.torch.causal_lm import Causal, load_causal
from dragoman.models.torch.lora import FILES as ADAPTER
from dragoman.models.torch.lora import LoraSpec, add_adapter, load_adapter, save_adapter
from dragoman.models.unified.token_spelling import Spelling, TokenVocabulary

Kept: TypeAlias = Literal["lora", "full"]
Precision: TypeAlias = Literal["auto", "float32", "bfloat16"]
WHOLE, ROWS = "model.safetensors", "rows.safetensors"
_ALIKE = 0.05
"""Embedding rows nearer to each other than this share of their length count as equal."""
_NOISE = 0.1
"""Noise on new rows, as a share of the standard deviation of the base's rows."""
_INDICATORS = {
    "SOURCE": "which sources of knowledge to ask",
    "EOS": "end of the sources",
    "EVIDENCE": "evidence from a source",
    "EOE": "end of the evidence, how relevant is it",
    "MIDDLE": "what the sources say",
    "AND": "and",
    "EOM": "end of what the sources say",
    "CHECK": "check which sources are needed after reading",
    "NULL": "none, no source is needed",
}


@dataclass(frozen=True, slots=True)
class Tuning:
    """Which weights are trained: an adapter, or all; `checkpointing` recomputes activations to save memory."""

    kept: Kept = "lora"
    lora: LoraSpec = field(default_factory=LoraSpec)
    checkpointing: bool = False


def told_apart(causal: Causal, ids: Sequence[int]) -> tuple[int, ...]:
    """The tokens whose embeddings differ from all earlier ones: untrained rows are all alike."""
    rows = _owner(causal.model).get_input_embeddings().weight.detach()
    distinct: list[int] = []
    for token in ids:
        mine = rows[token].float()
        near = [float((mine - rows[other].float()).norm()) < _ALIKE * float(mine.norm()) for other in distinct]
        distinct += [] if any(near) else [token]
    return tuple(distinct)


def vocabulary_rows(causal: Causal) -> int:
    """The rows of a model's embedding, which may be more than its tokenizer's tokens."""
    return int(_owner(causal.model).get_input_embeddings().weight.shape[0])


def end_of(causal: Causal, spelling: Spelling) -> int:
    """The token that ends a response: the tokenizer's own, else the one that ends a plan."""
    for token in (causal.tokenizer.eos_token_id, *sorted(causal.ends)):
        if token is not None:
            return int(token)
    spelt = spelling.ids[END_OF_SOURCES]
    if len(spelt) == 1:
        return spelt[0]
    raise WeightsError(
        "The base has no token that ends a text, and the special tokens are plain text.",
        remedy='Set model.tokens = "rows", or give the tokenizer an eos_token.',
    )


def descriptions(spelling: Spelling, sources: Mapping[str, str]) -> dict[Token, str]:
    """A description of each token, from which its new row is initialised; `sources` describes sources by name."""
    words = {}
    for token in spelling.ids:
        if token.kind == "evaluation":
            words[token] = f"relevance {token.name}, {round(float(token.name) * STEPS)} of {STEPS}"
        else:
            words[token] = _INDICATORS.get(token.name, "") or f"{token.name}: {sources.get(token.name, '')}"
    return words


def for_training(
    causal: Causal,
    spelling: Spelling,
    tuning: Tuning,
    *,
    seed: int,
    sources: Mapping[str, str] | None = None,
    vocabulary: TokenVocabulary | None = None,
) -> Causal:
    """The model for training: a fresh adapter or all weights, and new rows where the spelling needs them."""
    begun = None
    if spelling.way == "rows":
        if vocabulary is None:
            raise WeightsError("New rows need a vocabulary to be described in.", remedy="Give one.")
        begun = first_rows(causal, spelling, vocabulary, descriptions(spelling, sources or {}), seed=seed)
    if tuning.kept == "lora":
        causal = add_adapter(causal, tuning.lora, seed=seed)
        if begun is not None:
            _grow_beside(causal, begun)
    else:
        if begun is not None:
            _grow(causal, begun)
        causal.model.requires_grad_(True)
    if tuning.checkpointing:
        causal.recompute()
    return causal


def first_rows(
    causal: Causal, spelling: Spelling, vocabulary: TokenVocabulary, words: Mapping[Token, str], *, seed: int
) -> dict[str, Tensor]:
    """Initial new rows: the mean embedding of each description plus noise; `outputs` too where they are not tied."""
    size = vocabulary_rows(causal)
    numbers = [spelling.one(token) for token in spelling.ids]
    if sorted(numbers) != list(range(size, size + len(numbers))):
        raise WeightsError(
            f"New rows are to be {min(numbers)} to {max(numbers)}, but the base has {size}.",
            remedy="Spell the tokens by the base's own vocabulary.",
        )
    tokens = sorted(spelling.ids, key=spelling.one)
    chance = torch.Generator().manual_seed(seed)
    owner = _owner(causal.model)
    layers = {"rows": owner.get_input_embeddings()}
    if not _is_tied(owner):
        layers["outputs"] = owner.get_output_embeddings()
    rows = {}
    for name, layer in layers.items():
        weight = layer.weight.detach().float().cpu()
        spread = weight[:: max(1, len(weight) // 4096)].std()
        means = torch.stack([weight[vocabulary.encode(words[token])].mean(0) for token in tokens])
        rows[name] = means + _NOISE * spread * torch.randn(means.shape, generator=chance)
    return rows


def save_weights(causal: Causal, folder: Path, *, kept: Kept, base: str) -> tuple[str, ...]:
    """Write the trained weights and return the names of the files."""
    owner = _owner(causal.model)
    if kept == "full":
        tied = _is_tied(owner)
        state = {
            name: tensor.detach().to("cpu", torch.bfloat16, copy=True).contiguous()
            for name, tensor in owner.state_dict().items()
            if not (tied and name == "lm_head.weight")
        }
        save_file(state, folder / WHOLE)
        return (WHOLE,)
    save_adapter(causal, folder, base=base)
    rows = {"rows": _rows_of(owner, "input"), "outputs": _rows_of(owner, "output")}
    new = {name: tensor.detach().float().cpu().contiguous() for name, tensor in rows.items() if tensor is not None}
    if not new:
        (folder / ROWS).unlink(missing_ok=True)
        return ADAPTER
    if _is_tied(owner):
        new.pop("outputs", None)
    save_file(new, folder / ROWS)
    return (*ADAPTER, ROWS)


def open_weights(part: Part, *, device: str = "cpu", precision: Precision = "auto") -> Causal:
    """Load the model of a part: the base with the adapter merged into it, or the part's own weights."""
    base = str(part.options["base"])
    expected = part.options["base_sha256"]
    if base_digest(base) != expected:
        raise WeightsError(
            f"The part '{part.folder}' was trained on other weights than '{base}' holds: their SHA-256 was {expected}.",
            remedy="Give the same weights as base, or train the part again on these.",
        )
    files = (WHOLE,) if part.options.get("weights", "lora") == "full" else ADAPTER
    if not set(files) & set(part.files):
        raise WeightsError(
            f"The part '{part.folder}' came without its weights for torch: it runs in llama.cpp alone.",
            remedy='Leave runtime = "auto" and do without `aware`, or train such a part: dragoman train unims.',
        )
    causal = load_causal(base, device=device, precision=precision)
    try:
        if part.options.get("weights", "lora") == "full":
            return _put_whole(causal, load_file(part.file(WHOLE)))
        causal = load_adapter(causal, part.place, merge=True)
        if ROWS in part.files:
            _grow(causal, load_file(part.file(ROWS)))
    except (OSError, SafetensorError, RuntimeError, KeyError) as error:
        raise WeightsError(
            f"The weights of the part '{part.folder}' cannot be read: {str(error).splitlines()[0][:200]}",
            remedy="Copy or train the part again.",
        ) from error
    causal.model.requires_grad_(False)
    causal.model.eval()
    return causal


class GrownEmbedding(nn.Module):
    """A frozen embedding with additional rows that are trained."""

    def __init__(self, base: nn.Module, rows: nn.Parameter) -> None:
        super().__init__()
        self.base = base
        self.rows = rows
        weight: Tensor = base.weight  # type: ignore[assignment]  # an embedding has one
        self._size = int(weight.shape[0])
        self._scale = float(getattr(base, "scalar_embed_scale", 1.0))

    @property
    def weight(self) -> Tensor:
        old: Tensor = self.base.weight  # type: ignore[assignment]
        return torch.cat((old, self.rows.to(old.dtype)))

    def forward(self, ids: Tensor) -> Tensor:
        old: Tensor = self.base(ids.clamp(max=self._size - 1))
        new = self.rows[(ids - self._size).clamp(min=0)].to(old.dtype) * self._scale
        return torch.where((ids >= self._size).unsqueeze(-1), new, old)


class GrownOutput(nn.Module):
    """A frozen output layer with additional rows."""

    def __init__(self, base: nn.Module, rows: nn.Parameter) -> None:
        super().__init__()
        self.base = base
        self.rows = rows

    @property
    def weight(self) -> Tensor:
        old: Tensor = self.base.weight  # type: ignore[assignment]
        return torch.cat((old, self.rows.to(old.dtype)))

    def some(self, tokens: Tensor) -> Tensor:
        """The rows of some tokens."""
        old: Tensor = self.base.weight  # type: ignore[assignment]
        size = len(old)
        new = self.rows[(tokens - size).clamp(min=0)].to(old.dtype)
        return torch.where((tokens >= size).unsqueeze(-1), new, old[tokens.clamp(max=size - 1)])

    def forward(self, states: Tensor) -> Tensor:
        old: Tensor = self.base(states)
        return torch.cat((old, nn.functional.linear(states, self.rows.to(states.dtype)).to(old.dtype)), dim=-1)


def _grow_beside(causal: Causal, begun: Mapping[str, Tensor]) -> None:
    """Add trained rows to the model's frozen embedding and output layer."""
    owner = _owner(causal.model)
    inputs, outputs = owner.get_input_embeddings(), owner.get_output_embeddings()
    rows = nn.Parameter(begun["rows"].to(causal.device))
    others = rows if "outputs" not in begun else nn.Parameter(begun["outputs"].to(causal.device))
    owner.set_input_embeddings(GrownEmbedding(inputs, rows))
    owner.set_output_embeddings(GrownOutput(outputs, others))
    owner.config.vocab_size = int(inputs.weight.shape[0]) + len(rows)


def _grow(causal: Causal, rows: Mapping[str, Tensor]) -> None:
    """Append new rows to the model's own, which makes a plain model with a larger vocabulary."""
    owner = _owner(causal.model)
    size, more = vocabulary_rows(causal), len(rows["rows"])
    owner.resize_token_embeddings(size + more, mean_resizing=False)
    with torch.no_grad():
        for name, layer in (("rows", owner.get_input_embeddings()), ("outputs", owner.get_output_embeddings())):
            if name in rows:
                layer.weight[size:] = rows[name].to(layer.weight)


def _put_whole(causal: Causal, state: dict[str, Tensor]) -> Causal:
    owner = _owner(causal.model)
    name = next((name for name in state if name.endswith("embed_tokens.weight") or name.endswith("wte.weight")), None)
    if name is not None and len(state[name]) > vocabulary_rows(causal):
        owner.resize_token_embeddings(len(state[name]), mean_resizing=False)
    result = owner.load_state_dict(state, strict=False)
    missing = [key for key in result.missing_keys if not (key == "lm_head.weight" and _is_tied(owner))]
    if missing or result.unexpected_keys:
        raise WeightsError(
            f"The part's weights are of another model: '{[*missing, *result.unexpected_keys][0]}' does not fit.",
            remedy="Give the base that it was trained on.",
        )
    owner.requires_grad_(False)
    owner.eval()
    return replace(causal, model=owner)


def _rows_of(owner: Any, side: Literal["input", "output"]) -> Tensor | None:
    layer = owner.get_input_embeddings() if side == "input" else owner.get_output_embeddings()
    return layer.rows if isinstance(layer, GrownEmbedding | GrownOutput) else None


def _is_tied(owner: Any) -> bool:
    """Whether output and embedding share weights; read from the layers, since a config may be wrong."""
    inputs, outputs = owner.get_input_embeddings(), owner.get_output_embeddings()
    if isinstance(inputs, GrownEmbedding):
        return inputs.rows is getattr(outputs, "rows", None)
    return outputs is None or outputs.weight is inputs.weight


def _owner(model: Any) -> Any:
    """The causal model inside a PEFT wrapper; its layers may carry an adapter."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model
