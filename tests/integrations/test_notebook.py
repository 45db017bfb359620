"""Progress bars in a notebook and on a terminal; a stand-in for IPython records what is displayed."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from dragoman.integrations import notebook
from dragoman.models import weights
from dragoman.train.contract import Progress


@pytest.fixture
def shown(monkeypatch):
    """The HTML of each bar, in the order of the bars; every update replaces its bar's."""
    bars = []

    class Handle:
        def __init__(self, content):
            self.place = len(bars)
            bars.append(content)

        def update(self, content):
            bars[self.place] = content

    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())
    display.HTML, display.display = str, lambda content, display_id: Handle(content)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr(notebook, "_BETWEEN", 0.0)
    return bars


def test_a_notebook_shows_one_bar_for_each_piece_of_work(shown):
    with notebook.progress() as bars:
        bars.ingest(2, 0, "https://example.org/<a>")
        bars.ingest(1, 4, "a.md")
        bars.ingest(2, 4, "b.md")
        bars.train(Progress("Training", 3, 12, loss=0.25))
        bars.evaluate("kbp", 7, None, "bm25")
        weights.on_progress("tiny", 5, 10)
    pages, reading, training, evaluating, fetching = shown
    assert "Fetching pages" in pages and "https://example.org/&lt;a&gt;" in pages
    assert 'value="2" max="4"' in reading and "50%" in reading and "b.md" in reading
    assert "25%" in training and "loss 0.250" in training
    assert "<progress>" in evaluating and "kbp" in evaluating
    assert "Fetching tiny" in fetching and weights.on_progress is None


def test_updates_are_spaced_but_the_end_is_always_shown(shown, monkeypatch):
    monkeypatch.setattr(notebook, "_BETWEEN", 60.0)
    with notebook.progress() as bars:
        for done in range(5):
            bars.ingest(done, 4, "a.md")
            assert (" 0%" in shown[0], " 100%" in shown[0]) == (done < 4, done == 4)


def test_a_terminal_shows_bars_and_a_pipe_nothing(capsys, monkeypatch):
    assert not notebook.in_notebook()
    with notebook.progress() as bars:
        bars.ingest(1, 4, "a.md")
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with notebook.progress() as bars:
        bars.ingest(1, 4, "[a].md")
    printed = capsys.readouterr()
    assert printed.out == "" and "Reading" in printed.err and "25%" in printed.err and "[a].md" in printed.err
