"""Sessions of onnxruntime with few, sleeping threads; tokenizers; batches of rows of one length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from dragoman.core.environment import switches
from dragoman.core.errors import WeightsError
from dragoman.models.onnx.int8_graph import narrowed

_CHARACTERS_A_TOKEN = 100
"""The most characters of a word-piece token: texts longer than all tokens can be are cut before tokenising."""


def clean(text: str, max_tokens: int) -> str:
    """Cut a text that is far too long and replace lone surrogates, which have no UTF-8 form."""
    return text[: max_tokens * _CHARACTERS_A_TOKEN].encode("utf-8", "replace").decode("utf-8")


def batches(order: Sequence[int], lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Batches of rows of one length. Padding changes rounding, which eight-bit weights magnify to thousandths: a text's
    vector would depend on its batch."""
    for _, same in groupby(order, key=lambda row: lengths[row]):
        while rows := list(islice(same, most)):
            yield rows


def probe(session: Any) -> dict[str, Any]:
    import numpy as np

    return {entry.name: np.ones((1, 1), dtype=np.int64) for entry in session.get_inputs()}


def open_tokenizer(folder: Path, max_tokens: int) -> Any:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # the library raises nothing narrower
        raise unusable(folder / "tokenizer.json", error) from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def load_onnxruntime() -> Any:
    """Import onnxruntime with its telemetry off; no other module imports it.

    The package sets the environment switch early. Where the program loaded onnxruntime before, its API disables events.
    """
    import onnxruntime

    if switches()["ORT_DISABLE_TELEMETRY"] == "1":
        onnxruntime.disable_telemetry_events()
    return onnxruntime


def open_session(folder: Path, threads: int) -> Any:
    """The session of a folder's model. All rows of a call must have one length: fusing attention drops the padding mask
    (`fused_attention.py`).
    """
    onnxruntime = load_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # threads that spin between calls would take the processor from the language model
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(
            narrowed(folder / "model.onnx") or str(folder / "model.onnx"),
            sess_options=options,
            providers=["CPUExecutionProvider"],
        )
    except Exception as error:  # the library's own errors share no narrower base
        raise unusable(folder / "model.onnx", error) from error


def unusable(place: Path, error: Exception) -> WeightsError:
    if not place.is_file():
        return WeightsError(
            f"The encoder needs '{place}', which is not there.",
            remedy="Give a folder with model.onnx and tokenizer.json, or a name of `dragoman models list`.",
        )
    return WeightsError(
        f"'{place}' cannot be loaded: {str(error).splitlines()[0][:200] if str(error) else type(error).__name__}.",
        remedy=f"If it is of the catalogue, run `dragoman models pull {place.parent.name}`; else export it again.",
    )
