"""CSV and TSV: each row a passage, `column: value; column: value`."""

from __future__ import annotations

import csv
import io
from collections import Counter

from dragoman.core.errors import InputError
from dragoman.sources.allowance import Allowance
from dragoman.sources.document import Document, DocumentBlock, Section, column_names, humanise, row_text, unwrap
from dragoman.sources.formats.encoding import decode

_DELIMITERS = (",", ";", "\t", "|")


def read(content: bytes, name: str) -> Document:
    """The document in a file of rows under one header row."""
    text = decode(content, name)
    delimiter = sniff(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    names: list[str] = []
    head = ""
    blocks = []
    allowance = Allowance(content, name)
    try:
        for row in reader:
            values = [unwrap(value) for value in row]
            if not any(values):
                continue
            if not names:
                names, head = column_names(values)
            else:
                blocks.append(DocumentBlock(row_text(names, values), "record"))
                allowance.take(blocks[-1].text)
    except csv.Error as error:
        raise InputError(
            f"'{name}' cannot be read as CSV at line {reader.line_num}: {error}.", remedy="Check the quotes there."
        ) from error
    if names and not blocks:
        raise InputError(f"'{name}' has a header row and no other.", remedy="Put column names first, then the rows.")
    if head:
        blocks.insert(0, DocumentBlock(head, "record"))
    return Document(humanise(name), (Section(tuple(blocks)),) if blocks else ())


def sniff(text: str) -> str:
    """The delimiter under which the first rows have the most columns and agree on how many."""
    head = "\n".join(text.split("\n", 30)[:30])

    def agreement(delimiter: str) -> tuple[float, int]:
        try:
            rows = [row for row in csv.reader(io.StringIO(head), delimiter=delimiter) if row]
        except csv.Error:
            return 0.0, 0
        if not rows or len(rows[0]) < 2:
            return 0.0, 0
        columns, agreeing = Counter(len(row) for row in rows).most_common(1)[0]
        return (agreeing / len(rows), columns) if columns > 1 else (0.0, 0)

    return max(_DELIMITERS, key=agreement)
