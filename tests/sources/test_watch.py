import threading
import time

from dragoman.sources.watch import changes


def test_added_changed_and_removed_files_are_noticed_within_a_second(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    watch = changes([folder, tmp_path / "missing"], pause=0.05)

    def later(action):
        threading.Timer(0.15, action).start()
        started = time.monotonic()
        next(watch)
        return time.monotonic() - started

    note = folder / "a.md"
    assert later(lambda: note.write_text("one")) < 1
    assert later(lambda: note.write_text("one and two")) < 1
    assert later(note.unlink) < 1
