"""TF32 while a pass runs, and what was set before afterwards."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from dragoman.models.torch.process_wide import allow_tf32  # noqa: E402
from dragoman.models.unified.packed import plain_attention  # noqa: E402


@pytest.fixture(autouse=True)
def setting():
    before = torch.backends.cuda.matmul.fp32_precision
    yield
    torch.backends.cuda.matmul.fp32_precision = before


@pytest.mark.parametrize("before", ["none", "ieee", "tf32"])
def test_the_last_who_leaves_puts_back_what_was_set(before):
    torch.backends.cuda.matmul.fp32_precision = before
    first, second = allow_tf32("cuda"), allow_tf32("cuda:1")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert torch.backends.cuda.matmul.fp32_precision == "tf32"  # another pass is still running
    second.__exit__(None, None, None)
    assert torch.backends.cuda.matmul.fp32_precision == before


def test_a_failing_pass_puts_it_back_too():
    torch.backends.cuda.matmul.fp32_precision = "ieee"
    with pytest.raises(ValueError, match="no"), allow_tf32("cuda"):
        raise ValueError("no")
    assert torch.backends.cuda.matmul.fp32_precision == "ieee"


def test_a_processor_is_left_alone():
    torch.backends.cuda.matmul.fp32_precision = "ieee"
    with allow_tf32("cpu"):
        assert torch.backends.cuda.matmul.fp32_precision == "ieee"


def test_attention_without_cudnn_stays_so_until_the_last_who_wants_it_leaves():
    before = torch.backends.cuda.cudnn_sdp_enabled(), torch.backends.cuda.flash_sdp_enabled()
    first, second = plain_attention("cuda"), plain_attention("cuda:0")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not torch.backends.cuda.cudnn_sdp_enabled()
    second.__exit__(None, None, None)
    assert (torch.backends.cuda.cudnn_sdp_enabled(), torch.backends.cuda.flash_sdp_enabled()) == before
