"""PDF, by pypdf: the text layer page by page, each passage with its page."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from dragoman.core.errors import InputError
from dragoman.sources.document import Document, DocumentBlock, Section, clean, humanise, without_colon
from dragoman.sources.formats.text import ENDS, is_full, is_item, is_short_line, lines_block
from dragoman.text import lazy_re as re

if TYPE_CHECKING:
    from pypdf import PdfReader

SECONDS = 300.0
MOST_CHARACTERS = 64 * 2**20
_HYPHEN = re.compile(r"(?<=[a-zà-ÿ])[-\u00ad]\n(?=[a-zà-ÿ])")
_FULL = 0.6
"""Share of the longest line of a page from which a line reaches the margin: right edges are ragged."""
_BLANK = re.compile(r"\n(?:[ \t]*\n)+")


def read(content: bytes, name: str) -> Document:
    """The document in a PDF with a text layer."""
    pages, title = _pages(content, name)
    sections: list[Section] = []
    heading: tuple[str, ...] = ()
    for number, text in enumerate(pages, start=1):
        whole = _HYPHEN.sub("", clean(text))
        groups = [lines for part in _BLANK.split(whole) for lines in _paragraphs(part)]
        if number == 1 and not title and groups and len(groups[0]) == 1 and _is_heading(groups[0][0]):
            title = without_colon(groups[0][0])
        for own, blocks in _headed(groups):
            heading = (without_colon(own),) if own else heading
            if blocks:
                sections.append(Section(tuple(blocks), heading, meta={"page": str(number)}))
    if not sections:
        raise InputError(
            f"'{name}' has no text layer on its {len(pages)} pages: it holds pictures of text.",
            remedy="Run it through OCR first, for example with ocrmypdf.",
        )
    return Document(title or humanise(name), tuple(sections))


def _headed(groups: Sequence[list[str]]) -> Iterator[tuple[str, list[DocumentBlock]]]:
    """The blocks under each heading of a page; those before the first one come without.

    A heading is a short line alone between longer texts or points: short lines below each other are a table or an
    address, except for a title above the first heading.
    """
    are_short = [len(lines) == 1 and _is_heading(lines[0]) for lines in groups]
    heading, blocks = "", list[DocumentBlock]()
    for i, lines in enumerate(groups):
        stands_alone = i == 0 or not are_short[i - 1] or (i == 1 and bool(are_short[0]))
        if are_short[i] and stands_alone and i + 1 < len(groups) and not are_short[i + 1]:
            yield heading, blocks
            heading, blocks = lines[0], []
        else:
            blocks.append(lines_block(lines))
    yield heading, blocks


def _is_heading(line: str) -> bool:
    """Whether a line reads as a heading: words that begin with a capital, and no figures such as prices have."""
    return is_short_line(line) and line[0].isalpha() and not line[0].islower() and not any(map(str.isdigit, line))


def _paragraphs(text: str) -> Iterator[list[str]]:
    """Lines that belong together: nothing in the text layer tells where a heading ends and a paragraph begins.

    A line goes on where it reaches the margin, or where the next one begins in the middle of a sentence.
    """
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    margin = _FULL * max((len(line) for line in lines), default=0)
    group: list[str] = []
    for line in lines:
        if group:
            before = group[-1]
            goes_on = is_full(before) and len(before) >= margin
            is_middle = line[0].islower() and before[-1] not in ENDS
            if is_item(line) or not (goes_on or is_middle):
                yield group
                group = []
        group.append(line)
    if group:
        yield group


def _pages(content: bytes, name: str) -> tuple[list[str], str]:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    try:
        reader = PdfReader(io.BytesIO(content))
        _unlock(reader, name)
        pages = _texts(reader, name)
        title = reader.metadata.title if reader.metadata else ""
    except InputError:
        raise
    except DependencyError as error:
        raise InputError(
            f"'{name}' is encrypted.", remedy="Save a copy without encryption, or install the package 'cryptography'."
        ) from error
    except Exception as error:  # on damaged files pypdf raises whatever its parser trips over
        raise InputError(
            f"'{name}' cannot be read as a PDF: {_damage(content)}.", remedy="Open it in a viewer and save it anew."
        ) from error
    shown = clean(title or "").strip()
    return pages, "" if shown.lower() in ("untitled", "unknown") else shown


def _damage(content: bytes) -> str:
    """Describe the damage of a file that is no proper PDF, judging by its beginning and end."""
    if b"%PDF-" not in content[:1024]:
        return "its content is something else"
    if b"%%EOF" not in content[-2048:]:
        return "its end is missing"
    return "it is damaged"


def _texts(reader: PdfReader, name: str) -> list[str]:
    """The text of every page, up to a limit on what the file may expand to."""
    until, pages, characters = monotonic() + SECONDS, [], 0

    def go_on(*_: object) -> None:
        """Check the limits at every operator: nested forms of a few bytes can take years to draw."""
        if monotonic() > until or characters > MOST_CHARACTERS:
            raise InputError(f"'{name}' takes too long to read, or unfolds without end.", remedy="Split it.")

    for page in reader.pages:
        pages.append(page.extract_text(visitor_operand_before=go_on))
        characters += len(pages[-1])
        go_on()  # pypdf treats an exception inside a form as damage and goes on
    return pages


def _unlock(reader: PdfReader, name: str) -> None:
    """Open a file whose password is empty; refuse one with a real password."""
    if reader.is_encrypted and not reader.decrypt(""):
        raise InputError(f"'{name}' is protected by a password.", remedy="Save a copy without the password.")
