"""An upload, a removal and their recovery, killed before each step on the file system, leave nothing behind."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.server.data import pending_uploads
from dragoman.server.data.pending_uploads import PendingUpload, PendingWork, recover, sweep
from dragoman.sources.upload_folders import staged_notes

pytestmark = pytest.mark.trust

KILLED = """
import io, os, sys
from pathlib import Path
from dragoman.server.data.pending_uploads import PendingUpload, PendingWork, recover

STEPS = {"os.mkdir", "os.rename", "os.remove", "os.rmdir"}
state = Path(sys.argv[1])
os.fsync = lambda _: None  # a kill of a process, unlike one of the machine, loses nothing that was written

def root_of(number):
    return state / str(number) / "uploads" / "tenant" / "user" / "source"

def upload(number):
    root = root_of(number)
    with PendingUpload(root, PendingWork("t", "u", "s")) as pending:
        pending.write(io.BytesIO(b"new"), root / "uploads" / "deep" / "a.md")
        pending.write(io.BytesIO(b"unread"), root / "uploads" / "b.md")
        pending.settle({root / "uploads" / "b.md"})

def restart(number):
    is_stored = lambda work, origin, digest: origin.endswith("a.md")
    recover(state / str(number), is_stored=is_stored, repair=lambda *_: None, remove=lambda *_: None)

def run(work, number, most):
    # Run a piece of work in a process that ends before its step `most`; returns whether it came that far.
    child = os.fork()
    if child:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, 9), status
        return status == 9
    try:
        steps = iter(range(most))
        def hook(event, arguments):
            is_step = event in STEPS or event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)
            if is_step and next(steps, None) is None:
                os._exit(9)
        sys.addaudithook(hook)
        work(number)
    except BaseException:
        os._exit(1)
    os._exit(0)

number = kills = 0
while run(upload, number, kills):
    # The start after the kill is killed, too, before each of its steps.
    most = 0
    while run(restart, number, most):
        most += 1
        number += 1
        run(upload, number, kills)
    kills += 1
    number += 1
print(kills, number)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the test forks")
def test_a_kill_before_any_step_of_an_upload_or_of_the_next_start_leaves_no_leftover(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    kills, cases = map(int, done.stdout.split())
    assert kills > 10 and cases > 3 * kills
    for state in tmp_path.iterdir():
        recover(state, is_stored=lambda _, origin, __: origin.endswith("a.md"), repair=_nothing, remove=_nothing)
        names = {path.name for path in state.rglob("*") if path.is_file()}
        assert names <= {"a.md"} and not list(state.rglob(".*")), (state.name, sorted(state.rglob("*")))


def test_recovery_leaves_a_running_upload_alone(tmp_path):
    root = tmp_path / "uploads" / "tenant" / "user" / "source"
    with PendingUpload(root, PendingWork("t", "u", "s", ("uploads/a.md",))) as pending:
        assert recover(tmp_path, is_stored=_fail, repair=_fail, remove=_fail) == 0
        with (root / "content").open("w+b") as content:
            content.write(b"new")
            content.seek(0)
            pending.write(content, root / "uploads" / "a.md")
        pending.settle(())
    assert (root / "uploads" / "a.md").read_bytes() == b"new" and not list(root.glob(".*"))


def test_upload_whose_new_folder_another_server_deletes_makes_it_again(tmp_path, monkeypatch):
    """A server that starts deletes empty folders; it cannot know whose journal is about to be written."""
    root, opened, deleted = tmp_path / "uploads" / "tenant" / "user" / "source", Path.open, []

    def delete_first(path, *arguments, **options):
        if path.name == "pending.json" and not deleted:
            deleted.append(path)
            recover(tmp_path, is_stored=_fail, repair=_fail, remove=_fail)
            assert not path.parent.exists()
        return opened(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", delete_first)
    with PendingUpload(root, PendingWork("t", "u", "s")):
        assert deleted and len(list(root.glob(".*/pending.json"))) == 1
    assert not list(root.glob(".*"))


def test_recovery_does_not_repeat_a_removal_that_ends_meanwhile(tmp_path, monkeypatch):
    root, opened = tmp_path / "uploads" / "tenant" / "user" / "source", Path.open
    pending = PendingUpload(root, PendingWork("t", "u", "s", ("uploads/a.md",)))
    pending.__enter__()

    def end_after_opening(path, *arguments, **options):
        file = opened(path, *arguments, **options)
        monkeypatch.undo()
        pending.__exit__()
        return file

    monkeypatch.setattr(Path, "open", end_after_opening)
    assert recover(tmp_path, is_stored=_fail, repair=_fail, remove=_fail) == 0


def test_notes_that_a_kill_left_staged_are_swept_by_age(tmp_path):
    (tmp_path / "uploads").mkdir()
    left = [tmp_path / "uploads" / ".place-1", tmp_path / ".upload-folders.json-2"]
    for path in (*left, tmp_path / "uploads" / ".place"):
        path.write_text("x", encoding="ascii")
        os.utime(path, (1_000, 1_000))
    (tmp_path / "uploads" / ".place-3").write_text("x", encoding="ascii")
    sweep(tmp_path, 2_000)
    assert staged_notes(tmp_path) == [tmp_path / "uploads" / ".place-3"]
    assert (tmp_path / "uploads" / ".place").exists()


def _nothing(*_):
    return None


def _fail(*_):
    pytest.fail("recovery changes what is not its own")


def test_a_system_that_opens_no_folders_takes_uploads(tmp_path, monkeypatch):
    """Windows flushes no folders, and refuses to open them."""
    opened = os.open

    def refuse_folders(path, *arguments, **options):
        if Path(path) == root / "uploads":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *arguments, **options)

    root = tmp_path / "uploads" / "tenant" / "user" / "source"
    monkeypatch.setattr("os.open", refuse_folders)
    with PendingUpload(root, PendingWork("t", "u", "s")) as pending:
        pending.write(io.BytesIO(b"new"), root / "uploads" / "a.md")
        pending.settle(set())
    assert [path.name for path in root.rglob("*") if path.is_file()] == ["a.md"]


def test_a_system_that_deletes_no_open_file_keeps_no_journal(tmp_path, monkeypatch):
    """As on Windows: a journal can be deleted only after it was closed."""
    unlinked, journals = Path.unlink, []

    def refuse_open(path, **options):
        if any(not journal.closed for journal in journals):
            raise PermissionError(13, "used by another process", str(path))
        unlinked(path, **options)

    made = pending_uploads._new_journal
    monkeypatch.setattr(pending_uploads, "_new_journal", lambda folder: journals.append(made(folder)) or journals[-1])
    monkeypatch.setattr(Path, "unlink", refuse_open)
    root = tmp_path / "uploads" / "tenant" / "user" / "source"
    with PendingUpload(root, PendingWork("t", "u", "s")):
        pass
    assert list(root.iterdir()) == []
