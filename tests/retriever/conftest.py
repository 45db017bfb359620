"""A small harbour of sources, and an encoder that knows a few meanings."""

import numpy as np
import pytest

from dragoman.core.values import Passage, Scope
from dragoman.stores.in_memory import InMemoryStore
from dragoman.text.analyse import analyse

_MEANINGS = (
    ("ferry", "ferries", "boat", "sail"),
    ("price", "cost", "fare", "franc", "ticket"),
    ("museum", "exhibit"),
    ("dog", "pet", "animal"),
    ("tea", "drink"),
)
_SHARED = (
    Passage("p-ferry", "PERSONA", "I keep the ferry desk."),
    Passage("p-tea", "PERSONA", "I like strong tea."),
    Passage("d-fare", "DOCUMENTS", "A return ticket costs 34 francs.", title="Ferries", parent="p-ferry"),
    Passage("d-dog", "DOCUMENTS", "Dogs travel free.", title="Ferries", parent="p-ferry"),
    Passage("d-tea", "DOCUMENTS", "A pot of tea costs 5 francs.", title="Tea room", parent="p-tea"),
    Passage("d-museum", "DOCUMENTS", "The museum costs 12 francs.", title="Museum"),
)


class MeaningEncoder:
    """One dimension a group of words, and one for everything else."""

    dimensions = len(_MEANINGS) + 1

    def encode(self, texts):
        rows = [[sum(text.lower().count(word) for word in group) for group in _MEANINGS] + [0.3] for text in texts]
        vectors = np.array(rows, dtype=np.float32).reshape(len(texts), self.dimensions)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture(scope="session")
def encoder():
    return MeaningEncoder()


@pytest.fixture
def store(encoder):
    store = InMemoryStore(analyse=analyse)
    store.put(Scope("harbour", "ana").shared, _SHARED, encoder.encode([row.indexed for row in _SHARED]))
    for user, name in (("ana", "Rex"), ("tom", "Bella")):
        row = Passage(f"m-{user}", "MEMORY", f"My dog is called {name}.")
        store.put(Scope("harbour", user), [row], encoder.encode([row.indexed]))
    return store
