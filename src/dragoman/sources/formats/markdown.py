"""Markdown, by the tokens of markdown-it-py: headings, paragraphs, lists, tables, code, front matter."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING

from dragoman.core.errors import InputError
from dragoman.sources.allowance import Allowance
from dragoman.sources.document import Document, DocumentBlock, Outline, humanise, unwrap
from dragoman.sources.formats.encoding import decode
from dragoman.sources.formats.table import TableRows
from dragoman.sources.formats.text import BULLETS, is_short_heading
from dragoman.text import lazy_re as re
from dragoman.text.language import cjk_count

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MOST_BYTES = 4 * 2**20
"""Size limit of a file: unclosed brackets take the parser 20 microseconds each."""
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_KEY = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:[ \t]*+(.*)")
_MARK = re.compile(r"(?<!\s)\s*+\{#([^\s{}#]+)\}\s*+\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_LIST_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])[ \t]+\S")
_BULLET = re.compile(rf"^([ \t]*){BULLETS}[ \t]+(?=\S)")
_WRAPPED = 60
"""Columns that editors wrap lines at, at the least."""
_HEADING = 7
"""The level of a line in bold above text: below all that Markdown marks."""
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
    _MarkdownReader(outline).run(_parser().parse(_with_points(_with_ends_of_blocks(body))))
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


def _with_ends_of_blocks(text: str) -> str:
    """Text with what writers mean by lists and tables: other programs' bullets, and blank lines that they left out.

    By the rules of Markdown a line at the margin goes on with the last item. It does so where it was wrapped: where it
    begins in the middle of a sentence, or its first word had no room in the line above. A line without bars is another
    row of a table by those rules, and what follows the table to who writes it.
    """
    lines: list[str] = []
    in_list, in_table, fence = False, False, ""
    for written in text.split("\n"):
        line, mark = written, _FENCE.match(written)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) and not mark[2].strip() else fence
        elif mark:
            fence, in_list = mark[1], False
        else:
            line = _BULLET.sub(r"\1- ", written)
            if in_table and line.strip() and "|" not in line:
                lines.append("")
            in_table = "|" in line and (in_table or _BELOW_HEADER.fullmatch(line) is not None)
            if _LIST_ITEM.match(line):
                in_list = True
            elif in_list and line[:1] not in ("", " ", "\t") and _is_new_sentence(lines[-1], line):
                lines.append("")
                in_list = False
            else:
                in_list = in_list and bool(line.strip())
        lines.append(line)
    return "\n".join(lines)


def _with_points(text: str) -> str:
    """Text whose paragraphs of labelled lines are lists: "Monday: 8:00 to 19:00" above "Friday: 8:00 to 16:00"."""
    lines, fence = text.split("\n"), ""
    start = 0
    for place, line in enumerate([*lines, ""]):
        mark = _FENCE.match(line)
        if mark and (not fence or (mark[1].startswith(fence) and not mark[2].strip())):
            fence = "" if fence else mark[1]
        if line.strip() and not mark and not fence and not line.startswith("#"):
            continue
        labelled = [bool(_LABELLED.match(each)) for each in lines[start:place]]
        if len(labelled) > 1 and all(labelled):
            lines[start:place] = [f"- {each}" for each in lines[start:place]]
        start = place + 1
    return "\n".join(lines)


_LABELLED = re.compile(r"(?![-*+#>|\[]|\d+[.)] )[^\s:|][^:|]{0,40}: \S[^|]{0,100}$")
"""A short label and what stands behind it, as a line of its own."""
_BELOW_HEADER = re.compile(r"(?=[ |:]*+-)[ |:-]++")
"""The line between a table's header and its rows."""


