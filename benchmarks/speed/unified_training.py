"""How fast a unified model is trained: turns packed as trees, beside padded rows as a plain trainer makes them.

    python benchmarks/speed/unified_training.py                        a model of random weights, on a CPU a small one
    python benchmarks/speed/unified_training.py --base FOLDER          a base of one's own
    python benchmarks/speed/unified_training.py --data train.json      another set

Three ways over the same turns, each with so many tokens a batch:

    packed   trees of several turns in a row, logits at labelled places (FlexAttention on a GPU)
    lines    the same lessons as plain sequences, one a candidate and one for the response, padded, all logits
    line     one sequence a turn, evidence in a line, as the paper's layout without its mask would be trained

`lesson tokens` are those of the tree, whichever way teaches them: lines repeat the dialogue for each candidate.
With `--seconds S`, packed trains for S seconds and the others for 2 S, from the same weights, and dev's loss is told
after each: where packed's is not the higher one, it is at least twice as fast at equal dev loss.

Utilisation is 6 N FLOPs a token that went through the model (2 N for the activations' gradient are left out where only
an adapter is trained), over the measured peak of a matrix product.
"""

from __future__ import annotations

import argparse
import copy
import random
import re
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from time import perf_counter
from types import SimpleNamespace
from typing import Any, TypeAlias

import torch
from torch import Tensor

from dragoman.core.examples import Example
from dragoman.core.tokens import Grammar
from dragoman.datasets.open import open_dataset, sniff
from dragoman.models.torch.causal_lm import Causal, load_causal
from dragoman.models.torch.lora import LoraSpec
from dragoman.models.unified.model import TreeShape, TurnTokens
from dragoman.models.unified.packed import compile_layers, unwrapped, use_attention
from dragoman.models.unified.token_spelling import spell
from dragoman.models.unified.vocabularies import tokenizer_vocabulary
from dragoman.models.unified.weights import Tuning, for_training, vocabulary_rows
from dragoman.train.loop.optimiser import adamw
from dragoman.train.spec import LoopSpec
from dragoman.train.unified.sequences import Sequences
from dragoman.train.unified.sources import orders_of, sources_of
from dragoman.train.unified.task import TaskSettings, UnifiedTask
from dragoman.train.unified.training_trees import DrawOptions, TrainingTree

