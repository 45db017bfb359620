"""File names of indexes, and locks between processes that change them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from dragoman.core.errors import StoreLockedError
from dragoman.core.private_files import make_private_file, make_private_folder, tighten
from dragoman.core.values import Scope, SourceName


def index_name(*parts: str) -> str:
    """A file name for any tenant or source name: a hash."""
    return blake2b("\x00".join(parts).encode(), digest_size=12).hexdigest()


def sidecar_folder(root: Path, scope: Scope, source: SourceName, kind: str) -> Path:
    """The folder of one index of a source."""
    return root / index_name(scope.tenant, source) / kind


@contextmanager
def exclusive(folder: Path, scope: Scope, *, seconds: float, building: str = "") -> Iterator[None]:
    """Lock a tenant's index, or one build, against other threads and processes; freed when the holder dies."""
    import apsw

    make_private_folder(folder)
    tighten(folder)
    name = index_name(scope.tenant, building) if building else index_name(scope.tenant)
    make_private_file(folder / f"{name}.lock")
    lock = apsw.Connection(str(folder / f"{name}.lock"))
    try:
        lock.set_busy_timeout(round(seconds * 1000))
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except apsw.BusyError as error:
            raise StoreLockedError(
                f"The search index in '{folder}' has been busy for {seconds:g} s: it is being rebuilt.",
                remedy="Try again when that is done.",
            ) from error
        yield
    finally:
        lock.close()
