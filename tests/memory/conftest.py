"""A memory over a store that lives as long as the test, with words for meanings and a model that says yes or no."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from dragoman.core.values import Context, Scope, Source
from dragoman.memory import RuleMemory
from dragoman.models.scripted import ScriptedEncoder, ScriptedModel
from dragoman.stores.in_memory import InMemoryStore
from dragoman.text.analyse import Analyser

ANA = Scope("acme", "ana")
SOURCES = (Source("DOCUMENTS"), Source("MEMORY", about="user", private=True))


class Cached(ScriptedEncoder):
    """An encoder that counts how often its cache was cleared."""

    cleared = 0

    def clear_cache(self):
        self.cleared += 1


@pytest.fixture
def make():
    """A memory with its parts; `say` lets a user speak, `texts` lists what is remembered."""

    def build(*, sources=SOURCES, model=None, **options):
        store, encoder, analyse = InMemoryStore(), Cached(), Analyser(language="auto")
        model = model or ScriptedModel(undecided="first", choices=(("Statement:", "no"),))
        memory = RuleMemory(
            store=store, encoder=encoder, analyse=analyse, sources=sources, language_model=model, **options
        )

        def say(text, scope=ANA):
            return memory.learn([Context.of(text, scope=scope)])[0]

        def texts(scope=ANA):
            return [passage.text for passage in memory.recall(scope)]

        def superseded(scope=ANA):
            return [passage.text for passage in store.passages(scope, "MEMORY", superseded=True)]

        return SimpleNamespace(
            memory=memory, store=store, encoder=encoder, model=model, say=say, texts=texts, superseded=superseded
        )

    return build


@pytest.fixture
def room(make):
    return make()
