"""Results of experiments as HTML for notebooks."""

from __future__ import annotations

from html import escape

from dragoman.core.html import table as html_table
from dragoman.evaluate.results import Result, Table
from dragoman.evaluate.show.tables import figure_text, legend, mark, summary


def table_html(table: Table) -> str:
    """One table: a row for each system, figures with their marks of significance."""
    headers = ("system", *(column.title for column in table.columns))
    rows = [
        (
            row.system,
            *(
                f"{figure_text(cell, column)} {mark(cell)}".strip()
                for cell, column in zip(row.cells, table.columns, strict=True)
            ),
        )
        for row in table.rows
    ]
    return f"<p><strong>{escape(summary(table))}</strong></p>{html_table(headers, rows)}"


def result_html(result: Result) -> str:
    """All tables of a result, each with its legend."""
    parts = [f"<h3>{escape(result.title)}</h3>"]
    for table in result.tables:
        lines = "".join(f"<li>{escape(line)}</li>" for line in legend(result, table))
        parts.append(f"{table_html(table)}<ul>{lines}</ul>")
    return "".join(parts)
