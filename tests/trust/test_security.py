"""SECURITY.md keeps its word: every test that it names is run by `make trust`; and any config is met in words."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dragoman.config import load_config
from dragoman.core.errors import DragomanError

pytestmark = pytest.mark.trust
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)))
MARK = "pytest.mark.trust"


@cache
def marks_of(file):
    """The test functions of a file, each with whether it bears the mark, and whether the whole file does."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    whole = any(
        isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == "pytestmark"
        and MARK in ast.unparse(node.value)
        for node in tree.body
    )
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    return {node.name: whole or MARK in map(ast.unparse, node.decorator_list) for node in functions}, whole


@pytest.mark.parametrize(("file", "name"), [(file, name) for file, name in NAMED if name or "/test_" in file])
def test_every_test_that_the_page_names_is_run_by_make_trust(file, name):
    assert (ROOT / file).exists()
    tests, whole = marks_of(file)
    assert tests.get(name, False) if name else whole, f"{file}::{name} is missing, or has no mark"


def test_the_page_goes_through_the_whole_list():
    items = re.findall(r"^### LLM(\d\d) .*\n((?:(?!^#).*\n)+)", PAGE, re.MULTILINE)
    assert [int(number) for number, _ in items] == list(range(1, 11))
    for number, text in items:
        assert "`tests/" in text or "not covered" in text, f"LLM{number} says neither a test nor that there is none"


WORDS = st.sampled_from(["name", "language", "sources", "gate", "models", "store", "kind", "needs", "tenant", "k", "x"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
LINES = st.lists(
    st.one_of(
        st.builds(lambda key, value: f"{key} = {value!r}", WORDS, VALUES),
        st.builds(lambda key: f"[{key}]", WORDS),
        st.builds(lambda key: f"[[{key}]]", WORDS),
        st.text(max_size=20),
    ),
    max_size=6,
).map("\n".join)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@example("[[sources]]\nname = []")
@example("models = 1")
@example("a" + ".a" * 3000 + " = 1")
@example("name = " + "[" * 5000)
@given(LINES)
def test_any_config_is_read_or_refused_in_words(tmp_path_factory, text):
    place = tmp_path_factory.mktemp("config") / "agent.toml"
    place.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        load_config(place)
    except DragomanError as error:
        assert str(error)
