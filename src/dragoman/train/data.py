"""Training data: datasets by file, read, checked and hashed, and a dev side cut by dialogue where none is given."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dragoman.core.errors import ConfigError, InputError, TrainingError, UnknownNameError
from dragoman.core.examples import Dataset, Example, Problem
from dragoman.core.values import Passage
from dragoman.datasets.open import SHIPPED, kinds, open_dataset, resolve, sniff
from dragoman.datasets.splitting.split import split
from dragoman.models.part import sha256
from dragoman.train.contract import Corpus

SIDES = ("train", "dev", "aux")
LICENCES = {
    "toy": "Apache-2.0",
    "ketod": "KETOD: MIT; SGD: CC BY-SA 4.0",
    "ketod-gate": "KETOD: MIT; SGD: CC BY-SA 4.0",
    "dstc11": "CDLA-Sharing 1.0",
    "convai2": "CC BY 4.0",
    "kbp": "none stated by its authors",
    "dulemon": "none stated by its authors",
    "jsonl": "as the owner of the file says",
}
_LEAKS = 0.05
"""The share of dev's dialogues also in training from which on a warning is logged."""
_log = logging.getLogger("dragoman.train")


def named_files(entries: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Files by side from `train=FILE`, `dev=FILE` and `aux=FILE`, each any number of times."""
    by_side: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        side, mark, file = entry.partition("=")
        if not mark or not file.strip():
            raise ConfigError(f"'{entry}' does not say which side it is.", remedy=f"Write --data train={entry}")
        if side.strip() not in SIDES:
            raise UnknownNameError("side of the data", side.strip(), SIDES, remedy=f"Write --data train={file}")
        by_side[side.strip()] = (*by_side.get(side.strip(), ()), file.strip())
    return by_side


def read_sides(
    data: Mapping[str, Sequence[str]],
    *,
    held_out: float = 0.2,
    seed: int = 1,
    skip_bad: bool = False,
    options: Mapping[str, object] | None = None,
) -> tuple[Corpus, Corpus, Corpus | None]:
    """The training, the dev and, where it is named, the auxiliary side.

    Where no dev file is named, a share of the training dialogues is held out.

    A file is a path, also below $DRAGOMAN_DATA, or a shipped set, of which the side's own part is taken. `options` go
    to the loaders that accept them.
    """
    for side in data:
        if side not in SIDES:
            raise UnknownNameError("side of the data", side, SIDES)
    if not data.get("train"):
        raise ConfigError("No training data is given.", remedy="Write --data train=FILE (toy is a shipped set).")
    _refuse_same(data)
    _refuse_unknown(options or {}, [file for files in data.values() for file in files])
    train = _read("train", data["train"], skip_bad, options or {})
    aux = _read("aux", data["aux"], skip_bad, options or {}) if data.get("aux") else None
    if not data.get("dev"):
        train, dev = _cut(train, held_out, seed)
        return train, dev, aux and _without_dev(aux, dev)
    dev = _read("dev", data["dev"], skip_bad, options or {})
    for side in (train, *((aux,) if aux else ())):
        _warn_of_leaks(side, dev)
    if dev.passages == train.passages:
        dev = replace(dev, passages=train.passages)  # share one copy in memory
    return train, dev, aux


def read_files(files: Sequence[str], *, skip_bad: bool = False, options: Mapping[str, object] | None = None) -> Corpus:
    """Whole datasets, with every part of a shipped one: for labelling turns before training."""
    _refuse_unknown(options or {}, files)
    return _read("", files, skip_bad, options or {})


def _read(side: str, files: Sequence[str], skip_bad: bool, options: Mapping[str, object]) -> Corpus:
    sets: list[Dataset] = []
    examples: list[Example] = []
    passages: dict[str, Passage] = {}
    origin: list[Mapping[str, Any]] = []
    places: dict[str, str] = {}
    for file in files:
        kind, dataset = _opened(file, side, options)
        before = len(examples)
        for example in _checked(dataset, skip_bad):
            first = places.setdefault(example.id, file)
            if first != file:
                _meet(Problem(file, len(examples) - before + 1, f"the turn '{example.id}' is in {first} too"), skip_bad)
                continue
            examples.append(example)
        passages |= {passage.id: passage for passage in dataset.passages()}
        sets.append(dataset)
        origin += _origin(file, kind, dataset, len(examples) - before)
    return Corpus(tuple(sets), tuple(examples), tuple(passages.values()), tuple(origin))


def _opened(file: str, side: str, options: Mapping[str, object]) -> tuple[str, Dataset]:
    kind = sniff(file)
    accepted = _options_of(kind)
    own_options = {name: value for name, value in options.items() if name in accepted}
    if file in SHIPPED and side:
        return kind, open_dataset(kind, file, **{"part": "dev" if side == "dev" else "train", **own_options})
    return kind, open_dataset(kind, file, **own_options)


def _checked(dataset: Dataset, skip_bad: bool) -> Iterator[Example]:
    for example in dataset.examples():
        if isinstance(example, Example):
            yield example
        else:
            _meet(example, skip_bad)


def _meet(problem: Problem, skip_bad: bool) -> None:
    if problem.severity == "error":
        if not skip_bad:
            raise InputError(
                f"{str(problem).rstrip('.')}.",
                remedy=f"See all with `dragoman data check {problem.file}`, or leave such rows out with --skip-bad.",
                file=problem.file,
                row=problem.row,
            )
        _log.warning("left out: %s", problem)
    else:
        _log.info("%s", problem)


def _origin(file: str, kind: str, dataset: Dataset, rows: int) -> Iterator[Mapping[str, Any]]:
    """The origin of turns: file names without folders, hashes, and counts."""
    about = {"set": dataset.name, "kind": kind, "licence": LICENCES.get(kind, "")}
    if file in SHIPPED:
        digests = hashlib.sha256("".join(sha256(path) for path in dataset.files).encode()).hexdigest()
        yield {"name": file, "sha256": digests, "rows": rows, **about}
        return
    for number, path in enumerate(dataset.files):
        yield {"name": path.name, "sha256": sha256(path), "rows": rows if not number else 0, **about}


def _cut(whole: Corpus, share: float, seed: int) -> tuple[Corpus, Corpus]:
    shares = {"train": 1.0 - share, "dev": share}
    try:
        parts = split(whole.examples, by="dialogue", parts=shares, seed=seed).parts
    except InputError as error:
        count = len({example.context.dialogue for example in whole.examples})
        raise TrainingError(
            f"{len(whole.examples)} turns of {count} dialogue{'' if count == 1 else 's'} are too few to hold out dev.",
            remedy="Label more dialogues (200 turns are a good start), or give others with --data dev=FILE.",
        ) from error
    sides = []
    for side, part in shares.items():
        origin = tuple({**entry, "cut": f"{side}, {part:g} of the dialogues, seed {seed}"} for entry in whole.origin)
        sides.append(Corpus(whole.sets, tuple(parts[side]), whole.passages, origin))
    return sides[0], sides[1]


def _options_of(kind: str) -> Mapping[str, str | None]:
    return next((entry.options for entry in kinds() if entry.name == kind), {})


def _refuse_unknown(options: Mapping[str, object], files: Sequence[str]) -> None:
    accepted = {name for file in files for name in _options_of(sniff(file)) if name != "file"}
    for name in options:
        if name not in accepted:
            raise UnknownNameError("option of these sets", name, accepted)


def _refuse_same(data: Mapping[str, Sequence[str]]) -> None:
    """Raise an error for a file on two sides, which would measure memorised turns."""
    train, dev, aux = ({_place(file) for file in data.get(side, ()) if file not in SHIPPED} for side in SIDES)
    for place in train & dev:
        raise ConfigError(
            f"'{place}' is given for training and as dev.",
            remedy="Leave out --data dev: a part of the dialogues is held out.",
        )
    for place in (train | dev) & aux:
        raise ConfigError(f"'{place}' is given as aux and as another side.", remedy="Leave out --data aux.")


def _place(file: str) -> Path:
    return resolve(file).resolve()


def _without_dev(aux: Corpus, dev: Corpus) -> Corpus:
    """The auxiliary turns without those of dev, which must not be trained on."""
    ids = {(example.id, example.context.turns) for example in dev.examples}
    long = {example.context.turns for example in dev.examples if len(example.context.turns) > 1}
    rest = tuple(e for e in aux.examples if (e.id, e.context.turns) not in ids and e.context.turns not in long)
    if len(rest) < len(aux.examples):
        _log.warning("%d auxiliary turns are among those held out as dev, and left out.", len(aux.examples) - len(rest))
    return replace(aux, examples=rest)


def _warn_of_leaks(train: Corpus, dev: Corpus) -> None:
    """Log a warning for dialogues on both sides; those of one turn do not count, since many begin alike."""
    dialogues = {example.context.turns for example in train.examples}
    long = [example for example in dev.examples if len(example.context.turns) > 1]
    twice = sum(example.context.turns in dialogues for example in long)
    if long and twice / len(long) > _LEAKS:
        _log.warning(
            "%d of %d dev turns are in the training files too, so that dev's figures will be too good.",
            twice,
            len(dev.examples),
        )
