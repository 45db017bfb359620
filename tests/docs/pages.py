"""The README and the pages of docs/ as a reader would follow them: block after block, in one new folder.

A fence may stand under a comment that says what it is: `file: PATH` (the block is that file), `append: PATH` (it goes
to the end of that file), `copy: PATH` (the block is the beginning of that file of the repository, which a reader has
copied), `output` (the block before it printed these lines), `not run: WHY`. Without one, python
blocks are run, and so are the lines of console blocks that begin with `$ `; the lines under them must be in the
output, and those that begin with `you> ` are typed. A toml block is a piece of agent.toml and must be a valid one.
`snippets: offline` on a page promises that no weights are needed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from terminal import talk

from dragoman.config import load_config

ROOT = Path(__file__).parents[2]
COLUMNS = "100"
PROMPT = "you> "
_BLOCK = re.compile(r"(?:<!-- ([^>]*?) -->\n)?^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FIGURE = re.compile(r"\d+(?:\.\d+)? m?s\b|\d+\.\d+")
_TIMEOUT = 300


@dataclass(frozen=True)
class Block:
    """A fenced block: the line it begins on, its language, what its comment says, and its text."""

    line: int
    language: str
    note: str
    text: str


def pages() -> dict[str, Path]:
    """Every page that was written by hand, by its path in the repository."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return {path.relative_to(ROOT).as_posix(): path for path in found if path.parent.name != "cli"}


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page, in order."""
    return [
        Block(text.count("\n", 0, match.start(2)) + 1, match[2], (match[1] or "").strip(), match[3])
        for match in _BLOCK.finditer(text)
    ]


def is_offline(text: str) -> bool:
    return "<!-- snippets: offline -->" in text


class Reader:
    """Does what a page says, in a folder, with the home of this test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._printed = ""
        paths = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
        inherited = {
            name: value for name, value in os.environ.items() if name != "LINES"
        }  # with it, rich believes COLUMNS
        self._environment = inherited | {
            "PATH": os.pathsep.join(paths),
            "PYTHONPATH": str(folder),
            "COLUMNS": COLUMNS,
            "TERM": "dumb",
            "NO_COLOR": "1",
            "PYTHONIOENCODING": "utf-8",
        }

    def follow(self, text: str) -> None:
        """Every block of a page; the first one that does not do what the page says fails."""
        for block in blocks(text):
            self._do(block)

    def _do(self, block: Block) -> None:
        kind, _, rest = block.note.partition(":")
        if kind == "not run":
            assert rest.strip(), f"line {block.line}: say why this is not run"
        elif kind in ("file", "append"):
            self._write(self._folder / rest.strip(), block.text, append=kind == "append")
        elif kind == "copy":
            whole = (ROOT / rest.strip()).read_text(encoding="utf-8")
            assert whole.startswith(block.text), f"line {block.line}: {rest.strip()} begins otherwise"
            self._write(self._folder / Path(rest.strip()).name, whole, append=False)
        elif kind == "output":
            _require(block.text.splitlines(), self._printed, block)
        elif block.language == "python":
            self._printed = self._run([sys.executable, "-c", block.text], block)
        elif block.language == "console":
            for command, under in commands(block.text):
                self._command(command, under, block)
        elif block.language == "toml":
            self._config(block)

    def _write(self, path: Path, text: str, *, append: bool) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a" if append else "w", encoding="utf-8") as file:
            file.write(text)
        if path.name == "pyproject.toml":
            install(path)

    def _config(self, block: Block) -> None:
        """A piece of agent.toml: keys and kinds exist, though files and weights it names need not."""
        file = self._folder / "piece.toml"
        file.write_text(block.text, encoding="utf-8")
        load_config(file).resolved()
        file.unlink()

    def _command(self, command: str, under: list[str], block: Block) -> None:
        typed = [line.removeprefix(PROMPT) for line in under if line.startswith(PROMPT)]
        if typed:
            self._printed = talk(command, typed, prompt=PROMPT, cwd=self._folder, env=self._environment)
        else:
            self._printed = self._run(["bash", "-c", command], block)
        _require([line for line in under if not line.startswith(PROMPT)], self._printed, block)

    def _run(self, command: list[str], block: Block) -> str:
        done = subprocess.run(
            command,
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_TIMEOUT,
            check=False,
        )
        printed = done.stdout.decode("utf-8", "replace")
        assert done.returncode == 0, f"line {block.line}: {command[-1]}\nleft with {done.returncode}:\n{printed}"
        return printed


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of a console block, with the lines under it; a backslash at the end goes on with the next line."""
    lines = text.replace("\\\n", " ").splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield lines[start].removeprefix("$ "), lines[start + 1 : end]


def install(project: Path) -> None:
    """What `pip install -e .` would leave behind for a pyproject.toml, without a package index."""
    described = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    name, version = described["name"].replace("-", "_"), described["version"]
    info = project.parent / f"{name}-{version}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    lines = []
    for group, points in described.get("entry-points", {}).items():
        lines += [f"[{group}]", *(f"{point} = {value}" for point, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _require(expected: list[str], printed: str, block: Block) -> None:
    """Every expected line is in what was printed; spacing, scores and milliseconds may differ, `...` is anything."""
    found = {_plain(line) for line in printed.splitlines()}
    for line in expected:
        plain = _plain(line)
        assert not plain or plain == "..." or plain in found, f"line {block.line}: not printed: {line}\n{printed}"


def _plain(line: str) -> str:
    return _FIGURE.sub("#", " ".join(line.split()))
