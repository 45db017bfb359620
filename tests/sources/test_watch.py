from dragoman.sources import watch
from dragoman.sources.watch import PAUSE, changes


def test_added_changed_and_removed_files_are_noticed_at_the_next_look(tmp_path, monkeypatch):
    folder = tmp_path / "notes"
    folder.mkdir()
    note = folder / "a.md"
    happenings = [
        lambda: note.write_text("one"),
        lambda: None,
        lambda: note.write_text("one and two"),
        lambda: None,
        note.unlink,
    ]
    left = []

    def pause(seconds):
        assert seconds == PAUSE <= 1
        happenings.pop(0)()

    monkeypatch.setattr(watch, "sleep", pause)
    noticed = changes([folder, tmp_path / "missing"])
    for _ in range(3):
        next(noticed)
        left.append(len(happenings))
    assert left == [4, 2, 0]  # and nothing is noticed where nothing happened
