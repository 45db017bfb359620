"""Markdown, by the tokens of markdown-it-py: headings, paragraphs, lists, tables, code, front matter."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from dragoman.core.errors import InputError
from dragoman.sources.allowance import Allowance
from dragoman.sources.document import Document, DocumentBlock, Outline, column_names, humanise, row_text, unwrap
from dragoman.sources.formats.encoding import decode
from dragoman.text import lazy_re as re

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MOST_BYTES = 4 * 2**20
"""Size limit of a file: unclosed brackets take the parser 20 microseconds each."""
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_KEY = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:[ \t]*+(.*)")
_MARK = re.compile(r"(?<!\s)\s*+\{#([^\s{}#]+)\}\s*+\Z")
_RAW = re.compile(r"<(script|style)\b", re.IGNORECASE)
_RAW_END = {name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in ("script", "style")}


def read(content: bytes, name: str) -> Document:
    """The document in a Markdown file."""
    if len(content) > MOST_BYTES:
        raise InputError(
            f"'{name}' has {len(content) / 2**20:.0f} MB; Markdown is read up to {MOST_BYTES // 2**20} MB.",
            remedy="Split it, or save it as plain text (.txt).",
        )
    text = decode(content, name)
    front, body = front_matter(text)
    outline = Outline(Allowance(content, name))
    _MarkdownReader(outline).run(_parser().parse(body))
    return Document(
        title=front.get("title") or outline.title or humanise(name),
        sections=outline.sections(),
        parent=front.get("parent") or None,
        id=front.get("id") or None,
    )


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """The `key: value` front matter of a file, and the body after it."""
    block = _FRONT.match(text)
    if not block:
        return {}, text
    lines = (_KEY.fullmatch(line.strip()) for line in block.group(1).split("\n"))
    keys = {line.group(1).lower(): line.group(2).strip().strip("\"'") for line in lines if line}
    # A rule of dashes above ordinary text is no front matter.
    return (keys, text[block.end() :]) if keys else ({}, text)


def untagged(text: str) -> str:
    """HTML without tags, comments, scripts and styles; unclosed ones stay as text."""
    parts: list[str] = []
    kept = place = 0
    ends = _Ends(text)
    while (place := text.find("<", place)) >= 0:
        raw = _RAW.match(text, place)
        end = ends.of("-->", place + 4) if text.startswith("<!--", place) else -1
        if raw is not None:
            end = ends.of(raw[1].lower(), place)
        if end < 0:
            end = ends.of(">", place)
        if end < 0:
            break
        parts.append(text[kept:place])
        kept = place = end
    return " ".join([*parts, text[kept:]])


class _Ends:
    """Finds end marks in a text; a mark that is missing is not searched for again."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._missing: set[str] = set()

    def of(self, what: str, place: int) -> int:
        """The position after the next mark, or -1."""
        if what in self._missing:
            return -1
        if what in _RAW_END:
            match = _RAW_END[what].search(self._text, place)
            end = match.end() if match else -1
        else:
            end = self._text.find(what, place)
            end += len(what) if end >= 0 else 0
        if end < 0:
            self._missing.add(what)
        return end


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


class _MarkdownReader:
    """Reads the flat list of tokens, tracking the current list item or table row."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._lists: list[bool] = []
        self._item: list[str] = []
        self._marker: str | None = None
        self._names: list[str] = []
        self._cells: list[str] | None = None
        self._heading = 0

    def run(self, tokens: Sequence[Token]) -> None:
        for token in tokens:
            kind = token.type
            if kind == "heading_open":
                self._end_item()
                self._heading = int(token.tag[1])
            elif kind == "inline":
                self._inline(_plain(token.children or ()))
            elif kind in ("fence", "code_block"):
                self._end_item(keep=True)
                self._outline.add(DocumentBlock(token.content.rstrip("\n"), "code"))
            elif kind == "html_block":
                self._inline(unwrap(untagged(token.content)))
            elif kind in ("bullet_list_open", "ordered_list_open"):
                self._end_item(keep=True)
                self._lists.append(kind == "ordered_list_open")
            elif kind in ("bullet_list_close", "ordered_list_close"):
                self._lists.pop()
            elif kind == "list_item_open":
                self._marker = f"{token.info}{token.markup}" if self._lists[-1] else "-"
            elif kind == "list_item_close":
                self._end_item()
            else:
                self._table(kind)

    def _inline(self, text: str) -> None:
        if self._heading:
            self._outline.heading(self._heading, _MARK.sub("", text))
            self._heading = 0
        elif self._cells is not None:
            self._cells.append(unwrap(text))
        elif self._lists:
            self._item.append(text)
        else:
            text, name = _marked(text)
            self._outline.add(DocumentBlock(text, id=name))

    def _end_item(self, *, keep: bool = False) -> None:
        """Emit the current item; `keep` if the item continues after a nested list or code block."""
        if self._item:
            text, name = _marked(unwrap("\n".join(self._item)))
            indent = "  " * (len(self._lists) - 1)
            line = text if name else f"{indent}{self._marker or ' '} {text}"
            self._outline.add(DocumentBlock(line, "line", id=name))
            self._item = []
        if not keep:
            self._marker = None

    def _table(self, kind: str) -> None:
        if kind == "table_open":
            self._end_item(keep=True)
            self._names = []
        elif kind == "tr_open":
            self._cells = []
        elif kind == "thead_close":
            self._names, head = column_names(self._cells or ())
            self._outline.add(DocumentBlock(head))
            self._cells = None
        elif kind == "tr_close" and self._names and self._cells is not None:
            self._outline.add(DocumentBlock(f"- {row_text(self._names, self._cells)}", "line"))
            self._cells = None


def _marked(text: str) -> tuple[str, str | None]:
    """A text without the `{#id}` at its end, and the id."""
    mark = _MARK.search(text)
    if not mark:
        return text, None
    if not text[: mark.start()].strip():
        raise InputError(f"The id '{mark.group(1)}' stands on an empty line.", remedy="Put it at the end of its text.")
    return text[: mark.start()].strip(), mark.group(1)


def _plain(tokens: Sequence[Token]) -> str:
    """The text of inline tokens, without emphasis marks and link targets."""
    parts = []
    for token in tokens:
        if token.type in ("softbreak", "hardbreak") or (token.type == "html_inline" and token.content[:3] == "<br"):
            parts.append("\n")
        elif token.type == "image":
            parts.append(_plain(token.children or ()))
        elif token.type in ("text", "code_inline"):
            parts.append(token.content)
    return unwrap("".join(parts))
