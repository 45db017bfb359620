"""Teach a language model to judge the written exercises, and let it label the rows that a small judge learns from.

    python benchmarks/judge/exercise_rows.py --out rows
    python benchmarks/judge/judge_teacher.py --model FOLDER --rows rows --out rows

`FOLDER` holds a causal language model as transformers reads it. Its first `--layers` layers get a head with five labels
(yes, no, unknown, value, none) and learn from `train.jsonl`; the head reads the last token. `train-labels.npy`,
`variants-labels.npy` and `generated-labels.npy` hold the probabilities of the five labels for the rows of these files;
of the neighbours of a deciding sentence three are labelled, the others have zeros. With `--wait`, `generated.jsonl` is
waited for. Measured on `dev.jsonl`: what is said of the deciding sentence, and whether that sentence
ranks first.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

LABELS = ("yes", "no", "unknown", "value", "none")
_NONE = LABELS.index("none")
_HEAD_RATE = 1e-3
_LONGEST = 240


def prompt(row: dict[str, Any]) -> str:
    """What the model reads of a row; of a row of glosses the original."""
    row = row.get("original", row)
    known = " ".join(row["facts"]) or "nothing"
    return f"Known about the user: {known}\nDocument: {row['text']}\nUser: {row['question']}\nAnswer:"


class Teacher(nn.Module):
    """The first layers of a language model with a head on the last token."""

    def __init__(self, folder: Path, layers: int) -> None:
        super().__init__()
        from transformers import AutoConfig, AutoModel

        config = AutoConfig.from_pretrained(folder)
        config.num_hidden_layers = min(layers, config.num_hidden_layers)
        if getattr(config, "layer_types", None):
            config.layer_types = config.layer_types[: config.num_hidden_layers]
        self.body = AutoModel.from_pretrained(folder, config=config, dtype=torch.float32)
        self.head = nn.Linear(config.hidden_size, len(LABELS))
        nn.init.normal_(self.head.weight, std=0.01)
        nn.init.zeros_(self.head.bias)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        # Padding stands on the right and the model looks to the left only: no mask is needed.
        hidden = self.body(input_ids=ids, use_cache=False).last_hidden_state
        return self.head(hidden[torch.arange(len(ids), device=ids.device), lengths - 1].float())


def batched(rows: Sequence[Sequence[int]], device: str) -> tuple[Tensor, Tensor]:
    lengths = [len(row) for row in rows]
    ids = np.zeros((len(rows), max(lengths)), np.int64)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = row
    return torch.from_numpy(ids).to(device), torch.tensor(lengths, device=device)


@torch.no_grad()
def labelled(model: Teacher, rows: Sequence[Sequence[int]], device: str, size: int = 512) -> NDArray[np.float32]:
    """The probabilities of the labels for every row."""
    model.eval()
    order = np.argsort([len(row) for row in rows], kind="stable")
    chances = np.zeros((len(rows), len(LABELS)), np.float32)
    for start in range(0, len(order), size):
        some = order[start : start + size]
        ids, lengths = batched([rows[i] for i in some], device)
        with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
            chances[some] = model(ids, lengths).softmax(-1).float().cpu().numpy()
    return chances


def report(rows: Sequence[dict[str, Any]], chances: NDArray[np.float32]) -> str:
    """How often the right label is said of the deciding sentence, and how often that sentence ranks first."""
    right: dict[str, list[bool]] = defaultdict(list)
    groups: dict[str, list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        groups[row["group"]].append(number)
        if row.get("main"):
            right[row["label"]].append(LABELS[int(chances[number].argmax())] == row["label"])
    first, declined = [], []
    for members in groups.values():
        best = min(members, key=lambda number: chances[number][_NONE])
        if any(rows[number].get("main") for number in members):
            first.append(rows[best]["label"] != "none")
        else:
            declined.append(chances[best][_NONE] > 0.5)
    shares = {label: round(float(np.mean(hits)), 3) for label, hits in right.items()}
    decided = right["yes"] + right["no"]
    return f"{shares} yes/no {np.mean(decided):.3f} first {np.mean(first):.3f} declined {np.mean(declined):.3f}"


def fit(
    model: Teacher,
    rows: dict[str, list[dict[str, Any]]],
    ids: dict[str, list[list[int]]],
    given: argparse.Namespace,
    device: str,
) -> None:
    """Train on the labelled rows, all deciding sentences and some of their neighbours in each epoch."""
    began, rng = perf_counter(), random.Random(given.seed)
    train = ids["train"]
    targets = [LABELS.index(row["label"]) for row in rows["train"]]
    gold = [number for number, row in enumerate(rows["train"]) if row["kind"] == "gold"]
    neighbours = [number for number, row in enumerate(rows["train"]) if row["kind"] != "gold"]
    groups = [
        {"params": list(model.body.parameters()), "lr": given.rate, "base": given.rate},
        {"params": list(model.head.parameters()), "lr": _HEAD_RATE, "base": _HEAD_RATE},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01, betas=(0.9, 0.98), fused=device == "cuda")
    chosen = len(gold) + min(len(neighbours), int(1.2 * len(gold)))
    steps, step = given.epochs * math.ceil(chosen / given.batch), 0
    for epoch in range(given.epochs):
        model.train()
        taken = gold + rng.sample(neighbours, chosen - len(gold))
        rng.shuffle(taken)
        batches = []
        for start in range(0, len(taken), given.batch * 16):  # rows of about one length go together
            piece = sorted(taken[start : start + given.batch * 16], key=lambda number: len(train[number]))
            batches += [piece[i : i + given.batch] for i in range(0, len(piece), given.batch)]
        rng.shuffle(batches)
        for batch in batches:
            share = min(1.0, (step + 1) / (0.06 * steps)) * max(0.05, 1 - step / steps)
            for group in optimizer.param_groups:
                group["lr"] = group["base"] * share
            tokens, lengths = batched([train[number] for number in batch], device)
            with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
                logits = model(tokens, lengths)
            target = torch.tensor([targets[number] for number in batch], device=device)
            loss = nn.functional.cross_entropy(logits.float(), target, label_smoothing=0.03)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            if torch.isfinite(norm):
                optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            step += 1
        for name in ("dev", "dev-zh"):
            if rows[name]:
                found = report(rows[name], labelled(model, ids[name], device))
                print(f"epoch {epoch + 1}, {name}: {found}, {perf_counter() - began:.0f} s", flush=True)


def hardest(rows: Sequence[dict[str, Any]], most: int = 3) -> list[int]:
    """The deciding sentences and their first neighbours; all rows where nothing is labelled by hand."""
    seen: Counter[str] = Counter()
    chosen = []
    for number, row in enumerate(rows):
        if row["kind"] == "neighbour":
            seen[row["group"]] += 1
        if row["kind"] != "neighbour" or seen[row["group"]] <= most:
            chosen.append(number)
    return chosen


def main() -> None:
    """Teach, measure and label."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rate", type=float, default=1.2e-5)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wait", type=float, default=0.0, metavar="SECONDS", help="wait for generated.jsonl")
    parser.add_argument("--limit", type=int, help="rows of each file, for a trial")
    given = parser.parse_args()
    from tokenizers import Tokenizer

    began = perf_counter()
    torch.manual_seed(given.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer = Tokenizer.from_file(str(given.model / "tokenizer.json"))

    def read(name: str) -> tuple[list[dict[str, Any]], list[list[int]]]:
        file = given.rows / f"{name}.jsonl"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        rows = [json.loads(line) for line in lines[: given.limit]]
        return rows, [each.ids[-_LONGEST:] for each in tokenizer.encode_batch([prompt(row) for row in rows])]

    rows, ids = {}, {}
    for name in ("train", "dev", "dev-zh"):
        rows[name], ids[name] = read(name)
    model = Teacher(given.model, given.layers).to(device)
    print(f"{ {name: len(each) for name, each in rows.items()} } rows, {perf_counter() - began:.0f} s", flush=True)
    fit(model, rows, ids, given, device)
    given.out.mkdir(parents=True, exist_ok=True)
    for name in ("variants", "train", "generated"):
        while (
            name == "generated" and not (given.rows / f"{name}.jsonl").exists() and perf_counter() - began < given.wait
        ):
            sleep(1.0)
        if (given.rows / f"{name}.jsonl").exists():
            some, encoded = read(name)
            chosen = hardest(some)
            chances = np.zeros((len(some), len(LABELS)), np.float16)
            chances[chosen] = labelled(model, [encoded[number] for number in chosen], device)
            np.save(given.out / f"{name}-labels.npy", chances)
            print(f"{name}: {len(chosen)} rows labelled, {perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
