"""Code that runs on a node: open a job once per process, process its shards, and return results and errors."""

from __future__ import annotations

import os
import socket
import traceback
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from dragoman.cluster.build import Build, build, differences
from dragoman.core.environment import CORES_VARIABLE
from dragoman.core.errors import DragomanError, ShardError, WorkersError
from dragoman.core.workers import ShardJob, Tell, Work

VARIABLES = ("DRAGOMAN_HOME", "DRAGOMAN_DATA")
_OPEN = 2
"""Most jobs that a process keeps open."""
_TELL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class ShardOrder:
    """One shard for a worker: of which job, the shard itself, and what the process that asks is like."""

    key: str
    number: int
    name: str
    value: Any
    build: Build
    folder: str
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ShardResult:
    """Result of a shard: its pieces, up to a failure."""

    pieces: list[Any]
    failed: DragomanError | None = None


_opened: OrderedDict[str, tuple[ExitStack, Work[Any, Any]]] = OrderedDict()


def do(
    order: ShardOrder, fetch: Callable[[], ShardJob[Any, Any]], send: Callable[[int, object], None] | None
) -> ShardResult:
    """Do a shard. What fails is given back, not raised: Ray would wrap it in words of its own."""
    pieces: list[Any] = []
    try:
        work = _work(order, fetch)
        pieces.extend(work(order.value, _telling(order.number, send)))
    except DragomanError as error:
        return ShardResult(pieces, _placed(error, order))
    except Exception as error:  # noqa: BLE001 - it travels to who asked, which raises it
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        failed = ShardError(
            f"The shard '{order.name}' failed: {what}",
            remedy="What was made before it is kept; run again with --debug for the traceback.",
        )
        failed.__cause__ = error
        return ShardResult(pieces, _placed(failed, order))
    return ShardResult(pieces)


def _work(order: ShardOrder, fetch: Callable[[], ShardJob[Any, Any]]) -> Work[Any, Any]:
    """The work of a job, opened on first use; the least recently used one is closed to make room."""
    if order.key in _opened:
        _opened.move_to_end(order.key)
        return _opened[order.key][1]
    _settle(order)
    while len(_opened) >= _OPEN:
        _opened.popitem(last=False)[1][0].close()
    stack = ExitStack()
    work = stack.enter_context(fetch().open())
    _opened[order.key] = stack, work
    return work


def _settle(order: ShardOrder) -> None:
    """Adopt the settings of the requesting process; raise an error where the two differ in what cannot be changed."""
    changes = differences(order.build, build())
    if changes:
        raise WorkersError(
            f"A node differs from here: {'; '.join(changes)}.",
            remedy="Install on every node exactly what is installed here.",
        )
    os.environ.update(order.variables)
    os.environ.setdefault(
        CORES_VARIABLE, os.environ.get("OMP_NUM_THREADS", "1")
    )  # Ray says how many cores a shard may use
    with suppress(OSError):
        os.chdir(order.folder)  # paths are the same on all nodes, also those that do not begin at the root


def _placed(error: DragomanError, order: ShardOrder) -> DragomanError:
    """The error as it happened, with the shard and the node in its message and the traceback as a note."""
    where = f"shard '{order.name}'" if order.name not in error.message else ""
    where = ", ".join(part for part in (where, f"on the node {socket.gethostname()}") if part)
    error.message = f"{error.message} ({where})"
    error.args = (f"{error.message} {error.remedy}".rstrip(),)
    error.fields = {**error.fields, "shard": order.name}
    error.add_note("".join(traceback.format_exception(error)))
    error.__cause__ = error.__context__ = error.__traceback__ = None
    return error


def _telling(number: int, send: Callable[[int, object], None] | None) -> Tell:
    """Throttled progress: every report of a worker is a network message."""
    last = float("-inf")

    def tell(news: object) -> None:
        nonlocal last
        if send is not None and monotonic() - last >= _TELL_SECONDS:
            last = monotonic()
            with suppress(Exception):  # who listens may be gone; the work goes on
                send(number, news)

    return tell
