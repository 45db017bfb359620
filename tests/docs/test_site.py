"""The documents as a site: it builds without a warning, with search and the reference of the API."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_site_builds_without_warnings(tmp_path):
    pytest.importorskip("material")
    pytest.importorskip("mkdocstrings")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path / "site"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=False,
    )
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    index = json.loads((tmp_path / "site" / "search" / "search_index.json").read_text(encoding="utf-8"))
    assert any("robots.txt" in entry["text"] for entry in index["docs"])
    reference = (tmp_path / "site" / "api.html").read_text(encoding="utf-8")
    for sentence in ("The reply to a turn", "Return the facts about a user", "A piece of text in a source"):
        assert sentence in reference
    assert 'href="../SECURITY.html"' in (tmp_path / "site" / "howto" / "serve.html").read_text(encoding="utf-8")
    commands = (tmp_path / "site" / "cli" / "index.html").read_text(encoding="utf-8")
    assert 'href="chat.html"' in commands
    assert "dragoman label relevance --help" in (tmp_path / "site" / "cli" / "label.html").read_text(encoding="utf-8")
