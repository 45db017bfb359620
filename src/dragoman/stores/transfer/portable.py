"""A store's content as records, independent of the engine: the unit of copies, backups and comparisons.

Records of a scope have a fixed order: passages by source and age, turns by age, key-value pairs by key. Two stores are
equal if the records of each scope are equal, which a digest shows.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, runtime_checkable

from dragoman.core.errors import StoreCorruptError
from dragoman.core.values import Passage, Scope
from dragoman.stores.rows import COLUMNS, from_cells, to_cells

if TYPE_CHECKING:
    from dragoman.core.codec import Json


@dataclass(frozen=True, slots=True)
class PassageRecord:
    """A passage with its tokens, as the agent's analyser split them, and its vector."""

    passage: Passage
    tokens: str
    vector: bytes | None = None
    superseded_by: str | None = None


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """A turn of a dialogue; the trace is JSON text, the request the id under which a reply was kept."""

    dialogue: str
    speaker: str
    text: str
    trace: str | None = None
    request: str | None = None


@dataclass(frozen=True, slots=True)
class KeptRecord:
    """A key-value pair."""

    key: str
    value: str


Record: TypeAlias = PassageRecord | TurnRecord | KeptRecord


class Position(NamedTuple):
    """A reader's position in a scope: source and number of the last passage, last turn, last key."""

    source: str = ""
    passage: int = 0
    turn: int = 0
    key: str = ""


START = Position()


class RecordSource(Protocol):
    """A store or file that can be copied from."""

    def scopes(self) -> Sequence[Scope]:
        """Every scope that has records."""
        ...

    def records(self, scope: Scope, after: Position = START) -> Iterator[tuple[Record, Position]]:
        """The records of a scope, in order, each with the position that comes after it."""
        ...


@runtime_checkable
class Portable(RecordSource, Protocol):
    """A store that can be copied into as well."""

    @property
    def where(self) -> str:
        """The location for messages; holds no secret."""
        ...

    def identity(self) -> str:
        """The id that the store got when it was created."""
        ...

    def receive(self, scope: Scope, records: Sequence[Record], notes: Mapping[str, str]) -> None:
        """Add records, and keep notes under keys of the scope, all or none."""
        ...

    def drop_note(self, scope: Scope, key: str) -> None:
        """Delete a note."""
        ...

    def kept(self, scope: Scope, key: str) -> str | None: ...

    def forget(self, scope: Scope) -> int: ...


def to_json(record: Record) -> dict[str, Json]:
    """A record as JSON."""
    if isinstance(record, TurnRecord):
        columns: list[Json] = [record.dialogue, record.speaker, record.text, record.trace]
        return {"turn": columns if record.request is None else [*columns, record.request]}
    if isinstance(record, KeptRecord):
        return {"kept": [record.key, record.value]}
    vector = None if record.vector is None else b64encode(record.vector).decode("ascii")
    cells: list[Json] = [_plain(cell) for cell in to_cells(record.passage).values()]
    return {"passage": [*cells, record.tokens, vector, record.superseded_by]}


def from_json(value: Mapping[str, Json]) -> Record:
    """A record from its JSON."""
    try:
        if "turn" in value:
            dialogue, speaker, text, trace, *request = _list(value["turn"])
            thought = None if trace is None else str(trace)
            return TurnRecord(str(dialogue), str(speaker), str(text), thought, *map(str, request))
        if "kept" in value:
            key, kept = _list(value["kept"])
            return KeptRecord(str(key), str(kept))
        *cells, tokens, vector, superseded_by = _list(value["passage"])
        assert len(cells) == len(COLUMNS.split(", "))
        blob = None if vector is None else b64decode(str(vector))
        by = None if superseded_by is None else str(superseded_by)
        return PassageRecord(from_cells([_plain(cell) for cell in cells]), str(tokens), blob, by)
    except (KeyError, TypeError, ValueError, AssertionError) as error:
        raise StoreCorruptError("A record cannot be read.", remedy="Use another backup.") from error


def line(value: Mapping[str, Json]) -> bytes:
    """JSON as one line of bytes; equal values give equal lines."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def _plain(cell: object) -> str | int | None:
    assert cell is None or isinstance(cell, str | int)
    return cell


def _list(value: Json) -> list[Json]:
    assert isinstance(value, list)
    return value


@dataclass(slots=True)
class RecordTally:
    """Counts and a running digest of a scope's records."""

    passages: int = 0
    turns: int = 0
    kept: int = 0
    _hash: blake2b = field(default_factory=lambda: blake2b(digest_size=16), repr=False)

    def add(self, encoded: bytes, record: Record) -> None:
        """Count one more record, given with its line."""
        self._hash.update(encoded)
        self.passages += isinstance(record, PassageRecord)
        self.turns += isinstance(record, TurnRecord)
        self.kept += isinstance(record, KeptRecord)

    def summary(self) -> Summary:
        return Summary(self.passages, self.turns, self.kept, self._hash.hexdigest())


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts of a scope or a whole store, and a digest of its content."""

    passages: int
    turns: int
    kept: int
    digest: str
    scopes: int = 1

    @property
    def is_empty(self) -> bool:
        return not (self.passages or self.turns or self.kept)


def summary_of(store: RecordSource, scope: Scope) -> Summary:
    """The summary of one scope."""
    tally = RecordTally()
    for record, _ in store.records(scope):
        tally.add(line(to_json(record)), record)
    return tally.summary()


def total(parts: Mapping[Scope, Summary]) -> Summary:
    """The summary of all scopes; scopes without records do not count."""
    held = sorted(
        ((scope, part) for scope, part in parts.items() if not part.is_empty),
        key=lambda pair: (pair[0].tenant, pair[0].user),
    )
    whole = blake2b(digest_size=16)
    for scope, part in held:
        whole.update(line({"scope": [scope.tenant, scope.user], "digest": part.digest}))
    passages, turns, kept = (sum(getattr(part, name) for _, part in held) for name in ("passages", "turns", "kept"))
    return Summary(passages, turns, kept, whole.hexdigest(), len(held))


def summary(store: RecordSource) -> Summary:
    """The summary of a whole store."""
    return total({scope: summary_of(store, scope) for scope in store.scopes()})