def _is_new_sentence(before: str, line: str) -> bool:
    first = line.lstrip("*_\"'“‘「『（(")
    if not first or first[0].islower() or line[0] in "#>|`~<=-+" or not first[0].isalnum():
        return False
    word = line[:1] if cjk_count(line[:1]) else line.split(maxsplit=1)[0]
    return len(before) + cjk_count(before) + 1 + len(word) <= _WRAPPED


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
        self._table: TableRows | None = None
        self._row: list[tuple[str, bool]] = []
        self._heading = 0

    def run(self, tokens: Sequence[Token]) -> None:
        for token in tokens:
            kind = token.type
            if kind == "heading_open":
                self._end_item()
                self._heading = int(token.tag[1])
            elif kind == "inline":
                self._inline(token.children or ())
            elif kind in ("fence", "code_block"):
                self._end_item(keep=True)
                self._outline.add(DocumentBlock(token.content.rstrip("\n"), "code"))
            elif kind == "html_block":
                self._text(unwrap(untagged(token.content)))
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
                self._in_table(kind)

    def _inline(self, tokens: Sequence[Token]) -> None:
        if self._table is not None:
            self._row.append((_plain(tokens), _bold(tokens)[0] == _plain(tokens)))
            return
        heading, rest = _bold(tokens)
        if heading and not self._heading and not self._lists and is_short_heading(heading):
            self._outline.heading(_HEADING, heading)
            tokens = rest
        self._text(_plain(tokens))

    def _text(self, text: str) -> None:
        if self._heading:
            self._outline.heading(self._heading, _MARK.sub("", text))
            self._heading = 0
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

    def _in_table(self, kind: str) -> None:
        if kind == "table_open":
            self._end_item(keep=True)
            self._table = TableRows()
            self._table.has_header = True
        elif self._table is None:
            return
        elif kind == "tr_open":
            self._table.begin_row()
            self._row = []
        elif kind == "tr_close":
            self._add_row(self._table)
        elif kind == "table_close":
            for block in self._table.blocks():
                self._outline.add(block)
            self._table = None

    def _add_row(self, table: TableRows) -> None:
        """Add a row; Markdown has no merged cells, and writers leave out what the row above says."""
        texts = [text for text, _ in self._row]
        if len(texts) > 1 and self._row[0][1] and len(table.rows) > 1 and not any(texts[1:]):
            table.cell(texts[0], columns=len(texts))
            return
        above = table.rows[-2] if len(table.rows) > 2 else []
        goes_on = len(texts) > 2 and not texts[0] and any(above) and _alike(texts[1:], above[1:])
        for i, text in enumerate(texts):
            table.cell(text, continues=goes_on and i == 0)


def _alike(cells: Sequence[str], above: Sequence[str]) -> bool:
    """Whether two rows hold the same kinds of values: a row of sums does not go on with the row above it."""
    return len(cells) == len(above) and all(
        _kind(cell) == _kind(other) for cell, other in zip(cells, above, strict=True)
    )


def _kind(cell: str) -> str:
    return "" if not cell else "number" if any(letter.isdigit() for letter in cell) else "words"


def _marked(text: str) -> tuple[str, str | None]:
    """A text without the `{#id}` at its end, and the id."""
    mark = _MARK.search(text)
    if not mark:
        return text, None
    if not text[: mark.start()].strip():
        raise InputError(f"The id '{mark.group(1)}' stands on an empty line.", remedy="Put it at the end of its text.")
    return text[: mark.start()].strip(), mark.group(1)


def _bold(tokens: Sequence[Token]) -> tuple[str, Sequence[Token]]:
    """The first line of inline tokens if it is in bold from end to end, and what follows it."""
    line = list(takewhile(lambda token: token.type not in ("softbreak", "hardbreak"), tokens))
    shown = [token for token in line if token.type != "text" or token.content.strip()]
    if len(shown) < 3 or (shown[0].type, shown[-1].type) != ("strong_open", "strong_close"):
        return "", tokens
    if any(token.type == "strong_close" for token in shown[:-1]):
        return "", tokens
    return _plain(line), tokens[len(line) + 1 :]


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
