"""Files of state can be read by their owner alone, whatever the umask, and older ones are tightened when opened."""

from __future__ import annotations

import os
import stat

import numpy as np
import pytest

import dragoman
from dragoman.core.values import Passage, Scope
from dragoman.stores import SqliteStore
from dragoman.stores.in_memory import words
from dragoman.stores.transfer.backup import back_up, restore_file

pytestmark = [pytest.mark.trust, pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")]
SHARED = Scope("acme", "")


@pytest.fixture(autouse=True)
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def exposed(*roots):
    """Everything at and below some paths that others than the owner may use."""
    paths = [path for root in roots for path in (root, *root.rglob("*"))]
    return [f"{path}: {stat.filemode(path.stat().st_mode)}" for path in paths if path.stat().st_mode & 0o077]


def filled(path):
    """A store with rows enough for both indexes, still open, so that its log is there too."""
    store = SqliteStore(path=path, analyse=words, index_above=20)
    vectors = np.random.default_rng(1).normal(size=(60, 16)).astype(np.float32)
    store.put(SHARED, [Passage(f"p{i}", "DOCS", f"number{i} common") for i in range(50)], vectors[:50])
    store.refresh_index(SHARED, "DOCS")
    store.put(SHARED, [Passage(f"p{i}", "DOCS", f"number{i} common") for i in range(50, 60)], vectors[50:])
    store.refresh_index(SHARED, "DOCS")
    return store


def test_a_store_its_log_its_index_and_its_backup_are_private(tmp_path):
    store = filled(tmp_path / "a" / "b" / "store.db")
    names = {path.name for path in (tmp_path / "a" / "b").iterdir()}
    assert names >= {"store.db", "store.db-wal", "store.db-shm", "index"}
    assert len(list((tmp_path / "a" / "b" / "index").rglob("*.json"))) >= 2
    back_up(store, tmp_path / "backup")
    store.close()
    restore_file(tmp_path / "backup", tmp_path / "again" / "store.db")
    assert exposed(tmp_path / "a", tmp_path / "backup", tmp_path / "again") == []


def test_a_store_that_was_open_to_others_is_tightened_when_its_owner_opens_it(tmp_path):
    state = tmp_path / ".dragoman"
    filled(state / "store.db").close()
    for path in (state, *state.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    store = filled(state / "store.db")
    assert exposed(state) == []
    store.close()


def test_a_folder_that_is_not_dragomans_keeps_its_mode(tmp_path):
    tmp_path.chmod(0o755)
    filled(tmp_path / "store.db").close()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
    assert exposed(tmp_path / "store.db", tmp_path / "index") == []


def test_the_state_of_an_agent_is_private(folder, state):
    with dragoman.load(folder) as assistant:
        assistant.remember("I live in Bern.")
        assert exposed(state) == []
