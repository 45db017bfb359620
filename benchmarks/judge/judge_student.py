"""Teach the small judge (`english-joint`): written exercises, labels of a larger judge, and the other sets.

    python benchmarks/judge/exercise_rows.py --out rows
    python benchmarks/judge/judge_generator.py --model FOLDER --rows rows --words words.jsonl --out rows
    python benchmarks/judge/judge_teacher.py --model FOLDER --rows rows --out rows
    python benchmarks/judge/joint_base.py --part english-joint --out base
    python benchmarks/judge/judge_student.py --base base --rows rows --other other.jsonl.gz --out student --seconds 400

`base` holds the encoder and `tokenizer.json`; `--layers 12` takes each of its six layers twice. A row of `train` is
labelled half by hand and half by the larger judge; variants by the larger judge, and half by code where a comparison
stays or turns round; generated rows by the larger judge alone. `--other` has rows of the other sets as
`joint_rows.py` writes them. The rate falls to nothing over `--seconds`. Measured on `dev.jsonl` after each epoch: does
the deciding sentence rank first, is yes or no right on it, and is nothing said where nothing answers.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
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


@dataclass(slots=True)
class Example:
    """Two texts that are read together, and what is known of them; a label of -1 is not known."""

    first: str
    second: str
    answers: float = -1.0
    bears: float = -1.0
    needs: float = -1.0
    entails: int = -1
    verdict: Sequence[float] = field(default_factory=lambda: (-1.0,) * 4)
    times: int = 1


def exercise(row: dict[str, Any], chances: NDArray[np.float32]) -> Example:
    """A row of the exercises with the probabilities of its five labels."""
    facts = " ".join(row["facts"])
    first = f"{row['question']} [SEP] {facts}" if facts.strip() else row["question"]
    verdict = (chances[0], chances[1], chances[2], chances[3] + chances[4])
    return Example(first, row["text"], answers=float(1 - chances[4]), verdict=[float(each) for each in verdict])


def other(row: dict[str, Any]) -> Example:
    """A row of the other sets."""
    fact = row.get("fact") or ""
    example = Example(f"{row['question']} [SEP] {fact}" if fact.strip() else row["question"], row["text"])
    for name in ("answers", "bears", "needs"):
        if row.get(name) is not None:
            setattr(example, name, float(row[name]))
    if row.get("verdict"):
        example.verdict = np.eye(4)[VERDICTS.index(row["verdict"])].tolist()
    elif row.get("chances"):
        example.verdict = row["chances"]
    if row.get("entails"):
        example.entails = ENTAILMENTS.index(row["entails"])
    example.times = _REPEATS.get(row["set"], 1)
    return example


def relations(text: str) -> list[tuple[str, str]]:
    """Who is compared in a row and how."""
    said = _COMPARED.search(text)
    matches = [_RELATION.match(each) for each in said[1].split("; ")] if said else []
    return [(match["who"] or "", match["how"]) for match in matches if match]


def by_code(row: dict[str, Any], written: dict[str, Any]) -> NDArray[np.float32] | None:
    """What code knows of a variant from the exercise it was made of: comparisons that stay or turn round."""
    label = LABELS.index(written["label"])
    if row["kind"] == "dropped":
        return np.array([0.08, 0.08, 0.74, 0.02, 0.08], np.float32)
    if row["kind"] == "more facts":
        return 0.94 * np.eye(5, dtype=np.float32)[label] + 0.012
    if not row["kind"].startswith("changed") or written["label"] == "unknown":
        return None
    before, after = relations(written["text"]), relations(row["text"])
    if before and before == after:
        return 0.94 * np.eye(5, dtype=np.float32)[label] + 0.012
    one = len(before) == len(after) == 1 and before[0][0] == after[0][0]
    if one and written["label"] in ("yes", "no") and _TURNED.get(before[0][1]) == after[0][1]:
        turned = np.array([0.2, 0.2, 0.07, 0.0, 0.03], np.float32)
        turned[1 - label] = 0.7
        return turned
    return None


def read(file: Path, limit: int | None = None) -> list[dict[str, Any]]:
    """The rows of a file; none where it does not exist."""
    if not file.exists():
        return []
    content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return [json.loads(line) for line in content.decode("utf-8").splitlines()[:limit]]


def labels_of(rows: Path, name: str, count: int) -> NDArray[np.float32]:
    """The labels of the larger judge for the rows of a file; zeros where it was not asked."""
    file = rows / f"{name}-labels.npy"
    return np.load(file).astype(np.float32) if file.exists() else np.zeros((count, len(LABELS)), np.float32)


def labelled(rows: Path, limit: int | None) -> Iterator[tuple[dict[str, Any], NDArray[np.float32] | None]]:
    """The rows of the exercises with the probabilities of their labels; None where nobody labelled one."""
    train = read(rows / "train.jsonl", limit)
    written = {row["group"]: row for row in train if row.get("main")}
    for row, chances in zip(train, labels_of(rows, "train", len(train)), strict=False):
        gold = 0.94 * np.eye(5, dtype=np.float32)[LABELS.index(row["label"])] + 0.012
        yield row, _BY_HAND * gold + (1 - _BY_HAND) * chances if chances.sum() else gold
    for name in ("variants", "generated"):
        some = read(rows / f"{name}.jsonl", limit)
        for row, chances in zip(some, labels_of(rows, name, len(some)), strict=False):
            code = by_code(row, written[row["group"]]) if row["group"] in written else None
            if code is None:
                yield row, chances if chances.sum() else None
            else:
                code = code / code.sum()
                yield row, 0.5 * code + 0.5 * chances if chances.sum() else code


def examples(rows: Path, others: Path | None, limit: int | None) -> Iterator[Example]:
    """Everything that is learned from; what nobody labelled keeps the answers of the judge that is taught on."""
    for row, chances in labelled(rows, limit):
        if chances is not None:
            yield exercise(row, chances)
        else:
            example = exercise(row, np.zeros(5, np.float32))
            example.answers, example.verdict = -1.0, (-1.0,) * 4
            yield example
    if others:
        yield from map(other, read(others, limit))


class Student(nn.Module):
    """The encoder with its heads."""

    def __init__(self, base: Path, layers: int, dropout: float) -> None:
        super().__init__()
        from safetensors.torch import load_file
        from transformers import BertConfig, BertModel

        config = json.loads((base / "config.json").read_text())
        weights = {name: tensor.float() for name, tensor in load_file(str(base / "model.safetensors")).items()}
        if (base / "heads.safetensors").exists():
            weights |= {name: tensor.float() for name, tensor in load_file(str(base / "heads.safetensors")).items()}
        times = layers // config["num_hidden_layers"]
        config |= {
            "num_hidden_layers": layers,
            "hidden_dropout_prob": dropout,
            "attention_probs_dropout_prob": dropout,
        }
        self.encoder = BertModel(BertConfig(**config), add_pooling_layer=False)
        self.drop = nn.Dropout(dropout)
        self.heads = nn.ModuleDict({name: nn.Linear(config["hidden_size"], size) for name, size in HEADS.items()})
        deeper: dict[str, Tensor] = {}
        for name, tensor in weights.items():
            match = re.match(r"encoder\.layer\.(\d+)\.(.*)", name)
            places = [int(match[1]) * times + copy for copy in range(times)] if match else [None]
            for place in places:
                inner = name if place is None else f"encoder.layer.{place}.{match[2]}"  # type: ignore[index]
                deeper[inner if inner.startswith("heads.") else f"encoder.{inner}"] = tensor
        print(self.load_state_dict(deeper, strict=False))

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> dict[str, Tensor]:
        hidden = self.encoder(input_ids=ids, token_type_ids=types, attention_mask=mask).last_hidden_state
        seen = mask.unsqueeze(-1).to(hidden.dtype)
        mean = self.drop((hidden * seen).sum(1) / seen.sum(1).clamp(min=1))
        return {name: head(mean).float() for name, head in self.heads.items()}


class Texts:
    """Pairs of texts as padded token ids on the device."""

    def __init__(self, tokenizer: Any, pairs: Sequence[tuple[str, str]], device: str) -> None:
        encoded = []
        for start in range(0, len(pairs), 8192):
            encoded += [(each.ids, each.type_ids) for each in tokenizer.encode_batch(pairs[start : start + 8192])]
        self.lengths = np.array([len(ids) for ids, _ in encoded])
        ids = np.zeros((len(encoded), int(self.lengths.max())), np.int32)
        types = np.zeros(ids.shape, np.uint8)
        for number, (row, kinds) in enumerate(encoded):
            ids[number, : len(row)], types[number, : len(kinds)] = row, kinds
        self._ids, self._types = torch.from_numpy(ids).to(device), torch.from_numpy(types).to(device)
        self._lengths = torch.from_numpy(self.lengths).to(device)

    def __len__(self) -> int:
        return len(self.lengths)

    def batch(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor, Tensor]:
        """Ids, types and mask of some rows, as wide as the longest of them."""
        width = int(self.lengths[rows].max())
        chosen = torch.from_numpy(rows).to(self._ids.device)
        mask = torch.arange(width, device=self._ids.device)[None] < self._lengths[chosen][:, None]
        return self._ids[chosen, :width].long(), self._types[chosen, :width].long(), mask.long()


@torch.no_grad()
def scores(net: Student, texts: Texts, device: str) -> dict[str, NDArray[np.float32]]:
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


def report(rows: Sequence[dict[str, Any]], said: dict[str, NDArray[np.float32]]) -> str:
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


def report_others(rows: Sequence[dict[str, Any]], said: dict[str, NDArray[np.float32]]) -> str:
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
        self._binary = {
            name: torch.tensor([getattr(each, name) for each in known], device=device)
            for name in ("answers", "bears", "needs")
        }
        self._entails = torch.tensor([each.entails for each in known], device=device)
        self._verdict = torch.tensor(np.array([each.verdict for each in known], np.float32), device=device)

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
        label = self._entails[chosen]
        logs = nn.functional.log_softmax(said["entails"], -1)
        logs = torch.cat([logs, torch.logsumexp(logs[:, 1:], -1, keepdim=True)], -1)  # unsupported: one of the two
        return (total - logs.gather(1, label.clamp(min=0)[:, None])[:, 0] * (label >= 0)).mean()


def batches(known: Sequence[Example], lengths: NDArray[np.int64], size: int, seed: int) -> Iterator[list[Any]]:
    """The batches of one epoch after the other, rows of about one length together."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(len(known)), [each.times for each in known])
    while True:
        order, made = rng.permutation(rows), []
        for start in range(0, len(order), size * 8):
            piece = order[start : start + size * 8]
            piece = piece[np.argsort(lengths[piece], kind="stable")]
            made += [piece[i : i + size] for i in range(0, len(piece), size)]
        yield [made[i] for i in rng.permutation(len(made))]


