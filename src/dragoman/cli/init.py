"""`dragoman init`: create an agent."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dragoman.core.errors import InputError

_SCAFFOLD = Path(__file__).parent / "scaffold"


class Language(StrEnum):
    """Languages of the agent templates."""

    en = "en"
    zh = "zh"


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(init)


def init(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to create.", show_default=False)],
    language: Annotated[Language, typer.Option("--language", "-l", help="The agent's language.")] = Language.en,
) -> None:
    """Create your own agent.

    The new folder works as it is; edit its files, sources and roles.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} exists already and is not empty.", remedy="Give the name of a new folder.")
    template = _SCAFFOLD / language.value
    made = []
    try:
        for file in sorted(path for path in template.rglob("*") if path.is_file()):
            target = folder / file.relative_to(template)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
            made.append(target)
        (folder / ".gitignore").write_bytes((_SCAFFOLD / "gitignore").read_bytes())
    except OSError as error:
        raise InputError(f"Cannot write {folder}: {error.strerror}.", remedy="Choose another folder.") from error
    for target in made:
        typer.echo(f"  {target}")
    named = shlex.quote(str(folder))
    typer.echo(f"\nTalk to it:      dragoman chat --agent {named}")
    typer.echo(f"Check it:        dragoman check {named}")
    typer.echo(f"Make it yours:   put your files into {folder / 'documents'} and edit {folder / 'agent.toml'}")
