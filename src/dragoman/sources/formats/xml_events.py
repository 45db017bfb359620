"""XML as a stream of events, without entities and under a limit of depth: office files come from strangers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeAlias
from xml.parsers import expat

from dragoman.core.errors import InputError
from dragoman.sources.document import clean, unwrap
from dragoman.sources.formats.archive import Archive, beside

DEEPEST = 256
CORE_PROPERTIES = "docProps/core.xml"
"""The member of Open XML files that holds their properties."""

Attributes: TypeAlias = dict[str, str]


class Start(NamedTuple):
    """An opened element, by names without their namespaces."""

    tag: str
    attributes: Attributes


class End(NamedTuple):
    """A closed element."""

    tag: str


Event: TypeAlias = Start | End | str
"""A start, an end, or a piece of text."""


def events(archive: Archive, member: str) -> Iterator[Event]:
    """The events of a member of an archive, in order."""
    return parse(archive.stream(member), archive.name, member)


def parse(chunks: Iterable[bytes], name: str, member: str = "XML") -> Iterator[Event]:
    """The events of XML that comes in pieces; `name` is the file's and `member` the part's, for error messages.

    Names lose their namespaces: the formats have two for each vocabulary, and their local names are enough here.
    """
    pending: list[Event] = []
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    depth = 0

    def start(tag: str, attributes: Attributes) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise InputError(f"'{name}' nests more than {DEEPEST} levels deep.", remedy="Simplify it.")
        pending.append(Start(_local(tag), {_attribute(key): value for key, value in attributes.items()}))

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        pending.append(End(_local(tag)))

    def doctype(*_: object) -> None:
        raise InputError(f"'{name}' declares entities of its own.", remedy="Open it and save it anew.")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = pending.append
    parser.StartDoctypeDeclHandler = doctype
    feed: Callable[[bytes, bool], object] = parser.Parse
    try:
        for chunk in chunks:
            feed(chunk, False)
            yield from pending
            pending.clear()
        feed(b"", True)
    except expat.ExpatError as error:
        raise InputError(
            f"'{name}' is damaged: {member}, line {error.lineno}: {expat.ErrorString(error.code)}.",
            remedy="Open it and save it anew.",
        ) from error
    yield from pending


def skip(stream: Iterator[Event]) -> None:
    """Pass over the rest of an element whose start was read."""
    depth = 1
    while depth:
        event = next(stream)
        depth += isinstance(event, Start)
        depth -= isinstance(event, End)


class PackageRelation(NamedTuple):
    """A reference of an Open XML part to another: the kind of relationship, and the member it leads to."""

    kind: str
    member: str


def relations(archive: Archive, member: str) -> dict[str, PackageRelation]:
    """The references of a part of an Open XML file, by id; those that lead out of the file are left out."""
    folder, _, name = member.rpartition("/")
    place = f"{folder}/_rels/{name}.rels".lstrip("/")
    if place not in archive:
        return {}
    return {
        event.attributes.get("Id", ""): PackageRelation(
            event.attributes.get("Type", "").rpartition("/")[2], beside(member, event.attributes.get("Target", ""))
        )
        for event in events(archive, place)
        if isinstance(event, Start) and event.tag == "Relationship" and event.attributes.get("TargetMode") != "External"
    }


def member_title(archive: Archive, member: str) -> str:
    """The text of the first `title` element of a member of the archive; empty without one."""
    if member not in archive:
        return ""
    stream = events(archive, member)
    for event in stream:
        if isinstance(event, Start) and event.tag == "title":
            following = next(stream)
            return unwrap(clean(following)) if isinstance(following, str) else ""
    return ""


def main_part(archive: Archive) -> str:
    """The main part of an Open XML file."""
    documents = [link.member for link in relations(archive, "").values() if link.kind == "officeDocument"]
    if not documents:
        raise InputError(f"'{archive.name}' is not an Office document.", remedy="Check its suffix.")
    return documents[0]


def _attribute(name: str) -> str:
    """The name of an attribute: one that refers to another part is `r:id`, beside the element's own `id`."""
    space, _, local = name.rpartition(" ")
    return f"r:{local}" if space.endswith("/relationships") else local


def _local(name: str) -> str:
    return name.rpartition(" ")[2]
