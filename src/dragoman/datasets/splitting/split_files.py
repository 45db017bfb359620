"""Splits of data set files: JSON lines for each part, and a summary of the split."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from dragoman.core.codec import Json
from dragoman.core.errors import InputError
from dragoman.core.examples import Dataset, Example, Problem
from dragoman.core.values import Passage, Source, SourceName
from dragoman.datasets.check import decision
from dragoman.datasets.splitting.assignment import FOLDS, By, Cut, Unit, cut, shares_of
from dragoman.datasets.splitting.assignment import control as control_of
from dragoman.datasets.splitting.split import Units, units
from dragoman.datasets.writing import ExampleWriter, TextFile, peeked, together, write_passages

_PART = re.compile(r"\w[\w.-]*")
SUMMARY = "split.json"
CORPUS = "passages.jsonl"
CONTROL = "control"


class JoinedSets:
    """Several sets as one, with unique dialogue ids and joined sources and shared passages."""

    def __init__(self, sets: Sequence[Dataset]) -> None:
        if not sets:
            raise InputError("There is nothing to cut.", remedy="Name a file.")
        first = Counter(each.files[0].resolve() for each in sets if each.files)
        for file, count in first.items():
            if count > 1:
                raise InputError(f"{file} is given twice.", remedy="Name each file once.", file=str(file))
        self._sets = tuple(sets)
        self._prefixes: tuple[str, ...] = ("",) * len(sets)

    @property
    def name(self) -> str:
        return "+".join(dict.fromkeys(each.name for each in self._sets))

    @property
    def language(self) -> str:
        return self._sets[0].language

    @property
    def sources(self) -> tuple[Source, ...]:
        by_name: dict[SourceName, Source] = {}
        for each in self._sets:
            for source in each.sources:
                if by_name.setdefault(source.name, source) != source:
                    raise InputError(
                        f"The source '{source.name}' is not the same in all files.",
                        remedy="Pool files of one set, or declare it alike in their first lines.",
                    )
        return tuple(by_name.values())

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys(file for each in self._sets for file in each.files))

    def examples(self) -> Iterator[Example | Problem]:
        for each, prefix in zip(self._sets, self._prefixes, strict=True):
            for example in each.examples():
                yield _renamed(example, prefix) if isinstance(example, Example) and prefix else example

    def passages(self) -> Iterator[Passage]:
        taken: dict[str, int] = {}
        for each in self._sets:
            for passage in each.passages():
                content = hash((passage.source, passage.text))
                if passage.id not in taken:
                    taken[passage.id] = content
                    yield passage
                elif taken[passage.id] != content:
                    raise InputError(
                        f"The shared passage '{passage.id}' is not the same in all files.",
                        remedy="Pool only files with one corpus.",
                    )

    def tell_apart(self) -> None:
        """Prefix ids with the set's number if two sets share a dialogue or turn id."""
        owner: dict[int, int] = {}
        for number, each in enumerate(self._sets if len(self._sets) > 1 else ()):
            for example in each.examples():
                if isinstance(example, Example):
                    for name in (f"d{example.context.dialogue}", f"i{example.id}"):
                        if owner.setdefault(hash(name), number) != number:
                            self._prefixes = tuple(f"{place}/" for place in range(1, len(self._sets) + 1))
                            return


def _renamed(example: Example, prefix: str) -> Example:
    dialogue = f"{prefix}{example.context.dialogue}"
    return replace(example, id=f"{prefix}{example.id}", context=replace(example.context, dialogue=dialogue))


@dataclass(frozen=True, slots=True)
class SplitPart:
    """Written part; `seen` is the share of its evidence that also occurs in the first part (None for the first).

    The control has `held_out_seen` instead: the share of the held-out evidence that occurs in it.
    """

    file: Path
    dialogues: int
    turns: int
    sha256: str
    decisions: Mapping[str, int]
    seen: float | None = None
    held_out_seen: float | None = None


@dataclass(frozen=True, slots=True)
class SplitReport:
    """Result of a split: files by part, dropped dialogues, and problems of the input."""

    folder: Path
    parts: Mapping[str, SplitPart]
    dropped_dialogues: tuple[str, ...]
    dropped_turns: int
    problems: tuple[Problem, ...]


@dataclass(slots=True)
class _Target:
    """File to write, with the parts of the split or the dialogues that belong to it."""

    name: str
    takes: frozenset[str]
    drawn: frozenset[str]
    rows: ExampleWriter
    file: TextFile
    dialogues: set[str] = field(default_factory=set)
    decisions: Counter[str] = field(default_factory=Counter)


