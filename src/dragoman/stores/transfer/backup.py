"""Backups: a folder with one data file and a manifest, which is written last."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import file_digest
from pathlib import Path
from typing import Any

from dragoman.core.errors import InputError, StoreCorruptError
from dragoman.core.private_files import make_private_file, make_private_folder
from dragoman.stores.in_memory import words
from dragoman.stores.sql_store import TableStore
from dragoman.stores.sqlite.store import SqliteStore
from dragoman.stores.transfer.copying import Progress, copy_store
from dragoman.stores.transfer.portable import RecordSource, Summary, summary
from dragoman.stores.transfer.record_file import RecordFile

MANIFEST = "backup.json"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """Name, size, hash and content summary of a backup's data file."""

    file: str
    bytes: int
    sha256: str
    store: str
    at: str
    content: Summary
    format: int = _FORMAT


def back_up(store: TableStore, folder: Path) -> BackupManifest:
    """Write a backup into a new folder, while the store is in use."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"'{folder}' is there already and not empty.", remedy="Give a new folder for the backup.")
    make_private_folder(folder)
    identity = store.identity()
    file = store.dump(folder)
    with _readable(file) as readable:
        content = readable.check() if isinstance(readable, RecordFile) else summary(readable)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    manifest = BackupManifest(file.name, file.stat().st_size, _sha256(file), identity, at, content)
    _sync(file)
    draft = folder / f"{MANIFEST}.draft"
    make_private_file(draft)
    draft.write_text(json.dumps(asdict(manifest), indent=2), "utf-8")
    _sync(draft)
    draft.replace(folder / MANIFEST)
    return manifest


def read_manifest(folder: Path) -> BackupManifest:
    """The manifest of a finished backup."""
    try:
        content: dict[str, Any] = json.loads((folder / MANIFEST).read_text("utf-8"))
        manifest = BackupManifest(**{**content, "content": Summary(**content["content"])})
    except FileNotFoundError as error:
        raise InputError(
            f"'{folder}' holds no finished backup: there is no {MANIFEST}.", remedy="Give the folder of a backup."
        ) from error
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StoreCorruptError(f"'{folder / MANIFEST}' cannot be read.", remedy="Use another backup.") from error
    if manifest.format != _FORMAT:
        raise StoreCorruptError(f"'{folder}' is a backup of format {manifest.format}.", remedy="Upgrade Dragoman.")
    return manifest


def verify_backup(folder: Path) -> BackupManifest:
    """The manifest of a backup, after its data file is compared with it by hash and by content."""
    manifest = read_manifest(folder)
    file = folder / manifest.file
    if not file.is_file() or _sha256(file) != manifest.sha256:
        raise StoreCorruptError(
            f"'{file}' is missing, or is not what was written.", remedy="Use another backup.", path=str(file)
        )
    with _readable(file) as readable:
        content = readable.check() if isinstance(readable, RecordFile) else summary(readable)
    if content != manifest.content:
        raise StoreCorruptError(f"'{file}' does not hold what its manifest says.", remedy="Use another backup.")
    return manifest


def restore(folder: Path, target: TableStore, *, progress: Progress = lambda what, done, of: None) -> Summary:
    """Restore a backup into an empty store of any kind; a repeated call resumes an interrupted one."""
    manifest = verify_backup(folder)
    with _readable(folder / manifest.file) as source:
        copied = copy_store(source, target, identity=manifest.sha256[:16], again=True, progress=progress)
    if copied.summary != manifest.content:
        raise StoreCorruptError(f"{target.where} does not hold what the backup does.", remedy="Restore it once more.")
    target.settle()
    return copied.summary


def restore_file(folder: Path, path: Path) -> Summary | None:
    """Restore an SQLite backup as a file, atomically; None if the backup is of another kind."""
    manifest = read_manifest(folder)
    if not manifest.file.endswith(".db"):
        return None
    if path.exists():
        raise InputError(f"'{path}' is there already.", remedy="Give a new path, or move that file away.")
    manifest = verify_backup(folder)
    make_private_folder(path.parent)
    draft = path.with_name(f"{path.name}.restoring")
    for leftover in draft.parent.glob(f"{draft.name}*"):
        leftover.unlink()
    make_private_file(draft)
    shutil.copyfile(folder / manifest.file, draft)
    store = SqliteStore(path=draft, analyse=words)
    store.new_identity()
    content = summary(store)
    store.close()
    if content != manifest.content:
        raise StoreCorruptError(f"'{draft}' does not hold what the backup does.", remedy="Restore it once more.")
    _sync(draft)
    draft.replace(path)
    return content


@contextmanager
def _readable(file: Path) -> Iterator[RecordSource]:
    if not file.name.endswith(".db"):
        yield RecordFile(file)
        return
    store = SqliteStore(path=file, analyse=words)
    try:
        yield store
    finally:
        store.close()


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()


def _sync(file: Path) -> None:
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
