"""The README, the pages of docs/ and the examples do what they say."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from pages import ROOT, Reader, blocks, commands, install, is_offline, pages

PAGES = {name: path.read_text(encoding="utf-8") for name, path in pages().items()}
OFFLINE = [name for name, text in PAGES.items() if is_offline(text)]
ONLINE = [name for name, text in PAGES.items() if not is_offline(text)]
LONG = {
    *ONLINE,
    "docs/howto/connectors.md",
    "docs/howto/label-relevance.md",
    "docs/howto/postgres.md",
    "docs/howto/serve.md",
}
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
QUICK = "ask_the_sample.py"
"""Of what needs weights, the one that shows on every run of the tests that they are found and used."""
_LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)")
_ALLOWED_UNRUN = 16


def marked(names):
    """The names, the long pages' ones as slow."""
    return [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in names]


@pytest.mark.parametrize("name", marked(OFFLINE))
def test_page_does_what_it_says_without_weights(name, tmp_path):
    Reader(tmp_path).follow(PAGES[name])


@pytest.mark.integration
@pytest.mark.parametrize("name", marked(ONLINE))
def test_page_does_what_it_says(name, tmp_path):
    Reader(tmp_path).follow(PAGES[name])


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name):
    for target in _LINK.findall(PAGES[name]):
        assert ((ROOT / name).parent / target).exists(), f"{name} links to {target}"


def test_few_blocks_are_not_run():
    unrun = [block for text in PAGES.values() for block in blocks(text) if block.note.startswith("not run")]
    assert len(unrun) <= _ALLOWED_UNRUN


def test_index_names_every_page():
    index = PAGES["docs/index.md"]
    for name in PAGES:
        inner = name.removeprefix("docs/")
        assert name in ("README.md", "CONTRIBUTING.md", "docs/index.md") or f"({inner})" in index, (
            f"{name} is not in the index"
        )


def run_example(path, folder):
    return subprocess.run(
        [sys.executable, str(path)], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("path", [path for path in EXAMPLES if "No weights" in path.read_text()], ids=lambda p: p.name)
def test_example_runs_without_weights(path, tmp_path):
    done = run_example(path, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.integration
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.slow] * (path.name != QUICK))
        for path in EXAMPLES
        if "No weights" not in path.read_text()
    ],
    ids=lambda p: p.name,
)
def test_example_runs(path, tmp_path):
    done = run_example(path, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_blocks_know_their_comment_and_line():
    first, second = blocks("# A\n\n<!-- file: a.md -->\n```markdown\ntext\n```\n\n```python\nprint(1)\n```\n")
    assert (first.note, first.language, first.text, first.line) == ("file: a.md", "markdown", "text\n", 4)
    assert (second.note, second.language, second.line) == ("", "python", 8)


def test_commands_are_told_from_their_output():
    found = list(commands("$ one \\\n  more\nprinted\n$ two\n"))
    assert [(command.split(), under) for command, under in found] == [(["one", "more"], ["printed"]), (["two"], [])]


def test_a_command_that_fails_fails_its_page(tmp_path):
    with pytest.raises(AssertionError, match="left with 3"):
        Reader(tmp_path).follow("```console\n$ exit 3\n```\n")


def test_output_that_is_not_printed_fails_its_page(tmp_path):
    follow = Reader(tmp_path).follow
    follow("```console\n$ echo 'took 0.51 s'\ntook 0.37 s\n...\n```\n")
    with pytest.raises(AssertionError, match="not printed: 12 francs"):
        follow("```python\nprint('34 francs')\n```\n<!-- output -->\n```text\n12 francs\n```\n")


def test_what_is_typed_reaches_a_program_at_a_terminal(tmp_path):
    program = "<!-- file: echo.py -->\n```python\nwhile True:\n    print(input('you> ').upper())\n```\n"
    session = "```console\n$ python echo.py || true\nyou> hello\nHELLO\n```\n"
    Reader(tmp_path).follow(program + session)


def test_installing_a_project_makes_its_entry_points_known(tmp_path):
    project = tmp_path / "pyproject.toml"
    project.write_text('[project]\nname = "my-gates"\nversion = "1.0"\n[project.entry-points."a.b"]\n"x.v1" = "m:C"\n')
    install(project)
    assert (tmp_path / "my_gates-1.0.dist-info" / "entry_points.txt").read_text() == "[a.b]\nx.v1 = m:C\n"
