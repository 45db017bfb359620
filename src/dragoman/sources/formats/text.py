"""Plain text: paragraphs between blank lines, lists, and single lines."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.sources.document import Document, DocumentBlock, Section, humanise, unwrap, without_colon
from dragoman.sources.formats.encoding import decode
from dragoman.text import lazy_re as re
from dragoman.text.language import cjk_count

_BLANK = re.compile(r"\n(?:[ \t]*\n)+")
BULLETS = "[•‣◦▪●○■\uf0b7\uf0a7]"
"""Bullets that are no part of Markdown; the last two are those of Word's symbol fonts."""
_ITEM = re.compile(rf"\s*([-*+]|{BULLETS}|\d{{1,3}}[.)])\s+(?=\S)")
_WRAPPED = 45
ENDS = '.!?,;。！？，；…"”'


def read(content: bytes, name: str) -> Document:
    """The document in a text file."""
    sections: list[Section] = []
    for heading, parts in _headed(_BLANK.split(decode(content, name))):
        blocks = tuple(block for part in parts for block in paragraph(part))
        if blocks:
            sections.append(Section(blocks, heading))
    return Document(humanise(name), tuple(sections))


def _headed(parts: list[str]) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """The parts under each heading; a heading with nothing under it is itself a part."""
    heading: tuple[str, ...] = ()
    under: list[str] = []
    for part, following in zip(parts, [*parts[1:], ""], strict=True):
        if is_short_line(part) and following.strip() and not is_short_line(following):
            yield heading, under
            heading, under = (without_colon(part.strip()),), []
        else:
            under.append(part)
    yield heading, under


def is_short_line(part: str) -> bool:
    """Whether a part looks like a heading: one short line without end punctuation."""
    line = part.strip()
    short = len(line.split()) <= 6 and len(line) + cjk_count(line) <= 60
    return bool(line) and "\n" not in line and short and line[-1] not in ENDS and not _ITEM.match(line)


def paragraph(text: str) -> Iterator[DocumentBlock]:
    """The blocks of consecutive lines: list items, wrapped prose, or single lines."""
    lines = [line.rstrip() for line in text.split("\n") if line.strip()]
    if any(is_item(line) for line in lines):
        yield from _items(lines)
    elif all(is_full(line) for line in lines[:-1]):
        if lines:
            yield DocumentBlock(unwrap("\n".join(lines)))
    else:
        yield from (DocumentBlock(line.strip()) for line in lines)


def blocks_of(text: str) -> Iterator[DocumentBlock]:
    """The blocks of a paragraph with line breaks in it: the points of a list written by hand, else one text."""
    if any(is_item(line) for line in text.split("\n")[1:]):
        yield from paragraph(text)
    else:
        yield DocumentBlock(unwrap(text))


def is_short_heading(text: str) -> bool:
    """Whether a line in bold reads as a heading: not too long, and no sentence."""
    return len(text.split()) <= 10 and len(text) + cjk_count(text) <= 80 and text[-1:] not in ENDS


def _items(lines: list[str]) -> Iterator[DocumentBlock]:
    item: list[str] = []
    for line in lines:
        if is_item(line) and item:
            yield lines_block(item)
            item = []
        item.append(line)
    yield lines_block(item)


def lines_block(lines: list[str]) -> DocumentBlock:
    """One block of lines that belong together: a list item, or text."""
    text = unwrap("\n".join(lines))
    marker = _ITEM.match(text)
    if not marker:
        return DocumentBlock(text)
    sign = marker.group(1) if marker.group(1)[0].isdigit() else "-"
    return DocumentBlock(f"{sign} {text[marker.end() :]}", "line")


def is_item(line: str) -> bool:
    """Whether a line begins a list item."""
    return _ITEM.match(line) is not None


def is_full(line: str) -> bool:
    """Whether a line is so long that an editor, not its author, wrapped it."""
    return len(line) + cjk_count(line) >= _WRAPPED
