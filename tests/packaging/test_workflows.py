"""The workflows: well formed, and in step with the Makefile and the extras."""

import re
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def commands(workflow):
    return [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_workflow_names_targets_and_extras_that_exist(file):
    workflow = yaml.safe_load(file.read_text(encoding="utf-8"))
    lines = "\n".join(commands(workflow))
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"\bmake (\w+)", lines)) <= targets
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    asked = {name for extras in re.findall(r"\.\[([\w,-]+)\]", lines) for name in extras.split(",")}
    assert asked <= set(project["project"]["optional-dependencies"])
    assert set(re.findall(r"--group (\w+)", lines)) <= set(project["dependency-groups"])
    assert all((ROOT / path).exists() for path in re.findall(r"\btests/\S+", lines))
    assert workflow["permissions"] == {"contents": "read"}


def test_the_checks_the_tests_and_the_site_are_run_for_every_change():
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    assert {"make check", "make test", "make trust", "make site"} <= set(commands(workflow))
