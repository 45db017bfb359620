"""Teach a language model to write exercises for the judge, and let it write many: rows without labels.

    python benchmarks/judge/exercise_rows.py --out rows
    python benchmarks/judge/judge_generator.py --model FOLDER --rows rows --words words.jsonl --out rows --seconds 240

`FOLDER` holds a causal language model as transformers reads it. It learns to write a rule, another rule of the same
place, facts about a user and a question, given a few words that must occur and what the rule should answer. Then it
writes from words that no exercise had together: `--words` has lines with `rule` and `user`, two lists of words each.
`generated.jsonl` gets three rows for each exercise: the rule, the other rule, and the rule with somebody else's facts;
`judge_teacher.py` labels them. Comparisons of code stand behind each rule as in all rows.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from torch import nn

from dragoman.decision.relations import user_values, with_relations

_COMPARED = re.compile(r" \[[^\[\]]* is [^\[\]]*\]$")
_WORD = re.compile(r"[A-Za-z][a-z]{3,}")
_WRITTEN = re.compile(
    r"Rule: (?P<rule>[^\n]{12,500})\nOther: (?P<other>[^\n]{12,500})\nKnown: (?P<known>[^\n]{0,400})\n"
    r"User: (?P<question>[^\n]{4,300})\n"
)
_LABELS = ("yes", "yes", "no", "no", "unknown", "value")
_LONGEST = 260
_BETWEEN = " | "
"""Between the facts of one user."""


def plain(text: str) -> str:
    """A rule without the comparisons of code behind it."""
    return _COMPARED.sub("", " ".join(text.split()))


def words(text: str, rng: random.Random, most: int) -> list[str]:
    """Some of the longer words of a text."""
    found = sorted({word.lower() for word in _WORD.findall(text)})
    return rng.sample(found, min(most, len(found)))


def opening(rule: Sequence[str], user: Sequence[str], label: str) -> str:
    """What the model is given: words that must occur, and what the rule should answer."""
    return f"Words: {', '.join(rule)}; {', '.join(user)}\nAnswer: {label}\n"


def lessons(rows: Sequence[dict[str, Any]], rng: random.Random) -> list[tuple[str, str]]:
    """Every written exercise as an opening and what follows it."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for each in rows:
        groups.setdefault(each["group"], []).append(each)
    pairs = []
    for members in groups.values():
        gold = next((each for each in members if each.get("main")), None)
        near = [each for each in members if each["label"] == "none"][:3]
        if gold is None or not near:
            continue
        rule, other = plain(gold["text"]), plain(rng.choice(near)["text"])
        said = " ".join(gold["facts"])
        given = opening(
            words(rule.rpartition(": ")[2], rng, rng.randint(1, 2)),
            words(f"{said} {gold['question']}", rng, rng.randint(0, 2)),
            gold["label"],
        )
        known = _BETWEEN.join(gold["facts"])
        pairs.append((given, f"Rule: {rule}\nOther: {other}\nKnown: {known}\nUser: {gold['question']}\n"))
    return pairs


class Writer:
    """A causal language model with its tokenizer."""

    def __init__(self, folder: Path, device: str) -> None:
        from tokenizers import Tokenizer
        from transformers import AutoModelForCausalLM

        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).to(device)
        self.model.config.use_cache = True
        self.device = device
        self.end = self.model.config.eos_token_id or 0
        self.end = self.end[0] if isinstance(self.end, list) else self.end

    def fit(self, pairs: Sequence[tuple[str, str]], *, epochs: int, rate: float, batch: int, seed: int) -> None:
        """Learn what follows the openings."""
        began, rng = perf_counter(), random.Random(seed)
        encode = self.tokenizer.encode
        rows = [(encode(first).ids, [*encode(second).ids, self.end]) for first, second in pairs]
        rows = [row for row in rows if len(row[0]) + len(row[1]) <= _LONGEST]
        optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=rate, weight_decay=0.01, betas=(0.9, 0.98), fused=self.device == "cuda"
        )
        steps, step = epochs * math.ceil(len(rows) / batch), 0
        self.model.train()
        for epoch in range(epochs):
            order = sorted(range(len(rows)), key=lambda n: len(rows[n][0]) + len(rows[n][1]) + rng.random() * 30)
            batches = [order[i : i + batch] for i in range(0, len(order), batch)]
            rng.shuffle(batches)
            total = 0.0
            for some in batches:
                share = min(1.0, (step + 1) / (0.05 * steps)) * max(0.05, 1 - step / steps)
                for group in optimizer.param_groups:
                    group["lr"] = rate * share
                width = max(len(rows[n][0]) + len(rows[n][1]) for n in some)
                ids = torch.full((len(some), width), self.end, dtype=torch.long)
                target = torch.full((len(some), width), -100, dtype=torch.long)
                for place, n in enumerate(some):
                    first, second = rows[n]
                    ids[place, : len(first) + len(second)] = torch.tensor([*first, *second])
                    target[place, len(first) : len(first) + len(second)] = torch.tensor(second)
                ids, target = ids.to(self.device), target.to(self.device)
                with torch.autocast(self.device, dtype=torch.bfloat16, enabled=self.device == "cuda"):
                    logits = self.model(input_ids=ids, use_cache=False).logits
                loss = nn.functional.cross_entropy(logits[:, :-1].float().flatten(0, 1), target[:, 1:].flatten())
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                step, total = step + 1, total + loss.item()
            print(f"epoch {epoch + 1}: loss {total / len(batches):.3f}, {perf_counter() - began:.0f} s", flush=True)

    @torch.no_grad()
    def write(self, openings: Sequence[str], together: int, most: int) -> list[str]:
        """One sample for some of the openings: those of the commonest length, so that nothing is padded."""
        self.model.eval()
        lengths: dict[int, list[list[int]]] = {}
        for encoded in self.tokenizer.encode_batch(list(openings)):
            lengths.setdefault(len(encoded.ids), []).append(encoded.ids)
        ids = torch.tensor(max(lengths.values(), key=len)[:together], device=self.device)
        made = self.model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            do_sample=True,
            temperature=1.0,
            top_k=60,
            top_p=1.0,
            max_new_tokens=most,
            eos_token_id=self.end,
            pad_token_id=self.end,
        )
        return self.tokenizer.decode_batch(made[:, ids.shape[1] :].cpu().tolist(), skip_special_tokens=True)


