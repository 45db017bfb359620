"""E-mails (.eml): sender, date and text, then the attachments that can be read."""

from __future__ import annotations

from dataclasses import replace
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import EmailPolicy
from pathlib import PurePath
from time import monotonic
from typing import Any

from dragoman.core.errors import InputError
from dragoman.sources.document import Document, DocumentBlock, Section, clean, humanise, short, unwrap
from dragoman.sources.formats.html import read as read_html
from dragoman.sources.formats.text import read as read_text

DEEPEST = 3
"""Most mails inside of one another that are read."""
MOST_PARTS = 200
SECONDS = 120.0
"""Seconds for a mail with its attachments."""
MOST_HEADER = 2_000
"""Characters of a header that are read: the library takes time with the square of its length."""
_HEADERS = ("From", "To", "Cc", "Date")


class _ShortHeaders(EmailPolicy):
    """The library's policy for mails, with long headers cut."""

    def header_fetch_parse(self, name: str, value: Any) -> Any:
        return super().header_fetch_parse(name, value[:MOST_HEADER] if type(value) is str else value)


def read(content: bytes, name: str) -> Document:
    """The document in a mail; attachments that cannot be read are reported."""
    try:
        message = message_from_bytes(content, policy=_ShortHeaders())
        if not isinstance(message, EmailMessage) or not (_header(message, "From") or _header(message, "Subject")):
            raise InputError(f"'{name}' is not an e-mail: it has no sender and no subject.", remedy="Check its suffix.")
        return _read(message, name, 1, monotonic() + SECONDS)
    # The library on damaged mails, and on parts inside of a thousand others.
    except (AttributeError, KeyError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise InputError(
            f"'{name}' is damaged: its parts do not fit together.", remedy="Save it anew in your mail program."
        ) from error


def _read(message: EmailMessage, name: str, depth: int, until: float) -> Document:
    if message.get_content_type() in ("multipart/encrypted", "application/pkcs7-mime"):
        raise InputError(f"'{name}' is encrypted.", remedy="Decrypt it in your mail program and save it anew.")
    title = _header(message, "Subject") or humanise(name)
    lines = [f"{field}: {value}" for field in _HEADERS if (value := _header(message, field))]
    sections = [Section(tuple(DocumentBlock(line, "line") for line in lines))] if lines else []
    failed: list[tuple[str, str]] = []
    body = message.get_body(("plain", "html"))
    if isinstance(body, EmailMessage):
        reader, suffix = (read_html, ".html") if body.get_content_subtype() == "html" else (read_text, ".txt")
        sections += reader(_text(body), f"mail{suffix}").sections
    for number, part in enumerate(_attachments(message), start=1):
        place = f"attachment {number}"
        try:
            if monotonic() > until:
                raise InputError(f"The mail takes more than {SECONDS:g} s to read.", remedy="Save it on its own.")
            attached = _attached(part, number, depth, until)
        except InputError as error:
            failed.append((f"{place} ({short(part.get_filename() or part.get_content_type())})", str(error)))
            continue
        heading = short(f"{place}: {attached.title}")
        sections += [replace(section, headings=(heading, *section.headings)) for section in attached.sections]
    return Document(short(title), tuple(sections), failed=tuple(failed))


def _header(message: EmailMessage, field: str) -> str:
    try:
        return unwrap(clean(str(message.get(field, "") or "")))
    except (
        ValueError,
        IndexError,
        AttributeError,
        RecursionError,
        TypeError,
    ):  # the parser of structured headers trips over some
        return ""


def _text(part: EmailMessage) -> bytes:
    """The text of a part as UTF-8; an unknown charset is read as UTF-8, with marks for what is not."""
    payload = part.get_payload(decode=True)
    raw = payload if isinstance(payload, bytes) else b""
    try:
        return raw.decode(part.get_content_charset() or "utf-8", "replace").replace("\0", "").encode()
    except LookupError:
        return raw.decode("utf-8", "replace").replace("\0", "").encode()


def _attachments(message: EmailMessage) -> list[EmailMessage]:
    """The attachments of a mail that are files or mails; pictures inside of the text are not."""
    parts = [part for part in message.iter_attachments() if isinstance(part, EmailMessage)]
    if len(parts) > MOST_PARTS:
        raise InputError(f"The mail has {len(parts)} attachments.", remedy=f"Up to {MOST_PARTS} are read.")
    return [part for part in parts if part.get_filename() or part.get_content_type() == "message/rfc822"]


def _attached(part: EmailMessage, number: int, depth: int, until: float) -> Document:
    from dragoman.sources.files import parse, readers

    if part.get_content_type() == "message/rfc822":
        inner = part.get_payload(0)
        if depth >= DEEPEST or not isinstance(inner, EmailMessage):
            raise InputError(f"Mails inside of mails are read {DEEPEST} levels deep.", remedy="Save it on its own.")
        return _read(inner, f"mail {number}.eml", depth + 1, until)
    name = PurePath(part.get_filename() or "").name
    suffix = PurePath(name).suffix.lower()
    if not suffix or suffix not in readers():
        raise InputError(f"Files of the kind '{suffix}' cannot be read.", remedy="Save it on its own.")
    payload = part.get_payload(decode=True)
    if suffix == ".eml":
        raise InputError("A mail is attached as a file.", remedy="Save it on its own.")
    return parse(payload if isinstance(payload, bytes) else b"", name)
