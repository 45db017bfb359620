"""`dragoman init`: create an agent."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from dragoman.core.errors import InputError

_SCAFFOLD = Path(__file__).parent / "scaffold"


class Language(StrEnum):
    """Languages of the agent templates."""

    en = "en"
    zh = "zh"


# Lines of the template.
_GREETING = re.compile(r"^greeting = .*$", re.MULTILINE)
_EXAMPLES = re.compile(r"^examples = \[[^\]]*\]$", re.MULTILINE)
_PERSONA = re.compile(r'(?<=name = "PERSONA"\n)description = .*$', re.MULTILINE)
_DOCUMENTS = re.compile(r'(?<=name = "DOCUMENTS"\n)description = .*$', re.MULTILINE)
_PATH = re.compile(r'^path = "documents" .*$', re.MULTILINE)
_MUST_NOT = re.compile(r"^must_not = .*\n", re.MULTILINE)


class _Phrases(NamedTuple):
    """Name, greeting and persona of an agent without the example."""

    greeting: str
    persona: str
    documents: str
    statement: str


_OWN = {
    Language.en: _Phrases(
        "Hello, I am Robin. Ask me about your documents.",
        "who Robin is",
        "the documents in {}",
        "I am Robin, and I answer questions about your documents.",
    ),
    Language.zh: _Phrases(
        "您好，我是小罗。请问我关于您的文档的问题。",
        "小罗是谁",
        "{} 里的文档",
        "我是小罗，回答关于您的文档的问题。",
    ),
}


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command()(init)


def init(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to create.", show_default=False)],
    language: Annotated[Language, typer.Option("--language", "-l", help="The agent's language.")] = Language.en,
    documents: Annotated[
        Path | None,
        typer.Option("--documents", "-d", help="A folder of yours to answer from; else there is an example."),
    ] = None,
) -> None:
    """Create your own agent.

    The new folder works as it is; edit its files, sources and roles.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(
            f"{folder} exists already and is not empty.",
            remedy=f"Name a new folder; with --documents {shlex.quote(str(folder))} the agent answers from this one.",
        )
    template = _SCAFFOLD / language.value
    files = {
        path.relative_to(template): path.read_text(encoding="utf-8") for path in template.rglob("*") if path.is_file()
    }
    if documents is not None:
        files = _with_documents(files, language, documents, folder)
    try:
        for name, text in sorted(files.items()):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="\n")
        (folder / ".gitignore").write_bytes((_SCAFFOLD / "gitignore").read_bytes())
    except OSError as error:
        raise InputError(f"Cannot write {folder}: {error.strerror}.", remedy="Choose another folder.") from error
    for name in sorted(files):
        typer.echo(f"  {folder / name}")
    named = shlex.quote(str(folder))
    typer.echo(f"\nTalk to it:      dragoman chat --agent {named}")
    typer.echo(f"Check it:        dragoman check {named}")
    if documents is None:
        typer.echo(f"Make it yours:   put your files into {folder / 'documents'} and edit {folder / 'agent.toml'}")
    else:
        typer.echo(f"Make it yours:   edit {folder / 'agent.toml'}; it answers from {documents}")


def _with_documents(files: Mapping[Path, str], language: Language, documents: Path, folder: Path) -> dict[Path, str]:
    """The files of an agent that answers from a folder which exists, in place of those of the example."""
    if not documents.exists():
        raise InputError(f"There is no folder {documents}.", remedy="Check the path.")
    there, here = documents.resolve(), folder.resolve()
    if here.is_relative_to(there):
        raise InputError(
            f"{folder} lies in {documents}, and would be read as one of your documents.",
            remedy="Put the agent beside that folder.",
        )
    try:
        path = os.path.relpath(there, here)
    except ValueError:  # on another drive
        path = str(there)
    phrases = _OWN[language]
    described = phrases.documents.format(there.name)
    config, persona, conversations = (files[Path(name)] for name in ("agent.toml", "persona.md", "conversations.toml"))
    for pattern, line in (
        (_GREETING, f"greeting = {_quoted(phrases.greeting)}"),
        (_EXAMPLES, "examples = []                        # shown when a conversation begins"),
        (_PERSONA, f"description = {_quoted(phrases.persona)}"),
        (_DOCUMENTS, f"description = {_quoted(described)}"),
        (_PATH, f"path = {_quoted(Path(path).as_posix())}"),
    ):
        config = pattern.sub(line.replace("\\", r"\\"), config, count=1)
    first = conversations.index("[[conversation]]")
    second = conversations.index("[[conversation]]", first + 1)
    others = _MUST_NOT.sub("", conversations[second:])
    return {
        Path("agent.toml"): config,
        Path("persona.md"): f"{persona.splitlines()[0]}\n\n- {phrases.statement}\n",
        # The first conversation is about the documents of the example.
        Path("conversations.toml"): conversations[:first] + others,
    }


def _quoted(text: str) -> str:
    """A text as TOML, which escapes like JSON."""
    return json.dumps(text, ensure_ascii=False)
