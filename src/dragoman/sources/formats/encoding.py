"""Bytes to text: UTF-8, or UTF-16 and UTF-32 with their mark; nothing is guessed."""

from __future__ import annotations

import codecs

from dragoman.core.errors import InputError
from dragoman.sources.document import clean

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


_OTHER_KINDS = (
    (b"%PDF-", "a PDF", "Give it the suffix .pdf."),
    (b"{\\rtf", "a document in RTF", "Save it as .docx or .txt."),
)
"""Formats that could pass for text: how they begin, their name, and what to do."""


def decode(content: bytes, name: str, *, encoding: str | None = None) -> str:
    """The text of a file, cleaned; a wrong byte is an error that says where it is."""
    for beginning, kind, remedy in _OTHER_KINDS:
        if content.startswith(beginning):
            raise InputError(f"'{name}' is {kind}, whatever its name says.", remedy=remedy)
    marked = next((codec for mark, codec in _MARKS if content.startswith(mark)), None)
    if marked is None and b"\x00" in content:
        raise InputError(
            f"'{name}' is a binary file: it holds a NUL byte at {content.index(0)}.",
            remedy="Give a text file, or a file of another kind with its own suffix.",
        )
    chosen = marked or encoding or "utf-8"
    try:
        return clean(content.decode(chosen))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        where = f"byte 0x{content[error.start]:02x} at {error.start} (line {line})"
        raise InputError(
            f"'{name}' is not {error.encoding.upper()}: {where}.",
            remedy="Save it as UTF-8.",
        ) from error
    except (UnicodeError, LookupError) as error:
        raise InputError(f"'{name}' is not {chosen.upper()}.", remedy="Save it as UTF-8.") from error
