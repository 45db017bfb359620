"""The result of a file reader: a document with sections of blocks, before it is cut into passages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Literal, TypeAlias, TypeVar

from dragoman.sources.allowance import Allowance
from dragoman.text import lazy_re as re
from dragoman.text.language import CJK

Kind: TypeAlias = Literal["text", "line", "code", "record"]
"""Kinds of blocks: a paragraph, a list item or table row, verbatim lines, or a separate passage."""

LONGEST_NAME = 200
"""Most characters of a title, heading or column name, which is repeated with every text under it."""
LONGEST_ID = 512
"""Most characters of an id or a parent: a PostgreSQL index takes keys of up to 2,700 bytes."""

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\u200b\u2060\ufeff\ufffe\uffff]")
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Marks that turn the direction of writing round: in the name of a file they disguise it."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_POINT = re.compile(r"( *)- (.+)")
_LONGEST_LABEL = 60
_WRAP = re.compile(rf"(?<=[{CJK}，。！？；：、”’」』）])[ \t]*\n\s*(?=[{CJK}“‘「『（])")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class DocumentBlock:
    """A paragraph, item, row or record; a block with an id becomes a separate passage."""

    text: str
    kind: Kind = "text"
    id: str | None = None
    parent: str | None = None
    title: str = ""
    meta: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Section:
    """The blocks under one heading; each of its passages gets `meta`."""

    blocks: tuple[DocumentBlock, ...]
    headings: tuple[str, ...] = ()
    meta: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """The content of one file; `failed` holds the unusable parts as (place, reason)."""

    title: str
    sections: tuple[Section, ...]
    parent: str | None = None
    id: str | None = None
    failed: tuple[tuple[str, str], ...] = ()


_Default = TypeVar("_Default")


def whole_number(text: str, default: _Default) -> int | _Default:
    """A number in an attribute of a file, else the default.

    Only ASCII digits, and few of them: `isdigit` takes "²" for a digit, and `int` refuses thousands of digits.
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else default


class Outline:
    """Builder that collects blocks under headings, for the Markdown and HTML readers."""

    def __init__(self, allowance: Allowance) -> None:
        self.title = ""
        self._allowance = allowance
        self._path: list[tuple[int, str]] = []
        self._blocks: list[DocumentBlock] = []
        self._sections: list[Section] = []

    def heading(self, level: int, text: str) -> None:
        """Open a section; the first heading of level one is the title."""
        self._finish(next_level=level)
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        text = without_colon(text)
        if not text:
            return
        shown = short(text)
        self._path.append((level, shown))
        if level == 1 and not self.title:
            self.title = shown
        if shown != text:
            self.add(DocumentBlock(text))

    def add(self, block: DocumentBlock) -> None:
        """Add a block under the current headings."""
        if block.text.strip():
            self._allowance.take(block.text)
            self._blocks.append(block)

    def sections(self) -> tuple[Section, ...]:
        """All sections that are not empty."""
        self._finish(next_level=0)
        return tuple(self._sections)

    def _finish(self, *, next_level: int) -> None:
        headings = tuple(text for _, text in self._path)
        if self._blocks:
            self._sections.append(Section(tuple(_labelled(self._blocks)), headings))
        elif self._path and self._path[-1][0] >= max(next_level, 2) and not self._holds(headings):
            # A heading with nothing under it may be a statement, so it is kept.
            self._sections.append(Section((DocumentBlock(headings[-1]),), headings[:-1]))
        self._blocks = []

    def _holds(self, headings: tuple[str, ...]) -> bool:
        return bool(self._sections) and self._sections[-1].headings[: len(headings)] == headings


def _labelled(blocks: Sequence[DocumentBlock]) -> Iterator[DocumentBlock]:
    """List items below a label, each with it: "- Dogs" over "  - on a lead" is "- Dogs: on a lead"."""
    labels: list[tuple[int, str]] = []
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        item = _POINT.fullmatch(block.text) if block.kind == "line" and block.id is None else None
        depth = len(item[1]) if item else 0
        labels = [(level, label) for level, label in labels if item and level < depth]
        if item is None:
            yield block
            continue
        below = _POINT.fullmatch(following.text) if following is not None and following.kind == "line" else None
        path = [label for _, label in labels[-2:]]
        if below and len(below[1]) > depth and (not labels or labels[-1][0] == depth - 2) and _is_label(item[2]):
            labels.append((depth, without_colon(item[2])))
        elif labels:
            yield replace(block, text=f"{' ' * labels[0][0]}- {': '.join([*path, item[2]])}")
        else:
            yield block


def _is_label(text: str) -> bool:
    is_name = len(text.split()) <= 3 and not text[0].islower() and text[-1] not in ".!?。！？"
    return len(text) <= _LONGEST_LABEL and (is_name or text[-1] in ":：")


def clean(text: str) -> str:
    """Text with uniform line ends, without control characters and lone surrogates."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n\n")
    return _SURROGATE.sub("\ufffd", _CONTROL.sub("", text))


def unwrap(text: str) -> str:
    """Lines joined to one: by a space, or by nothing between Chinese characters."""
    return _SPACE.sub(" ", _WRAP.sub("", text)).strip()


def humanise(name: str) -> str:
    """A title from a file name: `opening-hours_2.md` becomes 'Opening hours 2'."""
    words = re.sub(r"[\s_]+|(?<!\d)-+|-+(?!\d)", " ", _TURNING.sub("", clean(PurePath(name).stem))).strip()
    return words[:1].upper() + words[1:]


def without_colon(heading: str) -> str:
    """A heading without the colon that leads on to what stands under it."""
    return heading.rstrip(" :：") or heading


def short(name: str) -> str:
    """A title, heading or column name, cut at a word boundary if it is too long to be repeated."""
    if len(name) <= LONGEST_NAME:
        return name
    words = name[:LONGEST_NAME].rpartition(" ")[0].rstrip()
    return f"{words if len(words) > LONGEST_NAME // 2 else name[: LONGEST_NAME - 1]}…"


def column_names(cells: Sequence[str]) -> tuple[list[str], str]:
    """Column names for every row; and, if one was cut, the full names as a text."""
    full = [without_colon(cell) for cell in cells]
    names = [short(cell) for cell in full]
    return names, "" if names == full else "; ".join(cell for cell in full if cell)


def row_text(names: tuple[str, ...] | list[str], values: tuple[str, ...] | list[str]) -> str:
    """A table row as text: `name: value; name: value`, empty cells left out."""
    cells = []
    for i, value in enumerate(values):
        name = names[i] if i < len(names) else ""
        if value:
            cells.append(f"{name}: {value}" if name else value)
    return "; ".join(cells)
