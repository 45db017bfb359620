"""Shards as Ray tasks: submitted a few ahead, repeated if a worker or node dies, and returned in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar
from uuid import uuid4

from dragoman.cluster import node
from dragoman.cluster.build import build
from dragoman.cluster.node import ShardOrder, ShardResult
from dragoman.core.errors import ShardError, WorkersError
from dragoman.core.workers import Shard, ShardJob

S = TypeVar("S")
R = TypeVar("R")
RETRIES = 3
"""Retries of a shard after its worker died."""
_AHEAD = 3
"""Shards in hand for each that can be done at once: so that nobody waits while results are written down."""
_TICK = 0.5
_PATIENCE = 60.0
"""Seconds that a cluster may be without a core: nodes come and go."""


class RayWorkers:
    """The cores of a cluster to which `ray`, the module, is connected."""

    here = False

    def __init__(self, ray: Any, *, patience: float = _PATIENCE) -> None:
        self._ray = ray
        self._patience = patience
        self._empty_since: float | None = None

    def map(
        self,
        job: ShardJob[S, R],
        shards: Iterable[Shard[S]],
        listener: Callable[[Shard[S], object], None] | None = None,
    ) -> Iterator[R]:
        ray, key = self._ray, uuid4().hex
        self._require_gpus(job)
        board = ray.remote(num_cpus=0)(_Board).remote() if listener is not None else None
        carried = [ray.put(job)]  # in a list it stays a reference: a worker fetches it once, not with every shard
        run = ray.remote(num_cpus=1, num_gpus=job.gpus, max_retries=RETRIES)(_run)
        source = enumerate(shards)
        waiting: deque[tuple[int, Shard[S], Any]] = deque()
        while True:
            for number, shard in source:
                waiting.append((number, shard, run.remote(_order(key, number, shard), carried, board)))
                if len(waiting) >= _AHEAD * self._at_once(job):
                    break
            if not waiting:
                return
            number, shard, result = waiting[0]
            done = self._awaited(result, shard, lambda: self._hear(board, waiting, listener))
            waiting.popleft()
            yield from done.pieces
            if done.failed is not None:
                raise done.failed

    def _awaited(self, result: Any, shard: Shard[Any], hear: Callable[[], None]) -> ShardResult:
        ray = self._ray
        while True:
            ready, _ = ray.wait([result], timeout=_TICK)
            hear()
            if ready:
                try:
                    done = ray.get(result)
                except ray.exceptions.RayTaskError as error:
                    raise _unlike(error) from error
                except ray.exceptions.RayError as error:
                    raise _died(error, shard) from error
                if not isinstance(done, ShardResult):
                    raise WorkersError(
                        f"A node answered the shard '{shard.name}' with something that is no result of Dragoman's.",
                        remedy="Nothing of it was used. Find out who else can run code on the cluster.",
                        shard=shard.name,
                    )
                return done
            self._refuse_empty()

    def _hear(
        self,
        board: Any,
        waiting: Iterable[tuple[int, Shard[S], Any]],
        listener: Callable[[Shard[S], object], None] | None,
    ) -> None:
        """Forward new progress reports of unfinished shards."""
        if board is None or listener is None:
            return
        news: dict[int, object] = {}
        with suppress(self._ray.exceptions.RayError):  # progress only
            news = self._ray.get(board.take.remote(), timeout=_TICK)
        for number, shard, _ in waiting:
            if number in news:
                listener(shard, news[number])

    def _at_once(self, job: ShardJob[Any, Any]) -> int:
        """The number of shards that the cluster can run now; at least one, so that a node that joins has work."""
        resources = self._ray.cluster_resources()
        places = resources.get("CPU", 0.0)
        return max(1, int(min(places, resources.get("GPU", 0.0) / job.gpus) if job.gpus else places))

    def _refuse_empty(self) -> None:
        """Without a core nothing would ever come, and nobody would know why."""
        if self._ray.cluster_resources().get("CPU", 0.0) >= 1:
            self._empty_since = None
            return
        self._empty_since = self._empty_since or monotonic()
        if monotonic() - self._empty_since >= self._patience:
            raise WorkersError(
                f"The cluster has had no core to work on for {self._patience:.0f} seconds: all such nodes are gone.",
                remedy="Start nodes with `ray start --address HEAD:6379`, and run the same command again: it goes on.",
            )

    def _require_gpus(self, job: ShardJob[Any, Any]) -> None:
        if job.gpus and self._ray.cluster_resources().get("GPU", 0.0) < job.gpus:
            raise WorkersError(
                "The cluster has no GPU.", remedy="Start a node with `ray start --num-gpus N`, or give --device cpu."
            )


class _Board:
    """Actor that holds the latest progress report of each shard."""

    def __init__(self) -> None:
        self._news: dict[int, object] = {}

    def put(self, number: int, news: object) -> None:
        self._news[number] = news

    def take(self) -> dict[int, object]:
        news, self._news = self._news, {}
        return news


def _order(key: str, number: int, shard: Shard[Any]) -> ShardOrder:
    variables = {name: os.environ[name] for name in node.VARIABLES if os.environ.get(name)}
    return ShardOrder(key, number, shard.name, shard.value, build(), str(Path.cwd()), variables)


def _run(order: ShardOrder, carried: list[Any], board: Any) -> ShardResult:
    """The task itself."""
    import ray

    send = None if board is None else board.put.remote
    return node.do(order, lambda: ray.get(carried[0]), send)


def _unlike(error: Any) -> WorkersError:
    """A node that cannot even begin: what it has installed does not understand what it was given."""
    message = str(getattr(error, "cause", None) or error).strip().splitlines()
    return WorkersError(
        f"A node cannot do Dragoman's work: {message[-1] if message else type(error).__name__}.",
        remedy="Install on every node exactly what is installed here (pip install 'dragoman[ray]').",
    )


def _died(error: Exception, shard: Shard[Any]) -> ShardError:
    message = str(error).strip().splitlines()
    return ShardError(
        f"The shard '{shard.name}' was given to {RETRIES + 1} workers, and each died over it: "
        f"{type(error).__name__}: {message[0] if message else ''}",
        remedy="Most often memory ran out: give nodes fewer cores (ray start --num-cpus N), so that fewer shards share "
        "it. What was made before is kept: the same command goes on.",
        shard=shard.name,
    )
