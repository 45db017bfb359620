"""Ingest the files that an agent.toml declares: when they change, and only once for private sources."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Protocol

from dragoman.core.errors import ConfigError
from dragoman.core.values import Scope

if TYPE_CHECKING:
    from dragoman.config import AgentConfig
    from dragoman.core.protocols import Encoder, Memory, Store
    from dragoman.sources.files import Failure
    from dragoman.sources.ingest import IngestProgress

_log = logging.getLogger("dragoman.agent")
_MOST_REASONS, _MOST_NAMES = 2, 5


class Holder(Protocol):
    """Protocol of what files are ingested into, such as an assistant."""

    @property
    def store(self) -> Store: ...

    @property
    def encoder(self) -> Encoder: ...

    @property
    def memory(self) -> Memory | None: ...


def read_declared(
    config: AgentConfig, folder: Path, holder: Holder, *, progress: IngestProgress | None = None
) -> tuple[Failure, ...]:
    """Update every source from its path; return the files that could not be read, with the reason."""
    from dragoman.sources.ingest import ingest
    from dragoman.sources.seed import seed

    store, encoder = holder.store, holder.encoder
    failed: list[Failure] = []
    for entry in config.sources:
        if entry.path is None:
            continue
        path = folder / entry.path
        if not path.exists():
            raise ConfigError(
                f"The source '{entry.name}' is to be read from '{entry.path}', which is not in {folder}.",
                remedy="Put it there, or correct the path of that source.",
                source=entry.name,
            )
        source = entry.source()
        if source.private:
            remember = getattr(holder.memory, "remember", None) if source.about == "user" else None
            seed(store, encoder, source, path, config.tenant, remember=remember)
            continue
        report = ingest(
            *(store, encoder, source, [path]),
            scope=Scope(config.tenant),
            progress=progress,
            base=folder,
            sync=True,
            retry=False,
        )
        failed += report.failed
        for link in report.skipped:
            _log.warning("skipped %s: %s", link.path, link.reason)
    _warn(failed)
    return tuple(failed)


def _warn(failed: Sequence[Failure]) -> None:
    """Log the failures in a few lines, since a folder may hold a thousand unreadable pictures."""
    if len(failed) <= _MOST_REASONS:
        for failure in failed:
            _log.warning("could not read %s: %s", failure.path, failure.reason)
        return
    named = ", ".join(PurePath(failure.path).name for failure in failed[:_MOST_NAMES])
    more = f" and {len(failed) - _MOST_NAMES} more" if len(failed) > _MOST_NAMES else ""
    _log.warning(
        "could not read %d files: %s%s; `dragoman ingest` of their folder gives every reason.", len(failed), named, more
    )
