"""Prometheus metrics: turns, seconds, tokens and the queue; no texts, users or keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from dragoman.core.errors import DragomanError

if TYPE_CHECKING:
    from dragoman.server.service import Service
    from dragoman.server.turns.events import TurnDone

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """Observer of the service that records metrics."""

    def __init__(self, service: Service) -> None:
        self._registry = kept = CollectorRegistry()
        each = ("agent",)
        self._turns = Counter("dragoman_turns", "Turns by how they ended.", ("agent", "outcome"), registry=kept)
        self._tokens = Counter(
            "dragoman_tokens", "Tokens that models read and wrote.", ("agent", "kind"), registry=kept
        )
        self._retrieved = Counter("dragoman_retrievals", "Turns that looked something up.", each, registry=kept)
        self._seconds = _histogram("dragoman_turn_seconds", "From taken in to done.", each, kept)
        self._roles = _histogram("dragoman_role_seconds", "What a role took in a turn.", ("agent", "role"), kept)
        self._rest = _histogram("dragoman_overhead_seconds", "What waiting and serving took.", each, kept)
        load = Gauge("dragoman_load", "Turns that run or wait now.", registry=kept)
        load.set_function(lambda: service.turn_queue.load)
        ready = Gauge("dragoman_ready", "Whether turns are taken.", registry=kept)
        ready.set_function(lambda: float(service.ready))
        ProcessCollector(registry=kept)  # memory, processor and open files, where the system tells them

    def turn_ended(self, agent: str, done: TurnDone | None, error: BaseException | None, seconds: float) -> None:
        """Count a turn."""
        if done is None:
            kind = "cancelled" if isinstance(error, GeneratorExit) else "refused"
            self._turns.labels(agent, kind if isinstance(error, GeneratorExit | DragomanError) else "failed").inc()
            return
        if done.replayed:  # counted when it was answered
            self._turns.labels(agent, "replayed").inc()
            return
        self._turns.labels(agent, "done").inc()
        self._seconds.labels(agent).observe(seconds)
        inside = 0.0
        for note in done.reply.trace:
            inside += note.seconds
            self._roles.labels(agent, note.role).observe(note.seconds)
        self._rest.labels(agent).observe(max(0.0, seconds - inside))
        self._tokens.labels(agent, "read").inc(done.usage.prompt_tokens)
        self._tokens.labels(agent, "written").inc(done.usage.completion_tokens)
        if done.reply.verdict.retrieve:
            self._retrieved.labels(agent).inc()

    def page(self) -> bytes:
        """The metrics in Prometheus' text format."""
        return generate_latest(self._registry)


def _histogram(name: str, words: str, labels: tuple[str, ...], kept: CollectorRegistry) -> Histogram:
    return Histogram(name, words, labels, buckets=_SECONDS, registry=kept)
