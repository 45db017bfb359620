"""Jupyter notebooks (.ipynb): text cells as Markdown, code cells with what they printed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dragoman.core.errors import InputError
from dragoman.sources.document import Document
from dragoman.sources.formats.encoding import decode
from dragoman.sources.formats.markdown import read as read_markdown
from dragoman.text import lazy_re as re

MOST_OUTPUT = 2_000
"""Most characters of one cell's output."""
_FENCES = re.compile(r"`{3,}")


def read(content: bytes, name: str) -> Document:
    """The document in a notebook of format 4."""
    try:
        book = json.loads(decode(content, name))
    except (ValueError, RecursionError) as error:
        raise InputError(f"'{name}' is not JSON.", remedy="Open it in Jupyter and save it anew.") from error
    cells = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(cells, list):
        raise InputError(
            f"'{name}' is not a notebook of format 4.", remedy="Convert it: jupyter nbconvert --to notebook FILE"
        )
    language = _language(book)
    parts = [part for cell in cells if isinstance(cell, dict) for part in _parts(cell, language)]
    # The line in front keeps a first cell that begins with a rule from being read as front matter.
    return read_markdown(("\n" + "\n\n".join(parts)).encode("utf-8", "replace"), name)


def _language(book: dict[str, Any]) -> str:
    metadata = book.get("metadata")
    info = metadata.get("language_info") if isinstance(metadata, dict) else None
    language = info.get("name") if isinstance(info, dict) else None
    return language if isinstance(language, str) and language.isalnum() else ""


def _parts(cell: dict[str, Any], language: str) -> Iterator[str]:
    """The Markdown of a cell: itself, or its code and outputs in fences."""
    source = _joined(cell.get("source"))
    if cell.get("cell_type") == "markdown":
        yield source
    elif cell.get("cell_type") == "code":
        if source.strip():
            yield _fenced(source, language)
        outputs = cell.get("outputs")
        for output in outputs if isinstance(outputs, list) else ():
            text = _printed(output) if isinstance(output, dict) else ""
            if text.strip():
                yield _fenced(text if len(text) <= MOST_OUTPUT else f"{text[:MOST_OUTPUT]}…", "")


def _printed(output: dict[str, Any]) -> str:
    """The text of an output: printed lines, a shown value, or the message of an error; pictures have none."""
    if output.get("output_type") == "error":
        return f"{output.get('ename', 'Error')}: {output.get('evalue', '')}"
    shown = output.get("data")
    return _joined(shown.get("text/plain")) if isinstance(shown, dict) else _joined(output.get("text"))


def _joined(lines: object) -> str:
    if isinstance(lines, list):
        return "".join(line for line in lines if isinstance(line, str))
    return lines if isinstance(lines, str) else ""


def _fenced(text: str, language: str) -> str:
    """Text in a fence that is longer than any inside of it."""
    longest = max((len(match) for match in _FENCES.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
