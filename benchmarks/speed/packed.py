"""Packed judging against one by one: a dialogue with 15 and with 64 candidates, in one process, and the floor.

python benchmarks/speed/packed.py [--model smollm2-135m-instruct] [--random] [--device auto] [--candidates 15 64]

`one by one` reads dialogue and candidate anew for each candidate; `one by one, dialogue kept` reads the dialogue once;
`padded batch` is all candidates as rows of a batch, each behind its own copy of the dialogue. The floor is the
arithmetic of the packed pass (two operations a weight and token, and what attention needs of the keys that are seen) at
the speed at which this machine multiplies large matrices of the same type.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import torch

from dragoman.core.tokens import EVALUATION, Grammar
from dragoman.core.values import Context
from dragoman.models.torch.causal_lm import Causal, load_causal
from dragoman.models.torch.model import pick_device
from dragoman.models.unified.model import CandidatePassage, Judging, TreeShape, TurnTokens
from dragoman.models.unified.token_spelling import spell
from dragoman.models.unified.token_tree import laid_out
from dragoman.models.unified.torch_model import LoadedUnified, TorchUnified
from dragoman.models.unified.turn_trees import judging
from dragoman.models.unified.vocabularies import tokenizer_vocabulary

PATIENCE = 20.0
"""Seconds after which a way is measured no more."""
LEAST = {("cpu", 15): 5.0, ("cuda", 15): 5.0, ("cuda", 64): 15.0}
SAID = (  # as long as the dialogues of DSTC11, of whose passages PASSAGE has the length
    "Hello, I am looking for a place to stay near the station for two nights, not too expensive.",
    "There are three hotels within five minutes of the station. Do you have a budget or a part of town in mind?",
    "Not really, but I sleep badly where it is loud, and I travel with a small dog that barks at trams.",
    "The Ashley Hotel is on a side street and takes pets; the Grand is on the main road and does not.",
    "Then the Ashley. Do they have rooms with a bath, and is there somewhere to leave the car overnight?",
    "Every room has a bath, and there is a car park behind the house for twelve pounds a night.",
    "Good. Is it quiet at night, and what do people say about the breakfast there?",
)
PASSAGE = "Our room on floor {n} was clean, and the staff were friendly and quick to help."


def main() -> int:
    asked = arguments()
    device = pick_device(asked.device)
    causal = random_model(asked.model, device) if asked.random else load_causal(asked.model, device=device)
    bench = Bench(causal, *unified(causal, max(asked.candidates)), matmul_peak(causal), asked.repeats)
    dtype = str(next(causal.model.parameters()).dtype).removeprefix("torch.")
    where = torch.cuda.get_device_name() if device == "cuda" else f"{torch.get_num_threads()} threads"
    load = f"load average {os.getloadavg()[0]:.1f}"
    print(f"{asked.model}{' (random weights)' if asked.random else ''}, {dtype}, {device}: {where}, {load}")
    print(f"matrices are multiplied at {bench.peak / 1e12:.2f} Tflop/s\n")
    fails = 0
    for count in asked.candidates:
        fails += not compare(bench, count)
    return 1 if fails else 0


@dataclass(frozen=True, slots=True)
class Bench:
    """A model, what makes tokens for it, how quickly the machine multiplies, how often things are measured."""

    causal: Causal
    runtime: TorchUnified
    turns: TurnTokens
    peak: float
    repeats: int


def compare(bench: Bench, count: int) -> bool:
    """Print the row of one number of candidates; whether the packed pass is as many times as quick as it must be."""
    causal, runtime, turns, repeats = bench.causal, bench.runtime, bench.turns, bench.repeats
    turn = Judging(Context.of(*SAID), tuple(CandidatePassage("REVIEWS", PASSAGE.format(n=n)) for n in range(count)))
    planted = judging(turns, turn)
    trunk = planted.segments[0].tokens
    lines = [(*trunk, *planted.segments[place].tokens) for place in planted.candidates]
    ids = [turns.spelling.one(token) for token in EVALUATION]
    values = torch.arange(11) / 10

    def packed() -> list[float]:
        runtime.clear_cache()
        return runtime.judge([turn])[0]

    def kept() -> list[float]:
        runtime.clear_cache()
        return [runtime.judge([Judging(turn.context, (one,))])[0][0] for one in turn.candidates]

    def alone() -> list[float]:
        return [float(causal.logits([line])[0, ids].softmax(-1).cpu() @ values) for line in lines]

    def batch() -> list[float]:
        return (causal.logits(lines)[:, ids].softmax(-1).cpu() @ values).tolist()

    ways: dict[str, Callable[[], list[float]]] = {
        "packed": packed,
        "one by one": alone,
        "one by one, dialogue kept": kept,
        "padded batch": batch,
    }
    with torch.inference_mode():
        taken = {name: measured(way, repeats) for name, way in ways.items()}
    reference = taken["one by one"][1]
    apart = max(abs(one - other) for one, other in zip(taken["packed"][1], reference, strict=True))
    layout = laid_out(planted.segments)
    floor = operations(causal, layout.tokens, layout.segments, layout.visible) / bench.peak
    print(f"{count} candidates, {len(trunk)} tokens of dialogue, {len(layout.tokens)} in the packed row")
    for name, (seconds, _) in taken.items():
        ratio = taken["one by one"][0] / seconds
        print(f"  {name:<28}{seconds * 1e3:>10.1f} ms{ratio:>8.1f} times")
    print(f"  {'floor':<28}{floor * 1e3:>10.1f} ms{taken['packed'][0] / floor:>8.1f} times below the packed pass")
    ratio, least = taken["one by one"][0] / taken["packed"][0], LEAST.get((causal.device, count), 0.0)
    print(f"  packed and one by one differ by {apart:.1e} at most; limit {least:.0f} times\n")
    return ratio >= least


def measured(way: Callable[[], list[float]], repeats: int) -> tuple[float, list[float]]:
    """The median time of a call after a first one, and what it gave; slow calls are made a few times only."""
    found = way()
    seconds: list[float] = []
    while len(seconds) < repeats and sum(seconds) < PATIENCE:
        wait()
        began = perf_counter()
        way()
        wait()
        seconds.append(perf_counter() - began)
    return statistics.median(seconds), found


def operations(causal: Causal, tokens: tuple[int, ...], owners: tuple[int, ...], visible: Any) -> float:
    """What the packed pass has to compute: the layers' weights for every token, attention to the keys that are seen."""
    decoder = causal.model.get_decoder()
    weights = sum(weight.numel() for name, weight in decoder.named_parameters() if "embed" not in name)
    config = causal.model.config
    width = config.num_attention_heads * (
        getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    )
    starts = [owners.index(segment) for segment in range(len(visible))]
    sizes = [owners.count(segment) for segment in range(len(visible))]
    seen = 0
    for place, owner in enumerate(owners):
        seen += sum(sizes[other] for other, sees in enumerate(visible[owner]) if sees and other != owner)
        seen += place - starts[owner] + 1
    return 2.0 * weights * len(tokens) + 4.0 * seen * width * config.num_hidden_layers


