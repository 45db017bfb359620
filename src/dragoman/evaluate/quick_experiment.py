"""Experiment for a user's own set: the columns that its labels allow, the default agent and baselines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dragoman.core.errors import InputError
from dragoman.core.examples import Dataset, Label

_PERCENT = {"scale": 100.0, "digits": 1}
_COLUMNS: dict[Label, list[dict[str, Any]]] = {
    "retrieve": [
        {"title": "gate F1", "metric": "gate-f1", **_PERCENT},
        {"title": "gate AUC", "metric": "gate-auc", **_PERCENT},
    ],
    "plan": [
        {"title": "plan F1", "metric": "plan-macro-f1", **_PERCENT},
        {"title": "plan in order", "metric": "plan-order", **_PERCENT},
    ],
    "evidence": [
        {"title": "Hit@1", "metric": "hit", "k": 1, **_PERCENT},
        {"title": "Recall@3", "metric": "recall", "k": 3, **_PERCENT},
        {"title": "MRR", "metric": "mrr", "k": 3, **_PERCENT},
    ],
    "reply": [
        {"title": "BLEU", "metric": "bleu", "digits": 1},
        {"title": "ROUGE-L", "metric": "rouge", "part": "L", **_PERCENT},
    ],
}
_MOST_SOURCES = 4
"""Most sources with a column each."""
_SECONDS = {"title": "ms a turn", "metric": "latency", "scale": 1000.0, "digits": 1}
_CALLS = {"title": "model calls", "metric": "cost", "of": "calls", "digits": 2}


def quick_tables(
    dataset: Dataset,
    kind: str,
    file: Path | None,
    *,
    name: str,
    prompted: bool = False,
    options: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the experiment as plain tables, as in a file."""
    labels = dataset.labels
    columns = [
        column
        for label, column_tables in _COLUMNS.items()
        if label in labels
        for column in _by_source(column_tables, dataset)
    ]
    if not columns:
        raise InputError(
            f"The set '{name}' has no labels, so that nothing can be measured on it.",
            remedy="Give its turns one of: retrieve, plan, evidence, reply. `dragoman data check FILE` shows them.",
        )
    columns += [_CALLS, _SECONDS] if prompted else [_SECONDS]
    data: dict[str, Any] = {"name": name, "kind": kind, **(options or {})}
    trained = "part" in data
    if file is not None:
        data["file"] = str(file)
        if "reply" in labels and not trained:
            data["train"] = str(file)  # only the most frequent reply is taken from it: see the row's note
    return {
        "title": f"{name}: the default agent and its baselines",
        "data": [data],
        "columns": columns,
        "baseline": "hybrid",
        "systems": _systems(labels, dataset.language, prompted=prompted, trained=trained),
    }


def _by_source(columns: list[dict[str, Any]], dataset: Dataset) -> list[dict[str, Any]]:
    """Split evidence columns by source, since one ranking over all would favour the source that is searched first."""
    if columns is not _COLUMNS["evidence"] or not 1 < len(dataset.sources) <= _MOST_SOURCES:
        return columns
    return [
        {**column, "title": f"{column['title']} {source.name}", "source": source.name}
        for source in dataset.sources
        for column in columns[:1]
    ]


def _systems(labels: frozenset[Label], language: str, *, prompted: bool, trained: bool) -> list[dict[str, Any]]:
    reader = {"kind": "extractive"} if "reply" in labels else {"kind": "silent"}
    own_reader = {"kind": "grounded", "drafts": "never"} if "reply" in labels else {"kind": "silent"}
    base = {"gate": {"kind": "always"}, "planner": {"kind": "all"}, "reader": reader}
    cut = "jieba" if language.startswith("zh") else "words"

    def row(name: str, group: str, note: str = "", **roles: Any) -> dict[str, Any]:
        return {**base, "retriever": {"kind": "hybrid"}, "name": name, "group": group, "note": note, **roles}

    rows = [
        row("bm25", "retrievers", retriever={"kind": "sparse"}),
        row("tf-idf", "retrievers", retriever={"kind": "okapi", "weighting": "tfidf", "cut": cut}),
        row("dense", "retrievers", retriever={"kind": "dense"}),
        row("hybrid", "retrievers", "looks in every source on every turn"),
    ]
    if labels & {"retrieve", "plan"}:
        rows += [
            row("never", "gates", gate={"kind": "never"}),
            row("random", "gates", "looks something up on half of the turns", gate={"kind": "random"}),
            row("similarity gate", "gates", gate={"kind": "similarity"}),
        ]
    if "plan" in labels:
        rows.append(row("similarity plan", "planners", planner={"kind": "similarity"}))
    agent = {"gate": {"kind": "similarity"}, "planner": {"kind": "similarity"}, "fallback": "all"}
    rows.append(row("agent", "agents", "the default roles, without its language model", **agent, reader=own_reader))
    if "reply" in labels:
        if "evidence" in labels:
            rows.append(row("copy", "sanity", "the gold evidence word for word", reader={"kind": "copy"}))
        note = "on every turn the most frequent reply of " + ("the training part" if trained else "the file itself")
        rows.append(row("frequent", "sanity", note, reader={"kind": "frequent"}))
    return rows + (_prompted(labels, row) if prompted else [])


def _prompted(labels: frozenset[Label], row: Any) -> list[dict[str, Any]]:
    group = "language model"
    rows = []
    if labels & {"retrieve", "plan"}:
        rows.append(row("prompted gate", group, gate={"kind": "prompted"}))
    if "plan" in labels:
        rows.append(row("prompted plan", group, planner={"kind": "prompted"}))
    if "reply" in labels:
        rows.append(row("prompted reader", group, reader={"kind": "prompted"}))
    agent = {"gate": {"kind": "similarity"}, "planner": {"kind": "similarity"}, "fallback": "all"}
    rows.append(row("agent with model", group, "the default roles", **agent, reader={"kind": "grounded"}))
    return rows
