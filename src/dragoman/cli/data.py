"""`dragoman data`: list, check, show, convert and split data sets."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.cli.terminal import dataset_tables, rendering
from dragoman.cli.terminal.messages import printable
from dragoman.cli.terminal.progress import progress_bars
from dragoman.core.errors import ConfigError, InputError

if TYPE_CHECKING:
    from dragoman.core.examples import Dataset, Problem
    from dragoman.datasets.splitting.split_files import SplitReport

app = typer.Typer(no_args_is_help=True)

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="File or folder of a data set, or a built-in one: toy, toy-zh.", show_default=False
    ),
]
Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE...", help="Files of a data set; several are pooled.", show_default=False),
]
KindOption = Annotated[
    str | None,
    typer.Option(
        "--kind",
        "-k",
        metavar="KIND",
        help="Format of the data set. Default: detected from the file.",
        show_default=False,
    ),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option", "-o", metavar="NAME=VALUE", help="Option of the format (see: data list).", show_default=False
    ),
]


class By(StrEnum):
    """How a data set is split."""

    dialogue = "dialogue"
    evidence = "evidence"
    folds = "folds"


@app.command("list")
def list_() -> None:
    """List the formats of data sets, their options, and the files in $DRAGOMAN_DATA."""
    from dragoman.datasets.open import data_folder, files_in, kinds

    rows = rendering.table("kind", "options", "what it is")
    for kind in kinds():
        words = [name if default in (None, "None") else f"{name}={default}" for name, default in kind.options.items()]
        rendering.add_row(rows, kind.name, ", ".join(words), kind.about)
    rendering.out().print(rows)
    folder = data_folder()
    if folder is None:
        typer.echo("Set DRAGOMAN_DATA to the folder of your sets to see here which of them are found.")
    elif not folder.is_dir():
        raise InputError(f"DRAGOMAN_DATA is {folder}, which is no folder.", remedy="Set it to the folder of your sets.")
    else:
        files = rendering.table("kind", "file", title=f"Under {folder}")
        for name, path in files_in(folder):
            rendering.add_row(files, name, str(path.relative_to(folder)))
        rendering.out().print(files)
    typer.echo("Next: dragoman data check FILE")


@app.command()
def check(
    *,
    file: File,
    kind: KindOption = None,
    options: Options = None,
    json_out: Annotated[
        Path | None,
        typer.Option("--json", metavar="OUT", help="Write the report to this JSON file.", show_default=False),
    ] = None,
    errors: Annotated[int, typer.Option("--errors", "-e", min=0, metavar="N", help="Number of problems to show.")] = 20,
) -> None:
    """Check a data set: counts, label distribution and invalid rows.

    The exit code is 0 if all rows are valid, else 1.
    """
    from dragoman.core.codec import encode
    from dragoman.datasets.check import KEPT
    from dragoman.datasets.check import check as check_set
    from dragoman.datasets.writing import together

    dataset = _opened(file, kind, options)
    with _reading():
        report = check_set(dataset, keep=max(errors, KEPT))
    if json_out is not None:
        with together([json_out]) as (out,):
            out.write(json.dumps(encode(report), ensure_ascii=False, indent=2).encode("utf-8") + b"\n")
    for table in dataset_tables.report_tables(report):
        rendering.out().print(table)
    _print_problems(report.problems, errors, report.errors + report.warnings)
    if report.errors:
        sys.stderr.write(f"{report.errors} {_rows(report.errors)} wrong and left out.\n")
        mend = "it" if report.errors == 1 else "them"
        typer.echo(f"Mend {mend}, then: dragoman data check {_again(file, kind, options)}")
        raise typer.Exit(1)
    if not report.turns:
        raise InputError(f"{file} holds no turns.", remedy="See: dragoman data show toy")
    if kind is None and not options:
        typer.echo(f"Nothing is wrong. Next: dragoman evaluate --data {shlex.quote(file)}")
    else:  # other commands detect the format by the file, and our own JSON Lines always name it
        own = shlex.quote(f"{Path(file).stem}.turns.jsonl")
        typer.echo(f"Nothing is wrong. Next: dragoman data convert {_again(file, kind, options, own)}")
        typer.echo(f"      and then: dragoman evaluate --data {own}")


@app.command("show")
def show_examples(
    *,
    file: File,
    kind: KindOption = None,
    options: Options = None,
    wanted: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Show only the turn with this id.", show_default=False)
    ] = None,
    count: Annotated[int, typer.Option("--number", "-n", min=1, metavar="N", help="Number of turns to show.")] = 3,
) -> None:
    """Show turns with their context, candidate evidence and gold labels."""
    from dragoman.core.examples import Example

    dataset = _opened(file, kind, options)
    remaining = 1 if wanted is not None else count
    shared = {source.name for source in dataset.sources if not source.private}
    for example in dataset.examples():
        if not remaining:
            break
        if not isinstance(example, Example) or (wanted is not None and example.id != wanted):
            continue
        remaining -= 1
        missing = set(example.gold.evidence or ()) - {candidate.id for candidate in example.candidates}
        # Gold passages are read from the shared corpus, which pays only for a few turns.
        extra = [passage for passage in dataset.passages() if passage.id in missing] if missing and shared else []
        rendering.out().print(dataset_tables.example_text(example, extra), soft_wrap=True)
    if wanted is not None and remaining:
        raise InputError(f"{file} has no turn with the id '{wanted}'.", remedy=f"See: dragoman data show {file}")


@app.command()
def convert(
    *,
    file: File,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="JSON Lines file to write.", show_default=False)],
    kind: KindOption = None,
    options: Options = None,
) -> None:
    """Convert a data set to Dragoman's own JSON Lines format."""
    from dragoman.datasets.writing import write_jsonl

    dataset = _opened(file, kind, options)
    if out.resolve() in (path.resolve() for path in dataset.files):
        raise InputError(f"{out} is the file that is read.", remedy="Name another one.")
    with _reading():
        count = write_jsonl(dataset, out)
    _warn_left_out(count.problems)
    typer.echo(f"{count.rows} turns: {out}")
    if count.corpus is not None:
        typer.echo(f"What they share: {count.corpus}")
    typer.echo(f"Next: dragoman data check {shlex.quote(str(out))}")


