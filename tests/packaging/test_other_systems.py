"""The command where the interpreter has nothing that only Linux and macOS have."""

from __future__ import annotations

import subprocess
import sys

AGENT = """
name = "Test"
[models.language]
kind = "scripted"
default = "Hello there."
[models.encoder]
kind = "hashing"
[[sources]]
name = "MEMORY"
about = "user"
private = true
description = "what the user said"
[[sources]]
name = "DOCUMENTS"
description = "notes"
path = "documents"
"""
# What libraries need of their own is loaded before: on Windows they have other ways.
WITHOUT = """
import asyncio, ctypes, getpass, multiprocessing, os, shutil, signal, socket, ssl, subprocess, sys, tempfile
import apsw, httpx, numpy, onnxruntime, pydantic, rich.console, tantivy, tokenizers, typer, usearch.index
for name in ("fcntl", "grp", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"):
    sys.modules[name] = None
for module, names in {
    os: "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK chown fchmod fchown fdatasync fork getloadavg getpgid killpg"
    " mkfifo nice posix_fadvise pread pwrite register_at_fork sched_getaffinity sendfile setsid sync sysconf wait4",
    signal: "SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGTSTP SIGUSR1 SIGUSR2 SIGWINCH alarm"
    " pthread_kill pthread_sigmask setitimer siginterrupt sigwait",
    socket: "AF_UNIX",
}.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
from dragoman.cli.main import run
for words in (["init", "mine"], ["ask", "--agent", "test", "When does the hall close?"],
              ["remember", "--agent", "test", "I am vegetarian."], ["ingest", "more.md", "--agent", "test"],
              ["store", "verify", "test"], ["store", "backup", "test", "copy"], ["pack", "test"],
              ["keys", "create", "one", "--user", "me"], ["forget", "--agent", "test", "--all", "--yes"]):
    try:
        run(words)
    except SystemExit as left:
        if left.code:
            raise
"""


def test_commands_need_nothing_that_only_unix_has(tmp_path, own_home):
    (tmp_path / "test" / "documents").mkdir(parents=True)
    (tmp_path / "test" / "agent.toml").write_text(AGENT)
    (tmp_path / "test" / "documents" / "hall.md").write_text("# The hall\n\nThe hall closes at nine.\n")
    (tmp_path / "more.md").write_text("The garden opens at seven.")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The hall closes at nine." in done.stdout and (tmp_path / "copy").exists()