def split_files(
    sets: Sequence[Dataset],
    folder: str | Path,
    *,
    by: By = "dialogue",
    parts: Mapping[str, float] | None = None,
    folds: int = FOLDS,
    seed: int = 1,
    stratify: bool = True,
    control: bool = False,
) -> SplitReport:
    """Split one or several pooled sets into JSON lines in a folder, with a summary `split.json`.

    With `control`, a split by evidence has a control part of the first part's length, drawn from all but the held-out.
    The sets are read twice and never loaded whole. All files appear or none; input files are never replaced.
    """
    pool, out = JoinedSets(sets), Path(folder)
    shares = shares_of(parts, by=by, folds=folds)
    _check_names(shares)
    if control:
        _check_control(shares, by=by)
    pool.tell_apart()
    problems: list[Problem] = []
    lengths: Counter[str] = Counter()
    pool_units = units(_good(pool.examples(), problems, lengths), pool.passages())
    made = cut(pool_units.units, by=by, parts=parts, folds=folds, seed=seed, stratify=stratify)
    place = pool_units.places(made)
    wanted = _file_parts(made, by=by)
    drawn: dict[str, frozenset[str]] = {}
    if control:
        wanted[CONTROL] = frozenset()
        drawn[CONTROL] = _control(pool_units, made, lengths, seed=seed, stratify=stratify)
    first, passages = peeked(pool.passages())
    corpus = first is not None
    paths = [*(out / f"{name}.jsonl" for name in wanted), out / SUMMARY, *([out / CORPUS] if corpus else [])]
    _refuse_inputs(paths, pool.files)
    _refuse_left_over(paths, out)
    try:
        for name in wanted:
            (out / name).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot make the folder {out}: {error.strerror}.", remedy="Choose another one.") from error
    with together(paths) as files:
        shared = write_passages(passages, files[-1]) if corpus else None
        targets = []
        for (name, takes), file in zip(wanted.items(), files, strict=False):
            up = "../" * name.count("/")
            rows = ExampleWriter(
                file,
                name=pool.name,
                language=pool.language,
                sources=pool.sources,
                passages=f"{up}{CORPUS}" if corpus else None,
                shared=shared,
            )
            targets.append(_Target(name, takes, drawn.get(name, frozenset()), rows, file))
        dropped = _write(pool.examples(), place, targets, problems)
        seen = _seen_shares(pool_units.units, wanted, place)
        written = {target.name: _part(target, seen[target.name]) for target in targets}
        if control:
            held_out_seen = _held_out_seen(pool_units.units, made, drawn[CONTROL])
            written[CONTROL] = replace(written[CONTROL], held_out_seen=held_out_seen)
        lost = tuple(dialogue for dialogue in pool_units.of if dialogue not in place)
        report = SplitReport(out, written, lost, dropped, tuple(problems))
        summary = _summary(report, pool, by=by, seed=seed, stratify=stratify, shares=shares, control=control)
        files[len(wanted)].write(json.dumps(summary, ensure_ascii=False, indent=2).encode("utf-8") + b"\n")
    return report


def _check_names(names: Iterable[str]) -> None:
    for name in names:
        if not _PART.fullmatch(name) or f"{name}.jsonl" == CORPUS:
            raise InputError(f"'{name}' cannot name a part.", remedy="Use letters, digits, '-', '_' and '.'.")


def _refuse_inputs(paths: Iterable[Path], inputs: Iterable[Path]) -> None:
    read = {file.resolve() for file in inputs}
    for path in paths:
        if path.resolve() in read:
            raise InputError(
                f"{path} is read, and would be replaced by a part of it.",
                remedy="Choose another folder for the parts.",
                file=str(path),
            )


