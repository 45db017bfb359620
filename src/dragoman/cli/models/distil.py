"""`dragoman models distil`: a static encoder fitted to your own files."""

from __future__ import annotations

import hashlib
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.terminal.messages import tell
from dragoman.cli.terminal.progress import Bars, progress_bars
from dragoman.train.distil.defaults import LEAST, MOST, TEACHER

if TYPE_CHECKING:
    from dragoman.models.part import Part
    from dragoman.sources.files import Failure
    from dragoman.train.contract import Progress, Report

_SOURCE = "DOCUMENTS"


def distil_encoder(
    *,
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH", help="Files and folders with passages like those you search.", show_default=False
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Folder for the encoder.", show_default=False)],
    teacher: Annotated[
        str,
        typer.Option("--teacher", metavar="NAME", help="The encoder to distil: a name (see: models list) or a folder."),
    ] = TEACHER,
    passages: Annotated[
        int, typer.Option("--passages", min=LEAST, metavar="N", help="Maximum number of passages, sampled at random.")
    ] = MOST,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Random seed of the sample.")] = 1,
    fresh: Annotated[bool, typer.Option("--fresh", help="Replace the encoder in the folder.")] = False,
) -> None:
    """Distil a static encoder, which needs no neural network to encode passages.

    The result is a table of token vectors, fitted so that vectors of your passages are close to those of the teacher;
    questions can still be encoded by the teacher. Repeat the command to resume an interrupted run. Files that fail are
    listed and left out.
    """
    from dragoman.models.static_encoder import teacher_folder
    from dragoman.train.distil.static_encoder import distil
    from dragoman.train.training_folder import claimed

    with claimed(out):
        _refuse(out, fresh)
        with progress_bars() as bars:
            teacher_folder(teacher)  # a wrong one is refused before anything is read
            texts, files, failed = _read(paths, bars)
        for failure in failed:
            tell(f"Failed: {failure.path}: {failure.reason}")
        with progress_bars() as bars:
            part = distil(
                texts,
                out,
                teacher=teacher,
                most=passages,
                seed=seed,
                files=files,
                command=shlex.join(["dragoman", *sys.argv[1:]]),
                report=_report(bars),
            )
    typer.echo(_summary(out, part))
    typer.echo("Vectors of another encoder do not fit: let the agent have a new state.")
    state = shlex.quote(f"{out.resolve().name}-state")
    options = f"--models.encoder.kind static --models.encoder.part {shlex.quote(str(out))}"
    typer.echo(f"Next: dragoman ingest {shlex.quote(str(paths[0]))} --state {state} {options}")
    if failed:
        raise typer.Exit(1)


def _summary(out: Path, part: Part) -> str:
    metrics = part.made["metrics"]
    neighbours = metrics.get("neighbours")  # where enough passages were held out
    share = "" if neighbours is None else f", and of its ten nearest passages {neighbours:.0%} are found"
    return (
        f"{out}: fitted to {part.made['data']['passages']:,} passages. On those held out the cosine to the teacher's "
        f"vectors is {metrics['cosine']:.3f}{share}."
    )


def _refuse(out: Path, fresh: bool) -> None:
    from dragoman.core.errors import TrainingError
    from dragoman.models.part import FILE, read_part
    from dragoman.models.static_encoder import KIND, TABLE, TOKENIZER
    from dragoman.train.distil.card import CARD
    from dragoman.train.distil.static_encoder import WORK

    own_files = {FILE, TABLE, TOKENIZER, CARD, WORK}
    others = sorted(place.name for place in out.iterdir() if place.name not in own_files and place.name[0] != ".")
    foreign = (out / FILE).is_file() and read_part(out).kind != KIND
    if others or foreign:
        raise TrainingError(
            f"'{out}' holds something else ({', '.join(others[:3]) or FILE}).", remedy="Give --out a new folder."
        )
    if (out / FILE).is_file() and not fresh:
        raise TrainingError(
            f"'{out}' holds an encoder already.", remedy="Give --fresh to replace it, or another folder with --out."
        )


def _read(paths: Sequence[Path], bars: Bars) -> tuple[list[str], list[Mapping[str, Any]], list[Failure]]:
    """The passages of the files as an agent would encode them, a report per path, and the failures."""
    texts: list[str] = []
    files: list[Mapping[str, Any]] = []
    failed: list[Failure] = []
    for path in paths:
        digest, count = hashlib.sha256(), 0
        for content, passages in _passages(path, bars, failed):
            digest.update(hashlib.sha256(content).digest())
            count += 1
            texts += passages
        files.append({"name": path.name, "files": count, "sha256": digest.hexdigest()})
    return texts, files, failed


def _passages(path: Path, bars: Bars, failed: list[Failure]) -> Iterator[tuple[bytes, list[str]]]:
    from dragoman.core.errors import InputError
    from dragoman.sources.files import Failure, find, load, parse
    from dragoman.sources.passages import cut

    files = find([path])
    failed += (*files.failed, *files.skipped)
    for number, file in enumerate(files.files):
        bars.show("Reading files", number, len(files.files), file.origin)
        try:
            content = load(file.path)
            document = parse(content, file.path.name)
            rows = cut(document, _SOURCE, file.origin)
        except InputError as error:
            failed.append(Failure(file.origin, str(error)))
            continue
        failed += (Failure(f"{file.origin}, {where}", reason) for where, reason in document.failed)
        yield content, [row.indexed for row in rows]


def _report(bars: Bars) -> Report:
    def report(progress: Progress) -> None:
        bars.show(progress.stage, progress.done, progress.total)

    return report