def matmul_peak(causal: Causal, size: int = 2048) -> float:
    """Operations a second of large matrix products in the model's type, the best of some."""
    weight = next(causal.model.parameters())
    left, right = (torch.randn(size, size, device=weight.device, dtype=weight.dtype) for _ in range(2))
    best = 0.0
    for _ in range(8):
        wait()
        began = perf_counter()
        left @ right
        wait()
        best = max(best, 2.0 * size**3 / (perf_counter() - began))
    return best


def unified(causal: Causal, most: int) -> tuple[TorchUnified, TurnTokens]:
    """The model with its reserved tokens as special ones: what it says means nothing, how long it takes is real."""
    shape = TreeShape(Grammar(("REVIEWS", "FAQ")), window=2048)
    vocabulary = tokenizer_vocabulary(causal.tokenizer)
    turns = TurnTokens(
        shape, spell(shape.grammar, "reserved", vocabulary), vocabulary.encode, min(causal.ends, default=0)
    )
    return TorchUnified(shape, lambda: LoadedUnified(causal, turns), packed_tokens=64 * most), turns


def random_model(name: str, device: str) -> Causal:
    """A model of the same shape with random weights; the tokenizer is the real one's."""
    from transformers import AutoModelForCausalLM

    real = load_causal(name, device="cpu")
    torch.manual_seed(0)
    return Causal(AutoModelForCausalLM.from_config(real.model.config).to(device).eval(), real.tokenizer, device)


def wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m-instruct")
    parser.add_argument("--random", action="store_true")
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--candidates", type=int, nargs="+", default=[15, 64])
    parser.add_argument("--repeats", type=int, default=9)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
