"""`dragoman models distil`: a static encoder from files of one's own."""

from __future__ import annotations

import hashlib
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dragoman.cli.progress import Bars, progress_bars

if TYPE_CHECKING:
    from dragoman.train.contract import Progress, Report

_SOURCE = "DOCUMENTS"


def distil_encoder(
    *,
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH", help="Files and folders with passages like those to be searched.", show_default=False
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the encoder goes.", show_default=False)],
    teacher: Annotated[
        str, typer.Option("--teacher", metavar="NAME", help="The encoder to distil: of `models list`, or a folder.")
    ] = "all-minilm-l6-v2-int8",
    passages: Annotated[
        int, typer.Option("--passages", min=1, metavar="N", help="Read at most so many, drawn by chance.")
    ] = 20_000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="What decides which are drawn.")] = 1,
    fresh: Annotated[bool, typer.Option("--fresh", help="Replace the encoder that the folder holds.")] = False,
) -> None:
    """Make an encoder that reads passages without a neural pass.

    It is a table of token vectors, fitted to your passages so that its vectors are near those of the encoder that it is
    distilled from; questions may go on being read by that one. A run that was stopped goes on when the same command is
    given again.
    """
    from dragoman.train.distil import distil

    _refuse(out, fresh)
    with progress_bars() as bars:
        texts, files = _read(paths, bars)
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
    metrics = part.made["metrics"]
    typer.echo(
        f"{out}: fitted to {part.made['data']['passages']:,} passages. On those held out the cosine to the teacher's "
        f"vectors is {metrics['cosine']:.3f}, and of its ten nearest passages {metrics['neighbours']:.0%} are found."
    )
    typer.echo("Vectors of another encoder do not fit: let the agent have a new state.")
    chosen = f"--models.encoder.kind static --models.encoder.part {shlex.quote(str(out))}"
    typer.echo(f"Next: dragoman ingest {shlex.quote(str(paths[0]))} --state {out.name}-state {chosen}")


def _refuse(out: Path, fresh: bool) -> None:
    from dragoman.core.errors import TrainingError
    from dragoman.models.part import FILE, read_part
    from dragoman.models.static import KIND, TABLE, TOKENIZER
    from dragoman.train.distil import WORK
    from dragoman.train.distil_card import CARD

    if out.exists() and not out.is_dir():
        raise TrainingError(f"'{out}' is a file.", remedy="Give a folder with --out.")
    known = {FILE, TABLE, TOKENIZER, CARD, WORK}
    others = sorted(place.name for place in out.iterdir() if place.name not in known) if out.is_dir() else []
    foreign = (out / FILE).is_file() and read_part(out).kind != KIND
    if [name for name in others if not name.startswith(".")] or foreign:
        raise TrainingError(
            f"'{out}' holds something else ({', '.join(others[:3]) or FILE}).", remedy="Give --out a new folder."
        )
    if (out / FILE).is_file() and not fresh:
        raise TrainingError(
            f"'{out}' holds an encoder already.", remedy="Give --fresh to replace it, or another folder with --out."
        )


def _read(paths: Sequence[Path], bars: Bars) -> tuple[list[str], list[Mapping[str, Any]]]:
    """The passages of files, as an agent that ingests them encodes them, and what is said of each path."""
    texts: list[str] = []
    files: list[Mapping[str, Any]] = []
    for path in paths:
        digest, count = hashlib.sha256(), 0
        for content, found in _passages(path, bars):
            digest.update(hashlib.sha256(content).digest())
            count += 1
            texts += found
        files.append({"name": path.name, "files": count, "sha256": digest.hexdigest()})
    return texts, files


def _passages(path: Path, bars: Bars) -> Iterator[tuple[bytes, list[str]]]:
    from dragoman.core.errors import InputError
    from dragoman.sources.files import find, load, parse
    from dragoman.sources.passages import cut

    found = find([path])
    for number, file in enumerate(found.files):
        bars.show("Reading files", number, len(found.files), file.origin)
        try:
            content = load(file.path)
            rows = cut(parse(content, file.path.name), _SOURCE, file.origin)
        except InputError as error:
            sys.stderr.write(f"Failed: {file.origin}: {error}\n")
            continue
        yield content, [row.indexed for row in rows]


def _report(bars: Bars) -> Report:
    def report(progress: Progress) -> None:
        bars.show(progress.stage, progress.done, progress.total)

    return report
