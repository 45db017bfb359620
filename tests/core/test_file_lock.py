import subprocess
import sys
import types

import pytest

from dragoman.core.file_lock import try_lock, wait_for_lock

_HOLD = """
import sys
from pathlib import Path
from dragoman.core.file_lock import try_lock
file = Path(sys.argv[1]).open("a")
assert try_lock(file)
print("held", flush=True)
sys.stdin.readline()
"""


def test_one_process_holds_a_lock_until_it_ends(tmp_path):
    path = tmp_path / "lock"
    other = subprocess.Popen([sys.executable, "-c", _HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert other.stdout.readline().strip() == b"held"
        with path.open("a") as file:
            assert not try_lock(file)
            other.communicate(b"\n", timeout=20)
            assert try_lock(file)
    finally:
        other.kill()
        other.wait()


@pytest.fixture
def windows(monkeypatch):
    """A stand-in for Windows whose first lock call finds the file held."""
    calls = []

    def locking(descriptor, mode, count):
        calls.append((mode, count))
        if len(calls) == 1:
            raise PermissionError

    monkeypatch.setattr("dragoman.core.file_lock.sys", types.SimpleNamespace(platform="win32"))
    monkeypatch.setitem(sys.modules, "msvcrt", types.SimpleNamespace(locking=locking, LK_NBLCK=2))
    return calls


def test_windows_is_asked_for_one_byte_and_says_no(windows, tmp_path):
    with (tmp_path / "lock").open("a") as file:
        assert not try_lock(file)
        assert try_lock(file)
    assert windows == [(2, 1), (2, 1)]


def test_waiting_on_windows_tries_again(windows, tmp_path):
    with (tmp_path / "lock").open("a") as file:
        wait_for_lock(file)
    assert len(windows) == 2
