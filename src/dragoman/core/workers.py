"""Work in shards, independent of whether this process or other machines do it.

A worker opens a job once, which may take long, and then processes one shard after another. Results arrive in the order
of the shards, even if workers die or finish out of order, so that the caller can write each exactly once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar

S = TypeVar("S")
R = TypeVar("R")
Tell: TypeAlias = Callable[[object], None]
"""Progress callback of a shard; messages may be lost."""
Work: TypeAlias = Callable[[S, Tell], Iterable[R]]
"""A shard's results, piece by piece. The same shard gives the same pieces in any worker."""


@dataclass(frozen=True, slots=True)
class Shard(Generic[S]):
    """A repeatable piece of work: its name for messages, and its input."""

    name: str
    value: S


@dataclass(frozen=True, slots=True)
class ShardJob(Generic[S, R]):
    """Work on shards. `open` prepares a worker; for other machines it must be a function of a module, or
    a `partial` of one. `gpus` is how many a shard needs."""

    name: str
    open: Callable[[], AbstractContextManager[Work[S, R]]]
    gpus: float = 0


class Workers(Protocol):
    """Protocol: processes shards."""

    @property
    def here(self) -> bool:
        """Whether shards run in this process, so that a job need not be picklable."""
        ...

    def map(
        self,
        job: ShardJob[S, R],
        shards: Iterable[Shard[S]],
        listener: Callable[[Shard[S], object], None] | None = None,
    ) -> Iterator[R]:
        """The pieces of all shards, in order; shards are taken as they are needed, a few ahead.

        An error of a shard comes after all pieces before it. `listener` receives the progress reports of the shards.
        """
        ...


class InProcess:
    """Processes one shard after another in this process; yields each piece as soon as it is made."""

    here = True

    def map(
        self,
        job: ShardJob[S, R],
        shards: Iterable[Shard[S]],
        listener: Callable[[Shard[S], object], None] | None = None,
    ) -> Iterator[R]:
        with job.open() as work:
            for shard in shards:
                yield from work(shard.value, _ignore if listener is None else _telling(shard, listener))


def _telling(shard: Shard[S], progress: Callable[[Shard[S], object], None]) -> Tell:
    return lambda news: progress(shard, news)


def _ignore(news: object) -> None:
    pass
