"""A Git repository as files to ingest: its newest version, cloned by the program `git` without history."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from dragoman.core.errors import InputError
from dragoman.sources.files import FoundFiles, SourceFile, find, readers
from dragoman.sources.web.addresses import check_url, public_address

PREFIX = "git+"
SECONDS = 300.0
_LARGEST = "20m"
"""Largest file that is fetched."""


def is_repository(address: str) -> bool:
    """Whether an address names a Git repository: `git+https://...`, or a URL that ends in `.git`."""
    return address.startswith(PREFIX) or address.rstrip("/").endswith(".git")


def fetch_repository(address: str, folder: Path, *, allow_private: bool = False) -> FoundFiles:
    """The files of a repository that can be read, under the address and their paths in it."""
    url, _, branch = address.removeprefix(PREFIX).partition("#")
    scheme = urlsplit(url).scheme
    if scheme == "file" and allow_private:
        root = url.rstrip("/")
    else:
        root = check_url(url).rstrip("/")
        parts = urlsplit(root)
        public_address(parts.hostname or "", parts.port or 443, allow_private=allow_private)
    _clone(root, branch, folder)
    tree = find([folder], base=folder)
    suffixes = readers()
    files = tuple(
        SourceFile(file.path, f"{root}/{file.origin}")
        for file in tree.files
        if (suffix := file.path.suffix.lower()) and suffix in suffixes
    )
    if not files:
        raise InputError(f"The repository '{root}' holds no file that can be read.", remedy="Check the address.")
    return replace(tree, files=files, roots=(root,))


def _clone(url: str, branch: str, folder: Path) -> None:
    program = shutil.which("git")
    if program is None:
        raise InputError("The program 'git' is not installed.", remedy="Install it, or download the files.")
    command = [program, "-c", "core.symlinks=false", "-c", "protocol.allow=never"]
    for scheme in ("https", "http", "file"):
        command += ["-c", f"protocol.{scheme}.allow=always"]
    command += ["clone", "-q", "--depth=1", "--no-tags", "--single-branch", f"--filter=blob:limit={_LARGEST}"]
    command += ([f"--branch={branch}"] if branch else []) + ["--", url, str(folder)]
    # Nothing asks for a password, and no configuration or hook of this user takes part.
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ASKPASS": ""}
    try:
        subprocess.run(
            command,
            env={**os.environ, **quiet},
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=SECONDS,
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise InputError(f"Cloning '{url}' takes more than {SECONDS:g} s.", remedy="Clone it by hand.") from error
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode("utf-8", "replace").strip().splitlines() or ["no reason given"]
        raise InputError(f"'{url}' cannot be cloned: {lines[-1]}.", remedy="Check the address.") from error
