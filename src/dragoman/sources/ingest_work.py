"""What workers do for an ingest: a file's bytes into passages, passages into vectors. Neither sees the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from dragoman.core.encoding import passage_vectors
from dragoman.core.errors import InputError
from dragoman.core.values import About, Passage, SourceName
from dragoman.core.workers import ShardJob, Tell, Work
from dragoman.sources.allowance import Allowance
from dragoman.sources.files import parse
from dragoman.sources.passages import cut

if TYPE_CHECKING:
    from dragoman.core.protocols import Encoder, FloatArray

MakeEncoder: TypeAlias = Callable[[], "AbstractContextManager[Encoder]"]
"""Makes an encoder, in a worker."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The bytes of a file that changed, and what its passages are to be known by."""

    content: bytes
    name: str
    source: SourceName
    origin: str
    apart: bool


@dataclass(frozen=True, slots=True)
class Read:
    """What is in a file: its passages and the places that could not be read; or why nothing could."""

    passages: tuple[Passage, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    refused: str = ""


def reading() -> ShardJob[Loaded, Read]:
    return ShardJob("read", _open_reading)


def encoding(encoder: Encoder, made: MakeEncoder | None, about: About) -> ShardJob[tuple[str, ...], FloatArray]:
    """Texts into vectors, by an encoder of this process or, where workers are elsewhere, by one that they make."""
    if made is None:
        return ShardJob("encode", lambda: nullcontext(partial(_encoded, encoder, about)))
    return ShardJob("encode", partial(_open_encoding, made, about))


@contextmanager
def _open_reading() -> Iterator[Work[Loaded, Read]]:
    yield _read


def _read(loaded: Loaded, tell: Tell) -> list[Read]:
    try:
        document = parse(loaded.content, loaded.name)
        passages = cut(document, loaded.source, loaded.origin, apart=loaded.apart)
        # A store keeps with each passage what all those of a section, or of a long line, have in common.
        allowance = Allowance(loaded.content, loaded.name)
        for passage in passages:
            allowance.take(passage.title, *passage.headings, *passage.meta, *passage.meta.values())
        return [Read(passages, document.failed)]
    except InputError as error:
        return [Read(refused=str(error))]


@contextmanager
def _open_encoding(made: MakeEncoder, about: About) -> Iterator[Work[tuple[str, ...], FloatArray]]:
    with made() as encoder:
        yield partial(_encoded, encoder, about)


def _encoded(encoder: Encoder, about: About, texts: tuple[str, ...], tell: Tell) -> list[FloatArray]:
    return [passage_vectors(encoder, list(texts), about=about)]
