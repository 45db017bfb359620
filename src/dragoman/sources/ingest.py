"""Ingest files, folders, pages and repositories into a source: write only what changed.

The next run finishes an interrupted one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from dragoman.core.errors import InputError
from dragoman.core.html import table
from dragoman.core.values import Scope, Source
from dragoman.core.workers import InProcess, Workers
from dragoman.sources.files import Failure, FoundFiles, find
from dragoman.sources.ingest_run import IngestRun
from dragoman.sources.ingest_work import MakeEncoder
from dragoman.sources.ledger import Way
from dragoman.sources.web import is_address

if TYPE_CHECKING:
    from dragoman.core.protocols import Encoder, Store
    from dragoman.sources.web.site import WebLimits

log = logging.getLogger("dragoman.sources")


class IngestProgress(Protocol):
    """Callback with the bytes done, the bytes in all, and the name of the current file.

    While pages are fetched, the bytes in all are not known: `total` is 0, and `done` counts pages.
    """

    def __call__(self, done: int, total: int, name: str, /) -> None: ...


@dataclass(frozen=True, slots=True)
class IngestReport:
    """Counts of an ingest: passages added, changed, removed and unchanged, and files read."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    files: int = 0
    failed: tuple[Failure, ...] = ()
    seconds: float = 0.0
    full: tuple[str, ...] = ()
    """The failed files whose passages exceed the quota."""
    skipped: tuple[Failure, ...] = ()
    """Links that lead out of their folder."""

    def _repr_html_(self) -> str:
        """For notebooks."""
        counts = ("files", "added", "changed", "removed", "unchanged")
        shown = table((*counts, "seconds"), [(*(str(getattr(self, name)) for name in counts), f"{self.seconds:.1f}")])
        problems = [("failed", *failure) for failure in self.failed] + [("skipped", *link) for link in self.skipped]
        return shown + (table(("", "file", "reason"), problems) if problems else "")


def ingest(
    store: Store,
    encoder: Encoder,
    source: Source,
    paths: Iterable[Path | str],
    *,
    scope: Scope,
    progress: IngestProgress | None = None,
    batch: int = 64,
    base: Path | None = None,
    sync: bool = False,
    follow_links: bool = False,
    room: int | None = None,
    way: Way = "ingested",
    workers: Workers | None = None,
    made: MakeEncoder | None = None,
    web: WebLimits | None = None,
    retry: bool = True,
) -> IngestReport:
    """Bring a source up to date with files, folders, web pages, sitemaps and Git repositories.

    A file that fails is reported, and the run goes on with the others. An interrupted run keeps what it has written;
    the next run does the rest.

    - `sync` removes the passages of files that are gone from the folders, of pages that a site no longer has
      (404 or 410), and of pages that a sitemap listed before and lists no longer.
    - `follow_links` also reads files that links inside a folder point to outside of it.
    - `room` is the number of passages that may still be added. A file with more fails; smaller ones after it may fit.
    - `way` says how the files arrived. Files that arrived another way are left alone.
    - `workers` read and encode; workers in other processes build their encoder with `made`. Only this process writes
      to the store.
    - Files that were refused before and did not change are read again, unless `retry` is False.
    - `web` limits what is fetched for paths that are addresses; their passages have the addresses as origins.
    """
    started = perf_counter()
    workers = workers or InProcess()
    if not workers.here and made is None:
        raise InputError(
            "Workers in other processes cannot share this encoder.", remedy="Pass `made`, which builds one."
        )
    places = list(paths)
    run = IngestRun(
        *(store, source),
        scope=source.scope(scope),
        batch=batch,
        base=base or Path.cwd(),
        room=room,
        way=way,
        retry=retry,
    )
    with ExitStack() as stack:
        files = find([path for path in places if not is_address(path)], base=base, follow_links=follow_links)
        addresses = [str(path) for path in places if is_address(path)]
        if addresses:
            folder = stack.enter_context(TemporaryDirectory(prefix="dragoman-web-"))
            files = _joined(files, _fetched(addresses, Path(folder), web, progress))
        if sync:
            files = run.remove_pages(files)
        run.watch(files, progress)
        if sync:
            run.remove_missing(files)
        run.bring(files.files, encoder, workers, None if workers.here else made)
        run.remember_listings(files.listings, only=sync)
    run.index()
    run.over()
    counts = run.counts
    report = IngestReport(
        counts.added,
        counts.changed,
        counts.removed,
        counts.unchanged,
        counts.files,
        run.failures,
        perf_counter() - started,
        run.full,
        files.skipped,
    )
    log.info("Ingested %d files into %s, %d failed.", report.files, source.name, len(report.failed))
    return report


def _fetched(
    addresses: Iterable[str], folder: Path, web: WebLimits | None, progress: IngestProgress | None
) -> FoundFiles:
    """Pages and repositories as files in a folder; an address that fails is reported."""
    from dragoman.sources.web.git import fetch_repository, is_repository
    from dragoman.sources.web.site import WebLimits, fetch_pages

    limits = web or WebLimits()
    repositories = [address for address in addresses if is_repository(address)]
    pages = [address for address in addresses if address not in repositories]
    tell = None if progress is None else lambda count, address: progress(count, 0, address)
    files = fetch_pages(pages, folder / "pages", limits, progress=tell)
    for number, address in enumerate(repositories):
        if tell is not None:
            tell(len(files.files), address)
        try:
            cloned = fetch_repository(address, folder / f"clone{number}", allow_private=limits.allow_private)
            files = _joined(files, cloned)
        except InputError as error:
            files = replace(files, failed=(*files.failed, Failure(address, str(error))))
    return files


def _joined(first: FoundFiles, second: FoundFiles) -> FoundFiles:
    return FoundFiles(
        (*first.files, *second.files),
        first.roots + second.roots,
        first.failed + second.failed,
        first.skipped + second.skipped,
        first.gone + second.gone,
        first.listings + second.listings,
    )
