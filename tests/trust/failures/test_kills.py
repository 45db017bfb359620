"""200 kills of a writer on each store: no acknowledged turn, fact or upload is lost, and no upload is half there."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.trust, pytest.mark.slow]
KILLS = 200


@pytest.fixture(params=["sqlite", "postgres"])
def url(folder, request):
    """The address of the agent's store; empty for SQLite, whose file lies in its folder."""
    if request.param == "sqlite":
        return ""
    request.getfixturevalue("empty")
    address = request.getfixturevalue("schema").url()
    config = folder / "agent.toml"
    config.write_text(f'{config.read_text()}\n[store]\nkind = "postgres.v1"\nurl = "{address}"\n', encoding="utf-8")
    return address


@pytest.mark.usefixtures("url")
def test_nothing_acknowledged_is_lost_in_200_kills_uploads_included(folder, tmp_path):
    program = [
        sys.executable,
        "-m",
        "tests.trust.failures.killed_writer",
        str(folder),
        str(tmp_path / "log"),
        str(KILLS),
        "7",
    ]
    done = subprocess.run(program, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) > KILLS, "each writer acknowledges something before it is killed, as a rule"


def test_forgetting_that_was_killed_and_asked_for_again_leaves_no_byte(folder, tmp_path, url):
    program = [
        sys.executable,
        "-m",
        "tests.trust.failures.killed_writer",
        "forget",
        str(folder),
        str(tmp_path / "log"),
        "15",
        url,
    ]
    done = subprocess.run(program, capture_output=True, text=True, timeout=1200, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert len((tmp_path / "log").read_text().splitlines()) == 16
