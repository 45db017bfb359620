"""Measures three retrievers on the shipped toy set: one table, each figure with its interval and its test."""

from __future__ import annotations

from rich.console import Console

from dragoman.evaluate import experiment
from dragoman.evaluate.show.tables import terminal

result = experiment(
    systems={
        "gold plan, tf-idf": {"planner": "gold", "retriever": {"kind": "okapi", "weighting": "tfidf", "cut": "words"}},
        "gold plan, bm25": {"planner": "gold", "retriever": "sparse"},
        "all sources, bm25": {"retriever": "sparse"},
    },
    dataset="toy",
    metrics=[
        {"title": "Hit@1", "metric": "hit", "k": 1, "scale": 100, "digits": 1},
        {"title": "plan in order", "metric": "plan-order", "scale": 100, "digits": 1},
    ],
    baseline="gold plan, tf-idf",
    limit=100,
)
console = Console()
for part in terminal(result, console.width):
    console.print(part)

best = max(result.tables[0].rows, key=lambda row: row.cells[0].value or 0.0)
print(f"Best at the first place: {best.system}")
