"""Folders of uploaded files: one for each tenant, user and source, named by digests."""

from __future__ import annotations

import hashlib
import logging
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.core.errors import StoreError
from dragoman.core.values import Scope, Source

if TYPE_CHECKING:
    from dragoman.server.access.quota import Stock

_log = logging.getLogger("dragoman.server")
FOLDER = "uploads"


def user_folder(state: Path, scope: Scope) -> Path:
    """Folder of a user's uploads, or of a tenant's shared ones; ids are hashed, so none can be a path."""
    return state / FOLDER / _digest(scope.tenant) / (_digest(scope.user) if scope.user else "shared")


def source_folder(state: Path, scope: Scope, source: Source) -> Path:
    """Root folder of the caller's uploads into a source; the files are in `uploads` below it."""
    return user_folder(state, source.scope(scope)) / _digest(source.name)


def erase_uploads(state: Path, scope: Scope, stock: Stock) -> int:
    """Delete all uploads of a user; returns the number of files. Changes nothing if they are on another server."""
    folder = user_folder(state, scope)
    stock.check_here(folder)
    if not folder.exists():
        return 0
    erased = sum(1 for path in folder.rglob("*") if path.is_file())
    while folder.exists():
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:
            continue  # something in it went by itself meanwhile
        except OSError as error:
            raise StoreError(
                f"Uploaded files cannot be removed: {error.strerror}.", remedy="Check the folder's permissions."
            ) from error
    stock.recount(folder)
    return erased


def sweep(state: Path, before: float) -> None:
    """Delete hidden leftovers of interrupted uploads that are older than a time."""
    for root in (state / FOLDER).glob("*/*/*"):
        for path in (*root.glob(".*"), *(root / FOLDER).rglob(".*")):
            try:
                if path.stat().st_mtime < before:
                    path.unlink() if path.is_file() else shutil.rmtree(path)
            except FileNotFoundError:
                continue  # another server that shares the folder was first
            except OSError as error:
                _log.warning("what an upload left cannot be removed: %s", error.strerror)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
