"""What a file is by its first bytes, for one whose name says something else."""

from __future__ import annotations

from typing import NamedTuple


class ContentKind(NamedTuple):
    """A kind of file in words, and the suffix under which it is read; none where no reader takes it."""

    words: str
    suffix: str


_ZIPPED = (
    (b"word/document.xml", ContentKind("a Word document", ".docx")),
    (b"xl/workbook.xml", ContentKind("an Excel workbook", ".xlsx")),
    (b"ppt/presentation.xml", ContentKind("a PowerPoint presentation", ".pptx")),
    (b"mimetypeapplication/epub+zip", ContentKind("an EPUB book", ".epub")),
    (b"mimetypeapplication/vnd.oasis.opendocument.text", ContentKind("an OpenDocument text", ".odt")),
)
_STARTS = (
    (b"%PDF-", ContentKind("a PDF", ".pdf")),
    (b"\x89PNG", ContentKind("a picture", "")),
    (b"\xff\xd8\xff", ContentKind("a picture", "")),
    (b"GIF8", ContentKind("a picture", "")),
    (b"{\\rtf", ContentKind("rich text (RTF)", "")),
    (b"PK\x03\x04", ContentKind("an archive", "")),
)


def content_kind(content: bytes) -> ContentKind | None:
    """The kind of a file's content, where its bytes tell."""
    if content.startswith(b"PK\x03\x04"):
        for part, kind in _ZIPPED:
            if part in content:  # names of the files inside stand there as they are
                return kind
    return next((kind for start, kind in _STARTS if content.startswith(start)), None)
