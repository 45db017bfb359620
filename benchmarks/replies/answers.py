"""How well the default reader finds the sentence that answers, and knows when there is none.

    python benchmarks/replies/answers.py

Reads the shipped English agent and those of `benchmarks/agents`, asks every question about documents, and prints how
often the first sentence is the right one, the constants of `reader/choose.py` (`ANSWERS`) fitted on right sentences
against the best sentence that is left when the right ones are taken away, questions put to another agent, and
questions that have no answer; and, fitted without one agent at a time, how far they separate on that agent.
"""

from __future__ import annotations

import random
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import dragoman
from dragoman.agent.build import locate
from dragoman.core.values import Context, Request, Turn
from dragoman.decision.choose import Quote, rank
from dragoman.evaluate.metrics.curves import roc_auc
from dragoman.text.analyse import analyse
from dragoman.text.form import form

HERE = Path(__file__).parents[1]
AGENTS = ("harbour", *(str(HERE / "agents" / name) for name in ("campus", "clinic", "product", "railway")))
FEATURES = ("closest", "within", "topic")
SOURCE = "DOCUMENTS"


@dataclass(frozen=True)
class Question:
    """A question of a written conversation, with the turns before it and what its answer must hold."""

    agent: str
    context: Context
    turn: Mapping[str, object]
    answerable: bool

    def right(self, quote: Quote) -> bool:
        place = " ".join((quote.text, quote.evidence.passage.title, *quote.evidence.passage.headings)).casefold()
        wanted = all(_holds(place, entry) for entry in self.turn.get("must", ()))
        return self.answerable and wanted and not any(_holds(place, bad) for bad in self.turn.get("must_not", ()))


def _holds(text: str, entry: object) -> bool:
    options = entry if isinstance(entry, list) else [entry]
    return any(str(option).casefold() in text for option in options)


def questions(agent: str, assistant: dragoman.Assistant) -> Iterator[Question]:
    """The questions about documents; the agent's turns before them are the sentences that answer those turns."""
    file, _ = locate(agent)
    for conversation in tomllib.loads((file.parent / "conversations.toml").read_text())["conversation"]:
        before: list[Turn] = []
        for turn in conversation["turns"]:
            sources = turn.get("sources", ())
            answerable = conversation["kind"] != "unanswerable"
            asked = SOURCE in sources and "MEMORY" not in sources
            question = Question(agent, Context((*before, Turn("user", turn["say"]))), turn, answerable)
            if (asked or not answerable) and form(turn["say"]).act == "question":
                yield question
            said = [quote.text for quote in quotes(assistant, question.context) if asked and question.right(quote)]
            before += [Turn("user", turn["say"]), Turn("agent", said[0] if said else "I see.")]


def quotes(assistant: dragoman.Assistant, context: Context) -> list[Quote]:
    source = next(source for source in assistant.sources if source.name == SOURCE)
    evidence = assistant.agent.retriever.retrieve([Request(context, (source,), k=4)])[0]
    return rank(context, evidence, encoder=assistant.encoder, analyse=analyse)


def rows(assistants: Mapping[str, dragoman.Assistant]) -> tuple[list[tuple[str, str, int, Quote]], int, int]:
    """Best sentences with their agent, kind and label; how many first sentences were right; of how many."""
    found, right, asked = [], 0, 0
    chance = random.Random(0)
    for agent in AGENTS:
        for question in questions(agent, assistants[agent]):
            ranked = quotes(assistants[agent], question.context)
            if not ranked:
                continue
            label = int(question.right(ranked[0]))
            found.append((agent, "asked" if question.answerable else "unanswerable", label, ranked[0]))
            if not question.answerable:
                continue
            asked, right = asked + 1, right + label
            left = [quote for quote in ranked if not question.right(quote)]
            if left and len(left) < len(ranked):
                found.append((agent, "taken away", 0, left[0]))
            other = chance.choice([name for name in AGENTS if name != agent])
            strange = quotes(assistants[other], question.context)
            if strange:
                found.append((other, "another agent", 0, strange[0]))
    return found, right, asked


def fit(features: np.ndarray, labels: np.ndarray, ridge: float = 0.3) -> np.ndarray:
    """Logistic regression by Newton's method; the bias is last and not held back."""
    design = np.c_[features, np.ones(len(features))]
    penalty = np.diag([ridge] * features.shape[1] + [1e-6])
    weights = np.zeros(design.shape[1])
    for _ in range(50):
        chance = 1.0 / (1.0 + np.exp(-design @ weights))
        slope = design.T @ (labels - chance) - penalty @ weights
        weights += np.linalg.solve(design.T @ (design * (chance * (1 - chance))[:, None]) + penalty, slope)
    return weights


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        assistants = {agent: dragoman.load(agent, state=Path(folder) / Path(agent).name) for agent in AGENTS}
        found, right, asked = rows(assistants)
        for assistant in assistants.values():
            assistant.close()
    print(f"first sentence right: {right} of {asked}")
    agents = np.array([row[0] for row in found])
    kinds = np.array([row[1] for row in found])
    labels = np.array([row[2] for row in found])
    features = np.array([[row[3].features[name] for name in FEATURES] for row in found])
    left_out = np.zeros(len(found))
    for agent in AGENTS:
        test = agents == agent
        weights = fit(features[~test], labels[~test])
        left_out[test] = 1.0 / (1.0 + np.exp(-np.c_[features[test], np.ones(test.sum())] @ weights))
    print(f"AUC, each agent left out in turn: {roc_auc(labels == 1, left_out):.3f} (n = {len(found)})")
    for kind in ("taken away", "another agent", "unanswerable"):
        chosen = (labels == 1) | (kinds == kind)
        print(f"  right against {kind}: {roc_auc(labels[chosen] == 1, left_out[chosen]):.3f}")
    *weights, bias = fit(features, labels)
    named = {"bias": bias, **dict(zip(FEATURES, weights, strict=True))}
    print("ANSWERS =", {name: round(float(value), 2) for name, value in named.items()})
    for floor in (0.1, 0.2, 0.3):
        kept = (left_out[labels == 1] >= floor).mean()
        refused = {kind: round(float((left_out[kinds == kind] < floor).mean()), 2) for kind in set(kinds) - {"asked"}}
        print(f"floor {floor}: right ones kept {kept:.2f}, refused {refused}")


if __name__ == "__main__":
    main()
