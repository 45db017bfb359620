"""Real dialogues as questions, each entity a source, for the benchmarks of retrieval; read by the package's loaders."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from dragoman.core.examples import Dataset, Example, Problem
from dragoman.core.protocols import Encoder, passage_vectors
from dragoman.core.values import Context, Passage, Scope, Source
from dragoman.datasets.open import data_folder as named_folder
from dragoman.datasets.open import open_dataset
from dragoman.evaluate.systems.vector_cache import kept_vectors
from dragoman.models.onnx.encoder import OnnxEncoder
from dragoman.stores.in_memory import InMemoryStore
from dragoman.text.analyse import analyse

SCOPE = Scope("benchmark", "reader")
WHOLE = Source("whole", "all entities together")


def data_folder() -> Path:
    folder = named_folder()
    if folder is None:
        sys.exit("Set DRAGOMAN_DATA to the folder with dstc11/ and kbp/.")
    return folder


def encoder_of(weights: str) -> Encoder:
    """An encoder whose vectors are kept between runs, since encoding is nearly all of the time."""
    return kept_vectors(OnnxEncoder(weights=weights), {"kind": "encoder.onnx.v1", "weights": weights})


@dataclass(frozen=True)
class Question:
    """A dialogue, whether it needs knowledge, and the ids of the passages that answer it, by entity."""

    context: Context
    needs_knowledge: bool
    gold: Mapping[str, frozenset[str]]

    @property
    def ids(self) -> frozenset[str]:
        return frozenset().union(*self.gold.values())


def dstc11_passages(folder: Path, *, named: bool = True) -> dict[str, list[Passage]]:
    """The knowledge of each entity: review sentences and FAQs, with the entity's name as title where `named`."""
    entities: dict[str, list[Passage]] = {}
    for passage in open_dataset("dstc11", folder / "dstc11" / "dev").passages():
        entity = str(passage.meta["entity"])
        title = passage.title if named else ""
        entities.setdefault(entity, []).append(replace(passage, source=entity, title=title))
    return entities


def dstc11_questions(folder: Path, split: str, limit: int | None = None) -> list[Question]:
    """The turns of a split in an order that is always the same."""
    questions = []
    for example in _examples(open_dataset("dstc11", folder / "dstc11" / split)):
        gold: dict[str, set[str]] = {}
        for evidence in example.gold.evidence or ():
            gold.setdefault("/".join(evidence.split("/")[:2]), set()).add(evidence)
        frozen = {entity: frozenset(ids) for entity, ids in gold.items()}
        questions.append(Question(replace(example.context, scope=SCOPE), bool(example.gold.retrieve), frozen))
    random.Random(1).shuffle(questions)
    return questions[:limit]


def kbp_dialogues(folder: Path, split: str, limit: int | None = None) -> list[tuple[list[Passage], list[Question]]]:
    """Each dialogue of KBP as its own source of personas and documents, with its questions."""
    dialogues = []
    examples = _examples(open_dataset("kbp", folder / "kbp" / f"{split}.json"))
    for source, turns in groupby(examples, key=lambda example: example.context.dialogue):
        if len(dialogues) == limit:
            break
        questions, passages = [], []
        for example in turns:
            passages = [replace(passage, source=source) for passage in example.candidates]
            context = replace(example.context, scope=SCOPE)
            questions.append(Question(context, bool(example.gold.retrieve), {source: _kbp_gold(example)}))
        dialogues.append((passages, questions))
    return dialogues


def _kbp_gold(example: Example) -> frozenset[str]:
    """The documents where there are any: a persona is seldom worded like the question it answers."""
    named = example.gold.evidence or ()
    documents = {passage.id for passage in example.candidates if passage.source == "DOCUMENTS"}
    return frozenset(documents.intersection(named) or named)


def _examples(dataset: Dataset) -> Iterator[Example]:
    """The turns of a set; what is wrong with a row is said by `dragoman data check`."""
    return (example for example in dataset.examples() if not isinstance(example, Problem))


def store_of(entities: Mapping[str, Sequence[Passage]], encoder: Encoder | None = None) -> InMemoryStore:
    """One store, each entity a source."""
    store = InMemoryStore(analyse=analyse)
    passages = [passage for rows in entities.values() for passage in rows]
    vectors = passage_vectors(encoder, [passage.indexed for passage in passages]) if encoder else None
    store.put(SCOPE.shared, passages, vectors)
    return store
