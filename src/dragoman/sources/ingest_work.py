"""The work that workers do for an ingest: file bytes to passages, passages to vectors; without the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from dragoman.core.errors import InputError
from dragoman.core.protocols import passage_vectors
from dragoman.core.values import About, Passage, SourceName
from dragoman.core.workers import ShardJob, Tell, Work
from dragoman.sources.allowance import Allowance
from dragoman.sources.dates import stated_date
from dragoman.sources.files import parse
from dragoman.sources.passages import cut

if TYPE_CHECKING:
    from dragoman.core.protocols import Encoder, FloatArray

MakeEncoder: TypeAlias = Callable[[], "AbstractContextManager[Encoder]"]
"""Builds an encoder in a worker."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The bytes of a changed file, and the names for its passages."""

    content: bytes
    name: str
    source: SourceName
    origin: str
    apart: bool


@dataclass(frozen=True, slots=True)
class Read:
    """The passages of a file and its unreadable places; or, in `refused`, why none could be read."""

    passages: tuple[Passage, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    refused: str = ""


def reading() -> ShardJob[Loaded, Read]:
    return ShardJob("read", _open_reading)


def encoding(encoder: Encoder, made: MakeEncoder | None, about: About) -> ShardJob[tuple[str, ...], FloatArray]:
    """The job that encodes texts, with this process's encoder, or with one that each worker builds by `made`."""
    if made is None:
        return ShardJob("encode", lambda: nullcontext(partial(_encoded, encoder, about)))
    return ShardJob("encode", partial(_open_encoding, made, about))


@contextmanager
def _open_reading() -> Iterator[Work[Loaded, Read]]:
    yield _read


def _read(loaded: Loaded, tell: Tell) -> list[Read]:
    return [read_passages(loaded)]


def read_passages(loaded: Loaded) -> Read:
    """The passages of a file, or why it is refused."""
    try:
        document = parse(loaded.content, loaded.name)
        passages = cut(document, loaded.source, loaded.origin, apart=loaded.apart)
        day = stated_date(loaded.content, loaded.name)
        if day:
            passages = tuple(replace(passage, meta={"date": day, **passage.meta}) for passage in passages)
        # A store repeats the title, headings and meta with every passage.
        allowance = Allowance(loaded.content, loaded.name)
        for passage in passages:
            allowance.take(passage.title, *passage.headings, *passage.meta, *passage.meta.values())
        return Read(passages, document.failed)
    except InputError as error:
        return Read(refused=str(error))


@contextmanager
def _open_encoding(made: MakeEncoder, about: About) -> Iterator[Work[tuple[str, ...], FloatArray]]:
    with made() as encoder:
        yield partial(_encoded, encoder, about)


def _encoded(encoder: Encoder, about: About, texts: tuple[str, ...], tell: Tell) -> list[FloatArray]:
    return [passage_vectors(encoder, list(texts), about=about)]
