"""Real dialogues as passages and contexts, and an encoder that remembers, for the benchmarks of retrieval."""

from __future__ import annotations

import json
import os
import random
import re
import sys
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.core.values import Context, Passage, Scope, Source, Turn
from dragoman.stores.in_memory import InMemoryStore
from dragoman.text.analyse import analyse

SCOPE = Scope("benchmark", "reader")
WHOLE = Source("whole", "all entities together")


def data_folder() -> Path:
    folder = os.environ.get("DRAGOMAN_DATA")
    if not folder:
        sys.exit("Set DRAGOMAN_DATA to the folder with dstc11/ and kbp/.")
    return Path(folder)


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


class Remembering:
    """An encoder that keeps its vectors in a file between runs, since encoding is nearly all of the time."""

    def __init__(self, inner: Any, name: str) -> None:
        self._inner = inner
        self._file = Path(tempfile.gettempdir()) / f"dragoman-benchmark-{name}.npz"
        self._known: dict[str, np.ndarray] = {}
        if self._file.exists():
            with np.load(self._file) as stored:
                self._known = dict(zip(stored["keys"].tolist(), stored["vectors"], strict=True))

    @property
    def dimensions(self) -> int:
        return int(self._inner.dimensions)

    def encode(self, texts: Any) -> np.ndarray:
        keys = [sha256(text.encode()).hexdigest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        if missing:
            self._known.update(zip(missing, self._inner.encode(list(missing.values())), strict=True))
        return np.stack([self._known[key] for key in keys]) if keys else np.zeros((0, self.dimensions), np.float32)

    def save(self) -> None:
        np.savez(self._file, keys=np.array(list(self._known)), vectors=np.stack(list(self._known.values())))


@dataclass(frozen=True)
class Question:
    """A dialogue, whether it needs knowledge, and the ids of the passages that answer it, by entity."""

    context: Context
    needs_knowledge: bool
    gold: dict[str, frozenset[str]]

    @property
    def ids(self) -> frozenset[str]:
        return frozenset().union(*self.gold.values())


def dstc11_passages(folder: Path, *, named: bool = True) -> dict[str, list[Passage]]:
    """The knowledge of each entity: review sentences and FAQs, with the entity's name as title where `named`."""
    entities: dict[str, list[Passage]] = {}
    for domain, entries in read_json(folder / "dstc11" / "knowledge.json").items():
        for number, entry in entries.items():
            name, title = f"{domain}-{number}", entry["name"] if named else ""
            texts = {
                f"{name}/review/{review}/{sentence}": text
                for review, value in entry.get("reviews", {}).items()
                for sentence, text in value["sentences"].items()
            }
            texts |= {
                f"{name}/faq/{faq}": f"{value['question']} {value['answer']}"
                for faq, value in entry.get("faqs", {}).items()
            }
            entities[name] = [Passage(key, name, text, title=title) for key, text in texts.items()]
    return entities


def dstc11_questions(folder: Path, split: str, limit: int | None = None) -> list[Question]:
    logs, labels = (read_json(folder / "dstc11" / split / f"{part}.json") for part in ("logs", "labels"))
    questions = []
    for log, label in zip(logs, labels, strict=True):
        turns = tuple(Turn("user" if turn["speaker"] == "U" else "agent", turn["text"]) for turn in log)
        gold: dict[str, set[str]] = {}
        for row in label.get("knowledge", ()):
            entity = f"{row['domain']}-{row['entity_id']}"
            place = (
                f"review/{row['doc_id']}/{row['sent_id']}" if row["doc_type"] == "review" else f"faq/{row['doc_id']}"
            )
            gold.setdefault(entity, set()).add(f"{entity}/{place}")
        frozen = {entity: frozenset(ids) for entity, ids in gold.items()}
        questions.append(Question(Context(turns, SCOPE), label["target"], frozen))
    random.Random(1).shuffle(questions)
    return questions[:limit]


def kbp_dialogues(folder: Path, split: str, limit: int | None = None) -> list[tuple[list[Passage], list[Question]]]:
    """Each dialogue of KBP as its own source of personas and documents, with its questions."""
    dialogues = []
    for number, record in enumerate(read_json(folder / "kbp" / f"{split}.json")[:limit]):
        source = f"kbp-{number}"
        passages = [Passage(f"{source}/{b}", source, _unspaced(text)) for b, text in record["persona"].items()]
        for b, documents in record["persona_kg"].items():
            passages += [Passage(f"{source}/{b}-{k}", source, _unspaced(text)) for k, text in documents.items()]
        turns: list[Turn] = []
        questions = []
        for pair in record["conversation"]:
            turns.append(Turn("user", _unspaced(pair["U"])))
            # The documents where there are any: a persona is seldom worded like the question it answers.
            gold = frozenset(f"{source}/{key}" for key in (pair["P-K"][-1] if pair["P-K"] else ()))
            questions.append(Question(Context(tuple(turns), SCOPE), bool(pair["P-K"]), {source: gold}))
            turns.append(Turn("agent", _unspaced(pair["S"])))
        dialogues.append((passages, questions))
    return dialogues


def _unspaced(text: str) -> str:
    return re.sub(r"(?<=[^\x00-\x7f])\s+|\s+(?=[^\x00-\x7f])", "", text.strip())


def store_of(entities: dict[str, list[Passage]], encoder: Any = None) -> InMemoryStore:
    """One store, each entity a source."""
    store = InMemoryStore(analyse=analyse)
    passages = [passage for rows in entities.values() for passage in rows]
    vectors = encoder.encode([passage.indexed for passage in passages]) if encoder else None
    store.put(SCOPE.shared, passages, vectors)
    return store
