"""A data set as an experiment measures it: opened, split, limited, with its problems reported."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any, get_args

from dragoman.agent.create import ConstructorParameter, parameters
from dragoman.core.codec import Json, encode
from dragoman.core.errors import ConfigError, InputError, NoDataError
from dragoman.core.examples import Dataset, Example, Label, Problem
from dragoman.core.registry import datasets
from dragoman.core.values import Passage, Source
from dragoman.evaluate.spec import DataSpec

_TRAIN = "train"
_KEPT = 1000
"""The most problems kept for the report; skipped rows are counted beyond that."""


class DatasetTable:
    """A set, or a part of it, that all systems of a table are measured on. Each call of a method reads anew.

    `files` are what the examples and shared passages come from. A row that is wrong stops the reading unless
    `skip_bad`; `problems` holds what was met so far, every one once.
    """

    def __init__(
        self,
        spec: DataSpec,
        dataset: Dataset,
        *,
        pool: Iterable[Dataset] = (),
        train: Dataset | NoDataError | None = None,
        limit: int | None = None,
        skip_bad: bool = False,
        file: Path | None = None,
    ) -> None:
        if limit is not None and limit < 1:
            raise ConfigError(f"A limit of {limit} turns leaves nothing.", remedy="Give 1 or more.")
        self.spec = spec
        self.dataset = dataset
        self._pool = tuple(pool)
        self._train = None if isinstance(train, NoDataError) else train
        self._absent = train if isinstance(train, NoDataError) else None
        self._limit = limit
        self._skip_bad = skip_bad
        self._file = file
        self._problems: dict[Problem, None] = {}
        self._left_out: set[int] = set()  # by hash: a file may have many
        self._turns: int | None = None
        self._whole: DatasetTable | None = None
        self._views: dict[str, DatasetTable] = {}

    def viewed(self, view: Mapping[str, Any]) -> DatasetTable:
        """The same turns with other options of the loader and the same split."""
        key = json.dumps(view, sort_keys=True, default=str)
        if key not in self._views:
            seen = open_table(self.spec, view=view, limit=self._limit, file=self._file, skip_bad=self._skip_bad)
            seen._whole = self
            self._views[key] = seen
        return self._views[key]

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        return self.dataset.sources

    @cached_property
    def language(self) -> str:
        return self.dataset.language

    @cached_property
    def labels(self) -> frozenset[Label]:
        return self.dataset.labels

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """The set's files, those of its pool, and the training file, each once."""
        opened = (self.dataset, *self._pool, *(() if self._train is None else (self._train,)))
        return tuple(dict.fromkeys(file for dataset in opened for file in dataset.files))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Warnings and skipped errors, in the order of reading."""
        return tuple(self._problems)

    @property
    def skipped(self) -> int:
        """The number of rows of the measured set skipped so far, without those of a training file."""
        return len(self._left_out)

    def count(self) -> int:
        """The number of turns; the first call reads the whole set, which finds bad rows before anything runs."""
        if self._turns is None:
            self._turns = sum(1 for _ in self.examples())
        return self._turns

    def examples(self) -> Iterator[Example]:
        """The turns to be measured, in order; streamed unless the set is split."""
        part = None if self.spec.split is None else self.spec.split.part
        examples = self._checked((self.dataset,)) if part is None else iter(self._parts[part])
        return islice(examples, self._limit)

    def contents(self) -> dict[str, Json]:
        """Hash and size of all turns and passages, for a set without files."""
        digest, size = hashlib.sha256(), 0
        for value in chain(self.examples(), self.passages()):
            line = json.dumps(encode(value), ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass")
            digest.update(line + b"\n")
            size += len(line) + 1
        return {"name": self.spec.kind, "sha256": digest.hexdigest(), "size": size}

    def train(self) -> Iterator[Example]:
        """The turns that a row may train on: the training file, the split's training part, or the loader's."""
        if self._absent is not None:
            raise self._absent
        if self._train is not None:
            yield from self._checked((self._train,), measured=False)
        elif self.spec.split is not None:
            measured = self.spec.split.part
            others = [name for name in self._parts if name != measured]
            for name in [_TRAIN] if _TRAIN in others else others:
                yield from self._parts[name]
        else:
            yield from self._checked((self._own_training(),), measured=False)

    @property
    def is_untaught(self) -> bool:
        """Whether the training file that the set names is missing."""
        return self._absent is not None

    def passages(self) -> Iterator[Passage]:
        """The passages that all turns share."""
        seen: set[str] = set()
        for dataset in (self.dataset, *self._pool):
            for passage in dataset.passages():
                if passage.id not in seen:
                    seen.add(passage.id)
                    yield passage

    @cached_property
    def _parts(self) -> Mapping[str, list[Example]]:
        """The parts of the split set, held in memory since splitting needs all of it."""
        from dragoman.datasets.splitting.split import split

        wanted = self.spec.split
        assert wanted is not None
        if wanted.part not in wanted.parts:
            names = ", ".join(wanted.parts)
            raise ConfigError(f"data '{self.spec.name}': there is no part '{wanted.part}'.", remedy=f"Parts: {names}.")
        examples = self._checked((self.dataset, *self._pool))
        if self._whole is not None:
            mine = {example.id: example for example in examples}
            return {name: [mine[one.id] for one in part] for name, part in self._whole._parts.items()}
        passages = self.passages() if wanted.by == "evidence" else ()
        return split(examples, by=wanted.by, parts=wanted.parts, seed=wanted.seed, passages=passages).parts

    def _own_training(self) -> Dataset:
        options = self.spec.options
        if "part" in parameters(datasets.factory(self.spec.kind)) and options.get("part", "all") not in ("all", _TRAIN):
            return _opened(self.spec.kind, self.spec.file, {**options, "part": _TRAIN})
        raise ConfigError(
            f"data '{self.spec.name}': there is no training part that is not measured.",
            remedy="Name a file as `train`, or cut the set with `split`.",
        )

    def _checked(self, sets: Iterable[Dataset], *, measured: bool = True) -> Iterator[Example]:
        """The valid examples of some sets; problems and repeated ids are reported."""
        places: dict[int, tuple[str, int]] = {}  # by hash: a file may have millions
        for dataset in sets:
            number = 0
            for example in dataset.examples():
                if isinstance(example, Problem):
                    self._meet(example, measured=measured)
                    continue
                number += 1
                here = _name(dataset), number
                first = places.setdefault(hash(example.id), here)
                if first == here:
                    yield example
                else:
                    what = f"turn {number} has the id '{example.id}', as turn {first[1]} of {first[0]} has"
                    self._meet(Problem(here[0], number, what), measured=measured)

    def _meet(self, problem: Problem, *, measured: bool) -> None:
        if problem.severity == "error" and not self._skip_bad:
            raise InputError(
                f"{str(problem).rstrip('.')}.",
                remedy=f"See all with `dragoman data check {problem.file}`, or leave such rows out with --skip-bad.",
                file=problem.file,
                row=problem.row,
            )
        if problem.severity == "error" and measured:
            self._left_out.add(hash(problem))
        if len(self._problems) < _KEPT:
            self._problems[problem] = None


def open_table(
    spec: DataSpec,
    *,
    view: Mapping[str, Any] | None = None,
    limit: int | None = None,
    file: Path | None = None,
    skip_bad: bool = False,
) -> DatasetTable:
    """Open the set of a table in an experiment file; `view` changes its options, `file` replaces its file."""
    options = {**spec.options, **(view or {})}
    pool = () if spec.split is None else spec.split.pool
    return DatasetTable(
        spec,
        _opened(spec.kind, spec.file if file is None else file, options),
        pool=[_opened(spec.kind, name, options) for name in pool],
        train=_training(spec, options),
        limit=limit,
        skip_bad=skip_bad,
        file=file,
    )


def _training(spec: DataSpec, options: Mapping[str, Any]) -> Dataset | NoDataError | None:
    """The training file, which only some rows need: a missing one raises when it is read."""
    if spec.train is None:
        return None
    try:
        return _opened(spec.kind, spec.train, options)
    except NoDataError as error:
        remedy = f"Give it with --set data.{spec.name}.train=FILE, or leave out the rows that learn from it."
        return NoDataError(error.message, remedy=remedy, file=spec.train)


def _opened(kind: str, file: str | Path | None, options: Mapping[str, Any]) -> Dataset:
    """Open a set after resolving its paths; a missing file raises NoDataError."""
    from dragoman.datasets.open import SHIPPED, open_dataset

    accepted = parameters(datasets.factory(kind))
    resolved = {name: _resolved(value) if _is_path(accepted.get(name)) else value for name, value in options.items()}
    if file is None or str(file) in SHIPPED:
        return open_dataset(kind, file, **resolved)
    return open_dataset(kind, _resolved(file), **resolved)


def _resolved(file: str | Path) -> Path:
    from dragoman.datasets.open import resolve

    try:
        return resolve(file)
    except InputError as error:
        raise NoDataError(error.message, remedy=error.remedy, file=str(file)) from error


def _is_path(parameter: ConstructorParameter | None) -> bool:
    return parameter is not None and Path in (parameter.annotation, *get_args(parameter.annotation))


def _name(dataset: Dataset) -> str:
    return str(dataset.files[0]) if dataset.files else dataset.name
