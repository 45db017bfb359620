"""Writes any set as the project's JSON lines, atomically; reading the file gives the same examples."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from dragoman.core.codec import Json
from dragoman.core.errors import InputError
from dragoman.core.examples import Dataset, Example, Problem
from dragoman.core.values import Passage, Source, SourceName
from dragoman.datasets.loaders.jsonl import ExampleBuilder
from dragoman.datasets.schema import ExampleRow, parse, passage_row, source_row
from dragoman.text.language import language as language_of

T = TypeVar("T")
_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """Result of writing a file: number of rows, hash, problems, and the corpus file beside it."""

    path: Path
    rows: int
    sha256: str
    problems: tuple[Problem, ...] = ()
    corpus: Path | None = None


class TextFile:
    """File that gets its name only after all of it is on the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._part = path.with_name(f".{path.name}.{os.getpid()}.part")
        self._digest = hashlib.sha256()
        if path.is_dir():
            raise InputError(f"{path} is a folder.", remedy="Name a file.", file=str(path))
        self._file = self._try(lambda: self._part.open("wb"))

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def line(self, value: Json) -> None:
        """Write a JSON value as a line."""
        self.write(_encoded(value))

    def write(self, content: bytes) -> None:
        self._digest.update(content)
        self._try(lambda: self._file.write(content))

    def finish(self) -> None:
        """Flush everything to the disk, so that `commit` cannot fail for lack of space."""

        def settle() -> None:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()

        self._try(settle)

    def commit(self) -> None:
        """Give the finished file its name."""
        self._try(lambda: self._part.replace(self.path))

    def __enter__(self) -> TextFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Remove a file that was not committed."""
        try:
            self._file.close()
        except OSError:
            pass  # a full disk says it again on closing; the first time has been raised
        finally:
            self._part.unlink(missing_ok=True)

    def _try(self, step: Callable[[], T]) -> T:
        try:
            return step()
        except OSError as error:
            raise _failed(self.path, error) from error


def _failed(path: Path, error: OSError) -> InputError:
    if error.errno in _FULL:
        message, remedy = f"The disk is full: {path} was not written.", "Make room and run it again."
    elif error.errno == errno.ENOENT:
        message, remedy = f"There is no folder {path.parent}.", "Make it first, or name another place."
    else:
        message, remedy = f"Cannot write {path}: {error.strerror}.", "Choose another place."
    return InputError(message, remedy=remedy, file=str(path))


@contextmanager
def together(paths: Iterable[Path]) -> Iterator[list[TextFile]]:
    """Commit several files together if the block ends without an error; otherwise none."""
    with ExitStack() as stack:
        opened = [stack.enter_context(TextFile(path)) for path in paths]
        yield opened
        for file in opened:
            file.finish()
        for file in opened:
            file.commit()


class ExampleWriter:
    """Writes examples into an open file, validated as in reading."""

    def __init__(
        self,
        file: TextFile,
        *,
        name: str,
        language: str,
        sources: Iterable[Source],
        passages: str | None = None,
        shared: frozenset[int] | None = None,
    ) -> None:
        declared = tuple(sources)
        self._file = file
        self._builder = ExampleBuilder(name, declared, shared)
        self._taken: set[int] = set()
        self.count = 0
        header: dict[str, Json] = {"name": name, "language": language, "sources": [source_row(s) for s in declared]}
        if passages is not None:
            header["passages"] = passages
        file.line({"dataset": header})

    def add(self, example: Example) -> str | None:
        """Write an example, or return the reason why the format cannot hold it."""
        try:
            line = _encoded(example_row(example))
            self._builder.example(parse(ExampleRow, line))
            if hash(example.id) in self._taken:
                raise InputError(f"the id '{example.id}' is taken by an earlier turn.")
        except UnicodeEncodeError:
            return "it holds half a character (a lone surrogate), which no file can carry."
        except InputError as error:
            return str(error)
        self._taken.add(hash(example.id))
        self._file.write(line)
        self.count += 1
        return None


def write_jsonl(
    examples: Dataset | Iterable[Example | Problem],
    path: str | Path,
    *,
    name: str = "",
    language: str = "",
    sources: Sequence[Source] = (),
    passages: Iterable[Passage] = (),
) -> WrittenFile:
    """Write a set, or some examples, as JSON lines; a shared corpus goes into `NAME.passages.jsonl` beside it.

    A `Dataset` is streamed. For plain examples the sources are collected first; `passages` are their shared ones.
    Problems of the set, and examples that the format cannot hold, are left out and listed in the result.
    """
    target = Path(path)
    if not isinstance(examples, Dataset):
        listed = list(examples)
        declared = sources or united(example for example in listed if isinstance(example, Example))
        return _write(
            listed,
            passages,
            target,
            name=name or target.stem,
            language=language or _language_of(listed),
            sources=declared,
        )
    return _write(
        examples.examples(),
        examples.passages(),
        target,
        name=name or examples.name,
        language=language or examples.language,
        sources=sources or examples.sources,
    )


def _language_of(examples: Iterable[Example | Problem]) -> str:
    texts = [example.context.last for example in examples if isinstance(example, Example)][:200]
    return language_of(" ".join(texts))


def _write(
    examples: Iterable[Example | Problem],
    passages: Iterable[Passage],
    path: Path,
    *,
    name: str,
    language: str,
    sources: Sequence[Source],
) -> WrittenFile:
    problems: list[Problem] = []
    shared_place = corpus_path(path)
    first, rest = peeked(passages)
    has_corpus = first is not None
    with together([path, *([shared_place] if has_corpus else [])]) as files:
        shared = write_passages(rest, files[1]) if has_corpus else None
        corpus = shared_place.name if has_corpus else None
        rows = ExampleWriter(files[0], name=name, language=language, sources=sources, passages=corpus, shared=shared)
        for number, example in enumerate(examples, start=1):
            if isinstance(example, Problem):
                problems.append(example)
            elif (wrong := rows.add(example)) is not None:
                problems.append(Problem(name, number, f"{example.id}: {wrong}"))
    return WrittenFile(path, rows.count, files[0].sha256, tuple(problems), shared_place if has_corpus else None)


def peeked(passages: Iterable[Passage]) -> tuple[Passage | None, Iterable[Passage]]:
    """Return the first passage (None if there is none) and an iterator over all."""
    walked = iter(passages)
    first = next(walked, None)
    return first, () if first is None else chain([first], walked)


def corpus_path(path: Path) -> Path:
    """Return the path of the shared passages of a file of turns."""
    return path.with_name(f"{path.stem}.passages.jsonl")


def write_passages(passages: Iterable[Passage], file: TextFile) -> frozenset[int]:
    """Write a corpus and return the hashes of its ids."""
    ids: set[int] = set()
    for passage in passages:
        file.line(passage_row(passage))
        ids.add(hash(passage.id))
    return frozenset(ids)


def united(examples: Iterable[Example]) -> tuple[Source, ...]:
    """Return the sources of all examples, in order of first occurrence."""
    by_name: dict[SourceName, Source] = {}
    for example in examples:
        for source in example.sources:
            by_name.setdefault(source.name, source)
    return tuple(by_name.values())


def example_row(example: Example) -> dict[str, Json]:
    """Return the row of an example, without missing labels."""
    row: dict[str, Json] = {"id": example.id, "dialogue": example.context.dialogue}
    row["context"] = [{"speaker": turn.speaker, "text": turn.text} for turn in example.context.turns]
    if example.candidates:
        row["candidates"] = [passage_row(candidate) for candidate in example.candidates]
    gold = example.gold
    if gold.retrieve is not None:
        row["retrieve"] = gold.retrieve
    if gold.plan is not None:
        row["plan"] = list(gold.plan)
    if gold.evidence is not None:
        row["evidence"] = list(gold.evidence)
    if gold.reply is not None:
        row["reply"] = gold.reply
    row["position"] = example.position
    if example.domain:
        row["domain"] = example.domain
    if example.meta:
        row["meta"] = dict(example.meta)
    return row


def _encoded(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8") + b"\n"
