"""A conversation with a program that believes it is at a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PATIENCE = 120.0


def talk(command: str, typed: Sequence[str], *, prompt: str, cwd: Path, env: Mapping[str, str]) -> str:
    """What was on the screen after typing these lines, each as soon as the program asked for one; then Ctrl-D."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        ["bash", "-c", command], cwd=cwd, env=env, stdin=slave, stdout=slave, stderr=slave
    ) as process:
        os.close(slave)
        try:
            screen = ""
            for line in [*typed, "\x04"]:
                screen += _until(master, prompt)
                os.write(master, line.encode() + (b"" if line == "\x04" else b"\n"))
            screen += _until(master, None)
            code = process.wait(_PATIENCE)
        finally:
            if process.poll() is None:
                process.kill()
            os.close(master)
    plain = _ESCAPE.sub("", screen).replace("\r\n", "\n")
    assert code == 0, f"{command} left with {code}:\n{plain}"
    return plain


def _until(terminal: int, prompt: str | None) -> str:
    """What appears until the prompt stands at the end, or until the program leaves."""
    seen, ends = b"", monotonic() + _PATIENCE
    while prompt is None or not _ESCAPE.sub("", seen.decode("utf-8", "replace")).endswith(prompt):
        ready, _, _ = select.select([terminal], [], [], max(0.0, ends - monotonic()))
        if not ready:
            raise TimeoutError(f"nothing more appeared after: {seen.decode('utf-8', 'replace')[-400:]}")
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # how Linux says that the other end was closed
            piece = b""
        if not piece:
            assert prompt is None, f"the program left: {seen.decode('utf-8', 'replace')[-400:]}"
            break
        seen += piece
    return seen.decode("utf-8", "replace")
