"""A tool of an MCP server as a source: called with a query, its text cut into passages.

The answer of a tool is untrusted text: cleaned, cut to a limit, and used as evidence only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from dragoman.core.errors import EndpointError, MissingExtraError
from dragoman.core.values import Passage, SourceName
from dragoman.sources.document import Document, Section, clean
from dragoman.sources.formats.text import paragraph
from dragoman.sources.passages import cut
from dragoman.sources.session import Session, ToolAddress, short
from dragoman.text import lazy_re as re

if TYPE_CHECKING:
    from mcp.types import CallToolResult

MOST_CHARACTERS = 60_000
"""Most characters read of one answer."""
MOST_PASSAGES = 60
_BLANK = re.compile(r"\n\s*\n")
_TEXTS = ("text", "content", "snippet", "body", "description")
_TITLES = ("title", "name", "heading")


class Tool(Protocol):
    """Protocol: returns passages for a query; raises EndpointError on failure."""

    def ask(self, query: str) -> tuple[Passage, ...]: ...


class McpTool:
    """A tool of an MCP server. The first query opens the connection, which is kept and reopened after a failure."""

    def __init__(self, source: SourceName, address: ToolAddress) -> None:
        self.source = source
        self.address = address
        self._lock = Lock()
        self._session: Session | None = None
        self._closed = False

    def warm_up(self) -> None:
        """Start to connect; the first query reports errors."""
        self._opened().begin()

    def ask(self, query: str) -> tuple[Passage, ...]:
        """The passages that the tool's answer holds, in its order."""
        result = self._opened().ask(query)
        return passages_of(result, self.source, self.address.tool)

    def close(self) -> None:
        """Disconnect, and stop the program if one was started."""
        with self._lock:
            self._closed = True
            session, self._session = self._session, None
        if session is not None:
            session.stop()

    def _opened(self) -> Session:
        with self._lock:
            if self._closed:
                raise EndpointError("The agent is closed.", remedy="Load it again.")
            if self._session is None:
                self._session = Session(self.address)
            return self._session


def require_package() -> None:
    """Raise early, not in the middle of a turn, if the MCP library is missing."""
    if find_spec("mcp") is None:
        raise MissingExtraError(
            "A source that is a tool needs the package 'mcp', which is not installed.",
            remedy="Install it: pip install 'dragoman[mcp]'",
        )


def passages_of(result: CallToolResult, source: SourceName, tool: str) -> tuple[Passage, ...]:
    """The text of an answer as passages: records where it holds some, else paragraphs."""
    if result.is_error:
        message = short(" ".join(text for _, text in _blocks(result)))
        raise EndpointError(f"The tool '{tool}' failed: {message or 'it does not say why'}.", remedy="Ask its keeper.")
    origin, left = f"mcp:{tool}", MOST_CHARACTERS
    by_name: dict[str, Passage] = {}
    for title, text in _records(result.structured_content) or _blocks(result):
        blocks = tuple(block for part in _BLANK.split(clean(text[:left])) for block in paragraph(part))
        for row in cut(Document(short(title), (Section(blocks),)), source, origin):
            # The id is a hash of the text: the tool's next answer may hold another text at the same position.
            name = sha256(f"{source}\x1f{tool}\x1f{row.text}".encode()).hexdigest()[:20]
            by_name.setdefault(name, Passage(name, source, row.text, row.title, position=len(by_name), origin=origin))
        left -= len(text)
        if left <= 0 or len(by_name) >= MOST_PASSAGES:
            break
    return tuple(by_name.values())[:MOST_PASSAGES]


def _records(structured: object) -> list[tuple[str, str]]:
    """Title and text of each record of an answer; empty if it is not a list of records."""
    rows = structured
    if isinstance(structured, Mapping):
        lists = [value for value in structured.values() if isinstance(value, list)]
        rows = lists[0] if len(lists) == 1 else None
    if not isinstance(rows, Sequence) or isinstance(rows, str):
        return []
    return [pair for row in rows for pair in _record(row)]


def _record(row: object) -> Iterator[tuple[str, str]]:
    if isinstance(row, str):
        yield "", row
    elif isinstance(row, Mapping):
        text = _first(row, _TEXTS)
        if text:
            yield _first(row, _TITLES), text


def _first(row: Mapping[object, object], names: Sequence[str]) -> str:
    return next((value for name in names if isinstance(value := row.get(name), str) and value.strip()), "")


def _blocks(result: CallToolResult) -> list[tuple[str, str]]:
    """The text blocks of an answer, and the text of embedded resources; images and audio are ignored."""
    blocks = []
    for block in result.content:
        text = getattr(block, "text", None) or getattr(getattr(block, "resource", None), "text", None)
        if isinstance(text, str) and text.strip():
            blocks.append(("", text))
    return blocks
