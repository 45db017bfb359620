"""HTML for notebooks: all text is escaped, and nothing is loaded from the network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_MOST = 280
"""Most characters of a passage that are shown."""
_CHIP = "display:inline-block;border:1px solid #8888;border-radius:9px;padding:0 .6em;margin:0 .2em"


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format texts as a table."""
    head = "".join(f'<th style="text-align:left">{escape(name)}</th>' for name in headers)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{escape(cell)}</td>' for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def chips(steps: Sequence[str], reason: str) -> str:
    """Format the steps of a plan as a row of chips, with the reason for the plan."""
    row = " → ".join(f'<span style="{_CHIP}">{escape(step)}</span>' for step in steps)
    return f"<div>{row}{f' <small>{escape(reason)}</small>' if reason else ''}</div>"


def folded(text: str, summary: str, details: str) -> str:
    """Format a text with details that unfold below it; `details` is HTML."""
    markup = escape(text).replace("\n", "<br>")
    return f"<div><p>{markup}</p><details><summary>{escape(summary)}</summary>{details}</details></div>"


def shortened(text: str) -> str:
    """The beginning of a long text."""
    return text if len(text) <= _MOST else f"{text[:_MOST].rstrip()}…"