@app.command()
def split(
    context: typer.Context,
    *,
    files: Files,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the parts.", show_default=False)],
    by: Annotated[
        By,
        typer.Option(
            "--by",
            help="dialogue: at random; evidence: dev and test share no evidence "
            "with train; folds: for cross-validation.",
        ),
    ] = By.dialogue,
    parts: Annotated[
        str, typer.Option("--parts", metavar="NAME=SHARE,...", help="Names and shares of the parts.")
    ] = "train=0.8,dev=0.1,test=0.1",
    folds: Annotated[int, typer.Option("--folds", min=2, metavar="K", help="Number of folds.")] = 5,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Random seed.")] = 1,
    stratify: Annotated[
        bool, typer.Option("--stratify/--no-stratify", help="Give all parts the same distribution of plans.")
    ] = True,
    control: Annotated[
        bool,
        typer.Option(
            "--control",
            help="With --by evidence: also write control.jsonl, a training set of the "
            "same size without the evidence constraint.",
        ),
    ] = False,
    kind: KindOption = None,
    options: Options = None,
) -> None:
    """Split a data set into parts; no dialogue is in two of them.

    With --by evidence, no gold evidence of dev or test occurs in train; dialogues that would break this are dropped and
    counted. The parts are JSON Lines files; split.json records how they were made.

    The control set has as many turns as train, drawn from train and the dropped dialogues. Comparing models trained on
    each shows the cost of unseen evidence apart from that of fewer turns.
    """
    from dragoman.datasets.splitting.split_files import split_files

    unread = "parts" if by is By.folds else "folds"
    if _is_given(context, unread):
        raise ConfigError(
            f"A cut by {by.value} does not read --{unread}.",
            remedy=f"Leave out --{unread}." if by is By.folds else "Add --by folds, or leave out --folds.",
        )
    shares = _shares(parts)
    sets = [_opened(file, kind, options) for file in files]
    with _reading():
        report = split_files(
            sets, out, by=by.value, parts=shares, folds=folds, seed=seed, stratify=stratify, control=control
        )
    _warn_left_out(report.problems)
    _print_split(report, control=control)


