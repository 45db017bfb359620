"""Books (.epub): the chapters in reading order, each read as HTML."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import unquote

from dragoman.core.errors import InputError
from dragoman.sources.allowance import Allowance
from dragoman.sources.document import Document, Section, clean, humanise, unwrap
from dragoman.sources.formats.archive import Archive, beside
from dragoman.sources.formats.html import read as read_html
from dragoman.sources.formats.xml_events import Start, events

_CONTAINER = "META-INF/container.xml"
_PAGES = frozenset({"application/xhtml+xml", "text/html"})


def read(content: bytes, name: str) -> Document:
    """The document in a book; a chapter that cannot be read is reported, and the others are kept."""
    archive = Archive(content, name)
    if _CONTAINER not in archive:
        raise InputError(f"'{name}' is not an EPUB book: it has no {_CONTAINER}.", remedy="Check its suffix.")
    title, chapters = _package(archive)
    locked = _encrypted(archive)
    if locked and locked.issuperset(chapters):
        raise InputError(f"'{name}' is protected against copying.", remedy="Give a copy without protection.")
    allowance = Allowance(content, name)
    sections: list[Section] = []
    failed: list[tuple[str, str]] = []
    for number, member in enumerate(chapters, start=1):
        try:
            if member in locked:
                raise InputError("It is protected against copying.", remedy="Give a copy without protection.")
            chapter = read_html(archive.read(member), member.rpartition("/")[2])
        except InputError as error:
            archive.check()  # past the limits of the whole book, no chapter is read
            failed.append((f"chapter {number}", str(error)))
            continue
        for section in chapter.sections:
            allowance.take(*(block.text for block in section.blocks))
            sections.append(replace(section, meta={**section.meta, "chapter": str(number)}))
    if failed and not sections:
        raise InputError(f"No chapter of '{name}' can be read. {failed[0][1]}", remedy="")
    return Document(title or humanise(name), tuple(sections), failed=tuple(failed))


def _package(archive: Archive) -> tuple[str, tuple[str, ...]]:
    """The title of a book, and its chapters in reading order."""
    starts = (event for event in events(archive, _CONTAINER) if isinstance(event, Start))
    packages = [unquote(start.attributes.get("full-path", "")) for start in starts if start.tag == "rootfile"]
    if not packages:
        raise InputError(f"'{archive.name}' is not an EPUB book: it names no package.", remedy="Check its suffix.")
    title, in_title = "", False
    members: dict[str, str] = {}
    order: list[str] = []
    for event in events(archive, packages[0]):
        if isinstance(event, str):
            if in_title and not title:
                title = unwrap(clean(event))
            continue
        in_title = isinstance(event, Start) and event.tag == "title"
        if not isinstance(event, Start):
            continue
        attributes = event.attributes
        if event.tag == "item" and attributes.get("media-type") in _PAGES:
            members[attributes.get("id", "")] = beside(packages[0], unquote(attributes.get("href", "")))
        elif event.tag == "itemref" and attributes.get("linear") != "no":
            order.append(attributes.get("idref", ""))
    return title, tuple(members[key] for key in order if key in members)


def _encrypted(archive: Archive) -> frozenset[str]:
    """The members that only a licence opens; publishers also hide fonts this way, which does not matter here."""
    member = "META-INF/encryption.xml"
    return frozenset(
        unquote(event.attributes.get("URI", ""))
        for event in (events(archive, member) if member in archive else ())
        if isinstance(event, Start) and event.tag == "CipherReference"
    )
