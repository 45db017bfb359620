"""Two users of two tenants, driven through random operations: the SQLite store does what the model in memory does."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dragoman.core.errors import InputError
from dragoman.core.values import Passage, Query, Scope, Turn
from dragoman.stores import InMemoryStore, SqliteStore
from dragoman.stores.in_memory import words

pytestmark = pytest.mark.trust
SCOPES = [Scope(tenant, user) for tenant in ("acme", "other") for user in ("ana", "ben", "")]
WORDS = ["ferry", "tram", "night", "渡轮", "nine"]
scopes = st.sampled_from(SCOPES)
numbers = st.integers(0, 5)
sources = st.sampled_from(["NOTES", "DIARY"])
texts = st.lists(st.sampled_from(WORDS), min_size=0, max_size=6).map(" ".join)
vectors = st.lists(st.integers(-2, 2), min_size=3, max_size=3)
subsets = st.frozensets(numbers, max_size=4)


def owner(scope):
    """A mark that every id of a scope carries, so that a foreign row is known at sight."""
    return f"{scope.tenant}/{scope.user}#"


def same(a, b):
    """The same passages with the same scores; of equal scores at the cut, any may be there."""
    assert len(a) == len(b)
    assert np.allclose([hit.score for hit in a], [hit.score for hit in b], atol=1e-5)
    last = b[-1].score + 1e-4 if b else 0.0
    assert {hit.passage.id for hit in a if hit.score > last} == {hit.passage.id for hit in b if hit.score > last}


class StoresAgree(RuleBasedStateMachine):
    index_above = 2000

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.model = InMemoryStore(analyse=words)
        self.store = self.opened()

    def opened(self):
        path = Path(self.folder.name) / "store.db"
        return SqliteStore(path=path, analyse=words, index_above=self.index_above)

    def both(self, act):
        """What both answer, errors included."""
        answers = []
        for each in (self.model, self.store):
            try:
                answers.append(act(each))
            except InputError as error:
                answers.append(str(error))
        assert answers[0] == answers[1]
        return answers[1]

    @rule(
        scope=scopes,
        source=sources,
        rows=st.lists(st.tuples(numbers, texts, st.none() | numbers, vectors), min_size=1, max_size=4),
        with_vectors=st.booleans(),
    )
    def put(self, scope, source, rows, with_vectors):
        mark = owner(scope)
        passages = [
            Passage(
                f"{mark}{n}", source, text, parent=None if parent is None else f"{mark}{parent}", origin=f"o{n % 2}"
            )
            for n, text, parent, _ in rows
        ]
        given = np.array([vector for *_, vector in rows], dtype=np.float32) if with_vectors else None
        self.both(lambda store: store.put(scope, passages, given))

    @rule(scope=scopes, numbers=subsets)
    def remove(self, scope, numbers):
        self.both(lambda store: store.remove(scope, [f"{owner(scope)}{n}" for n in numbers]))

    @rule(scope=scopes, stranger=scopes, number=numbers)
    def remove_what_is_anothers(self, scope, stranger, number):
        removed = self.both(lambda store: store.remove(stranger, [f"{owner(scope)}{number}"]))
        assert scope == stranger or removed == 0

    @rule(scope=scopes, number=numbers, by=numbers)
    def supersede(self, scope, number, by):
        self.both(lambda store: store.supersede(scope, f"{owner(scope)}{number}", f"{owner(scope)}{by}"))

    @rule(scope=scopes, source=sources, tokens=st.lists(st.sampled_from(WORDS), max_size=3), k=st.integers(0, 5))
    def count_words(self, scope, source, tokens, k):
        self.both(lambda store: store.frequencies(scope, source, tokens))

    @rule(
        scope=scopes,
        source=sources,
        tokens=st.lists(st.sampled_from(WORDS), max_size=3).map(tuple),
        vector=vectors.filter(any),
        k=st.integers(0, 5),
        parents=st.none() | subsets,
        without=subsets,
    )
    def search(self, scope, source, tokens, vector, k, parents, without):
        mark = owner(scope)
        query = Query(
            scope,
            source,
            k,
            tokens,
            tuple(map(float, vector)),
            None if parents is None else frozenset(f"{mark}{n}" for n in parents),
            frozenset(f"{mark}{n}" for n in without),
        )
        for ours, theirs in (
            (self.store.lexical([query])[0], self.model.lexical([query])[0]),
            (self.store.nearest([query])[0], self.model.nearest([query])[0]),
        ):
            same(ours, theirs)
            for hit in ours:
                assert hit.passage.id.startswith(mark) and hit.passage.source == source
                assert hit.passage.id not in query.without
                assert query.parents is None or hit.passage.parent in query.parents

    @rule(scope=scopes, dialogue=st.sampled_from("xy"), text=texts, traced=st.booleans())
    def talk(self, scope, dialogue, text, traced):
        turns = [Turn("user", text), Turn("agent", owner(scope))]
        self.both(lambda store: store.append(scope, dialogue, turns, {"said": text} if traced else None))
        self.both(lambda store: store.keep(scope, dialogue, text))

    @rule(scope=scopes, text=st.sampled_from(WORDS))
    def redact(self, scope, text):
        self.both(lambda store: store.redact(scope, [text]))

    @rule(scope=scopes)
    def forget(self, scope):
        self.both(lambda store: store.forget(scope))

    @rule()
    @precondition(lambda self: self.store is not None)
    def reopen(self):
        self.store.close()
        self.store = self.opened()

    @invariant()
    def every_scope_reads_the_same(self):
        for scope in SCOPES:
            mark = owner(scope)
            for source in ("NOTES", "DIARY"):
                for superseded in (False, True):
                    rows = self.both(lambda store: list(store.passages(scope, source, superseded=superseded)))  # noqa: B023
                    assert all(passage.id.startswith(mark) for passage in rows)
                self.both(lambda store: list(store.passages(scope, source, origin="o1")))  # noqa: B023
                self.both(lambda store: store.count(scope, source))  # noqa: B023
            for dialogue in self.both(lambda store: list(store.dialogues(scope))):  # noqa: B023
                self.both(lambda store: list(store.dialogue(scope, dialogue)))  # noqa: B023
                self.both(lambda store: (store.trace(scope, dialogue), store.kept(scope, dialogue)))  # noqa: B023
            strangers = [f"{owner(other)}{n}" for other in SCOPES if other != scope for n in range(6)]
            assert list(self.store.get(scope, strangers)) == [None] * len(strangers)

    def teardown(self):
        self.store.close()
        self.folder.cleanup()


class StoresAgreeThroughTheIndex(StoresAgree):
    index_above = 0


TestStoresAgree = StoresAgree.TestCase
TestStoresAgree.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
TestStoresAgreeThroughTheIndex = StoresAgreeThroughTheIndex.TestCase
TestStoresAgreeThroughTheIndex.settings = settings(max_examples=8, stateful_step_count=15, deadline=None)
