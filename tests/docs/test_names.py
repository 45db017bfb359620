"""Files and names that docs/papers.md, docs/glossary.md and docs/architecture.md mention exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "dragoman"
PAGES = ["docs/papers.md", "docs/glossary.md", "docs/architecture.md", "docs/unified.md", "CONTRIBUTING.md"]
CODE = re.compile(r"`([^`\n]+)`")
FILE = re.compile(
    r"[\w*./-]+\.(?:py|toml|md|json)|(?:tests|experiments|examples|benchmarks|docs|src)/[\w*./-]+|[\w-]+(?:/[\w-]+)*/"
)
DOTTED = re.compile(r"(?:dragoman|core|agent|models|train|evaluate|systems|text)(?:\.\w+)+")
NAME = re.compile(r"[A-Za-z_]\w+")
NOT_OURS = {"agent.toml", "part.json", "conversations.toml", "recipe.toml", "data.json", "metrics.json"}
"""Files that users write or commands make."""


PLACEHOLDERS = {"src/dragoman/gate/mine.py", "tests/gate/test_mine.py"}
"""What CONTRIBUTING.md asks a reader to write."""


def spans(page):
    """The code spans of each line of a page outside of fences."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.M | re.S)
    return [CODE.findall(line) for line in text.splitlines()]


def exists(path, beside):
    """Whether a path exists in the package, in the repository, or beside the file named before it in the line."""
    places = [PACKAGE, ROOT, *(place.parent for place in beside)]
    return next((found for place in places for found in sorted(place.glob(path.rstrip("/")))), None)


@pytest.mark.parametrize("page", PAGES)
def test_every_file_exists(page):
    missing = []
    for line in spans(page):
        seen = []
        for span in line:
            if FILE.fullmatch(span) and span not in NOT_OURS | PLACEHOLDERS and not span.startswith((".", "~", "$")):
                found = exists(span, seen[-1:])
                seen += [found] if found else []
                missing += [] if found else [span]
    assert not missing


@pytest.mark.parametrize("page", PAGES)
def test_every_dotted_name_exists(page):
    missing = []
    for span in (span for line in spans(page) for span in line):
        dotted = re.split(r"[( ]", span)[0]
        if DOTTED.fullmatch(dotted) and not dotted.endswith((".py", ".toml", ".md", ".json", ".v1")):
            *path, name = dotted.removeprefix("dragoman.").split(".")
            module = PACKAGE.joinpath(*path)
            file = module.with_suffix(".py") if module.with_suffix(".py").is_file() else module / "__init__.py"
            known = (module / f"{name}.py").is_file() or (module / name).is_dir()
            if not known and not (file.is_file() and re.search(rf"\b{name}\b", file.read_text(encoding="utf-8"))):
                missing.append(dotted)
    assert not missing


@pytest.mark.parametrize("page", ["docs/papers.md", "docs/glossary.md"])
def test_a_name_beside_a_file_is_in_that_file(page):
    """A bare name in a line that names files is in one of these files."""
    missing = []
    for line in spans(page):
        files = []
        for span in line:
            if FILE.fullmatch(span) and (found := exists(span, files[-1:])) and found.is_file():
                files.append(found)
        text = "\n".join(file.read_text(encoding="utf-8") for file in files)
        names = [span for span in line if NAME.fullmatch(span) and not FILE.fullmatch(span)]
        if files:
            missing += [f"{name} in {[file.name for file in files]}" for name in names if name not in text]
    assert not missing


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("train/unified/task.py", "Joint training of a unified model (UniMS-RAG)"),
        ("models/unified/masks.py", "evidence attention mask"),
        ("gate/attention.py", "RAGate-MHA"),
        ("evaluate/metrics/pkicr.py", "null-positive rank test"),
        ("planner/prompted.py", "SAFARI's unsupervised planner"),
        ("planner/acting.py", "Trained planner of UniMS-RAG and SAFARI"),
    ],
)
def test_a_paper_part_is_three_steps_into_the_tree(file, words):
    """A stranger who looks through the folders finds it by the first sentence of its file."""
    first_sentence = (PACKAGE / file).read_text(encoding="utf-8").partition("\n")[0]
    assert words in first_sentence and len(Path(file).parts) <= 3
