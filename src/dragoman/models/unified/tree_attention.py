"""FlexAttention for transformers models: block masks, compiled once on a GPU, eager on a CPU."""

from __future__ import annotations

import importlib
import logging
from functools import cache
from typing import Any

import torch
from torch import Tensor

from dragoman.core.errors import WeightsError

NAME = "dragoman_tree"
log = logging.getLogger(__name__)


def use_tree_attention(model: Any) -> None:
    """Make a model attend by block masks, which are passed to it as they are."""
    interface = importlib.import_module("transformers").AttentionInterface
    interface.register(NAME, attend)
    model.set_attn_implementation(NAME)


def attend(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Any,
    *,
    scaling: float | None = None,
    **more: Any,
) -> tuple[Tensor, None]:
    """Attention of (B, H, T, d) under a block mask, (B, T, H, d); in half precision where the values are."""
    if more.get("softcap") or more.get("s_aux") is not None:
        raise WeightsError(
            "This base caps its attention scores, which FlexAttention is not told here.",
            remedy='Set model.attention = "sdpa".',
        )
    shared = query.shape[1] // key.shape[1]
    if shared & (shared - 1):  # keys that are not shared by 2, 4, 8 .. heads are repeated
        key, value, shared = key.repeat_interleave(shared, 1), value.repeat_interleave(shared, 1), 1
    # rotary positions are added in full precision, which autocast does not take back for this function
    attended = _flex(query.device.type)(
        query.to(value.dtype),
        key.to(value.dtype),
        value,
        block_mask=attention_mask,
        scale=scaling,
        enable_gqa=shared > 1,
    )
    return attended.transpose(1, 2).contiguous(), None


@cache
def can_attend(device: str) -> bool:
    """Whether FlexAttention runs on a device, which needs Triton and a compiler."""
    from torch.nn.attention.flex_attention import create_block_mask

    def earlier(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        return q >= k

    try:
        mask = create_block_mask(earlier, None, None, 128, 128, device=device)
        row = torch.zeros((1, 1, 128, 64), device=device, dtype=torch.bfloat16, requires_grad=True)
        _flex(device.partition(":")[0])(row, row, row, block_mask=mask).sum().backward()
    except Exception as error:  # noqa: BLE001 - whatever a compiler says, there is another way
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        log.warning("FlexAttention cannot be compiled here, so that attention is dense: %s", reason)
        return False
    return True


@cache
def _flex(device: str) -> Any:
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention) if device == "cuda" else flex_attention
