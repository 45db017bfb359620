r"""Train a judge that reads a question, facts and a sentence together: one that labels rows, or the shipped one.

    python benchmarks/judge/exercise_rows.py --out rows
    python benchmarks/judge/judge_training.py --base all-mpnet-base-v2 --rate 5e-5 --batch 192 --rows rows \
        --other other --out large --labels labels.npy
    python benchmarks/judge/joint_base.py --part english-joint --out base
    python benchmarks/judge/judge_training.py --base base --rows rows --other other --taught-by labels.npy --out small

`--base` is a folder with `config.json`, `tokenizer.json` and the weights of a BERT- or MPNet-shaped encoder. The
large judge learns from the written labels, from what code knows of variants, and from the other sets; with `--labels`
it then writes what it says of every row. `--rows` takes several folders, one for each set of exercises. With
`--taught-by` a judge learns half from these labels and half from the written ones, and from the labels alone where
nothing is written. The rate falls to nothing over `--seconds`. Measured on `dev.jsonl` of every folder of rows after
each epoch.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

LABELS = ("yes", "no", "unknown", "value", "none")
VERDICTS = ("yes", "no", "unknown", "none")
ENTAILMENTS = ("entailed", "neutral", "contradicted", "unsupported")
HEADS = {"answers": 1, "bears": 1, "verdict": 4, "needs": 1, "entails": 3}
_REPEATS = {"sharc": 3, "ikat": 3}
_BY_HAND = 0.5
_HEAD_RATE = 5e-4
_TOKENS = 192
_PIECE = 15_000_000
_COMPARED = re.compile(r" \[([^\[\]]* is [^\[\]]*)\]$")
_RELATION = re.compile(
    r"(?:(?P<who>[^:]*): )?.*? (?P<how>is (?:not )?"
    r"(?:less than|more than|equal to|before|after|earlier than|later than|partly in|in|under|over|at least|at most)) "
)
_TURNED = {
    "is less than": "is more than",
    "is before": "is after",
    "is earlier than": "is later than",
    **{f"is {word}": f"is not {word}" for word in ("in", "under", "over", "at least", "at most")},
}
_TURNED |= {after: before for before, after in _TURNED.items()}
Row = dict[str, Any]


@dataclass(slots=True)
class Example:
    """Two texts that are read together, and what is known of them; a label of -1 is not known."""

    first: str
    second: str
    answers: float = -1.0
    bears: float = -1.0
    needs: float = -1.0
    entails: Sequence[float] = (-1.0,) * 4
    verdict: Sequence[float] = (-1.0,) * 4
    is_open: bool = False
    times: int = 1

    @property
    def is_labelled(self) -> bool:
        """Whether anything is known."""
        return max(self.answers, self.bears, self.needs, self.entails[0], self.verdict[0]) >= 0


def of_exercise(row: Row, chances: NDArray[np.float32] | None) -> Example:
    """A row of the exercises with the probabilities of its five labels; None: nobody labelled it."""
    facts = " ".join(row["facts"])
    first = f"{row['question']} [SEP] {facts}" if facts.strip() else row["question"]
    if chances is None:
        return Example(first, row["text"], is_open=True)
    verdict = [float(each) for each in (chances[0], chances[1], chances[2], chances[3] + chances[4])]
    return Example(first, row["text"], answers=float(1 - chances[4]), verdict=verdict, is_open=True)


def of_other_set(row: Row) -> Example:
    """A row of the other sets."""
    fact = row.get("fact") or ""
    example = Example(f"{row['question']} [SEP] {fact}" if fact.strip() else row["question"], row["text"])
    for name in ("answers", "bears", "needs"):
        if row.get(name) is not None:
            setattr(example, name, float(row[name]))
    if row.get("verdict"):
        example.verdict = np.eye(4)[VERDICTS.index(row["verdict"])].tolist()
    if row.get("entails"):
        example.entails = np.eye(4)[ENTAILMENTS.index(row["entails"])].tolist()
    example.times = _REPEATS.get(row["set"], 1)
    return example


def relations(text: str) -> list[tuple[str, str]]:
    """Who is compared in a row and how."""
    said = _COMPARED.search(text)
    matches = [_RELATION.match(each) for each in said[1].split("; ")] if said else []
    return [(match["who"] or "", match["how"]) for match in matches if match]


def written_label(label: str) -> NDArray[np.float32]:
    return 0.94 * np.eye(5, dtype=np.float32)[LABELS.index(label)] + 0.012


def by_code(row: Row, written: Row) -> NDArray[np.float32] | None:
    """What code knows of a variant from the exercise it was made of: comparisons that stay or turn round."""
    label = LABELS.index(written["label"])
    if row["kind"] == "dropped":
        return np.array([0.08, 0.08, 0.74, 0.02, 0.08], np.float32)
    if row["kind"] == "more facts":
        return written_label(written["label"])
    if not row["kind"].startswith("changed") or written["label"] == "unknown":
        return None
    before, after = relations(written["text"]), relations(row["text"])
    if before and before == after:
        return written_label(written["label"])
    one = len(before) == len(after) == 1 and before[0][0] == after[0][0]
    if one and written["label"] in ("yes", "no") and _TURNED.get(before[0][1]) == after[0][1]:
        turned = np.array([0.2, 0.2, 0.07, 0.0, 0.03], np.float32)
        turned[1 - label] = 0.7
        return turned
    return None


def read(file: Path, limit: int | None = None) -> list[Row]:
    """The rows of a file, which may be compressed; none where it does not exist."""
    if not file.exists():
        packed = file.with_name(f"{file.name}.gz")
        return read(packed, limit) if packed.exists() else []
    content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return [json.loads(line) for line in content.decode("utf-8").splitlines()[:limit]]


def examples(folders: Sequence[Path], others: Path | None, limit: int | None) -> Iterator[Example]:
    """Everything that is learned from, in a fixed order."""
    for folder in folders:
        train = read(folder / "train.jsonl", limit)
        written = {row["group"]: row for row in train if row.get("main")}
        for row in train:
            yield of_exercise(row, written_label(row["label"]))
        for row in read(folder / "variants.jsonl", limit):
            yield of_exercise(row, by_code(row, written[row["group"]]) if row["group"] in written else None)
    if others:
        yield from map(of_other_set, read(others / "train.jsonl", limit))


def taught(known: Sequence[Example], labels: NDArray[np.float32]) -> None:
    """Mix the labels of a larger judge into the examples: half and half, or alone where nothing is written."""
    for each, said in zip(known, labels, strict=True):
        answers, verdict, entails = float(said[0]), said[1:5], said[5:8]
        if each.is_open or each.answers >= 0:
            share = _BY_HAND if each.answers >= 0 else 0.0
            each.answers = share * max(each.answers, 0.0) + (1 - share) * answers
        if each.is_open or each.verdict[0] >= 0:
            share = _BY_HAND if each.verdict[0] >= 0 else 0.0
            each.verdict = (share * np.maximum(each.verdict, 0.0) + (1 - share) * verdict).tolist()
        if each.entails[0] >= 0 and each.entails[3] == 0:
            mixed = _BY_HAND * np.array(each.entails[:3]) + (1 - _BY_HAND) * entails
            each.entails = [*mixed.tolist(), 0.0]


class Layer(nn.Module):
    """One layer of an encoder, normalised after each half."""

    def __init__(self, width: int, inner: int, heads: int, eps: float, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.norm = nn.LayerNorm(width, eps=eps)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)
        self.out_norm = nn.LayerNorm(width, eps=eps)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:  # x (B, T, D), bias (B or 1, H or 1, T, T)
        batch, length, width = x.shape

        def parted(each: Tensor) -> Tensor:
            return each.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

        q, k, v = parted(self.q(x)), parted(self.k(x)), parted(self.v(x))
        dropout = self.dropout if self.training else 0.0
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias.to(q.dtype), dropout_p=dropout)
        x = self.norm(x + self.drop(self.o(mixed.transpose(1, 2).reshape(batch, length, width))))
        return self.out_norm(x + self.drop(self.down(nn.functional.gelu(self.up(x)))))


class Encoder(nn.Module):
    """A BERT- or MPNet-shaped encoder."""

    def __init__(self, config: dict[str, Any], dropout: float) -> None:
        super().__init__()
        width, self.eps = config["hidden_size"], config["layer_norm_eps"]
        self.is_mpnet = config["model_type"] == "mpnet"
        self.pad = int(config["pad_token_id"])
        self.words = nn.Embedding(config["vocab_size"], width)
        self.places = nn.Embedding(config["max_position_embeddings"], width)
        self.types = None if self.is_mpnet else nn.Embedding(2, width)
        self.norm, self.drop = nn.LayerNorm(width, eps=self.eps), nn.Dropout(dropout)
        heads = config["num_attention_heads"]
        self.distances = nn.Embedding(32, heads) if self.is_mpnet else None
        shape = (width, config["intermediate_size"], heads, self.eps, dropout)
        self.layers = nn.ModuleList(Layer(*shape) for _ in range(config["num_hidden_layers"]))

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        length = ids.shape[1]
        places = torch.arange(length, device=ids.device) + (self.pad + 1 if self.is_mpnet else 0)
        x = self.words(ids) + self.places(places)
        if self.types is not None:
            x = x + self.types(types)
        x = self.drop(self.norm(x))
        bias = torch.zeros(mask.shape, device=x.device).masked_fill(mask == 0, -1e4)[:, None, None, :]
        if self.distances is not None:
            bias = bias + self.distances(buckets(length, ids.device)).permute(2, 0, 1)[None]
        bias = bias.expand(-1, -1, length, -1).contiguous()
        for layer in self.layers:
            x = layer(x, bias)
        return x


def buckets(length: int, device: torch.device) -> Tensor:
    """The bucket of each distance between two places, as MPNet counts them."""
    places = torch.arange(length, device=device)
    behind = places[:, None] - places[None, :]
    near = behind.abs()
    far = 8 + (torch.log(near.clamp(min=1).float() / 8) / math.log(128 / 8) * 8).long()
    return (behind < 0).long() * 16 + torch.where(near < 8, near, far.clamp(max=15))


_NAMES = {
    "attention.attn.q": "q", "attention.attn.k": "k", "attention.attn.v": "v", "attention.attn.o": "o",
    "attention.self.query": "q", "attention.self.key": "k", "attention.self.value": "v",
    "attention.output.dense": "o", "attention.LayerNorm": "norm", "attention.output.LayerNorm": "norm",
    "intermediate.dense": "up", "output.dense": "down", "output.LayerNorm": "out_norm",
}  # fmt: skip
"""Parts of a layer, as transformers names them for MPNet and BERT, and as they are named here."""


def own_name(name: str) -> str | None:
    """The name that a weight of a transformers folder has here; None: not used."""
    if name.startswith("heads."):
        return name
    for old, new in (
        ("embeddings.word_embeddings.", "words."),
        ("embeddings.position_embeddings.", "places."),
        ("embeddings.token_type_embeddings.", "types."),
        ("embeddings.LayerNorm.", "norm."),
        ("encoder.relative_attention_bias.", "distances."),
    ):
        if name.startswith(old):
            return f"encoder.{name.replace(old, new)}"
    match = re.fullmatch(r"encoder\.layer\.(\d+)\.(.*)\.(weight|bias)", name)
    return f"encoder.layers.{match[1]}.{_NAMES[match[2]]}.{match[3]}" if match and match[2] in _NAMES else None


class Judge(nn.Module):
    """An encoder with five heads over the mean of its last layer."""

    def __init__(self, base: Path, layers: Sequence[int], dropout: float) -> None:
        super().__init__()
        config = json.loads((base / "config.json").read_text())
        weights = load(base)
        self.layers = list(layers) or list(range(config["num_hidden_layers"]))
        self.config = config | {"num_hidden_layers": len(self.layers)}
        self.encoder = Encoder(self.config, dropout)
        self.drop = nn.Dropout(dropout)
        self.heads = nn.ModuleDict({name: nn.Linear(config["hidden_size"], size) for name, size in HEADS.items()})
        state: dict[str, Tensor] = {}
        for name, tensor in weights.items():
            match = re.match(r"encoder\.layers\.(\d+)\.(.*)", name)
            places = [n for n, old in enumerate(self.layers) if old == int(match[1])] if match else [None]
            for place in places:
                state[name if match is None else f"encoder.layers.{place}.{match[2]}"] = tensor
        print(self.load_state_dict(state, strict=False), flush=True)

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> dict[str, Tensor]:
        hidden = self.encoder(ids, types, mask)
        seen = mask.unsqueeze(-1).to(hidden.dtype)
        mean = self.drop((hidden * seen).sum(1) / seen.sum(1).clamp(min=1))
        return {name: head(mean).float() for name, head in self.heads.items()}


def load(base: Path) -> dict[str, Tensor]:
    """The weights of a folder: of transformers, or as `save` writes them (bytes with a scale for each row)."""
    from safetensors.torch import load_file

    weights: dict[str, Tensor] = {}
    for file in sorted(base.glob("*.safetensors")):
        weights |= load_file(str(file))
    if any(name.endswith("_scale") for name in weights):
        return {
            name.removesuffix("_bytes"): tensor.float() * weights[f"{name.removesuffix('_bytes')}_scale"].float()
            if name.endswith("_bytes") else tensor.float()
            for name, tensor in weights.items() if not name.endswith("_scale")
        }  # fmt: skip
    return {new: tensor.float() for name, tensor in weights.items() if (new := own_name(name)) is not None}


def save(net: Judge, tokenizer: Path, out: Path) -> None:
    """Write matrices as bytes with one scale for each row, in files below 16 MB."""
    from safetensors.torch import save_file

    out.mkdir(parents=True, exist_ok=True)
    piece: dict[str, Tensor] = {}
    pieces = [piece]
    for name, tensor in net.state_dict().items():
        whole = tensor.detach().float().cpu()
        parts = {name: whole.half().contiguous()}
        if whole.dim() == 2 and "heads." not in name:
            scale = whole.abs().amax(1, keepdim=True).clamp(min=1e-12) / 127
            parts = {f"{name}_bytes": (whole / scale).round().to(torch.int8).contiguous(), f"{name}_scale": scale}
        size = sum(each.numel() * each.element_size() for each in parts.values())
        if piece and sum(each.numel() * each.element_size() for each in piece.values()) + size > _PIECE:
            piece = {}
            pieces.append(piece)
        piece |= parts
    for number, each in enumerate(pieces):
        save_file(each, str(out / f"{number:02}.safetensors"))
    (out / "config.json").write_text(json.dumps(net.config, indent=1) + "\n")
    (out / "tokenizer.json").write_bytes(tokenizer.read_bytes())


class Texts:
    """Pairs of texts as padded token ids on the device."""

    def __init__(self, tokenizer: Any, pairs: Sequence[tuple[str, str]], device: str, pad: int, mark: str) -> None:
        encoded = []
        for start in range(0, len(pairs), 8192):
            some = [(first.replace("[SEP]", mark), second) for first, second in pairs[start : start + 8192]]
            encoded += [(np.array(each.ids, np.int32), np.array(each.type_ids, np.uint8))
                        for each in tokenizer.encode_batch(some)]  # fmt: skip
        self.lengths = np.array([len(ids) for ids, _ in encoded])
        ids = np.full((len(encoded), int(self.lengths.max())), pad, np.int32)
        types = np.zeros(ids.shape, np.uint8)
        for number, (row, kinds) in enumerate(encoded):
            ids[number, : len(row)], types[number, : len(kinds)] = row, kinds
        self._ids, self._types = torch.from_numpy(ids).to(device), torch.from_numpy(types).to(device)
        self._lengths = torch.from_numpy(self.lengths).to(device)

    def __len__(self) -> int:
        return len(self.lengths)

    def batch(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor, Tensor]:
        """Ids, types and mask of some rows, as wide as the longest of them."""
        width = -(-int(self.lengths[rows].max()) // 8) * 8
        width = min(width, self._ids.shape[1])
        chosen = torch.from_numpy(rows).to(self._ids.device)
        mask = torch.arange(width, device=self._ids.device)[None] < self._lengths[chosen][:, None]
        return self._ids[chosen, :width].long(), self._types[chosen, :width].long(), mask.long()


@torch.no_grad()
def scores(net: Judge, texts: Texts, device: str) -> dict[str, NDArray[np.float32]]:
    """What every head says of every pair."""
    net.eval()
    order = np.argsort(texts.lengths, kind="stable")
    out = {name: np.zeros((len(texts), size), np.float32) for name, size in HEADS.items()}
    for start in range(0, len(order), 1024):
        some = order[start : start + 1024]
        with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
            said = net(*texts.batch(some))
        for name, each in said.items():
            out[name][some] = each.float().cpu().numpy()
    net.train()
    return out


def labels_of(said: dict[str, NDArray[np.float32]]) -> NDArray[np.float16]:
    """What a judge says as columns: answers, the four verdicts, the three entailments, as probabilities."""

    def softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
        raised = np.exp(logits - logits.max(1, keepdims=True))
        return raised / raised.sum(1, keepdims=True)

    answers = 1 / (1 + np.exp(-said["answers"]))
    return np.concatenate([answers, softmax(said["verdict"]), softmax(said["entails"])], 1).astype(np.float16)


def report(rows: Sequence[Row], said: dict[str, NDArray[np.float32]]) -> str:
    """Whether the deciding sentence ranks first, what is said of it, and what of questions that nothing answers."""
    groups: dict[str, list[int]] = defaultdict(list)
    right: dict[str, list[bool]] = defaultdict(list)
    verdict, answers = said["verdict"], said["answers"][:, 0]
    for number, row in enumerate(rows):
        groups[row["group"]].append(number)
        if row.get("main"):
            label = "none" if row["label"] == "value" else row["label"]
            right[row["label"]].append(VERDICTS[int(verdict[number].argmax())] == label)
            if label in ("yes", "no"):
                polar = (verdict[number][0] > verdict[number][1]) == (label == "yes")
                right["polarity"].append(polar)
                right["compared" if _COMPARED.search(row["text"]) else "not compared"].append(polar)
    for members in groups.values():
        best = max(members, key=lambda number: answers[number])
        main = [number for number in members if rows[number].get("main")]
        if not main:
            right["declined"].append(answers[best] < 0)
            continue
        first = rows[best]["label"] != "none"
        label = "none" if rows[main[0]]["label"] == "value" else rows[main[0]]["label"]
        right["first"].append(first)
        right["first with verdict"].append(first and VERDICTS[int(verdict[best].argmax())] == label)
    return " ".join(f"{name} {np.mean(hits):.3f}" for name, hits in sorted(right.items()))


def report_others(rows: Sequence[Row], said: dict[str, NDArray[np.float32]]) -> str:
    """The mean over classes of every other set."""
    hits: dict[str, dict[Any, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for number, row in enumerate(rows):
        if row.get("verdict"):
            name = VERDICTS[int(said["verdict"][number].argmax())]
            hits[f"{row['set']}/verdict"][row["verdict"]].append(name == row["verdict"])
        if row.get("entails"):
            name = ENTAILMENTS[int(said["entails"][number].argmax())]
            match = name == row["entails"] or (row["entails"] == "unsupported" and name != "entailed")
            hits[f"{row['set']}/entails"][row["entails"]].append(match)
        for head in ("answers", "bears", "needs"):
            if row.get(head) is not None:
                hits[f"{row['set']}/{head}"][row[head] > 0.5].append((said[head][number][0] > 0) == (row[head] > 0.5))
    means = {name: np.mean([np.mean(each) for each in classes.values()]) for name, classes in hits.items()}
    return " ".join(f"{name} {mean:.3f}" for name, mean in sorted(means.items()))


class Targets:
    """What is known of the examples, as tensors."""

    def __init__(self, known: Sequence[Example], device: str) -> None:
        def tensor(name: str) -> Tensor:
            return torch.tensor(np.array([getattr(each, name) for each in known], np.float32), device=device)

        self._binary = {name: tensor(name) for name in ("answers", "bears", "needs")}
        self._verdict, self._entails = tensor("verdict"), tensor("entails")

    def loss(self, said: dict[str, Tensor], rows: NDArray[np.int64]) -> Tensor:
        """The mean loss over all heads that have a label."""
        chosen = torch.from_numpy(rows).to(self._entails.device)
        total = torch.zeros(len(rows), device=self._entails.device)
        for name, labels in self._binary.items():
            wanted = labels[chosen]
            each = nn.functional.binary_cross_entropy_with_logits(
                said[name][:, 0], wanted.clamp(min=0), reduction="none"
            )
            total = total + each * (wanted >= 0)
        shares = self._verdict[chosen]
        each = nn.functional.cross_entropy(said["verdict"], shares.clamp(min=0), reduction="none")
        total = total + each * (shares[:, 0] >= 0)
        shares = self._entails[chosen]
        logs = nn.functional.log_softmax(said["entails"], -1)
        logs = torch.cat([logs, torch.logsumexp(logs[:, 1:], -1, keepdim=True)], -1)  # unsupported: one of the two
        return (total - (logs * shares.clamp(min=0)).sum(-1) * (shares[:, 0] >= 0)).mean()


def batches(known: Sequence[Example], lengths: NDArray[np.int64], size: int, seed: int) -> Iterator[list[Any]]:
    """The batches of one epoch after the other, rows of about one length together."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(len(known)), [each.times for each in known])
    while True:
        order, made = rng.permutation(rows), []
        for start in range(0, len(order), size * 16):
            piece = order[start : start + size * 16]
            piece = piece[np.argsort(lengths[piece], kind="stable")]
            made += [piece[i : i + size] for i in range(0, len(piece), size)]
        yield [made[i] for i in rng.permutation(len(made))]