SIZES = {
    "tiny": {"hidden_size": 128, "intermediate_size": 384, "num_hidden_layers": 4, "num_attention_heads": 4},
    "smollm2-135m": {"hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30, "num_attention_heads": 9},
    "0.5b": {"hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14},
}
KEYS = {"tiny": 2, "smollm2-135m": 3, "0.5b": 2}
VOCABULARY = 49_152
Lines: TypeAlias = list[tuple[list[int], list[int]]]
"""Token sequences with the label of each position, -100 where nothing is learned."""
_PIECES = re.compile(r"\s?\w{1,5}|\s?[^\w\s]|\s")


class Pieces:
    """Pieces of words by their checksum: as many tokens as a real vocabulary makes, where none is at hand."""

    size, reserved = VOCABULARY, ()

    def encode(self, text: str) -> list[int]:
        return [100 + zlib.crc32(piece.encode()) % (VOCABULARY - 200) for piece in _PIECES.findall(text)]


@dataclass(frozen=True)
class Told:
    """What one way of training did in a while."""

    name: str
    seconds: float
    turns: float
    lesson_tokens: int
    read_tokens: int
    memory: float


def main() -> None:
    given = _arguments()
    device = given.device = given.device or ("cuda" if torch.cuda.is_available() else "cpu")
    examples = [one for one in _opened(given.data).examples() if isinstance(one, Example) and one.gold.plan is not None]
    random.Random(0).shuffle(examples)
    examples = examples[: given.turns]
    causal, turns = _model(given, device, examples)
    sequences = Sequences(turns, DrawOptions(most_candidates=given.candidates), orders=orders_of)
    settings = TaskSettings(tokens=given.tokens, batch=10_000, attention=given.attention)
    held = examples[: max(2, len(examples) // 20)]
    task = UnifiedTask(causal, turns, sequences, examples, dev=held, settings=settings)
    if given.compiled and task.attention != "flex":
        sys.exit("--compiled is for FlexAttention, which is not used here.")
    lessons = [sequences.tree(example, 0) for example in examples]
    flat = TurnTokens(TreeShape(turns.shape.grammar, "plain", turns.shape.view, given.window, 96, 128), *_rest(turns))
    single = Sequences(flat, DrawOptions(), orders=orders_of)
    ways: dict[str, Callable[[], Told]] = {
        "packed": lambda: _packed(task, lessons, given, device),
        "lines": lambda: _padded("lines", causal, [_lines(one) for one in lessons], lessons=lessons, given=given),
        "line": lambda: _padded(
            "line", causal, [_lines(single.tree(one, 0)) for one in examples], lessons=lessons, given=given
        ),
    }
    weights = sum(one.numel() for name, one in causal.model.named_parameters() if "embed" not in name)
    factor = 6 if given.full else 4
    peak = _peak(device)
    print(f"{device}, {weights / 1e6:.0f} M parameters without embeddings, peak {peak / 1e12:.2f} TFLOP/s")
    print(f"{len(examples)} turns, {sum(one.size for one in lessons) / len(lessons):.0f} tokens a tree")
    print("| way | turns/s | lesson tokens/s | tokens read/s | utilisation | memory GB |")
    print("|---|---:|---:|---:|---:|---:|")
    rates = {}
    state = copy.deepcopy(causal.model.state_dict()) if given.dev or given.seconds else None
    for name in given.ways:
        if state is not None:
            causal.model.load_state_dict(state)
        told = ways[name]()
        use_attention(causal.model, task.attention)  # padded rows were read with another one
        rates[name] = told.turns / told.seconds
        use = factor * weights * told.read_tokens / told.seconds / peak
        cells = (rates[name], told.lesson_tokens / told.seconds, told.read_tokens / told.seconds)
        loss = f" dev loss {task.measure()['loss']:.4f} after {told.seconds:.0f} s" if state is not None else ""
        print(f"| {name} | {' | '.join(f'{cell:.4g}' for cell in cells)} | {use:.1%} | {told.memory:.1f} |{loss}")
    for name in ("lines", "line"):
        if name in rates and "packed" in rates:
            print(f"packed against {name}: {rates['packed'] / rates[name]:.2f} times the turns a second")


def _packed(task: UnifiedTask, lessons: Sequence[TrainingTree], given: argparse.Namespace, device: str) -> Told:
    """Steps of the task as the loop takes them; the first ones compile and are not counted."""
    optimiser = adamw(task.model, LoopSpec(rate=1e-4))
    task.model.train()
    if given.compiled:
        compile_layers(task.model)
    begin, turns, tokens = 0.0, 0, 0
    for number, batch in enumerate(batch for epoch in count() for batch in task.batches(epoch)):
        if _is_over(number, begin, given, given.seconds):
            break
        if number == given.warm:
            begin = _now(device)
        with _half(device):
            loss = task.loss(batch)
        _step(loss, optimiser, task.model)
        if number >= given.warm:
            turns += len(batch)
            tokens += sum(lessons[row].size for row in batch)
    told = Told("packed", _now(device) - begin, turns, tokens, tokens, _memory(device))
    for layer in unwrapped(task.model).get_decoder().layers:
        layer._compiled_call_impl = None  # the other ways run as they are
    return told


def _padded(
    name: str, causal: Causal, rows: Sequence[Lines], *, lessons: Sequence[TrainingTree], given: argparse.Namespace
) -> Told:
    """Fixed numbers of sequences a batch in an order by chance, padded to the longest, loss over all positions."""
    model, device = causal.model, causal.device
    model.set_attn_implementation("sdpa") if hasattr(model, "set_attn_implementation") else None
    flat = [(turn, ids, labels) for turn, lines in enumerate(rows) for ids, labels in lines]
    random.Random(1).shuffle(flat)
    longest = sorted(len(ids) for _, ids, _ in flat)[int(0.95 * len(flat))]
    size = max(1, given.tokens // longest)
    share = [1 / len(lines) for lines in rows]
    optimiser = adamw(model, LoopSpec(rate=1e-4))
    model.train()
    begin, turns, tokens = 0.0, 0.0, 0
    for number in count():
        if _is_over(number, begin, given, 2 * given.seconds):
            break
        if number == given.warm:
            begin = _now(device)
        at = (number * size) % max(1, len(flat) - size)
        batch = flat[at : at + size]
        width = max(len(ids) for _, ids, _ in batch)
        ids = torch.zeros((len(batch), width), dtype=torch.long)
        labels = torch.full((len(batch), width), -100)
        mask = torch.zeros((len(batch), width), dtype=torch.long)
        for row, (_, tokens_, learned) in enumerate(batch):
            ids[row, : len(tokens_)] = torch.tensor(tokens_)
            labels[row, : len(tokens_)] = torch.tensor(learned)
            mask[row, : len(tokens_)] = 1
        with _half(device):
            told = model(input_ids=ids.to(device), attention_mask=mask.to(device), labels=labels.to(device))
        _step(told.loss, optimiser, model)
        if number >= given.warm:
            turns += sum(share[turn] for turn, _, _ in batch)
            tokens += ids.numel()
    mean = sum(one.size for one in lessons) / len(lessons)
    return Told(name, _now(device) - begin, turns, round(turns * mean), tokens, _memory(device))


def _is_over(number: int, begin: float, given: argparse.Namespace, seconds: float) -> bool:
    """Whether a way has had its steps, or its seconds where those are given; some steps go before."""
    if seconds:
        return number > int(given.warm) and _now(given.device) - begin >= seconds
    return number >= int(given.steps) + int(given.warm)


def _lines(lesson: TrainingTree) -> Lines:
    """A tree as plain sequences: each ends where a branch does, with the labels of its own last segment."""
    ends = {one.parent for one in lesson.segments}
    found = []
    for number, _ in enumerate(lesson.segments):
        own = [place for place in lesson.places if place.segment == number]
        if number in ends and not own:
            continue
        path = [number]
        while (above := lesson.segments[path[0]].parent) is not None:
            path.insert(0, above)
        tokens = [token for one in path for token in lesson.segments[one].tokens]
        start = len(tokens) - len(lesson.segments[number].tokens)
        learned = [-100] * (len(tokens) + 1)
        for place in own:
            target = place.target if place.target is not None else round((place.value or 0.0) * 10)
            learned[start + place.offset + 1] = target  # the model shifts labels by one itself
        found.append(([*tokens, 0], learned))
    return found


def _model(given: argparse.Namespace, device: str, examples: Sequence[Example]) -> tuple[Causal, TurnTokens]:
    from transformers import LlamaConfig, LlamaForCausalLM

    sources = sources_of(examples)
    grammar = Grammar(tuple(source.name for source in sources))
    shape = TreeShape(grammar, "tree", window=given.window)
    if given.base:
        causal = load_causal(given.base, device=device, precision="float32")
        vocabulary: Any = tokenizer_vocabulary(causal.tokenizer, vocabulary_rows(causal))
        end = causal.tokenizer.eos_token_id or 0
    else:
        sizes = SIZES[given.size] | {"num_key_value_heads": KEYS[given.size]}
        torch.manual_seed(0)
        model = LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, tie_word_embeddings=True, **sizes)).to(device)
        model.requires_grad_(False)
        causal = Causal(model, SimpleNamespace(eos_token_id=0, chat_template=None), device)
        vocabulary, end = Pieces(), 0
    spelling = spell(grammar, "rows", vocabulary)
    tuning = Tuning("full" if given.full else "lora", LoraSpec(16, 32, 0.0))
    turns = TurnTokens(shape, spelling, cache(vocabulary.encode), end)
    return for_training(causal, spelling, tuning, seed=1, vocabulary=vocabulary), turns


def _rest(turns: TurnTokens) -> tuple[Any, Any, int]:
    return turns.spelling, turns.encode, turns.end


def _opened(data: str) -> Any:
    return open_dataset(sniff(data), data)


def _step(loss: Tensor, optimiser: torch.optim.Optimizer, model: Any) -> None:
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_([one for one in model.parameters() if one.requires_grad], 1.0)
    optimiser.step()
    optimiser.zero_grad(set_to_none=True)


def _half(device: str) -> Any:
    return torch.autocast("cuda", dtype=torch.bfloat16, enabled=device.startswith("cuda"))


def _now(device: str) -> float:
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    return perf_counter()


def _memory(device: str) -> float:
    if not device.startswith("cuda"):
        return 0.0
    most = torch.cuda.max_memory_allocated() / 1e9
    torch.cuda.reset_peak_memory_stats()
    return most


def _peak(device: str) -> float:
    """FLOPs a second of a large matrix product in the precision of training."""
    cuda = device.startswith("cuda")
    size, dtype = (8192, torch.bfloat16) if cuda else (1024, torch.float32)
    left, right = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    for _ in range(3):
        left @ right
    begin = _now(device)
    for _ in range(10):
        left @ right
    return 10 * 2 * size**3 / (_now(device) - begin)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cuda = torch.cuda.is_available()
    parser.add_argument("--base", default="")
    parser.add_argument("--size", choices=list(SIZES), default="smollm2-135m" if cuda else "tiny")
    parser.add_argument("--data", default="toy")
    parser.add_argument("--turns", type=int, default=4096 if cuda else 60)
    parser.add_argument("--tokens", type=int, default=32_768 if cuda else 4096)
    parser.add_argument("--window", type=int, default=1024)
    parser.add_argument("--candidates", type=int, default=24)
    parser.add_argument("--steps", type=int, default=30 if cuda else 4)
    parser.add_argument("--warm", type=int, default=24 if cuda else 3, help="steps that compile and are not counted")
    parser.add_argument("--attention", choices=["auto", "sdpa", "flex"], default="auto")
    parser.add_argument("--compiled", action="store_true", help="compile the layers of the packed way")
    parser.add_argument("--full", action="store_true", help="train all weights instead of an adapter")
    parser.add_argument("--dev", action="store_true", help="print dev loss after each way, from the same weights")
    parser.add_argument("--seconds", type=float, default=0.0, help="train for so long instead, the others for twice")
    parser.add_argument("--device", default="")
    parser.add_argument("--ways", nargs="+", choices=["packed", "lines", "line"], default=["packed", "lines", "line"])
    return parser.parse_args()


if __name__ == "__main__":
    main()
