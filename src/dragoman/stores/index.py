"""The sidecar index of a shared source: files beside the store that can be rebuilt from it at any time.

A manifest says up to which change of its source an index is good. Behind the store: only what changed is
added. Missing, damaged or half written: it is rebuilt. Where rows are removed, the index lets go of their
bytes before the store commits, and counts as broken until it has.
"""

from __future__ import annotations

import json
import logging
import secrets
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from threading import RLock
from typing import Generic, TypeAlias, TypeVar

from dragoman.core.errors import StoreLockedError
from dragoman.core.values import Scope, SourceName

T = TypeVar("T")
Feed: TypeAlias = Callable[[int, int], Iterator[tuple[int, T]]]
"""The keys and contents of the live rows that changed after one counter, up to another."""

logger = logging.getLogger("dragoman.stores.index")
_FORMAT = 1
_DAMAGE = (OSError, ValueError, KeyError, TypeError, RuntimeError, SystemError)  # what the two engines raise


def index_name(*parts: str) -> str:
    """A file name that any tenant or source can have."""
    return blake2b("\x00".join(parts).encode(), digest_size=12).hexdigest()


@contextmanager
def exclusive(folder: Path, scope: Scope, *, seconds: float) -> Iterator[None]:
    """Hold a tenant's index against other threads and processes; a killed holder lets go of it."""
    import apsw

    folder.mkdir(parents=True, exist_ok=True)
    lock = apsw.Connection(str(folder / f"{index_name(scope.tenant)}.lock"))
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


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an index's files hold: a store's rows up to a change counter, vectors of `width` dimensions."""

    store: str
    counter: int
    name: str
    width: int = 0
    whole: bool = True
    format: int = _FORMAT


class Sidecar(ABC, Generic[T]):
    """One index of one source; whoever refreshes or purges it holds the tenant's lock."""

    def __init__(self, folder: Path, store: str) -> None:
        self.folder = folder
        self._store = store
        self.lock = RLock()
        self._opened: Manifest | None = None

    def is_fresh(self, counter: int, width: int) -> bool:
        """Whether the opened files hold the store's rows as they are at a counter."""
        return self._opened is not None and self._opened.counter == counter and self._opened.width == width

    def refresh(self, counter: int, feed: Feed[T], *, width: int = 0) -> None:
        """Open the files, brought up to date with the store at a counter."""
        manifest = self.manifest()
        # A manifest ahead of the store means that the store was put back to an older state.
        if manifest is not None and manifest.width == width and manifest.counter <= counter:
            try:
                self._catch_up(manifest, counter, feed)
                return
            except _DAMAGE as error:
                logger.warning("The index in %s is damaged and will be rebuilt: %s", self.folder, type(error).__name__)
        self.rebuild(counter, feed, width=width)

    def rebuild(self, counter: int, feed: Feed[T], *, width: int = 0) -> None:
        """Make the files anew from the store."""
        self.drop()
        self.folder.mkdir(parents=True, exist_ok=True)
        manifest = Manifest(self._store, counter, secrets.token_hex(8), width)
        self._create(self.folder / manifest.name, feed(0, counter), width)
        self._open(self.folder / manifest.name)
        self._write(manifest)

    def purge(self, keys: Sequence[int]) -> Callable[[], None]:
        """Let go of rows before the store does; call the answer once the store has."""
        manifest = self.manifest()
        if manifest is None or not self.keeps_after_purge(len(keys)):
            self.drop()
            return lambda: None
        self._write(replace(manifest, whole=False))
        try:
            purged = replace(manifest, name=secrets.token_hex(8))
            if self._opened is None or self._opened.name != manifest.name:
                self._open(self.folder / manifest.name)
            self._erase(keys, self.folder / purged.name)
        except _DAMAGE:
            self.drop()
            return lambda: None
        self._opened = purged
        self._sweep(purged.name)
        return lambda: self._write(purged)

    def drop(self) -> None:
        """Remove the files; the next refresh makes them anew."""
        self._opened = None
        self._close()
        if self.folder.exists():
            shutil.rmtree(self.folder)

    def manifest(self) -> Manifest | None:
        """What the files hold, or None where there are none to rely on."""
        try:
            manifest = Manifest(**json.loads((self.folder / "manifest.json").read_text("utf-8")))
        except FileNotFoundError:
            return None
        except _DAMAGE as error:
            logger.warning("The manifest in %s cannot be read: %s", self.folder, type(error).__name__)
            return None
        usable = manifest.whole and manifest.format == _FORMAT and manifest.store == self._store
        return manifest if usable else None

    def _catch_up(self, manifest: Manifest, counter: int, feed: Feed[T]) -> None:
        if self._opened is None or self._opened.name != manifest.name or self._opened.counter != manifest.counter:
            self._open(self.folder / manifest.name)
        if manifest.counter < counter:
            self._write(replace(manifest, whole=False))
            newer = replace(
                manifest, counter=counter, name=self._extend(manifest.name, feed(manifest.counter, counter))
            )
            self._write(newer)
            self._sweep(newer.name)
            manifest = newer
        self._opened = manifest

    def _write(self, manifest: Manifest) -> None:
        draft = self.folder / "manifest.draft"
        draft.write_text(json.dumps(asdict(manifest)), "utf-8")
        draft.replace(self.folder / "manifest.json")
        self._opened = manifest if manifest.whole else self._opened

    def _sweep(self, name: str) -> None:
        for path in self.folder.iterdir():
            if path.name not in (name, "manifest.json"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    @abstractmethod
    def keeps_after_purge(self, removed: int) -> bool:
        """Whether rows can be taken out so that no byte of them is left, or the files have to go."""

    @abstractmethod
    def _create(self, path: Path, rows: Iterator[tuple[int, T]], width: int) -> None: ...

    @abstractmethod
    def _open(self, path: Path) -> None: ...

    @abstractmethod
    def _extend(self, name: str, rows: Iterator[tuple[int, T]]) -> str:
        """Add rows to the opened files; the name under which they then lie."""

    @abstractmethod
    def _erase(self, keys: Sequence[int], path: Path) -> None:
        """Write the opened files without these rows to a new path."""

    @abstractmethod
    def _close(self) -> None: ...


def sidecar_folder(root: Path, scope: Scope, source: SourceName, kind: str) -> Path:
    """Where one index of a source lies."""
    return root / index_name(scope.tenant, source) / kind
