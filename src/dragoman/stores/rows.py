"""Convert passages to rows and back, validate them, and compare their content."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, TypeAlias

from dragoman.core.caches import text_cache
from dragoman.core.errors import InputError, StoreTwiceError
from dragoman.core.values import Passage, Receipt, Turn
from dragoman.text.analyse import Analyser

if TYPE_CHECKING:
    from dragoman.core.codec import Json

Analyse: TypeAlias = Callable[[str], Iterable[str]]
Cell: TypeAlias = str | int | float | bytes | None

_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode  # made once: it is called for every row
COLUMNS = "id, source, text, title, headings, parent, position, origin, meta"


def check_text(what: str, *texts: str) -> None:
    """Refuse text that UTF-8 cannot hold: a lone surrogate is left over from a broken decoding."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"{what} holds a lone surrogate (U+{ord(text[error.start]):04X}) at character {error.start}.",
                remedy="Decode the text as UTF-8 with errors='replace' before storing it.",
            ) from error


def check_key(what: str, key: str) -> None:
    """Refuse a key that is empty, or that holds a NUL character or a lone surrogate."""
    check_text(what, key)
    if not key or "\x00" in key:
        raise InputError(f"{what} is {key!r}: it is empty or holds a NUL character.", remedy="Give it a plain name.")


def check_passages(passages: Sequence[Passage]) -> None:
    """Validate a whole batch before anything is written."""
    if _are_plain(passages):
        return
    by_id: dict[str, Passage] = {}
    for passage in passages:
        check_key("A passage id", passage.id)
        check_key("A source name", passage.source)
        what = f"Passage '{passage.id}'"
        pairs = (text for pair in passage.meta.items() for text in pair)
        check_text(what, passage.text, passage.title, passage.parent or "", passage.origin, *passage.headings, *pairs)
        if not -(2**63) <= passage.position < 2**63:
            raise InputError(f"{what} has the position {passage.position}.", remedy="Give a 64-bit number.")
        if by_id.setdefault(passage.id, passage) != passage:
            raise InputError(
                f"The id '{passage.id}' is given to two different passages in one call.",
                remedy="Ids are unique within a scope: rename one of them.",
            )


def _are_plain(passages: Sequence[Passage]) -> bool:
    """Quick check of the whole batch at once; only if it fails is each passage checked alone."""
    names = {passage.id for passage in passages} | {passage.source for passage in passages}
    others = [text for p in passages for text in (p.text, p.title, p.origin, p.parent or "")]
    others += [text for p in passages if p.headings or p.meta for text in (*p.headings, *p.meta, *p.meta.values())]
    try:
        "".join(others).encode()
        joined = "".join(names).encode()
    except UnicodeEncodeError:
        return False
    within = all(-(2**63) <= passage.position < 2**63 for passage in passages)
    alone = len({passage.id for passage in passages}) == len(passages)
    return within and alone and "" not in names and b"\x00" not in joined


def check_source(passage: Passage, present: str) -> None:
    """Refuse an id that another source of the scope uses: writing it would silently replace a row."""
    if passage.source != present:
        raise InputError(
            f"The id '{passage.id}' of source '{passage.source}' is already used in source '{present}'.",
            remedy="Ids are unique within a scope: rename one of them, or remove the other row first.",
        )


def check_turns(turns: Sequence[Turn], *, traced: bool) -> None:
    """Refuse turns that cannot be stored, and a trace without an agent turn."""
    check_text("A turn", *(turn.text for turn in turns))
    if traced and not any(turn.speaker == "agent" for turn in turns):
        raise InputError("A trace was given without a turn of the agent.", remedy="Append the agent's turn with it.")


def check_request(under: Receipt | None, turns: Sequence[Turn]) -> str | None:
    """The request id of a receipt; turns under one must hold a reply."""
    if under is None or not under.request:
        return None
    check_key("The id of a request", under.request)
    if not any(turn.speaker == "agent" for turn in turns):
        raise InputError("A request was given without a turn of the agent.", remedy="Append the agent's turn with it.")
    return under.request


def kept_twice(request: str) -> StoreTwiceError:
    """The error for turns that are stored already."""
    return StoreTwiceError(
        "The turns of this request are kept already.", remedy="Ask for what was answered.", request=request
    )


def needles(texts: Iterable[str]) -> tuple[str, ...]:
    """Texts to search for, ignoring case; blank ones, which match everything, are left out."""
    return tuple({text.casefold() for text in texts if text.strip()})


def holds(value: Json, wanted: Sequence[str]) -> bool:
    """Whether a text, or any text of a trace, holds one of the needles."""
    if isinstance(value, str):
        folded = value.casefold()
        return any(needle in folded for needle in wanted)
    if isinstance(value, dict):
        return any(holds(key, wanted) or holds(item, wanted) for key, item in value.items())
    return isinstance(value, list) and any(holds(item, wanted) for item in value)


def digest(passage: Passage) -> bytes:
    """A digest that is equal for passages with the same content."""
    return digest_of(to_cells(passage).values())


def digest_of(cells: Iterable[Cell]) -> bytes:
    """The digest of the cells of `COLUMNS` as a JSON list, joined by hand: `json.dumps` takes four times as long."""
    shown = [
        encode_basestring(cell) if isinstance(cell, str) else "null" if cell is None else str(cell) for cell in cells
    ]
    return blake2b(f"[{', '.join(shown)}]".encode(), digest_size=16).digest()


def spaced(tokens: Iterable[str]) -> list[str]:
    """Tokens without white space, so that a row of tokens joined by spaces splits into the same tokens."""
    return " ".join(tokens).split()


def lines_of(analyse: Analyse) -> Callable[[str], str]:
    """The tokens of a text joined by spaces; our own analyser has a quicker way."""
    if isinstance(analyse, Analyser):
        return analyse.line
    return lambda text: " ".join(spaced(analyse(text)))


def to_cells(passage: Passage) -> dict[str, Cell]:
    """A passage as the cells of its row."""
    return {
        "id": passage.id,
        "source": passage.source,
        "text": passage.text,
        "title": passage.title,
        "headings": _encode(passage.headings) if passage.headings else "[]",
        "parent": passage.parent,
        "position": passage.position,
        "origin": passage.origin,
        "meta": _encode(dict(passage.meta)) if passage.meta else "{}",
    }


def from_cells(cells: Sequence[Cell]) -> Passage:
    """A passage from the cells of `COLUMNS`."""
    id_, source, text, title, headings, parent, position, origin, meta = cells
    return Passage(
        id=str(id_),
        source=str(source),
        text=str(text),
        title=str(title),
        headings=() if headings == "[]" else tuple(json.loads(str(headings))),
        parent=None if parent is None else str(parent),
        position=int(position or 0),
        origin=str(origin),
        meta={} if meta == "{}" else _meta(str(meta)),
    )


@text_cache(maxsize=4096)
def _meta(text: str) -> Mapping[str, str]:
    """The meta of a row: a user's facts are read with every turn, and reading them is mostly reading this."""
    pairs: dict[str, str] = json.loads(text)
    return pairs
