"""An attention gate as ONNX: one row of words a turn, or two where it attends to knowledge."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dragoman.models.onnx.attention_scorer import KNOWLEDGE_INPUTS, OUTPUT, TURN_INPUTS, TokenRow
from dragoman.models.part import Part
from dragoman.models.torch.attention_encoder import AttentionEncoder, EncoderShape, padded
from dragoman.models.torch.trunk import read_weights
from dragoman.train.export.torch_to_onnx import MODEL, Exported, Int8, narrow_where_it_holds, to_onnx
from dragoman.train.training_folder import BEST

_EXAMPLE = (TokenRow(((1, 2, 3), (0, 1, 1)), ((1, 2, 3, 4), (3, 3, 3, 3))), TokenRow(((1, 2), (1, 2)), ((4,), (3,))))


def export_attention(
    encoder: AttentionEncoder,
    folder: Path,
    *,
    int8: Int8 = "auto",
    tolerance: float = 0.005,
    measure: Callable[[], float] | None = None,
) -> Exported:
    """Write `model.onnx`; `measure` returns dev's metric of the model in the folder."""
    cross = encoder.shape.cross
    names = TURN_INPUTS + KNOWLEDGE_INPUTS if cross else TURN_INPUTS
    inputs = dict(zip(names, padded(_EXAMPLE, cross=cross), strict=True))
    to_onnx(encoder, inputs, [OUTPUT], folder / MODEL, lengths=dict.fromkeys(KNOWLEDGE_INPUTS, "knowledge"))
    return narrow_where_it_holds(folder, int8=int8, tolerance=tolerance, measure=measure)


def export_again(part: Part, *, int8: Int8) -> Exported:
    """Export a trained gate again from its best weights."""
    encoder = AttentionEncoder(EncoderShape(**part.options["shape"]))
    read_weights(encoder, part.folder / BEST)
    return export_attention(encoder, part.folder, int8=int8)
