"""A task that any machine learns in a moment: a small net on random rows, with dropout so that chance matters.

Run as a program it trains into a folder, and with `--kill N` kills itself with signal 9 in the middle of step N.
"""

from __future__ import annotations

import argparse
import os
import signal
from pathlib import Path

import torch

from dragoman.core.examples import Example, Gold
from dragoman.core.values import Context
from dragoman.train.contract import Corpus, Job
from dragoman.train.loop.training_loop import fit
from dragoman.train.spec import Recipe

ROWS, WIDTH = 48, 6


class TinyTask:
    """Is the sum of a row positive? `after` is called with the model and batch before each loss."""

    def __init__(self, *, batch=8, seed=1, rows=ROWS, after=None, measures=None, dropout=0.2, freeze=False):
        chance = torch.Generator().manual_seed(7)
        self.inputs = torch.randn(rows, WIDTH, generator=chance)
        self.labels = (self.inputs.sum(1) > 0).float()
        torch.manual_seed(seed)
        self.model = torch.nn.Sequential(
            torch.nn.Linear(WIDTH, 8), torch.nn.LayerNorm(8), torch.nn.Dropout(dropout), torch.nn.Linear(8, 1)
        )
        if freeze:
            self.model[0].requires_grad_(False)
        self.batch = batch
        self.after = after
        self.measures = measures
        self.seen = []

    def batches(self, epoch):
        order = torch.randperm(len(self.inputs), generator=torch.Generator().manual_seed(100 + epoch)).tolist()
        return [order[i : i + self.batch] for i in range(0, len(order), self.batch)]

    def loss(self, batch):
        self.seen.append(tuple(batch))
        if self.after is not None:
            self.after(self, batch)
        scores = self.model(self.inputs[list(batch)]).squeeze(1)
        return torch.nn.functional.binary_cross_entropy_with_logits(scores, self.labels[list(batch)])

    def measure(self):
        if self.measures is not None:
            return next(self.measures)
        scores = self.model(self.inputs).squeeze(1)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, self.labels)
        return {"loss": float(loss), "accuracy": float(((scores > 0) == self.labels.bool()).float().mean())}


def corpus(*ids):
    examples = tuple(Example(name, Context.of("Hello?"), (), gold=Gold(retrieve=True)) for name in ids)
    return Corpus((), examples)


def job(folder, *, report=lambda progress: None, train=None, **recipe):
    loop = {"epochs": 3, "batch": 8, "rate": 0.02, "save": 2, **(train or {})}
    made = Recipe.model_validate({"kind": "gate.tiny", "train": loop, **recipe})
    return Job(made, corpus("a", "b"), corpus("c"), Path(folder), report=report)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--kill", type=int, default=0)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--dropout", type=float, default=0.2)
    given = parser.parse_args()
    torch.set_num_threads(1)

    def after(task, batch):
        if given.kill and len(task.seen) == given.kill:
            os.kill(os.getpid(), signal.SIGKILL)

    fit(TinyTask(after=after, dropout=given.dropout), job(given.folder, train={"accumulate": given.accumulate}))


if __name__ == "__main__":
    main()
