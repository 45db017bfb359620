"""Writes docs/cli/README.md from `dragoman --help`; `--check` only says whether it is up to date.

The site has a page for each command besides (`command_pages`); in the repository `--help` is the reference.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import typer
from typer.testing import CliRunner

FOLDER = Path(__file__).parent / "cli"
COLUMNS = "88"
PLAIN = {"COLUMNS": COLUMNS, "TERMINAL_WIDTH": COLUMNS, "NO_COLOR": "1", "TERM": "dumb"}
OVERVIEW = "# The command line\n\nThe options of a command: `dragoman COMMAND --help`.\n\n{}\n"


def pages() -> dict[str, str]:
    """The text of every page in the repository by file name."""
    from dragoman.cli.app import app

    return {"README.md": OVERVIEW.format(_block(app, []))}


def command_pages() -> dict[str, str]:
    """The text of the page of each command by its name, in the order of `dragoman --help`."""
    from dragoman.cli.app import app

    made = {}
    for name, command in typer.main.get_command(app).commands.items():
        nested = list(getattr(command, "commands", ()))
        blocks = [_block(app, [name]), *(_block(app, [name, sub]) for sub in nested)]
        made[name] = f"# dragoman {name}\n\n" + "\n\n".join(blocks) + "\n"
    return made


def _block(app: typer.Typer, words: list[str]) -> str:
    arguments = [*words, "--help"]
    shown = CliRunner().invoke(app, arguments, prog_name="dragoman", env=PLAIN, color=False)
    text = "\n".join(line.rstrip() for line in shown.stdout.strip().splitlines())
    return f"```text\n$ {' '.join(['dragoman', *arguments])}\n{text}\n```"


def stale() -> list[str]:
    """The names of pages that are missing, out of date, or no longer written."""
    wanted = pages()
    present = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    return sorted(name for name in {*wanted, *present} if wanted.get(name) != present.get(name))


def main() -> int:
    os.environ.update(PLAIN)
    if "--check" in sys.argv[1:]:
        names = stale()
        if names:
            sys.stderr.write(f"Out of date: {', '.join(names)}. Run: make docs-help\n")
        return 1 if names else 0
    FOLDER.mkdir(exist_ok=True)
    wanted = pages()
    for path in FOLDER.glob("*.md"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
