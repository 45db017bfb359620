"""Chunk documents into passages by structure and length, with ids that survive edits elsewhere in the file."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from dragoman.core.errors import InputError
from dragoman.core.values import Passage, SourceName
from dragoman.sources.document import LONGEST_ID, Document, DocumentBlock, Section, clean, short, unwrap
from dragoman.text import lazy_re as re
from dragoman.text.language import CJK, cjk_count
from dragoman.text.sentences import sentences

LIMIT = 120.0
"""Target length of a passage in words; 200 Chinese characters count as much."""
_SLACK = 1.25
_PER_CHARACTER = 0.6
_LONGEST = 200
_WORD = re.compile(rf"(?:[^\W{CJK}]+[^\w\s]*)+")
_TOKEN = re.compile(rf"(?<!\s)\s*+\S{{1,{_LONGEST}}}")


@dataclass(frozen=True, slots=True)
class _PassagePiece:
    text: str
    block: DocumentBlock
    part: int = 1


def cut(document: Document, source: SourceName, origin: str, *, apart: bool = False) -> tuple[Passage, ...]:
    """The passages of a document, in order; none crosses a heading.

    With `apart`, every list item is a separate passage, as for statements about a person.
    """
    passages: list[Passage] = []
    _check_name("parent", document.parent, origin)
    if apart:
        document = replace(document, sections=tuple(_apart(section) for section in document.sections))
    for section, piece, name in _pieces_with_ids(document, source, origin):
        passage = Passage(
            id=name,
            source=source,
            text=piece.text,
            title=short(unwrap(clean(piece.block.title or document.title))),
            headings=tuple(map(clean, section.headings)),
            parent=piece.block.parent or document.parent,
            position=len(passages),
            origin=origin,
            meta={**section.meta, **piece.block.meta},
        )
        passages.append(passage)
    return tuple(passages)


def weight(text: str) -> float:
    """The length of a text in words; a Chinese character counts 0.6, and ten characters at least one word."""
    words = len(text.split()) if text.isascii() else sum(1 for _ in _WORD.finditer(text))
    return max(words + _PER_CHARACTER * cjk_count(text), len(text) / 10)


def _apart(section: Section) -> Section:
    return replace(section, blocks=tuple(_statement(block) for block in section.blocks))


def _statement(block: DocumentBlock) -> DocumentBlock:
    """A list item as a record, whose id is a hash of its text."""
    if block.kind != "line" or block.id is not None:
        return block
    return replace(block, text=block.text.removeprefix("- "), kind="record")


def _pieces_with_ids(
    document: Document, source: SourceName, origin: str
) -> Iterator[tuple[Section, _PassagePiece, str]]:
    """Each piece with its id: its own, for the first piece the document's, else one made from its position."""
    ordinals: Counter[tuple[str, ...]] = Counter()
    taken: set[str] = set()
    spare = document.id
    _check_name("id", spare, origin)
    for section in document.sections:
        place = (source, origin, *section.headings, section.meta.get("page", ""))
        for piece in _pieces(section):
            _check_name("id", piece.block.id, origin)
            name = _explicit(piece)
            if name is None and spare is not None:
                name, spare = spare, None
            if name is None:
                # The id of a record depends on its text only, so that inserting a row before it does not change it.
                key = (*place, piece.text) if piece.block.kind == "record" else place
                name = _hashed(*key, str(ordinals[key]))
                ordinals[key] += 1
            if name in taken:
                raise InputError(f"The id '{name}' is used twice in '{origin}'.", remedy="Give each text its own id.")
            taken.add(name)
            yield section, piece, name


def _check_name(what: str, name: str | None, origin: str) -> None:
    if name is not None and len(name) > LONGEST_ID:
        raise InputError(
            f"The {what} '{short(name)}' in '{origin}' has {len(name):,} characters; there may be {LONGEST_ID}.",
            remedy="Shorten it.",
        )


def _explicit(piece: _PassagePiece) -> str | None:
    block_id = piece.block.id
    return block_id if block_id is None or piece.part == 1 else f"{block_id}/{piece.part}"


def _hashed(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:20]


def _pieces(section: Section) -> Iterator[_PassagePiece]:
    """The texts of a section: short blocks joined, long ones split, blocks with an id and records separate."""
    joined: list[DocumentBlock] = []
    size = 0.0
    for block in section.blocks:
        alone = block.id is not None or block.kind == "record"
        heavy = weight(block.text)
        if joined and (alone or size + heavy > LIMIT):
            yield _PassagePiece(_join(joined), joined[0])
            joined, size = [], 0.0
        if alone or heavy > LIMIT * _SLACK:
            for part, text in enumerate(_split(block), start=1):
                yield _PassagePiece(text, block, part)
        else:
            joined.append(block)
            size += heavy
    if joined:
        yield _PassagePiece(_join(joined), joined[0])


def _join(blocks: list[DocumentBlock]) -> str:
    text = blocks[0].text
    for before, block in pairwise(blocks):
        text += ("\n" if before.kind == block.kind == "line" else "\n\n") + block.text
    return text.strip() if blocks[0].kind != "code" else text.strip("\n")


def _split(block: DocumentBlock) -> Iterator[str]:
    """Parts of one block at sentence ends (code: at line ends), of about equal length."""
    total = weight(block.text)
    if total <= LIMIT * _SLACK:
        yield block.text.strip()
        return
    target = total / math.ceil(total / LIMIT)
    start = end = 0
    size = 0.0
    for unit_start, unit_end in _units(block):
        heavy = weight(block.text[unit_start:unit_end])
        if size and (size >= target or size + heavy > LIMIT * _SLACK):
            yield block.text[start:end].strip()
            size = 0.0
        if not size:
            start = unit_start
        end = unit_end
        size += heavy
    yield block.text[start:end].strip()


def _units(block: DocumentBlock) -> Iterator[tuple[int, int]]:
    """Spans between the places where a block may be cut; an overlong sentence is cut between words."""
    text = block.text
    position = 0
    for unit in (line for line in text.split("\n") if line.strip()) if block.kind == "code" else sentences(text):
        start = text.index(unit, position)
        position = start + len(unit)
        if weight(unit) <= LIMIT:
            yield start, position
        else:
            yield from ((start + match.start(), start + match.end()) for match in _TOKEN.finditer(unit))
