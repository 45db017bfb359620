"""Bars: on a terminal after a moment, one line down a pipe, and never on standard output."""

from __future__ import annotations

import pytest

from dragoman.cli.terminal import progress
from dragoman.models import weights


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)


def test_bar_names_what_is_at_hand(terminal, capsys):
    with progress.progress_bars() as bars:
        bars.reading(1, 4, "documents/ferry.md")
        bars.reading(2, 4, "documents/[x].md")
    printed = capsys.readouterr()
    assert "Reading" in printed.err and "documents/[x].md" in printed.err and "50%" in printed.err
    assert printed.out == ""


def test_pages_are_counted_while_they_are_fetched(terminal, capsys, monkeypatch):
    with progress.progress_bars() as bars:
        bars.reading(3, 0, "https://example.org/a")
    assert "3: https://example.org/a" in capsys.readouterr().err
    monkeypatch.delenv("FORCE_COLOR")
    monkeypatch.setattr(progress, "_BETWEEN_LINES", 0.0)
    with progress.progress_bars() as bars:
        bars.reading(3, 0, "https://example.org/a")
        bars.reading(0, 0, "")
    assert capsys.readouterr().err == "Fetching pages: 3 https://example.org/a\n"


def test_nothing_is_shown_for_what_is_over_at_once(terminal, capsys, monkeypatch):
    with progress.progress_bars() as bars:
        bars.reading(4, 4, "")
    monkeypatch.setattr(progress, "_PATIENCE", 60.0)
    with progress.progress_bars() as bars:
        bars.reading(1, 4, "a.md")
    assert capsys.readouterr().err == ""


def test_down_a_pipe_slow_work_prints_a_line_now_and_then(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_BETWEEN_LINES", 0.0)
    with progress.progress_bars() as bars:
        bars.show("kbp", 64, 640, "bm25")
        bars.show("kbp", 7, None, "[x]")
        weights.on_notice("Unpacking tiny.gguf, once")
    printed = capsys.readouterr()
    assert printed.err == "kbp: 64 of 640 (10%) bm25\nkbp: 7 [x]\nUnpacking tiny.gguf, once\n"
    assert (printed.out, weights.on_notice) == ("", None)


@pytest.mark.parametrize(
    ("done", "total", "said"),
    [(20_120_577, 20_258_492, "20.1 of 20.3 MB (99%)"), (76_089, 215_197, "76.1 of 215.2 kB (35%)")],
)
def test_down_a_pipe_reading_is_told_in_units_that_people_read(capsys, monkeypatch, done, total, said):
    monkeypatch.setattr(progress, "_BETWEEN_LINES", 0.0)
    with progress.progress_bars() as bars:
        bars.reading(done, total, "a.md")
    assert capsys.readouterr().err == f"Reading: {said} a.md\n"


def test_down_a_pipe_a_long_download_says_how_far_it_is(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_BETWEEN_LINES", 0.0)
    with progress.progress_bars() as bars:
        bars.fetching("tiny", 49_000_000, 98_000_000)
        bars.fetching("tiny", 50_000_000, None)
    printed = "Fetching tiny (98 MB)\nFetching tiny: 49 of 98 MB (50%)\nFetching tiny: 50 MB\n"
    assert capsys.readouterr().err == printed


def test_down_a_pipe_short_work_after_a_long_download_is_silent(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    with progress.progress_bars() as bars:
        bars.fetching("tiny", 0, 98_000_000)
        now[0] = 9.0
        bars.fetching("tiny", 98_000_000, 98_000_000)
        now[0] = 12.0
        bars.reading(0, 714, "persona.md")
    assert capsys.readouterr().err == "Fetching tiny (98 MB)\n"


def test_down_a_pipe_reading_is_silent_and_fetching_is_one_line(capsys):
    with progress.progress_bars() as bars:
        bars.reading(1, 4, "a.md")
        weights.on_progress("tiny", 0, 98_000_000)
        weights.on_progress("tiny", 49_000_000, 98_000_000)
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "Fetching tiny (98 MB)\n")
    assert weights.on_progress is None
