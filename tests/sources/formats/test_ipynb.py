import json

import pytest

from dragoman.core.errors import InputError
from dragoman.sources.formats.ipynb import read


def notebook(*cells):
    return json.dumps({"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4}).encode()


def code(source, *outputs):
    return {"cell_type": "code", "source": source, "outputs": outputs}


def markdown(*lines):
    return {"cell_type": "markdown", "source": list(lines)}


def texts(document):
    return [(section.headings, block.text) for section in document.sections for block in section.blocks]


def test_cells_and_outputs_stand_under_their_headings():
    printed = {"output_type": "stream", "text": ["5\n"]}
    value = {"output_type": "execute_result", "data": {"text/plain": "[1, 2]", "image/png": "AAAA"}}
    document = read(notebook(markdown("# Fares\n", "\nHow much?"), code("print(5)", printed, value)), "a.ipynb")
    assert document.title == "Fares"
    assert texts(document) == [
        (("Fares",), "How much?"),
        (("Fares",), "print(5)"),
        (("Fares",), "5"),
        (("Fares",), "[1, 2]"),
    ]


def test_fences_inside_of_code_do_not_end_it():
    document = read(notebook(code("text = '''\n````\n# no heading\n````\n'''")), "a.ipynb")
    assert texts(document)[0] == ((), "text = '''\n````\n# no heading\n````\n'''")


def test_a_rule_in_the_first_cell_is_no_front_matter():
    assert texts(read(notebook(markdown("---\nid: x\n---\nText.")), "a.ipynb"))
    assert read(notebook(markdown("---\nid: x\n---\nText.")), "a.ipynb").id is None


def test_long_outputs_are_cut():
    document = read(notebook(code("x", {"output_type": "stream", "text": "a" * 9000})), "a.ipynb")
    assert len(texts(document)[1][1]) == 2001


@pytest.mark.parametrize("content", [b"no", b"[]", b'{"worksheets": []}', b"[" * 100_000])
def test_what_is_no_notebook_is_refused(content):
    with pytest.raises(InputError, match=r"'a.ipynb' is not"):
        read(content, "a.ipynb")
