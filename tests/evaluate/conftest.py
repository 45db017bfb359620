"""A small set of one's own and an experiment over it that needs no weights."""

from __future__ import annotations

import json

import pytest

TOWNS = ("Ellisund", "Marrow", "Quill", "Oxmoor", "Tarn", "Birk")


def write_set(path, dialogues=6, labels=("retrieve", "plan", "evidence", "reply")):
    """Two turns a dialogue: a question about a town, and thanks."""
    lines = []
    for number in range(dialogues):
        town = TOWNS[number % len(TOWNS)]
        candidates = [
            {"id": f"p{i}", "source": "DOCUMENTS", "text": f"The ferry of {name} costs {10 + i} francs."}
            for i, name in enumerate(TOWNS)
        ]
        asked = f"What does the ferry of {town} cost?"
        answer = f"The ferry of {town} costs {10 + number % len(TOWNS)} francs."
        gold = {"retrieve": True, "plan": ["DOCUMENTS"], "evidence": [f"p{number % len(TOWNS)}"], "reply": answer}
        thanks = {"retrieve": False, "plan": [], "evidence": [], "reply": "You are welcome."}
        first = [{"speaker": "user", "text": asked}]
        second = [*first, {"speaker": "agent", "text": answer}, {"speaker": "user", "text": "Thank you!"}]
        for context, right in ((first, gold), (second, thanks)):
            kept = {label: value for label, value in right.items() if label in labels}
            lines.append({"dialogue": f"d{number}", "context": context, "candidates": candidates, **kept})
    path.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), encoding="utf-8")
    return path


EXPERIMENT = """
title = "Ferries"
paper = "A paper"
table = "1"
baseline = "bm25"
draws = 100
batch = 2
columns = [
    {{title = "Hit@1", metric = "hit", k = 1, scale = 100, digits = 1}},
    {{title = "gate F1", metric = "gate-f1"}},
    {{title = "seconds", metric = "latency"}},
]
[[data]]
name = "ferries"
kind = "jsonl"
file = "{file}"
[[systems]]
name = "bm25"
group = "ours"
retriever = {{kind = "sparse"}}
[systems.paper.ferries]
"Hit@1" = 36.8
[[systems]]
name = "never"
group = "ours"
gate = {{kind = "never"}}
retriever = {{kind = "sparse"}}
[[systems]]
name = "great"
group = "theirs"
missing = "not built"
[systems.paper.ferries]
"Hit@1" = 99
"""


@pytest.fixture
def ferries(tmp_path):
    """The set."""
    return write_set(tmp_path / "ferries.jsonl")


@pytest.fixture
def ferry_file(tmp_path, ferries):
    """The experiment."""
    path = tmp_path / "ferry.toml"
    path.write_text(EXPERIMENT.format(file=ferries.as_posix()), encoding="utf-8")
    return path


@pytest.fixture
def make_set():
    return write_set


@pytest.fixture(autouse=True)
def settled_code(monkeypatch):
    """The code's own hash, held still: whoever works on the code while tests run changes it."""
    monkeypatch.setattr("dragoman.evaluate.running.manifest.code_digest", lambda: "0" * 64)
