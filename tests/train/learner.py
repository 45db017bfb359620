"""A learner for tests: it counts words of yes and no, writes a part of one small file, and remembers its jobs."""

from __future__ import annotations

import json
from collections import Counter

from dragoman.core.errors import ConfigError, TrainingError
from dragoman.models.part import Head, Part, write_part
from dragoman.train.contract import Progress
from dragoman.train.registry import learners

KIND = "gate.counting"
jobs = []


class Counting:
    """`model.weight` is what the figure depends on; `model.fail` fails, `wrong` is refused, `stop` is stopped."""

    auxiliary = True

    def fit(self, job):
        jobs.append(job)
        job.report(Progress("Counting", 0, 1, loss=0.5, metric=0.25))
        if job.recipe.model.get("fail"):
            raise TrainingError("The loss is nan.", remedy="Set a lower rate.")
        if job.recipe.model.get("wrong"):
            raise ConfigError("Nobody can weigh that.", remedy="Leave model.wrong out.")
        if job.recipe.model.get("stop"):
            raise KeyboardInterrupt
        words = Counter(word for example in job.train.examples for word in example.context.last.split())
        job.folder.mkdir(parents=True, exist_ok=True)
        (job.folder / "counts.json").write_text(json.dumps(words))
        weight = float(job.recipe.model.get("weight", 1.0))
        made = {
            "metrics": {"f1": 1.0 - abs(weight - 0.3), "loss": abs(weight - 0.3)},
            "versions": {"dragoman": "0"},
            "data": {"dev": {"examples": len(job.dev.examples)}},
        }
        head = Head(("retrieve",), {}, {"retrieve": 0.4})
        part = Part(job.folder, KIND, {"gate": head}, {"weight": weight}, {}, made)
        return write_part(part, ("counts.json",))


def register():
    learners.names()
    learners.register(KIND)(Counting)
    jobs.clear()


def unregister():
    learners._made.pop(KIND, None)


RECIPE = """
kind = "gate.counting"
about = "Counts words."
licence = "CC0"
[model]
weight = 1.0
[train]
metric = "f1"
"""