def save(net: Student, out: Path) -> None:
    """Write the weights in half precision, in files below 16 MB."""
    from safetensors.torch import save_file

    out.mkdir(parents=True, exist_ok=True)
    state = {
        name: tensor.detach().half().cpu().contiguous()
        for name, tensor in net.state_dict().items()
        if not name.endswith(("position_ids", "token_type_ids"))
    }
    words = "encoder.embeddings.word_embeddings.weight"
    matrix = state.pop(words)
    halves = matrix.chunk(2) if net.encoder.embeddings.word_embeddings.weight.requires_grad else ()
    pieces: list[dict[str, Tensor]] = [{f"{words}.{number}": half.contiguous()} for number, half in enumerate(halves)]
    piece: dict[str, Tensor] = {}
    for name in sorted(state):
        if sum(tensor.numel() for tensor in piece.values()) + state[name].numel() > 7_500_000:
            pieces.append(piece)
            piece = {}
        piece[name] = state[name]
    for number, each in enumerate([*pieces, piece]):
        save_file(each, str(out / f"{number}.safetensors"))


def keep_answers(net: Student, known: Sequence[Example], texts: Texts, device: str) -> int:
    """Label the examples that have no label by what the judge says of them before it learns; returns how many."""
    bare = [number for number, each in enumerate(known) if each.verdict[0] < 0 and each.entails < 0
            and max(each.answers, each.bears, each.needs) < 0]  # fmt: skip
    if bare:
        said = scores(net, texts, device)
        verdict = torch.from_numpy(said["verdict"]).softmax(-1).numpy()
        answers = torch.from_numpy(said["answers"][:, 0]).sigmoid().numpy()
        for number in bare:
            known[number].verdict, known[number].answers = verdict[number].tolist(), float(answers[number])
    return len(bare)


