"""A Git repository as files to ingest: its newest version, cloned by the program `git` without history.

The repository is a stranger's: git is given the address that was checked and follows no redirect, the files are counted
before they are written (a few small objects can stand for billions of files), and no file is larger than a limit.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from time import monotonic
from urllib.parse import urlsplit

from dragoman.core.errors import InputError
from dragoman.sources.files import FoundFiles, SourceFile, find, readers
from dragoman.sources.web.addresses import check_url, public_address

PREFIX = "git+"
SECONDS = 300.0
MOST_FILES = 50_000
MOST_BYTES = 2**30
"""Most files and bytes of a repository's newest version, and bytes of the packed file that it comes in."""
_BLOCK = 512


def is_repository(address: str) -> bool:
    """Whether an address names a Git repository: `git+https://...`, or a URL that ends in `.git`."""
    return address.startswith(PREFIX) or address.rstrip("/").endswith(".git")


def fetch_repository(address: str, folder: Path, *, allow_private: bool = False) -> FoundFiles:
    """The files of a repository that can be read, under the address and their paths in it."""
    url, _, branch = address.removeprefix(PREFIX).partition("#")
    scheme = urlsplit(url).scheme
    root = (url if scheme == "file" and allow_private else check_url(url)).rstrip("/")
    _clone(root, branch, folder, allow_private=allow_private)
    listing = find([folder], base=folder)
    kinds = readers()
    files = tuple(
        SourceFile(file.path, f"{root}/{file.origin}")
        for file in listing.files
        if (suffix := file.path.suffix.lower()) and suffix in kinds
    )
    if not files:
        raise InputError(f"The repository '{root}' holds no file that can be read.", remedy="Check the address.")
    return replace(listing, files=files, roots=(root,))


def _clone(url: str, branch: str, folder: Path, *, allow_private: bool) -> None:
    program = shutil.which("git")
    if program is None:
        raise InputError("The program 'git' is not installed.", remedy="Install it, or download the files.")
    until = monotonic() + SECONDS
    safe = [program, "-c", "core.symlinks=false", "-c", "protocol.allow=never", "-c", "http.followRedirects=false"]
    for scheme in ("https", "http", "file"):
        safe += ["-c", f"protocol.{scheme}.allow=always"]
    safe += _pinned(url, allow_private=allow_private)
    clone = ["clone", "-q", "--depth=1", "--no-tags", "--single-branch", "--no-checkout"]
    clone += ([f"--branch={branch}"] if branch else []) + ["--", url, str(folder)]
    _git([*_limited(), *safe, *clone], url, until)
    inner = [*_limited(), *safe, "-C", str(folder)]
    _check_size([*inner, "ls-tree", "-r", "-l", "-z", "HEAD"], url, until)
    _git([*inner, "checkout", "-q", "HEAD"], url, until)


def _pinned(url: str, *, allow_private: bool) -> list[str]:
    """Options that make git connect to the address that was checked, whatever the name resolves to later."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        return []
    host, port = parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)
    address = public_address(host, port, allow_private=allow_private)
    return ["-c", f"http.curloptResolve={host}:{port}:{address}"]


def _limited() -> list[str]:
    """A command in front of git that limits the size of a file, where the system has such limits."""
    shell = shutil.which("sh") if os.name == "posix" else None
    return [shell, "-c", f'ulimit -f {MOST_BYTES // _BLOCK}; exec "$0" "$@"'] if shell else []


def _check_size(command: list[str], url: str, until: float) -> None:
    """Refuse a repository whose files are too many or too large, before any is written."""
    files = size = 0
    rest = b""
    with subprocess.Popen(
        command, env=_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as running:
        assert running.stdout is not None
        try:
            while chunk := running.stdout.read(1 << 16):
                *rows, rest = (rest + chunk).split(b"\0")
                files += len(rows)
                size += sum(int(number) for row in rows if (number := row.partition(b"\t")[0].split()[-1]).isdigit())
                if files > MOST_FILES or size > MOST_BYTES or monotonic() > until:
                    raise InputError(
                        f"The repository '{url}' has more than {MOST_FILES:,} files or {MOST_BYTES / 1e9:.1f} GB.",
                        remedy="Clone it by hand, and give the folder that you mean.",
                    )
        finally:
            running.kill()


def _git(command: list[str], url: str, until: float) -> None:
    try:
        subprocess.run(
            command,
            env=_environment(),
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=max(1.0, until - monotonic()),
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise InputError(f"Cloning '{url}' takes more than {SECONDS:g} s.", remedy="Clone it by hand.") from error
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
        raise InputError(f"'{url}' cannot be cloned: {lines[-1][:300]}.", remedy="Check the address.") from error


def _environment() -> dict[str, str]:
    """The environment of git: nothing asks for a password, and no configuration or hook of this user takes part."""
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ASKPASS": ""}
    return {**os.environ, **quiet}
