"""Ingest files and folders into a source: write only what changed; the next run finishes an interrupted one."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from dragoman.core.errors import InputError
from dragoman.core.values import Scope, Source
from dragoman.core.workers import InProcess, Workers
from dragoman.sources.files import Failure, find
from dragoman.sources.ingest_run import IngestRun
from dragoman.sources.ingest_work import MakeEncoder
from dragoman.sources.ledger import Way

if TYPE_CHECKING:
    from dragoman.core.protocols import Encoder, Store

log = logging.getLogger("dragoman.sources")


class IngestProgress(Protocol):
    """Callback with the bytes done, the bytes in all, and the name of the current file."""

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
) -> IngestReport:
    """Bring a source up to date with files and folders.

    A file that fails is reported, and the run goes on with the others. An interrupted run keeps what it has written;
    the next run does the rest.

    - `sync` removes the passages of files that are gone from the folders.
    - `follow_links` also reads files that links inside a folder point to outside of it.
    - `room` is the number of passages that may still be added. A file with more fails; smaller ones after it may fit.
    - `way` says how the files arrived. Files that arrived another way are left alone.
    - `workers` read and encode; workers in other processes build their encoder with `made`. Only this process writes
      to the store.
    """
    started = perf_counter()
    workers = workers or InProcess()
    if not workers.here and made is None:
        raise InputError(
            "Workers in other processes cannot share this encoder.", remedy="Pass `made`, which builds one."
        )
    files = find(paths, base=base, follow_links=follow_links)
    run = IngestRun(store, source, scope=source.scope(scope), batch=batch, base=base or Path.cwd(), room=room, way=way)
    run.watch(files, progress)
    if sync:
        run.remove_missing(files)
    run.bring(files.files, encoder, workers, None if workers.here else made)
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
