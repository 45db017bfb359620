"""HTML, by selectolax: headings, paragraphs, lists and tables; scripts, styles and navigation are dropped."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

from dragoman.core.errors import InputError
from dragoman.sources.allowance import Allowance
from dragoman.sources.document import (
    Document,
    DocumentBlock,
    Outline,
    humanise,
    row_text,
    unwrap,
    whole_number,
)
from dragoman.sources.formats.effort import is_too_much
from dragoman.sources.formats.encoding import decode
from dragoman.sources.formats.table import TableRows
from dragoman.sources.formats.text import blocks_of, is_short_heading

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_CHARSET = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([\w-]+)|<\?xml[^>]+encoding=[\"']([\w-]+)", re.IGNORECASE)
_CHARSETS = (
    frozenset(
        "utf-8 utf-8-sig ascii big5 big5hkscs gb2312 gbk gb18030 shift_jis euc_jp euc_kr iso2022_jp koi8-r koi8-u "
        "mac-roman tis-620 cp437 cp850 cp866 cp874 cp932 cp949 cp950".split()
    )
    | {f"cp125{i}" for i in range(9)}
    | {f"iso8859-{i}" for i in range(1, 17)}
)
"""Charsets in which pages are written, as Python names them. It knows others, which are no charsets or take for ever to
read; UTF-16 and UTF-32 are known by their mark, and a declaration that can be read byte by byte is in neither."""
_ALIASES = {
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "windows-874": "cp874",
    "windows-949": "cp949",
    "x-gbk": "gbk",
    "iso-8859-8-i": "iso8859-8",
    "x-mac-roman": "mac-roman",
}
"""Charset names used on the web that Python lacks."""
_BREAK = "\v"
"""A line break in a paragraph, which the ends of lines of the file are not."""
_DROPPED = "script,style,nav,footer,noscript,template,svg,iframe,object,button,select,head"
_DEEPEST = 20
"""Deepest indent of nested lists: each line grows with every level."""
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_INLINE = set(
    re.findall(
        r"\w+",
        "a abbr b bdi bdo big cite code data del dfn em font i img ins kbd label mark q ruby s samp small span strike "
        "strong sub sup time tt u var wbr",
    )
)


def read(content: bytes, name: str) -> Document:
    """The document in an HTML file, in its declared encoding."""
    from selectolax.lexbor import LexborHTMLParser

    text = decode(content, name, encoding=_declared(content))
    if is_too_much(text):
        raise InputError(
            f"'{name}' nests its elements, or gives one of them attributes, without end.",
            remedy="Open it in a browser and save its text, or split it.",
        )
    tree = LexborHTMLParser(text)
    title = tree.css_first("title")
    title_text = unwrap(title.text()) if title else ""
    for node in tree.css(_DROPPED):
        node.decompose()
    outline = Outline(Allowance(content, name))
    if tree.body is not None:
        _HtmlReader(outline).run(tree.body)
    sections = outline.sections()
    return Document(title_text or outline.title or humanise(name), sections)


def _declared(content: bytes) -> str | None:
    charset = _CHARSET.search(content, 0, 2048)
    if not charset:
        return None
    named = (charset.group(1) or charset.group(2)).decode("ascii").lower()
    try:
        codec = codecs.lookup(_ALIASES.get(named, named)).name
    except LookupError:
        return None
    if codec not in _CHARSETS:
        return None
    # Browsers read these older names as their larger successors.
    return {"gb2312": "gb18030", "gbk": "gb18030", "iso8859-1": "cp1252", "ascii": "cp1252"}.get(codec, codec)


def _is_bold(node: LexborNode) -> bool:
    """Whether a paragraph holds a heading in bold and nothing else."""
    shown = [child for child in node.iter(include_text=True) if not child.is_text_node or (child.text() or "").strip()]
    return len(shown) == 1 and shown[0].tag in ("b", "strong") and is_short_heading(unwrap(node.text()))


class _HtmlReader:
    """Walks the tree iteratively: pages nest deeper than Python's stack."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._pieces: list[str] = []
        self._heading = 0
        self._markers: list[str] = []
        self._lists: list[list[int]] = []

    def run(self, root: LexborNode) -> None:
        waiting: list[tuple[LexborNode, bool]] = [(root, True)]
        while waiting:
            node, entering = waiting.pop()
            if not entering:
                self._leave(str(node.tag))
            elif self._enter(node):
                waiting.append((node, False))
                waiting.extend((child, True) for child in reversed(list(node.iter(include_text=True))))
        self._flush()

    def _enter(self, node: LexborNode) -> bool:
        """Read a node; return whether to read its children as well."""
        tag = str(node.tag)
        if node.is_text_node:
            self._pieces.append(node.text_content or "")
        elif tag == "br":
            self._pieces.append(_BREAK)
        elif tag == "img":
            self._pieces.append(node.attributes.get("alt") or "")
        elif tag == "pre":
            self._flush()
            self._outline.add(DocumentBlock(node.text().strip("\n"), "code"))
        elif tag == "table" and not node.css_first("table table"):
            self._flush()
            self._table(node)
        else:
            self._open(node, tag)
            return True
        return False

    def _open(self, node: LexborNode, tag: str) -> None:
        if tag in _INLINE:
            return
        self._flush()
        if tag in _HEADINGS:
            self._heading = _HEADINGS[tag]
        elif tag == "p" and not self._markers and _is_bold(node):
            self._heading = len(_HEADINGS) + 1
        elif tag in ("ul", "ol"):
            start = node.attributes.get("start") or "1"
            self._lists.append([whole_number(start, 1), tag == "ol"])
        elif tag == "li":
            ordered = bool(self._lists and self._lists[-1][1])
            self._markers.append(f"{self._lists[-1][0]}." if ordered else "-")
            if self._lists:
                self._lists[-1][0] += 1

    def _leave(self, tag: str) -> None:
        if tag in _INLINE:
            return
        self._flush()
        if tag in _HEADINGS or tag == "p":
            self._heading = 0
        elif tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        elif tag == "li" and self._markers:
            self._markers.pop()

    def _flush(self) -> None:
        written = "".join(self._pieces)
        text = unwrap(written)
        self._pieces = []
        if not text:
            return
        if self._heading:
            self._outline.heading(self._heading, text)
        elif self._markers:
            indent = "  " * min(len(self._markers) - 1, _DEEPEST)
            self._outline.add(DocumentBlock(f"{indent}{self._markers[-1]} {text}", "line"))
            self._markers[-1] = " "  # a second paragraph of the item goes on under it
        else:
            for block in blocks_of("\n".join(unwrap(line) for line in written.split(_BREAK))):
                self._outline.add(block)

    def _table(self, table: LexborNode) -> None:
        caption = table.css_first("caption")
        if caption:
            self._outline.add(DocumentBlock(unwrap(caption.text(separator=" "))))
        rows = [cells for row in table.css("tr") if (cells := row.css("th,td"))]
        lines = TableRows()
        lines.has_header = bool(rows) and all(cell.tag == "th" for cell in rows[0])
        is_pairs = not lines.has_header and all(
            len(cells) == 1 or (len(cells) == 2 and cells[0].tag == "th") for cells in rows
        )
        for cells in rows:
            values = [unwrap(cell.text(separator=" ")) for cell in cells]
            if is_pairs:
                pair = f"- {row_text(values[:1], values[1:])}" if len(values) > 1 else values[0]
                self._outline.add(DocumentBlock(pair, "line" if len(values) > 1 else "text"))
                continue
            lines.begin_row()
            for cell, value in zip(cells, values, strict=True):
                spans = [whole_number(cell.attributes.get(f"{way}span") or "1", 1) for way in ("col", "row")]
                lines.cell(value, columns=spans[0], rows=spans[1])
        for block in lines.blocks():
            self._outline.add(block)