def exercises(texts: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The samples that are whole, as rules, facts and a question."""
    for text in texts:
        match = _WRITTEN.match(text if text.endswith("\n") else text + "\n")
        if match is None or match["rule"] == match["other"]:
            continue
        facts = [fact.strip() for fact in match["known"].split(_BETWEEN) if fact.strip()]
        if len(set(facts)) == len(facts) <= 9:
            yield {"rule": match["rule"], "other": match["other"], "facts": facts, "question": match["question"]}


def row(question: str, facts: Sequence[str], text: str, group: str, kind: str) -> dict[str, Any]:
    """A row as the judge reads it, with what code compares."""
    path, mark, sentence = text.partition(": ")
    if not mark or any(character.isdigit() for character in path):
        path, mark, sentence = "", "", text
    compared = with_relations(sentence, user_values(list(facts), question))
    return {"question": question, "facts": list(facts), "text": f"{path}{mark}{compared}", "group": group, "kind": kind}


def rows_of(task: tuple[int, dict[str, Any], list[str]]) -> list[str]:
    """The rows of one exercise, as lines: its rule, the other rule, and the rule with somebody else's facts."""
    number, each, others = task
    rng, group = random.Random(number), f"generated/{number}"
    beside = rng.sample(others, min(len(others), rng.choice((0, 0, 1, 2, 3))))
    facts = [*each["facts"], *beside]
    rng.shuffle(facts)
    theirs = [*others, *(rng.sample(each["facts"], 1) if each["facts"] and rng.random() < 0.3 else ())]
    made = [
        row(each["question"], facts, each["rule"], group, "generated"),
        row(each["question"], facts, each["other"], group, "generated other"),
        row(each["question"], theirs, each["rule"], group, "generated facts"),
    ]
    return [json.dumps(one, ensure_ascii=False) for one in made]


def main() -> None:
    """Learn, write until the time is over, and add what code compares."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--words", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=240.0, help="how long to write")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rate", type=float, default=2e-5)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--together", type=int, default=4096, help="samples that are written at once")
    parser.add_argument("--most", type=int, default=220, help="tokens of a sample at most")
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 2) - 4))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, help="rows to learn from, for a trial")
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    rng = random.Random(given.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    lines = (given.rows / "train.jsonl").read_text(encoding="utf-8").splitlines()[: given.limit]
    pairs = lessons([json.loads(line) for line in lines], rng)
    chosen = [json.loads(line) for line in given.words.read_text(encoding="utf-8").splitlines()]
    writer = Writer(given.model, device)
    print(f"{len(pairs)} exercises, {len(chosen)} lists of words", flush=True)
    writer.fit(pairs, epochs=given.epochs, rate=given.rate, batch=given.batch, seed=given.seed)
    if device == "cuda":
        writer.model.to(torch.bfloat16)
    began, made, asked = perf_counter(), list[dict[str, Any]](), 0
    while perf_counter() - began < given.seconds:
        openings = [
            opening(rng.choice(chosen)["rule"], rng.choice(chosen)["user"], rng.choice(_LABELS))
            for _ in range(8 * given.together)
        ]
        samples = writer.write(openings, given.together, given.most)
        made += exercises(samples)
        asked += len(samples)
        print(f"{len(made)} of {asked} samples are whole, {perf_counter() - began:.0f} s", flush=True)
    unique = list({(each["rule"], each["question"]): each for each in made}.values())
    tasks = [(n, each, unique[rng.randrange(len(unique))]["facts"]) for n, each in enumerate(unique)]
    given.out.mkdir(parents=True, exist_ok=True)
    with (
        (given.out / "generated.part").open("w", encoding="utf-8") as file,
        ProcessPoolExecutor(given.processes) as pool,
    ):
        for some in pool.map(rows_of, tasks, chunksize=200):
            file.writelines(f"{line}\n" for line in some)
    (given.out / "generated.part").rename(given.out / "generated.jsonl")
    print(f"{len(unique)} exercises written, {perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
