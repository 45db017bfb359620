"""A page of tables as values, so that rows which were measured before can stay beside new ones.

A section is a "##" heading with the commands of its tables; a table is a "###" heading, rows by group, and notes. What
is measured anew replaces the row of the same name; a row stays while its set has as many turns and every figure that it
has is still a column.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from itertools import pairwise

_FIGURE = re.compile(r"-?\d+(\.\d+)?")
_RANGE = "- ±"
"""How the note begins that says what the intervals are; every table has it once, first."""


@dataclass
class Table:
    """Columns as they are headed, and for each group its rows: a name with its cells."""

    title: str
    columns: list[str] = field(default_factory=list)
    groups: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass
class Section:
    """What stands under one heading."""

    title: str
    commands: list[str] = field(default_factory=list)
    tables: dict[str, Table] = field(default_factory=dict)


def read(page: str) -> dict[str, Section]:
    """The sections of a page that have tables of systems, by their titles."""
    found: dict[str, Section] = {}
    for text in re.split(r"^## ", page, flags=re.M)[1:]:
        head, *tables = re.split(r"^### ", text, flags=re.M)
        if tables:
            title, _, rest = head.partition("\n")
            commands = [line for line in rest.splitlines() if line.startswith("dragoman ")]
            read_tables = (_table(one) for one in tables)
            found[title] = Section(title, commands, {_named(table.title): table for table in read_tables})
    return found


def joined(old: Section, new: Section) -> Section:
    """The new section with what the old one has besides."""
    tables = dict(old.tables)
    for name, table in new.tables.items():
        same = name in tables and tables[name].title == table.title  # else the set has other turns
        tables[name] = _joined(tables[name], table) if same else table
    again = {pair for command in new.commands for pair in _measured(command)}
    kept = [_without(command, again) for command in old.commands]
    return Section(new.title, [*(one for one in kept if one), *new.commands], tables)


def written(section: Section) -> str:
    """The section as Markdown, the best figure of each column bold."""
    commands = "\n".join(section.commands)
    return f"\n## {section.title}\n\n```sh\n{commands}\n```\n" + "".join(
        _written(table) for table in section.tables.values()
    )


def _table(text: str) -> Table:
    title, _, rest = text.partition("\n")
    table, group = Table(title), ""
    for line in rest.splitlines():
        if line.startswith("- "):
            table.notes.append(line)
        if not line.startswith("| "):
            continue
        name, *cells = (cell.strip() for cell in line.strip()[1:-1].split("|"))
        if name == "system":
            table.columns = cells
        elif name.startswith("*"):
            group = name.strip("*")
        else:
            table.groups.setdefault(group, {})[name] = [cell.replace("**", "") for cell in cells]
    return table


def _joined(old: Table, new: Table) -> Table:
    order = [_named(column) for column in new.columns]
    groups = {group: dict(rows) for group, rows in new.groups.items()}
    again = {name for rows in groups.values() for name in rows}
    for group, rows in old.groups.items():
        for name, cells in rows.items():
            had = dict(zip((_named(column) for column in old.columns), cells, strict=True))
            if name not in again and set(had) <= set(order):
                groups.setdefault(group, {})[name] = [had.get(column, "") for column in order]
    names = {name for rows in groups.values() for name in rows} - again
    if any("(paper" in cell for rows in groups.values() for cells in rows.values() for cell in cells):
        names.add("paper")  # the note that says whose figures these are
    notes = dict.fromkeys([*new.notes, *(note for note in old.notes if _speaks(note, names))])
    return Table(new.title, new.columns, groups, sorted(notes, key=_rank))


def _speaks(note: str, names: set[str]) -> bool:
    """Whether an old note is about one of the rows that stayed, or their figures."""
    return any(note.startswith(f"- {name}:") for name in names)


def _rank(note: str) -> int:
    """Intervals first, problems last, the rest as it comes."""
    return 0 if note.startswith(_RANGE) else 2 if note.startswith("- Problem") else 1


def _measured(command: str) -> set[tuple[str, str]]:
    """The sets and systems of a command, each with each."""
    words = shlex.split(command)
    told = list(pairwise(words))
    systems = [value for option, value in told if option == "--system"]
    return {(value, system) for option, value in told if option == "--data" for system in systems}


def _without(command: str, again: set[tuple[str, str]]) -> str:
    """The command without the systems that were measured again on all its sets; nothing where none is left."""
    words = shlex.split(command)
    if "--system" not in words:
        return command  # all rows of the file; those that were measured again are told by the new commands too
    left = {system for data, system in _measured(command) if (data, system) not in again}
    pairs = (words[place : place + 2] for place, word in enumerate(words) if word == "--system")
    kept = [word for pair in pairs if pair[1] in left for word in pair]
    return shlex.join([*words[: words.index("--system")], *kept]) if left else ""


def _written(table: Table) -> str:
    best = [_best(table, place, column) for place, column in enumerate(table.columns)]
    lines = [f"| system | {' | '.join(table.columns)} |", f"|---|{'---:|' * len(table.columns)}"]
    for group, rows in table.groups.items():
        lines.append(f"| *{group}* |{' |' * len(table.columns)}")
        for name, cells in rows.items():
            told = (_bold(cell) if _value(cell) == top else cell for cell, top in zip(cells, best, strict=True))
            lines.append(f"| {name} | {' | '.join(told)} |")
    return f"\n### {table.title}\n\n" + "\n".join([*lines, "", *table.notes]) + "\n"


def _best(table: Table, place: int, column: str) -> float | None:
    found = [_value(cells[place]) for rows in table.groups.values() for cells in rows.values()]
    known = [value for value in found if value is not None]
    if not known or not ("↑" in column or "↓" in column):
        return None
    return max(known) if "↑" in column else min(known)


def _value(cell: str) -> float | None:
    number = _FIGURE.match(cell)
    return float(number.group()) if number else None


def _bold(cell: str) -> str:
    number, _, rest = cell.partition(" ")
    return f"**{number}** {rest}".rstrip() if _value(cell) is not None else cell


def _named(title: str) -> str:
    """A heading without its numbers of turns."""
    return re.split(r": \d+ turns| [↑↓]|<br>", title)[0]
