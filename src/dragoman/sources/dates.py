"""The date of a document: what its metadata or its front matter says, else the time of its file."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from email import message_from_bytes
from email.policy import compat32
from email.utils import parsedate_to_datetime
from io import BytesIO
from pathlib import PurePath
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile

from dragoman.core.values import Passage, Scope
from dragoman.sources.formats.markdown import front_matter
from dragoman.sources.ledger import IngestLedger

if TYPE_CHECKING:
    from dragoman.core.protocols import Store

_HEAD = 20_000
"""Bytes of a file in which its date is looked for."""
_KEYS = ("updated", "modified", "last_modified", "lastmod", "date", "published", "created")
_DATE = re.compile(r"(?<!\d)((?:19|20)\d\d)[-/.年](\d{1,2})[-/.月](\d{1,2})(?!\d)")
_META = re.compile(rb"<meta\b[^<>]{1,400}>", re.IGNORECASE)
_NAMED = re.compile(
    rb"(?:name|property|http-equiv)\s?=\s?[\"'](?:article:|og:|dcterms\.|dc\.)?"
    rb"(modified_time|updated_time|modified|last-modified|published_time|date|issued|created)[\"']",
    re.IGNORECASE,
)
_PDF = re.compile(rb"/(ModDate|CreationDate)\s?\(D:(\d{4})(\d\d)(\d\d)")
_OFFICE = re.compile(r"<dcterms:(modified|created)[^<>]{0,80}>([^<]{8,40})<")
_OFFICE_FILES = frozenset((".docx", ".pptx", ".xlsx"))


def stated_date(content: bytes, name: str) -> str:  # noqa: PLR0911 - one return a kind of file
    """The day that a file's metadata or front matter gives for it, in ISO 8601; "" where it gives none."""
    suffix = PurePath(name).suffix.lower()
    try:
        if suffix in _OFFICE_FILES:
            return _of_office(content)
        if suffix in (".md", ".markdown"):
            keys, _ = front_matter(content[:_HEAD].decode("utf-8", "replace").replace("\r\n", "\n").lstrip("\ufeff"))
            return next((day for key in _KEYS if (day := day_of(keys.get(key, "")))), "")
        if suffix in (".html", ".htm", ".xhtml"):
            tags = [tag for tag in _META.findall(content[:_HEAD]) if _NAMED.search(tag)]
            return max((day_of(tag.decode("utf-8", "replace")) for tag in tags), default="")
        if suffix == ".eml":
            header = message_from_bytes(content[:_HEAD], policy=compat32).get("Date")
            return parsedate_to_datetime(str(header)).date().isoformat() if header else ""
        if suffix == ".pdf":
            days = ["-".join(part.decode() for part in parts[1:]) for parts in _PDF.findall(content)]
            return max(map(day_of, days), default="")
    except (ValueError, TypeError, KeyError, OSError, BadZipFile, RuntimeError, NotImplementedError):
        return ""  # metadata that cannot be read is none: the reader judges the file
    return ""


def day_of(text: str) -> str:
    """The first day in a text that is written year first (2026-05-03, 2026年5月3日); "" where there is none."""
    for year, month, day in _DATE.findall(text[:400]):
        try:
            return date(int(year), int(month), int(day)).isoformat()
        except ValueError:
            continue
    return ""


def passage_date(store: Store, scope: Scope, passage: Passage) -> str:
    """The day of the document that a passage is from: its own, else that of its file when it was read."""
    if passage.date or not passage.origin:
        return day_of(passage.date)
    modified = IngestLedger(store, scope, passage.source, "ingested").modified(passage.origin)
    return datetime.fromtimestamp(modified / 1e9, UTC).date().isoformat() if modified else ""


def _of_office(content: bytes) -> str:
    with ZipFile(BytesIO(content)) as archive, archive.open("docProps/core.xml") as part:
        days = dict(_OFFICE.findall(part.read(_HEAD).decode("utf-8", "replace")))
    return day_of(days.get("modified", "")) or day_of(days.get("created", ""))
