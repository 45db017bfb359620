"""Work cut into shards: who does it, here or on other machines, is nothing that the work knows.

A job is opened once in every worker, which may take long, and then asked for one shard after another. Results come in
the order of the shards, whoever made them and however often a worker died over one: who asks writes them down as they
come, so that each is written once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar

S = TypeVar("S")
R = TypeVar("R")
Tell: TypeAlias = Callable[[object], None]
"""By which the work on a shard says how far it is; nothing depends on its arriving."""
Work: TypeAlias = Callable[[S, Tell], Iterable[R]]
"""A shard's results, piece by piece. The same shard gives the same pieces in any worker."""


@dataclass(frozen=True, slots=True)
class Shard(Generic[S]):
    """A piece of work that can be done again: its name in messages, and what it is done on."""

    name: str
    value: S


@dataclass(frozen=True, slots=True)
class ShardJob(Generic[S, R]):
    """What is done with shards. `open` gets a worker ready; for other machines it must be a function of a module, or
    a `partial` of one. `gpus` is how many a shard needs."""

    name: str
    open: Callable[[], AbstractContextManager[Work[S, R]]]
    gpus: float = 0


class Workers(Protocol):
    """Who does shards."""

    @property
    def here(self) -> bool:
        """Whether shards are done in this process: then a job may hold what cannot travel."""
        ...

    def map(
        self, job: ShardJob[S, R], shards: Iterable[Shard[S]], told: Callable[[Shard[S], object], None] | None = None
    ) -> Iterator[R]:
        """The pieces of all shards, in order; shards are taken as they are needed, a few ahead.

        An error of a shard comes after all pieces before it. `told` is given what the work on a shard tells.
        """
        ...


class InProcess:
    """Does one shard after another, in this process: a piece is given as soon as it is made."""

    here = True

    def map(
        self, job: ShardJob[S, R], shards: Iterable[Shard[S]], told: Callable[[Shard[S], object], None] | None = None
    ) -> Iterator[R]:
        with job.open() as work:
            for shard in shards:
                yield from work(shard.value, _ignore if told is None else _telling(shard, told))


def _telling(shard: Shard[S], told: Callable[[Shard[S], object], None]) -> Tell:
    return lambda news: told(shard, news)


def _ignore(news: object) -> None:
    pass
