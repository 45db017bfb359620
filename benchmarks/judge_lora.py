"""Teach the embedded language model to judge: an adapter on SmolLM2-135M, with the labels of a larger judge.

    python benchmarks/exercise_rows.py --out rows
    python benchmarks/judge_teacher.py --model FOLDER --rows rows --out rows
    python benchmarks/judge_lora.py --model FOLDER --rows rows --out adapter --seconds 400

`FOLDER` holds the model as transformers reads it, with its `tokenizer.json`. The prompt ends before the answer, and the
next token is one of five words (yes, no, unknown, value, none), so any runtime that gives log-probabilities can ask.
The question and the facts stand before the sentence: what several sentences of a turn share is read once. The rate
falls to nothing over `--seconds`. Measured on `dev.jsonl` after each epoch, as `judge_teacher.py` measures.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from judge_student import labelled, read
from judge_teacher import report
from numpy.typing import NDArray
from torch import Tensor, nn

WORDS = (" yes", " no", " unknown", " value", " none")
_LONGEST = 224
_NEIGHBOURS = 4
"""Sentences beside the deciding one that are learned from: the nearest."""
_TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def prompt(row: dict[str, Any]) -> str:
    """What the model reads of a row."""
    known = " ".join(row["facts"]) or "nothing"
    return f"User: {row['question']}\nKnown: {known}\nDocument: {row['text']}\nAnswer:"


class Adapted(nn.Module):
    """A linear layer with a low-rank addition."""

    def __init__(self, base: nn.Linear, rank: int, alpha: float, dropout: float) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Parameter(torch.empty(rank, base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.down, a=5**0.5)
        self.scale, self.drop = alpha / rank, nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        low = self.drop(x) @ self.down.t().to(x.dtype)
        return self.base(x) + self.scale * (low @ self.up.t().to(x.dtype))


class Judge(nn.Module):
    """The model with its adapter, and the five words as its answers."""

    def __init__(self, folder: Path, words: Sequence[int], rank: int, alpha: float, dropout: float) -> None:
        super().__init__()
        from transformers import AutoModel

        self.body = AutoModel.from_pretrained(folder, dtype=torch.float32).requires_grad_(False)
        for name, module in list(self.body.named_modules()):
            if name.rpartition(".")[2] in _TARGETS:
                parent = self.body.get_submodule(name.rpartition(".")[0])
                setattr(parent, name.rpartition(".")[2], Adapted(module, rank, alpha, dropout))
        self.register_buffer("answers", self.body.get_input_embeddings().weight[list(words)].clone(), persistent=False)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        # Padding stands on the right and the model looks to the left only: no mask is needed.
        hidden = self.body(input_ids=ids, use_cache=False).last_hidden_state
        return hidden[torch.arange(len(ids), device=ids.device), lengths - 1].float() @ self.answers.t().float()


def examples(rows: Path, limit: int | None) -> list[tuple[dict[str, Any], NDArray[np.float32]]]:
    """The labelled rows; of the neighbours of a deciding sentence, `_NEIGHBOURS` for each exercise."""
    seen: Counter[str] = Counter()
    chosen = []
    for row, chances in labelled(rows, limit):
        seen[row["group"]] += row["kind"] == "neighbour"
        if chances is not None and (row["kind"] != "neighbour" or seen[row["group"]] <= _NEIGHBOURS):
            chosen.append((row, chances))
    return chosen


class Rows:
    """Token ids of prompts on the device."""

    def __init__(self, tokenizer: Any, prompts: Sequence[str], device: str) -> None:
        encoded = [each.ids[-_LONGEST:] for each in tokenizer.encode_batch(list(prompts))]
        self.lengths = np.array([len(ids) for ids in encoded])
        ids = np.zeros((len(encoded), int(self.lengths.max())), np.int32)
        for number, each in enumerate(encoded):
            ids[number, : len(each)] = each
        self._ids, self._lengths = torch.from_numpy(ids).to(device), torch.from_numpy(self.lengths).to(device)

    def batch(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        chosen = torch.from_numpy(rows).to(self._ids.device)
        return self._ids[chosen, : int(self.lengths[rows].max())].long(), self._lengths[chosen]


@torch.no_grad()
def answered(model: Judge, rows: Rows, device: str) -> NDArray[np.float32]:
    """The probabilities of the five labels for every row."""
    model.eval()
    order = np.argsort(rows.lengths, kind="stable")
    chances = np.zeros((len(order), len(WORDS)), np.float32)
    for start in range(0, len(order), 512):
        some = order[start : start + 512]
        with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
            chances[some] = model(*rows.batch(some)).softmax(-1).float().cpu().numpy()
    model.train()
    return chances


def save(model: Judge, out: Path) -> None:
    """Write the adapter in half precision, as safetensors with PEFT's names."""
    from safetensors.torch import save_file

    out.mkdir(parents=True, exist_ok=True)
    tensors = {}
    for name, module in model.body.named_modules():
        if isinstance(module, Adapted):
            tensors[f"{name}.lora_A.weight"] = module.down.detach().half().cpu().contiguous()
            tensors[f"{name}.lora_B.weight"] = module.up.detach().half().cpu().contiguous()
    save_file(tensors, str(out / "adapter.safetensors"))


def main() -> None:
    """Train, measure and save."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=400.0)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--alpha", type=float, default=32.0)
    parser.add_argument("--dropout", type=float, default=0.05)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, help="rows of each file, for a trial")
    given = parser.parse_args()
    from tokenizers import Tokenizer

    torch.manual_seed(given.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer = Tokenizer.from_file(str(given.model / "tokenizer.json"))
    words = [tokenizer.encode(word).ids[0] for word in WORDS]
    model = Judge(given.model, words, given.rank, given.alpha, given.dropout).to(device)
    known = examples(given.rows, given.limit)
    texts = Rows(tokenizer, [prompt(row) for row, _ in known], device)
    wanted = torch.from_numpy(np.array([chances for _, chances in known], np.float32)).to(device)
    dev = {name: read(given.rows / f"{name}.jsonl", given.limit) for name in ("dev", "dev-zh")}
    dev_texts = {name: Rows(tokenizer, [prompt(row) for row in rows], device) for name, rows in dev.items() if rows}
    trained = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=given.rate, weight_decay=0.0, betas=(0.9, 0.98), fused=device == "cuda")
    rng = np.random.default_rng(given.seed)
    print(f"{len(known)} examples, {sum(each.numel() for each in trained)} parameters", flush=True)
    start, epoch, share = perf_counter(), 0, 0.0
    model.train()
    while share < 1:
        epoch += 1
        order, batches = rng.permutation(len(known)), []
        for first in range(0, len(order), given.batch * 16):
            piece = order[first : first + given.batch * 16]
            piece = piece[np.argsort(texts.lengths[piece], kind="stable")]
            batches += [piece[i : i + given.batch] for i in range(0, len(piece), given.batch)]
        for place in rng.permutation(len(batches)):
            share = (perf_counter() - start) / given.seconds
            if share >= 1:
                break
            for group in optimizer.param_groups:
                group["lr"] = given.rate * min(1, share / 0.04 + 0.01) * (1 - share)
            rows = batches[place]
            with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
                logits = model(*texts.batch(rows))
            loss = nn.functional.cross_entropy(logits, wanted[torch.from_numpy(rows).to(device)])
            loss.backward()
            nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        for name, each in dev_texts.items():
            found = report(dev[name], answered(model, each, device))
            print(f"epoch {epoch}, {perf_counter() - start:.0f} s, {name}: {found}", flush=True)
    save(model, given.out)
    print("saved", flush=True)


if __name__ == "__main__":
    main()