def _refuse_left_over(paths: Sequence[Path], out: Path) -> None:
    """Raise an error if parts of an earlier split would remain beside those of this one."""
    try:
        earlier = json.loads((out / SUMMARY).read_text(encoding="utf-8"))
        listed = [out / str(part["file"]) for part in earlier["parts"].values()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return  # no split lies there
    for left in listed:
        if left not in paths and left.is_file():
            raise InputError(
                f"{left} is a part of the split that {out / SUMMARY} tells of, and this one has no such part.",
                remedy="Remove it, or choose another folder for the parts.",
                file=str(left),
            )


def _check_control(names: Iterable[str], *, by: By) -> None:
    if by != "evidence":
        raise InputError(f"A cut by {by} has no control.", remedy="Cut by evidence (--by evidence), or ask for none.")
    if CONTROL in names:
        raise InputError(f"A part is named '{CONTROL}', as the control is.", remedy="Give that part another name.")


def _good(examples: Iterable[Example | Problem], problems: list[Problem], lengths: Counter[str]) -> Iterator[Example]:
    for example in examples:
        if isinstance(example, Problem):
            problems.append(example)
        else:
            lengths[example.context.dialogue] += 1
            yield example


def _file_parts(made: Cut, *, by: By) -> dict[str, frozenset[str]]:
    """Return the names of the files without suffix, and the parts of the split in each."""
    if by != "folds":
        return {name: frozenset({name}) for name in made.parts}
    files: dict[str, frozenset[str]] = {}
    for name in made.parts:
        files[f"{name}/train"] = frozenset(made.parts) - {name}
        files[f"{name}/test"] = frozenset({name})
    return files


def _control(pool_units: Units, made: Cut, lengths: Mapping[str, int], *, seed: int, stratify: bool) -> frozenset[str]:
    """Return the dialogues of the control."""
    turns: Counter[str] = Counter()
    for dialogue, unit in pool_units.of.items():
        turns[unit] += lengths[dialogue]
    chosen = frozenset(control_of(pool_units.units, made, turns=turns, seed=seed, stratify=stratify))
    return frozenset(dialogue for dialogue, unit in pool_units.of.items() if unit in chosen)


def _write(
    examples: Iterable[Example | Problem],
    place: Mapping[str, str],
    targets: Sequence[_Target],
    problems: list[Problem],
) -> int:
    """Write every example to its file and return the number without one."""
    dropped = 0
    good = (example for example in examples if isinstance(example, Example))
    for number, example in enumerate(good, start=1):
        dialogue = example.context.dialogue
        part = place.get(dialogue)
        dropped += part is None
        for target in targets:
            if part in target.takes or dialogue in target.drawn:
                wrong = target.rows.add(example)
                if wrong is not None:
                    problems.append(Problem(target.name, number, f"{example.id}: {wrong}"))
                    continue
                target.dialogues.add(dialogue)
                if example.gold.plan is not None:
                    target.decisions[decision(example.gold.plan)] += 1
    return dropped


def _seen_shares(
    all_units: Sequence[Unit], wanted: Mapping[str, frozenset[str]], place: Mapping[str, str]
) -> dict[str, float | None]:
    """Return for each file the share of its evidence that also occurs in the first part."""
    evidence: dict[str, set[str]] = {name: set() for name in wanted}
    for unit in all_units:
        for name, takes in wanted.items():
            if place.get(unit.id) in takes:
                evidence[name] |= unit.evidence
    first = next(iter(wanted))
    shares: dict[str, float | None] = {}
    for name in wanted:
        other = f"{name.rpartition('/')[0]}/train" if "/" in name else first
        own = evidence[name]
        shares[name] = None if name == other or not own else len(own & evidence[other]) / len(own)
    return shares


def _held_out_seen(all_units: Sequence[Unit], made: Cut, drawn: frozenset[str]) -> float | None:
    """Return the share of the held-out evidence that occurs in the control."""
    _, *others = made.parts.values()
    outside = {name for ids in others for name in ids}
    held = frozenset[str]().union(*(unit.evidence for unit in all_units if unit.id in outside))
    own = frozenset[str]().union(*(unit.evidence for unit in all_units if unit.id in drawn))
    return len(held & own) / len(held) if held else None


def _part(target: _Target, seen: float | None) -> SplitPart:
    decisions = dict(sorted(target.decisions.items(), key=lambda pair: (-pair[1], pair[0])))
    return SplitPart(target.file.path, len(target.dialogues), target.rows.count, target.file.sha256, decisions, seen)


def _summary(
    report: SplitReport,
    pool: JoinedSets,
    *,
    by: By,
    seed: int,
    stratify: bool,
    shares: Mapping[str, float],
    control: bool,
) -> dict[str, Json]:
    parts: dict[str, Json] = {}
    for name, part in report.parts.items():
        drawn = control and name == CONTROL
        seen = part.held_out_seen if drawn else part.seen
        parts[name] = {
            "file": part.file.relative_to(report.folder).as_posix(),
            "dialogues": part.dialogues,
            "turns": part.turns,
            "sha256": part.sha256,
            "decisions": dict(part.decisions),
            "held_out_seen" if drawn else "evidence_seen": None if seen is None else round(seen, 6),
        }
    return {
        "by": by,
        "seed": seed,
        "stratified": stratify,
        "shares": {name: round(share, 6) for name, share in shares.items()},
        "inputs": [{"file": file.name, "sha256": _digest(file)} for file in pool.files],
        "parts": parts,
        "dropped": {
            "dialogues": len(report.dropped_dialogues),
            "turns": report.dropped_turns,
            "ids": list(report.dropped_dialogues),
        },
        "left_out": [str(problem) for problem in report.problems if problem.severity == "error"],
    }


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
