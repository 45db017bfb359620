"""A store copied into another: the same content, whatever interrupts it, and never over somebody else's."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.core.errors import InputError, StoreError
from dragoman.core.values import Passage, Query, Scope, Turn
from dragoman.stores import SqliteStore
from dragoman.stores.in_memory import words
from dragoman.stores.transfer.copying import MARK, copy_store, unfinished
from dragoman.stores.transfer.portable import from_json, summary, to_json
from dragoman.stores.transfer.table_records import NOTE
from dragoman.testing.stores import ALL, ANA, BEN, FERRY, MUSEUM, VECTORS

SHARED = Scope("acme", "")


def fill(store):
    """Something of everything: live and superseded rows, with and without vectors, in several scopes and sources."""
    for scope in (ANA, BEN, SHARED):
        store.put(scope, ALL, VECTORS)
        store.put(scope, [Passage("other", "DIARY", "No vector \x00 \x10 雨.")])
        store.append(scope, "b", [Turn("user", "hello"), Turn("agent", "hi")], {"gate": [1.5, None]})
        store.append(scope, "a", [Turn("user", "again \x00")])
        store.keep(scope, "seen", "one")
    store.supersede(ANA, "ferry", "museum")
    store.remove(BEN, ["tram"])


@pytest.fixture
def make(tmp_path):
    made = []

    def one(name, **options):
        made.append(SqliteStore(path=tmp_path / f"{name}.db", analyse=words, **options))
        return made[-1]

    yield one
    for store in made:
        store.close()


@pytest.fixture
def source(make):
    store = make("source")
    fill(store)
    return store


def same(left, right):
    """Whether two stores answer alike, asked through the contract."""
    for scope in (ANA, BEN, SHARED):
        for name in ("NOTES", "DIARY"):
            for superseded in (False, True):
                assert list(left.passages(scope, name, superseded=superseded)) == list(
                    right.passages(scope, name, superseded=superseded)
                )
            assert left.count(scope, name) == right.count(scope, name)
            queries = [Query(scope, name, 5, tokens=("the", "at"), vector=(1.0, 0.5, 0.1))]
            for search in ("lexical", "nearest"):
                found, wanted = getattr(left, search)(queries)[0], getattr(right, search)(queries)[0]
                assert [hit.passage for hit in found] == [hit.passage for hit in wanted]
                assert np.allclose([hit.score for hit in found], [hit.score for hit in wanted], atol=1e-6)
        assert list(left.dialogues(scope)) == list(right.dialogues(scope))
        for dialogue in left.dialogues(scope):
            assert list(left.dialogue(scope, dialogue)) == list(right.dialogue(scope, dialogue))
            assert list(left.traces(scope, dialogue)) == list(right.traces(scope, dialogue))
        assert left.kept(scope, "seen") == right.kept(scope, "seen")
        assert right.kept(scope, NOTE) is None
    return True


def test_everything_goes_over_and_is_compared(source, make):
    target = make("target")
    copied = copy_store(source, target, identity=source.identity())
    assert copied.summary == summary(source) == summary(target)
    assert (copied.summary.passages, copied.summary.turns, copied.summary.kept) == (11, 9, 3)
    assert copied.summary.scopes == 3 and not copied.resumed
    assert same(source, target)
    assert MARK not in target.scopes() and unfinished(target) is None


def test_a_copied_row_is_unchanged_when_it_is_put_again(source, make):
    target = make("target")
    copy_store(source, target, identity="s")
    assert target.put(BEN, [FERRY, MUSEUM], VECTORS[:2]) == 0


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("after", range(1, 9))
def test_an_interrupted_copy_goes_on(source, make, monkeypatch, after):
    monkeypatch.setattr("dragoman.stores.transfer.copying._BATCH", 3)
    target = make("target")
    real, calls = target.receive, []

    def failing(*arguments):
        calls.append(arguments)
        if len(calls) > after:
            raise StoppedError
        real(*arguments)

    target.receive = failing
    with pytest.raises(StoppedError):
        copy_store(source, target, identity="s")
    assert unfinished(target) == "s"
    target.receive = real
    copied = copy_store(source, target, identity="s")
    assert copied.resumed and copied.summary == summary(source)
    assert same(source, target)


def test_an_interruption_while_the_notes_are_taken_away_does_no_harm(source, make):
    target = make("target")
    real, calls = target.drop_note, []

    def failing(*arguments):
        calls.append(arguments)
        if len(calls) > 1:
            raise StoppedError
        real(*arguments)

    target.drop_note = failing
    with pytest.raises(StoppedError):
        copy_store(source, target, identity="s")
    target.drop_note = real
    assert copy_store(source, target, identity="s").summary == summary(source)
    assert same(source, target)


def test_a_target_with_rows_is_let_alone(source, make):
    target = make("target")
    target.keep(Scope("other", "x"), "key", "value")
    before = summary(target)
    with pytest.raises(InputError, match="is not empty"):
        copy_store(source, target, identity="s")
    assert summary(target) == before and MARK not in target.scopes()


def test_half_a_copy_of_another_store_is_let_alone(source, make):
    target = make("target")
    target.receive(MARK, (), {NOTE: json.dumps({"from": "other", "state": "copying"})})
    with pytest.raises(InputError, match=r"half a copy of another store \(other\)"):
        copy_store(source, target, identity="s")


def test_what_changed_at_the_source_since_an_interruption_is_copied_again(source, make, monkeypatch):
    target = make("target")
    with monkeypatch.context() as patch:
        patch.setattr("dragoman.stores.transfer.copying._compare", lambda *_: (_ for _ in ()).throw(StoppedError))
        with pytest.raises(StoppedError):
            copy_store(source, target, identity="s")
    source.put(ANA, [Passage("tram", "NOTES", "Changed.")])
    source.append(ANA, "b", [Turn("user", "more")])
    source.forget(BEN)
    before = summary(target)
    with pytest.raises(StoreError, match="2 of 3 scopes differ") as raised:
        copy_store(source, target, identity="s")
    assert "--again" in raised.value.remedy and summary(target).passages == before.passages
    copied = copy_store(source, target, identity="s", again=True)
    assert copied.summary == summary(source)
    assert same(source, target)


def test_half_a_copy_is_not_for_use(source, make, tmp_path):
    target = make("target")
    target.receive(MARK, (), {NOTE: json.dumps({"from": "s", "state": "copying"})})
    with pytest.raises(StoreError, match="half a copy of the store s") as raised:
        target.require_whole()
    assert "Repeat" in raised.value.remedy
    assert not target.verify().is_sound
    source.require_whole()


def test_a_source_that_never_stops_changing_is_told(source, make):
    target, count = make("target"), iter(range(1000))
    real = source.records

    def changing(*arguments):
        source.keep(ANA, "seen", str(next(count)))
        return real(*arguments)

    source.records = changing
    with pytest.raises(StoreError, match=r"1 of 3 scopes differ"):
        copy_store(source, target, identity="s", again=True)
    source.records = real
    assert copy_store(source, target, identity="s", again=True).summary == summary(source)


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_KEY = _TEXT.filter(lambda text: text and "\x00" not in text)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.builds(Passage, _KEY, st.sampled_from(["A", "雨", "z"]), _TEXT, _TEXT), unique_by=lambda p: p.id),
    turns=st.lists(st.builds(Turn, st.sampled_from(["user", "agent"]), _TEXT), max_size=5),
    kept=st.dictionaries(_KEY, _TEXT, max_size=4),
    seed=st.integers(0, 2**31),
)
def test_any_content_goes_over_bit_by_bit(tmp_path_factory, rows, turns, kept, seed):
    folder = tmp_path_factory.mktemp("copy")
    left, right = (SqliteStore(path=folder / f"{name}.db", analyse=words) for name in "ab")
    try:
        left.put(ANA, rows, np.random.default_rng(seed).normal(size=(len(rows), 2)) if rows else None)
        left.append(ANA, "d", turns)
        for key, value in kept.items():
            left.keep(ANA, key, value)
        found = [record for record, _ in left.records(ANA)]
        assert [from_json(json.loads(json.dumps(to_json(record)))) for record in found] == found
        copy_store(left, right, identity="s")
        assert [record for record, _ in right.records(ANA)] == found
    finally:
        left.close()
        right.close()
