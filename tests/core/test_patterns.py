"""Regular expressions that every supported Python reads alike."""

import ast
import re
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
POSSESSIVE_GROUP = re.compile(r"[^(\\]\)(?:[*+?]|\{\d*,?\d*\})\+")


def test_no_group_is_repeated_possessively():
    """Python 3.11.0 to 3.11.4 (Debian 12 has 3.11.2) matches too much (cpython#106052); write `(?>(?:...)*)`."""
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}: {node.value[:60]!r}"
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and POSSESSIVE_GROUP.search(node.value)
    ]
    assert not found