class Measure:
    """The rows that are measured on, tokenised once."""

    def __init__(self, given: argparse.Namespace, tokenizer: Any, device: str) -> None:
        self._device = device
        self._own = []
        for name in ("dev", "dev-zh"):
            rows = read(given.rows / f"{name}.jsonl", given.limit)
            pairs = [exercise(row, np.zeros(5, np.float32)) for row in rows]
            if rows:
                self._own.append((rows, Texts(tokenizer, [(each.first, each.second) for each in pairs], device)))
        self._others = read(given.other_dev, given.limit) if given.other_dev else []
        pairs = [other(row) for row in self._others]
        self._other_texts = Texts(tokenizer, [(each.first, each.second) for each in pairs], device) if pairs else None

    def line(self, net: Student) -> str:
        """All figures in one line."""
        own = " | ".join(report(rows, scores(net, texts, self._device)) for rows, texts in self._own)
        if self._other_texts is None:
            return own
        return f"{own} | {report_others(self._others, scores(net, self._other_texts, self._device))}"


def optimizer_of(net: Student, rate: float, device: str) -> torch.optim.Optimizer:
    """AdamW; biases and norms do not decay, heads learn faster."""
    names = dict(net.encoder.named_parameters())
    plain = {name for name in names if name.endswith("bias") or "LayerNorm" in name}
    groups = [
        {"params": [names[name] for name in names if name not in plain], "base": rate, "weight_decay": 0.01},
        {"params": [names[name] for name in names if name in plain], "base": rate, "weight_decay": 0.0},
        {"params": list(net.heads.parameters()), "base": _HEAD_RATE, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=device == "cuda")


def fit(net: Student, known: Sequence[Example], texts: Texts, measure: Measure, given: argparse.Namespace) -> None:
    """Train until the time is over."""
    device = str(next(net.parameters()).device.type)
    targets, optimizer = Targets(known, device), optimizer_of(net, given.rate, device)
    start, share = perf_counter(), 0.0
    net.train()
    for epoch, some in enumerate(batches(known, texts.lengths, given.batch, given.seed), 1):
        for rows in some:
            share = (perf_counter() - start) / given.seconds
            if share >= 1:
                break
            for group in optimizer.param_groups:
                group["lr"] = group["base"] * min(1, share / 0.04 + 0.01) * (1 - share)
            with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
                said = net(*texts.batch(rows))
            targets.loss(said, rows).backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        print(f"epoch {epoch}, {perf_counter() - start:.0f} s: {measure.line(net)}", flush=True)
        if share >= 1:
            return


def _layers_of(base: Path) -> int:
    return int(json.loads((base / "config.json").read_text())["num_hidden_layers"])


def main() -> None:
    """Train, measure and save."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--other", type=Path)
    parser.add_argument("--other-dev", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=400.0)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--freeze-words", action="store_true", help="keep the vectors of the words as they are")
    parser.add_argument("--rate", type=float, default=1.5e-4)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, help="rows of each file, for a trial")
    given = parser.parse_args()
    from tokenizers import Tokenizer

    torch.manual_seed(given.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net = Student(given.base, given.layers, given.dropout).to(device)
    if given.freeze_words:
        net.encoder.embeddings.word_embeddings.requires_grad_(False)
    tokenizer = Tokenizer.from_file(str(given.base / "tokenizer.json"))
    tokenizer.enable_truncation(_TOKENS)
    tokenizer.no_padding()
    known = list(examples(given.rows, given.other, given.limit))
    texts = Texts(tokenizer, [(each.first, each.second) for each in known], device)
    measure = Measure(given, tokenizer, device)
    if given.layers == _layers_of(given.base):
        print(f"{keep_answers(net, known, texts, device)} examples keep their answers", flush=True)
    else:  # layers that were taken twice say nothing yet
        known = [
            each for each in known if max(each.answers, each.bears, each.needs, each.entails, each.verdict[0]) >= 0
        ]
        texts = Texts(tokenizer, [(each.first, each.second) for each in known], device)
    print(f"{len(known)} examples; before: {measure.line(net)}", flush=True)
    fit(net, known, texts, measure, given)
    save(net, given.out)
    print("saved", flush=True)


if __name__ == "__main__":
    main()
