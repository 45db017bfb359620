"""Work that began before an erasure writes nothing after it; passages, removals and values are switched at once."""

from __future__ import annotations

import threading

import pytest

from dragoman.core.errors import InputError, StoreErasedError
from dragoman.core.values import Passage, Query, Scope, Turn
from dragoman.stores import InMemoryStore, SqliteStore
from dragoman.stores.in_memory import words

pytestmark = pytest.mark.trust
ANA, BEN = Scope("acme", "ana"), Scope("acme", "ben")
TURNS = [Turn("user", "Hello"), Turn("agent", "Hi")]


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def store(request, tmp_path):
    if request.param == "postgres":
        yield request.getfixturevalue("make_store")()
        return
    made = InMemoryStore() if request.param == "memory" else SqliteStore(path=tmp_path / "store.db", analyse=words)
    yield made
    made.close()


def erasures(store):
    return {"everything": lambda: store.forget(ANA), "a fact": lambda: store.redact(ANA, ["nothing of the kind"])}


@pytest.mark.parametrize("what", ["everything", "a fact"])
def test_nothing_that_began_before_an_erasure_is_written_after_it(store, what):
    hold, others = store.hold(ANA), store.hold(BEN)
    erasures(store)[what]()
    with hold, others:
        for write in (
            lambda: store.append(ANA, "d", TURNS),
            lambda: store.put(ANA, [Passage("p", "NOTES", "Basel")]),
            lambda: store.switch(ANA, [Passage("p", "NOTES", "Basel")]),
            lambda: store.keep(ANA, "key", "value"),
        ):
            with pytest.raises(StoreErasedError):
                write()
        store.append(BEN, "d", TURNS)
    assert list(store.dialogues(ANA)) == [] and list(store.passages(ANA, "NOTES")) == []
    store.append(ANA, "d", TURNS)
    with store.hold(ANA):
        store.append(ANA, "d", TURNS)
    assert len(store.dialogue(ANA, "d")) == 4


@pytest.mark.parametrize("what", ["everything", "a fact"])
def test_what_the_holder_erases_is_its_own(store, what):
    with store.hold(ANA):
        erasures(store)[what]()
        store.append(ANA, "d", TURNS)
    assert list(store.dialogues(ANA)) == ["d"]


def test_turns_that_share_a_commit_are_checked_each_by_its_own_hold(store):
    """Whichever thread writes for the others."""
    holds = [store.hold(ANA) for _ in range(4)]
    old = set(holds)
    store.forget(ANA)
    holds += [store.hold(ANA) for _ in range(4)]
    outcomes, together = [], threading.Barrier(8)

    def add(hold, number):
        with hold:
            together.wait(10)
            try:
                store.append(ANA, f"d{number}", TURNS)
                outcomes.append((hold, "kept"))
            except StoreErasedError:
                outcomes.append((hold, "refused"))

    threads = [threading.Thread(target=add, args=(hold, number)) for number, hold in enumerate(holds)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(outcome for hold, outcome in outcomes if hold in old) == ["refused"] * 4
    assert sorted(outcome for hold, outcome in outcomes if hold not in old) == ["kept"] * 4
    assert len(store.dialogues(ANA)) == 4


def test_a_switch_writes_removes_and_keeps_all_or_nothing(store):
    store.put(ANA, [Passage("a", "NOTES", "old"), Passage("b", "NOTES", "stale"), Passage("x", "OTHER", "other")])
    new = [Passage("a", "NOTES", "new"), Passage("c", "NOTES", "more")]
    with pytest.raises(InputError, match="already used"):
        store.switch(ANA, [*new, Passage("x", "NOTES", "taken")], remove=["b"], notes={"key": "value"})
    assert [row.text for row in store.passages(ANA, "NOTES")] == ["old", "stale"] and store.kept(ANA, "key") is None
    assert store.switch(ANA, new, remove=["b", "absent"], notes={"key": "value"}) == 1
    assert [row.text for row in store.passages(ANA, "NOTES")] == ["new", "more"]
    assert store.kept(ANA, "key") == "value" and store.count(ANA, "NOTES") == 2
    by_words = [
        [hit.passage.id for hit in store.lexical([Query(ANA, "NOTES", 5, tokens=(word,))])[0]]
        for word in words("new stale")
    ]
    assert by_words == [["a"], []]
