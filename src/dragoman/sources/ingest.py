"""Files and folders into a source: only what changed is written, and an interrupted run is finished by the next."""

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
    """Told how many bytes of how many are done, and which file is at hand."""

    def __call__(self, done: int, total: int, name: str, /) -> None: ...


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest did: passages added, changed, removed and found unchanged, out of how many files."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    files: int = 0
    failed: tuple[Failure, ...] = ()
    seconds: float = 0.0
    full: tuple[str, ...] = ()
    """Those of the failed files for whose passages there was no room."""


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
    room: int | None = None,
    way: Way = "ingested",
    workers: Workers | None = None,
    made: MakeEncoder | None = None,
) -> IngestReport:
    """Bring a source up to date with files and folders.

    `room` is how many passages more there may be; a file that has too many fails, and those after it may still fit.
    `way` is how the files came: what came another way is left alone.

    A file that fails is reported and the others go in. With `sync`, passages of files that are gone from the
    given folders are removed. Whatever stops the run, what was written stays, and the next run does the rest.
    `workers` read and encode; those that are elsewhere make an encoder by `made`. The store is written here alone.
    """
    began = perf_counter()
    who = workers or InProcess()
    if not who.here and made is None:
        raise InputError(
            "Workers elsewhere cannot be given an encoder as it is.", remedy="Say by `made` how to make it."
        )
    found = find(paths, base=base)
    inside, lies = source.scope(scope), base or Path.cwd()
    run = IngestRun(store, source, scope=inside, batch=batch, base=lies, room=room, way=way)
    run.watch(found, progress)
    if sync:
        run.remove_missing(found)
    run.bring(found.files, encoder, who, None if who.here else made)
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
        perf_counter() - began,
        run.full,
    )
    log.info("Ingested %d files into %s, %d failed.", report.files, source.name, len(report.failed))
    return report
