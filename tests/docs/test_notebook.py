"""The example notebook: every cell runs, in order, and shows something where its last line is a value."""

import ast
import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "first_look.ipynb"


def run(source, names):
    """Run a cell as a notebook does; return the value of its last line."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, NOTEBOOK.name, "exec"), names)
    return eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names) if last else None


@pytest.mark.integration
@pytest.mark.slow
def test_every_cell_runs_and_shows_its_value():
    book = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    names, shown = {}, []
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            value = run("".join(cell["source"]), names)
            if hasattr(value, "_repr_html_"):
                shown.append(value._repr_html_())
    assert len(shown) == 5
    assert "Dogs travel free on the Petrel" in shown[1] and "Hit@1" in shown[4]


def test_the_notebook_holds_no_output():
    book = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert not [cell for cell in book["cells"] if cell.get("outputs")]
