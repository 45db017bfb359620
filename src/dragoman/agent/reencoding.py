"""Encode stored passages again after an agent's encoder changed: a few at once, many in the background."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import Condition, Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Literal, Protocol

from dragoman.core.errors import DragomanError
from dragoman.core.protocols import passage_vectors
from dragoman.core.values import Passage, Scope, Source, SourceName

if TYPE_CHECKING:
    from dragoman.core.protocols import Encoder, FloatArray, Store
    from dragoman.sources.ingest import IngestProgress

_log = logging.getLogger("dragoman.agent")
_PAGE = 16
_FEW = 64
"""Passages of a user that are encoded before a turn is answered; more of them wait for the background."""
_TICK = 0.1
_OTHERS = 2.0
"""Seconds after which a source that another process encodes is looked at again."""


class _Unencoded(Protocol):
    @property
    def passage(self) -> Passage: ...


class _Change(Protocol):
    """Protocol of a store's change of encoder; `stores.encoder_change.EncoderChange` implements it."""

    def outdated(self, scope: Scope) -> list[SourceName]: ...

    def left(self, scope: Scope, source: SourceName) -> int: ...

    def clear(self, scope: Scope, source: SourceName) -> str: ...

    def claim(self, scope: Scope, source: SourceName) -> Literal["ours", "theirs", "over"]: ...

    def release(self, scope: Scope, source: SourceName) -> None: ...

    def pages(self, scope: Scope, source: SourceName, size: int) -> Iterator[Sequence[_Unencoded]]: ...

    def write(self, scope: Scope, source: SourceName, page: Sequence[_Unencoded], vectors: FloatArray) -> bool: ...

    def finish(self, scope: Scope, source: SourceName) -> None: ...


@dataclass(frozen=True, slots=True)
class _Job:
    scope: Scope
    source: SourceName


class Reencoding:
    """Watches which stored vectors are from another encoder, and replaces them.

    Until then, only lexical search finds the passages of such a source. It can be stopped at any time: the next
    process continues. If several processes share a store, one of them encodes a source; another takes over after a
    minute without a sign of life.
    """

    def __init__(self, change: _Change, encoder: Encoder, sources: Sequence[Source]) -> None:
        self._change = change
        self._encoder = encoder
        self._about = {source.name: source.about for source in sources}
        self._stop = Event()
        self._changed = Condition()
        self._jobs: deque[_Job] = deque()
        self._known: set[_Job] = set()
        self._thread: Thread | None = None
        self.total = 0
        """Passages to encode, of everything found so far."""
        self.done = 0

    @property
    def is_running(self) -> bool:
        """Whether passages are being encoded in the background."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def sources(self) -> tuple[SourceName, ...]:
        """The sources that are being encoded, or wait for it."""
        with self._changed:
            return tuple(dict.fromkeys(sorted(job.source for job in self._known)))

    def check(self, scope: Scope) -> None:
        """Begin to replace the outdated vectors of a scope; a user's few facts are replaced before this returns."""
        try:
            for source in self._change.outdated(scope):
                job = _Job(scope, source)
                with self._changed:
                    if job in self._known:
                        continue
                    self._known.add(job)
                left = self._change.left(scope, source)
                self.total += left
                if scope != scope.shared and left <= _FEW:
                    self._replace(job, waits=False)
                else:
                    self._begin(job)
        except (DragomanError, OSError) as error:
            _log.warning("Stored passages could not be encoded again: %s", error)

    def wait(self, seconds: float, progress: IngestProgress | None = None) -> bool:
        """Wait for the background work at most some seconds; True if nothing is left to do."""
        until = monotonic() + seconds
        while self.is_running and monotonic() < until:
            with self._changed:
                self._changed.wait(_TICK)
            if progress is not None and self.total:
                progress(self.done, self.total, "encoding again, with another encoder")
        return not self.is_running

    def stop(self) -> None:
        """Stop after the current passages; finished ones are kept."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    @property
    def message(self) -> str:
        """One sentence for users about what was done or is being done; "" if nothing had to be."""
        if not self.total:
            return ""
        if not self.is_running:
            return f"The encoder has changed: {self.done:,} passages were encoded again."
        return (
            f"The encoder has changed: {self.total - self.done:,} passages of {', '.join(self.sources)} are still to "
            "be encoded again, which goes on in the background. Until then they are found by their words."
        )

    def notices(self, sources: Sequence[SourceName]) -> tuple[str, ...]:
        """A sentence for the trace about each of these sources that is not ready yet."""
        if not self._known:
            return ()
        waiting = [name for name in self.sources if name in sources]
        left = max(self.total - self.done, 0)
        return tuple(
            f"Passages of {name} are being encoded again, {left:,} are left: until then they are found by their words."
            for name in waiting
        )

    def _begin(self, job: _Job) -> None:
        with self._changed:
            self._jobs.append(job)
            if self._thread is None:
                self._thread = Thread(target=self._work, name="dragoman-reencode", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while not self._stop.is_set():
            with self._changed:
                if not self._jobs:
                    self._thread = None
                    self._changed.notify_all()
                    return
                job = self._jobs.popleft()
            try:
                self._replace(job)
            except (DragomanError, OSError) as error:
                _log.warning("'%s' could not be encoded again: %s The next start tries again.", job.source, error)

    def _replace(self, job: _Job, *, waits: bool = True) -> None:
        try:
            self._change.clear(job.scope, job.source)
            if self._claimed(job, waits=waits):
                self._encode(job)
        finally:
            with self._changed:
                self._known.discard(job)

    def _claimed(self, job: _Job, *, waits: bool) -> bool:
        """Whether this process encodes a source; waits while another one does."""
        left = self._change.left(job.scope, job.source)
        while not self._stop.is_set():
            claim = self._change.claim(job.scope, job.source)
            if claim == "over":
                self.done += left
            if claim != "theirs" or not waits:
                return claim == "ours"
            now = self._change.left(job.scope, job.source)
            self.done, left = self.done + left - now, now
            self._stop.wait(_OTHERS)
        return False

    def _encode(self, job: _Job) -> None:
        about = self._about.get(job.source, "world")
        try:
            for page in self._change.pages(job.scope, job.source, _PAGE):
                if self._stop.is_set():
                    return
                vectors = passage_vectors(self._encoder, [row.passage.indexed for row in page], about=about)
                if not self._change.write(job.scope, job.source, page, vectors):
                    _log.warning("'%s' is being encoded by another process.", job.source)
                    return
                self.done += len(page)
                with self._changed:
                    self._changed.notify_all()
            self._change.finish(job.scope, job.source)
            _log.info("Encoded '%s' again.", job.source)
        finally:
            self._change.release(job.scope, job.source)


def reencoding_of(store: Store, encoder: Encoder, space: str, sources: Sequence[Source]) -> Reencoding | None:
    """Create the re-encoder of a store; None if the store records no encoders or this encoder has no name."""
    use: Callable[[str], _Change] | None = getattr(store, "use_encoder", None)
    return None if use is None or not space else Reencoding(use(space), encoder, sources)