class Measure:
    """The rows that are measured on, tokenised once."""

    def __init__(self, given: argparse.Namespace, texts: Any, device: str) -> None:
        self._device = device
        self._own = []
        for folder in given.rows:
            rows = read(folder / "dev.jsonl", given.limit)
            if rows:
                self._own.append((rows, texts([of_exercise(row, None) for row in rows])))
        self._others = read(given.other / "dev.jsonl", given.limit) if given.other else []
        self._other_texts = texts([of_other_set(row) for row in self._others]) if self._others else None

    def line(self, net: Judge) -> str:
        """All figures in one line."""
        own = [report(rows, scores(net, texts, self._device)) for rows, texts in self._own]
        if self._other_texts is not None:
            own.append(report_others(self._others, scores(net, self._other_texts, self._device)))
        return " | ".join(own)


def optimizer_of(net: Judge, rate: float, device: str) -> torch.optim.Optimizer:
    """AdamW; biases and norms do not decay, heads learn faster."""
    names = dict(net.encoder.named_parameters())
    plain = {name for name in names if name.endswith("bias") or "norm" in name}
    groups = [
        {"params": [names[name] for name in names if name not in plain], "base": rate, "weight_decay": 0.01},
        {"params": [names[name] for name in names if name in plain], "base": rate, "weight_decay": 0.0},
        {"params": list(net.heads.parameters()), "base": _HEAD_RATE, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=device == "cuda")


def fit(net: Judge, known: Sequence[Example], texts: Texts, measure: Measure, given: argparse.Namespace) -> None:
    """Train until the time is over."""
    device = str(next(net.parameters()).device.type)
    targets, optimizer = Targets(known, device), optimizer_of(net, given.rate, device)
    start, share, seen = perf_counter(), 0.0, 0
    net.train()
    for epoch, some in enumerate(batches(known, texts.lengths, given.batch, given.seed), 1):
        for rows in some:
            share = (perf_counter() - start) / given.seconds
            if share >= 1:
                break
            for group in optimizer.param_groups:
                group["lr"] = group["base"] * min(1, share / 0.05 + 0.01) * (1 - share)
            with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
                said = net(*texts.batch(rows))
            targets.loss(said, rows).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            seen += len(rows)
        line = measure.line(net) if share >= 1 or epoch % given.measure_every == 0 else "not measured"
        print(f"epoch {epoch}, {seen} rows, {perf_counter() - start:.0f} s: {line}", flush=True)
        if share >= 1:
            return


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--rows", type=Path, nargs="+", required=True, help="folders that exercise_rows.py wrote")
    parser.add_argument("--other", type=Path, help="folder that joint_rows.py wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--labels", type=Path, help="write what the trained judge says of every row")
    parser.add_argument("--taught-by", type=Path, nargs="*", default=[], help="labels of larger judges")
    parser.add_argument("--seconds", type=float, default=400.0)
    parser.add_argument("--layers", type=int, nargs="*", default=[], help="layers of the base to take, in this order")
    parser.add_argument("--rate", type=float, default=1.5e-4)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--measure-every", type=int, default=1, help="epochs")
    parser.add_argument("--limit", type=int, help="rows of each file, for a trial")
    return parser.parse_args()


def main() -> None:
    """Train, measure, save, and label."""
    given = arguments()
    from tokenizers import Tokenizer

    torch.manual_seed(given.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net = Judge(given.base, given.layers, given.dropout).to(device)
    tokenizer = Tokenizer.from_file(str(given.base / "tokenizer.json"))
    tokenizer.enable_truncation(_TOKENS)
    tokenizer.no_padding()
    mark = "</s>" if net.encoder.is_mpnet else "[SEP]"

    def texts(some: Sequence[Example]) -> Texts:
        return Texts(tokenizer, [(each.first, each.second) for each in some], device, net.encoder.pad, mark)

    everything = list(examples(given.rows, given.other, given.limit))
    if given.taught_by:
        taught(everything, np.mean([np.load(file).astype(np.float32) for file in given.taught_by], axis=0))
    known = [each for each in everything if each.is_labelled]
    measure = Measure(given, texts, device)
    print(f"{len(known)} examples; before: {measure.line(net)}", flush=True)
    fit(net, known, texts(known), measure, given)
    save(net, given.base / "tokenizer.json", given.out)
    if given.labels:
        np.save(given.labels, labels_of(scores(net, texts(everything), device)))
    print("saved", flush=True)


if __name__ == "__main__":
    main()
