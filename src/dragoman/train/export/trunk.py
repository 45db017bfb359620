"""Export trained trunks to ONNX, and export a training folder again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from torch import Tensor, nn

from dragoman.core.errors import WeightsError
from dragoman.models.part import FILE, Part, find_part, read_part, write_part
from dragoman.models.torch.trunk import Pooling, Tokens, Trunk, read_weights
from dragoman.train.export.torch_to_onnx import MODEL, Exported, Int8, narrow_where_it_holds, to_onnx
from dragoman.train.gates.attention_export import export_again
from dragoman.train.model_card import exported_card, size
from dragoman.train.training_folder import BEST, CARD, METRICS, write_whole

TOKENIZER, SHAPE = "tokenizer.json", "trunk.json"


class _Heads(nn.Module):
    def __init__(self, trunk: Trunk) -> None:
        super().__init__()
        self.trunk = trunk

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> tuple[Tensor, ...]:
        rows = {"input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": token_type_ids}
        return tuple(self.trunk(rows).values())


class _States(_Heads):
    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> tuple[Tensor, ...]:
        rows = {"input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": token_type_ids}
        return (self.trunk.states(rows),)


def export_trunk(
    trunk: Trunk,
    tokens: Tokens,
    folder: Path,
    *,
    output: Literal["heads", "states"] = "heads",
    int8: Int8 = "auto",
    tolerance: float = 0.005,
    measure: Callable[[], float] | None = None,
) -> Exported:
    """Write `model.onnx` and `tokenizer.json`; `measure` returns dev's metric of the model in the folder.

    The output `states` has the states of all tokens, for `encoder.onnx`; `heads` gives each head's scores by its name.
    """
    (folder / TOKENIZER).write_bytes(tokens.file.read_bytes())
    rows = tokens.rows(tokens.encode(["a few words to trace", ("a pair", "of other words")]))
    names = list(trunk.heads) if output == "heads" else ["last_hidden_state"]
    module = (_Heads if output == "heads" else _States)(trunk)
    to_onnx(module, rows, names, folder / MODEL)
    return narrow_where_it_holds(folder, int8=int8, tolerance=tolerance, measure=measure)


def save_shape(trunk: Trunk, tokens: Tokens, folder: Path, *, max_tokens: int, output: str = "heads") -> None:
    """Write the settings from which the trunk can be rebuilt with its weights."""
    table = {
        "encoder": trunk.encoder.config.to_dict(),
        "heads": {name: int(head.out_features) for name, head in trunk.heads.items()},  # type: ignore[arg-type]
        "pooling": trunk.pooling,
        "max_tokens": max_tokens,
        "output": output,
    }
    (folder / SHAPE).write_text(json.dumps(table, indent=1, default=str) + "\n", encoding="utf-8")
    (folder / TOKENIZER).write_bytes(tokens.file.read_bytes())


def rebuilt(folder: Path) -> tuple[Trunk, Tokens, dict[str, Any]]:
    """The trunk of a training folder with its best weights."""
    from transformers import AutoConfig, AutoModel

    try:
        table = json.loads((folder / SHAPE).read_text(encoding="utf-8"))
    except OSError as error:
        raise WeightsError(
            f"'{folder}' holds no trained model ({SHAPE} is missing).", remedy="Give the --out folder of a training."
        ) from error
    settings = dict(table["encoder"])
    config = AutoConfig.for_model(settings.pop("model_type"), **settings)
    encoder = AutoModel.from_config(config)  # type: ignore[no-untyped-call]
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None
    pooling: Pooling = table["pooling"]
    trunk = Trunk(encoder, table["heads"], pooling=pooling)
    read_weights(trunk, folder / BEST)
    return trunk, Tokens(folder, int(table["max_tokens"])), table


def export_part(folder: Path, *, int8: Int8 = "auto") -> tuple[Part, Exported]:
    """Export a trained folder again, with the parts that share its model. `auto` keeps the present bits.

    It replaces a damaged model. Nothing is fitted again: calibration, thresholds and figures stay those of training.
    """
    folder = find_part(folder)
    part = read_part(folder)
    if part.shares:
        return export_part(part.place.resolve(), int8=int8)
    decided: Int8 = "never" if part.made.get("bits") == 32 else "always"
    if part.kind == "gate.attention":
        exported = export_again(part, int8=decided if int8 == "auto" else int8)
    elif not (folder / SHAPE).is_file() and MODEL in part.files:
        raise WeightsError(
            f"The part '{folder.name}' holds no weights to export from: what it was trained as is not beside it.",
            remedy="Export it in the folder where it was trained, or train it again.",
        )
    elif not (folder / SHAPE).is_file():
        raise WeightsError(
            f"A {part.kind} has nothing to export: it runs as it is.", remedy=f"Use it: part = '{folder}'."
        )
    else:
        trunk, tokens, table = rebuilt(folder)
        exported = export_trunk(trunk, tokens, folder, output=table["output"], int8=decided if int8 == "auto" else int8)
    whole = write_part(_with_bits(part, exported), tuple(part.files))
    for place in sorted(folder.glob(f"*/{FILE}")):
        inner = read_part(place.parent)
        if inner.shares and inner.place.resolve() == folder.resolve():
            write_part(_with_bits(inner, exported), tuple(inner.files))
    _write_down(whole)
    return whole, exported


def _with_bits(part: Part, exported: Exported) -> Part:
    """The part with its new bits and size, and the bits at which it was calibrated."""
    fitted = part.made.get("fitted_bits", part.made.get("bits"))
    made = {**part.made, "bits": exported.bits, "bytes": exported.bytes}
    return replace(part, made=made if fitted is None else {**made, "fitted_bits": fitted})


def _write_down(part: Part) -> None:
    """Update the model card and the metrics file after an export, if they exist."""
    card, metrics = part.folder / CARD, part.folder / METRICS
    if card.is_file():
        write_whole(card, exported_card(card.read_text(encoding="utf-8"), part))
    if metrics.is_file():
        table = {**json.loads(metrics.read_text(encoding="utf-8")), "bytes": size(part)}
        write_whole(metrics, json.dumps(table, ensure_ascii=False, indent=1) + "\n")