def _is_given(context: typer.Context, name: str) -> bool:
    """Whether an option was given on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _print_split(report: SplitReport, *, control: bool) -> None:
    from dragoman.datasets.splitting.split_files import CONTROL

    rows = rendering.table("part", ">dialogues", ">turns", ">evidence seen", "file")
    for name, part in report.parts.items():
        share = "" if part.seen is None else f"{100 * part.seen:.1f} %"
        rendering.add_row(rows, name, f"{part.dialogues}", f"{part.turns}", share, str(part.file))
    rendering.out().print(rows)
    if report.dropped_dialogues:
        typer.echo(
            f"Dropped: {len(report.dropped_dialogues)} dialogues, {report.dropped_turns} turns, which share evidence "
            "with both sides."
        )
    held_out_seen = report.parts[CONTROL].held_out_seen if control else None
    if held_out_seen is not None:
        typer.echo(f"Control: {100 * held_out_seen:.1f} % of the held-out evidence occurs in it.")
    first = next(iter(report.parts.values()))
    typer.echo(f"Next: dragoman data check {shlex.quote(str(first.file))}")


def _shares(text: str) -> dict[str, float]:
    shares: dict[str, float] = {}
    for entry in text.split(","):
        name, mark, share = (part.strip() for part in entry.partition("="))
        try:
            if not mark or name in shares:
                raise ValueError(entry)
            shares[name] = float(share)
        except ValueError as error:
            raise ConfigError(
                f"'{entry.strip()}' in --parts is not NAME=SHARE.", remedy="Write --parts train=0.8,dev=0.1,test=0.1."
            ) from error
    return shares


def _opened(file: str, kind: str | None, options: Sequence[str] | None) -> Dataset:
    from dragoman.datasets.open import open_dataset

    return open_dataset(kind, file, **_option_values(options))


def _again(file: str, kind: str | None, options: Sequence[str] | None, out: str | None = None) -> str:
    """The arguments that name the same data set in a suggested command."""
    words = [shlex.quote(file), *([out] if out else []), *(["--kind", shlex.quote(kind)] if kind else [])]
    return " ".join([*words, *(f"--option {shlex.quote(option)}" for option in options or ())])


def _option_values(options: Sequence[str] | None) -> Mapping[str, object]:
    from dragoman.core.toml import scalar

    parsed: dict[str, object] = {}
    for entry in options or ():
        name, mark, value = entry.partition("=")
        if not mark:
            raise ConfigError(f"'{entry}' is not an option.", remedy="Write NAME=VALUE, as in spaces=keep.")
        parsed[name.strip()] = scalar(value.strip())
    return parsed


@contextmanager
def _reading() -> Iterator[None]:
    """Progress bar, in bytes, for files being read."""
    from dragoman.datasets.read_progress import watched

    with progress_bars() as bars, watched(bars.reading):
        yield


def _print_problems(problems: Sequence[Problem], most: int, total: int) -> None:
    ranked = sorted(problems, key=lambda problem: problem.severity != "error")  # errors first, else as they come
    for problem in ranked[:most]:
        sys.stderr.write(f"{'Error' if problem.severity == 'error' else 'Warning'}: {printable(str(problem))}\n")
    if total > most:
        sys.stderr.write(f"... and {total - min(most, total)} more: --errors {total}\n")


def _warn_left_out(problems: Sequence[Problem]) -> None:
    wrong = [problem for problem in problems if problem.severity == "error"]
    _print_problems(wrong, 5, len(wrong))
    if wrong:
        sys.stderr.write(f"Warning: {len(wrong)} {_rows(len(wrong))} wrong and left out.\n")


def _rows(count: int) -> str:
    return "row is" if count == 1 else "rows are"
