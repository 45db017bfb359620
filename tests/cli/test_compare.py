"""`compare`."""

from __future__ import annotations


def test_compare_shows_counts_and_turns(invoke, lab):
    invoke("evaluate", "ferry.toml")
    done = invoke("compare", "runs/ferry:never", "runs/ferry:bm25", "--limit", "1")
    assert done.exit_code == 0, done.output
    for part in ("never > bm25", "gate on 12", "asked   What does the ferry of Ellisund cost?", "does not look", "p0"):
        assert part in done.stdout
