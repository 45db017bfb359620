"""docs/results/PAPER.md: read it, put new tables in it, write it.

The text above the first "##" is written by hand and stays. Below it all is generated: a summary, each table of the
paper with one table a set, and what the sets are. Notes on rows stay in the experiment files: `dragoman evaluate`
prints them, and docs/results/README.md explains the words in the names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from result_tables import Table, best, escaped, figure, is_paper, joined, named, number

from dragoman.evaluate.spec import Experiment

FOLDER = Path(__file__).with_name("results")
PAPERS = {"unims": "UniMS-RAG", "safari": "SAFARI", "ragate": "RAGate", "pkicr": "PK-ICR"}
_BASELINE = " (baseline)"
_ORACLE = re.compile(r"\b(gold|ground|Human-label)\b")
"""Rows that read gold labels: bounds, not systems, so the summary leaves them out."""
_REASONS = {
    "not built": "The paper's own systems, not built again",
    "no model": "Need a model that we did not have",
    "no data": "Need data that we did not have",
}


@dataclass
class Page:
    """One paper: the hand-written head, and for each experiment its tables by set."""

    head: str
    tables: dict[str, dict[tuple[str, bool], Table]] = field(default_factory=dict)

    def add(self, name: str, tables: Iterable[Table], spec: Experiment) -> None:
        """Put the tables of a run of experiment `name` in, beside rows that it does not measure."""
        known = self.tables.setdefault(name, {})
        order = [escaped(column.title) for column in spec.columns]
        for table in tables:
            old = known.get(table.key)
            known[table.key] = joined(old, table, order) if old else table


def read(text: str) -> Page:
    head, *sections = re.split(r"^## ", text, flags=re.M)
    page = Page(head)
    for section in sections:
        for part in re.split(r"^### ", section, flags=re.M)[1:]:
            command = next((line for line in part.splitlines() if line.startswith("dragoman evaluate ")), "")
            if command:
                table = _read_table(part, command)
                page.tables.setdefault(command.split()[2], {})[table.key] = table
    return page


def written(page: Page, specs: Mapping[str, Experiment]) -> str:
    """The page as Markdown; `specs` are the experiments by name, in the order of the paper's tables."""
    shown = [(specs[name], list(page.tables[name].values())) for name in specs if name in page.tables]
    text = page.head.rstrip() + "\n\n" + "\n".join(_summary(shown)) + "\n"
    for spec, tables in shown:
        text += f"\n## Table {spec.table}: {spec.title}\n"
        places = {block.title: place for place, block in enumerate(spec.data)}
        for table in sorted(tables, key=lambda table: (table.key[1], places.get(table.key[0], len(places)))):
            text += _written_table(table)
    return text + "\n" + "\n".join(_notes(shown)) + "\n"


def _read_table(part: str, command: str) -> Table:
    title, _, rest = part.partition("\n")
    table, group = Table(title, command), ""
    for line in rest.splitlines():
        if not line.startswith("|") or line.startswith("|---"):
            continue
        name, *cells = (cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1]))
        if name == "system":
            table.columns = cells
        elif name.startswith("*"):
            group = name.strip("*")
        else:
            if name.endswith(_BASELINE):
                name = table.baseline = name.removesuffix(_BASELINE)
            table.groups.setdefault(group, {})[name] = [re.sub(r"(?<!\\)\*\*", "", cell) for cell in cells]
    return table


def _written_table(table: Table) -> str:
    ours = table.rows(paper=False)
    places = [place for place in range(len(table.columns)) if any(rows[place] for rows in table.all_rows())]
    heads = [table.columns[place] for place in places]
    tops = {place: best(ours, place, table.columns[place]) for place in places}
    lines = [f"|system|{'|'.join(heads)}|", f"|---|{'---:|' * len(heads)}"]
    for group, rows in table.groups.items():
        lines.append(f"|*{group}*|{'|' * len(heads)}")
        for name, cells in rows.items():
            shown = [
                _bold(cells[place]) if not is_paper(group) and _is_best(cells[place], tops[place]) else cells[place]
                for place in places
            ]
            mark = _BASELINE if name == table.baseline and not is_paper(group) else ""
            lines.append(f"|{name}{mark}|{'|'.join(shown)}|")
    return f"\n### {table.title}\n\n```sh\n{table.command}\n```\n\n" + "\n".join(lines) + "\n"


def _is_best(cell: str, top: float | None) -> bool:
    return top is not None and number(cell) == top


def _bold(cell: str) -> str:
    return f"**{figure(cell)}**{cell.removeprefix(figure(cell))}"


def _summary(shown: list[tuple[Experiment, list[Table]]]) -> list[str]:
    """The best figures of each column: the paper's, the baseline's and ours."""
    lines = ["## In short", "", "|Table|set|column|paper's best|baseline|our best|", "|---|---|---|---:|---:|---:|"]
    for spec, tables in shown:
        for table, columns in _summarised(spec, tables):
            lines += _summary_rows(spec.table, table, columns)
    return lines


def _summarised(spec: Experiment, tables: list[Table]) -> Iterator[tuple[Table, set[str]]]:
    """Sets that the paper measures too, and cuts of them by dialogue; without one, the first set that we measured.

    Each comes with the columns to show: those for which the paper prints a figure, or all.
    """
    whole = [table for table in tables if not table.key[1] and table.rows(paper=False)]
    printed = {
        named(head)
        for table in whole
        for place, head in enumerate(table.columns)
        if any(cells[place] for cells in table.rows(paper=True).values())
    }
    cuts = {block.title for block in spec.data if block.split is not None and block.split.by == "dialogue"}
    for table in whole:
        if table.rows(paper=True) or (printed and table.key[0] in cuts):
            yield table, printed
    if not printed:
        yield from ((table, {named(head) for head in table.columns}) for table in whole[:1])


def _summary_rows(number_of_table: str, table: Table, columns: set[str]) -> Iterator[str]:
    paper, ours = (_without_oracles(table.rows(paper=paper)) for paper in (True, False))
    baseline_cells = table.rows(paper=False).get(table.baseline, [""] * len(table.columns))
    for place, head in enumerate(table.columns):
        winner = _winner(ours, place, head)
        if winner and named(head) in columns and "seconds" not in head:
            baseline = figure(baseline_cells[place])
            data = table.command.split()[table.command.split().index("--data") + 1]
            cells = [number_of_table, data, named(head), _winner(paper, place, head), baseline, winner]
            yield f"|{'|'.join(cells)}|"


def _without_oracles(rows: dict[str, list[str]]) -> dict[str, list[str]]:
    """The rows that do not read the gold labels of the turns on which they are measured."""
    return {name: cells for name, cells in rows.items() if not _ORACLE.search(name)}


def _winner(rows: dict[str, list[str]], place: int, head: str) -> str:
    top = best(rows, place, head)
    if top is None:
        return ""
    name, cell = next((name, cells[place]) for name, cells in rows.items() if number(cells[place]) == top)
    return f"{figure(cell)} ({name})"


def _notes(shown: list[tuple[Experiment, list[Table]]]) -> Iterator[str]:
    """What the sets are, each sentence once, and which of the paper's rows cannot run here."""
    sets: dict[str, list[str]] = {}
    missing: dict[str, list[str]] = {}
    for spec, tables in shown:
        titles = {table.key[0] for table in tables}
        for block in spec.data:
            if block.title in titles and block.note:
                for sentence in re.split(r"(?<=\.) (?=[A-Z])", " ".join(block.note.split())):
                    _once(sets.setdefault(block.title, []), sentence)
        names = {name for table in tables for rows_of in table.groups.values() for name in rows_of}
        measured = {name for table in tables for name in table.rows(paper=False)}
        for system in spec.systems:
            name = escaped(system.name)
            if name in names - measured and system.missing in _REASONS:
                _once(missing.setdefault(system.missing, []), name)
    yield from ["## Sets", "", *(f"- **{title}**: {' '.join(notes)}" for title, notes in sets.items())]
    if missing:
        yield from ["", "## Not measured here", ""]
        yield from (f"- {_REASONS[reason]}: {_joined_names(names)}." for reason, names in missing.items())


def _joined_names(names: list[str]) -> str:
    """Names of rows; those with the same beginning ("ChatGPT, zero-shot", "ChatGPT, in-context") stand together."""
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(name.partition(": ")[2] or name for name in names):
        first, _, rest = name.partition(", ")
        if first.count("(") > first.count(")"):
            first, rest = name, ""
        groups.setdefault(first, []).append(rest)
    return ", ".join(f"{first} ({'; '.join(rest)})" if any(rest) else first for first, rest in groups.items())


def _once(kept: list[str], text: str) -> None:
    """Add a text unless one that holds it is there; drop those that it holds."""
    text = " ".join(text.split())
    if not any(text in other for other in kept):
        kept[:] = [other for other in kept if other not in text] + [text]
