"""Replace the vectors of a source after its encoder changed: clear them, encode its rows again, page by page.

Vectors of two encoders are never mixed: until the old ones are gone, searches by vectors find nothing in the source,
and afterwards only rows that were encoded again. Each step is one transaction and recorded with the source, so that any
process can continue where another stopped. One process at a time encodes the rows of a source: it claims the source for
a minute, and again with every page that it writes. A claim is part of the recorded step: `fill OWNER UNTIL`.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from dragoman.core.values import Passage, Scope, SourceName
from dragoman.stores.passage_writes import PUT_VECTOR
from dragoman.stores.rows import COLUMNS, from_cells
from dragoman.stores.vectors import pack

if TYPE_CHECKING:
    from dragoman.core.protocols import FloatArray
    from dragoman.stores.engine import Engine, ScopedRows

ForgetVectors: TypeAlias = Callable[[Scope, SourceName, bool], None]
"""Drops caches and index of a source's vectors; with True they are complete again."""

Claim: TypeAlias = Literal["ours", "theirs", "over"]
"""Claim on a source to encode: held by this process, by another one, or ended."""

_CLAIM_SECONDS = 60.0
"""How long a claim holds after the last page of a process that may have died."""
_CLEARED = 2000
_OUTDATED = """SELECT source FROM places
    WHERE tenant = :tenant AND user = :user AND encoder <> '' AND (encoder <> :encoder OR encoding <> '')
    ORDER BY source"""
_UNKNOWN = """SELECT p.source FROM places AS p WHERE p.tenant = :tenant AND p.user = :user AND p.encoder = ''
    AND EXISTS (SELECT 1 FROM vectors AS v WHERE v.tenant = :tenant AND v.user = :user AND v.source = p.source)"""
_ADOPT = """UPDATE places SET encoder = :encoder
    WHERE tenant = :tenant AND user = :user AND source = :source AND encoder = ''"""
_STATE = """SELECT encoder, encoding FROM places
    WHERE tenant = :tenant AND user = :user AND source = :source"""
_SET_STATE = """UPDATE places SET encoder = :encoder, encoding = :encoding, counter = :counter
    WHERE tenant = :tenant AND user = :user AND source = :source"""
_CLAIM = """UPDATE places SET encoding = :encoding
    WHERE tenant = :tenant AND user = :user AND source = :source"""
_OLD = f"""SELECT seq FROM vectors
    WHERE tenant = :tenant AND user = :user AND source = :source LIMIT {_CLEARED}"""
_CLEAR = """DELETE FROM vectors
    WHERE tenant = :tenant AND user = :user AND source = :source AND seq IN (SELECT value FROM json_each(:keys))"""
_WITHOUT = """FROM passages AS p LEFT JOIN vectors AS v
    ON v.tenant = :tenant AND v.user = :user AND v.source = :source AND v.seq = p.seq
    WHERE p.tenant = :tenant AND p.user = :user AND p.source = :source AND p.superseded_by IS NULL AND v.seq IS NULL"""
_LEFT = f"SELECT count(p.seq) {_WITHOUT}"
_PAGE = f"""SELECT p.seq, p.digest, {", ".join(f"p.{name}" for name in COLUMNS.split(", "))} {_WITHOUT}
    AND p.seq > :last ORDER BY p.seq LIMIT :most"""
_STILL = f"SELECT p.seq, p.digest {_WITHOUT} AND p.seq IN (SELECT value FROM json_each(:keys))"
_ALL = """SELECT count(seq) FROM passages
    WHERE tenant = :tenant AND user = :user AND source = :source AND superseded_by IS NULL"""


@dataclass(frozen=True, slots=True)
class Unencoded:
    """A row that has no vector."""

    key: int
    digest: bytes
    passage: Passage


class EncoderChange:
    """The change of a store's sources to the vectors of `encoder`."""

    def __init__(self, engine: Engine, encoder: str, forget: ForgetVectors) -> None:
        self._engine = engine
        self._encoder = encoder
        self._forget = forget
        self._owner = secrets.token_hex(4)

    def outdated(self, scope: Scope) -> list[SourceName]:
        """The sources of a scope with vectors of another encoder, or with rows that still lack theirs.

        Vectors whose encoder was never recorded are taken for this one's, and recorded as such.
        """
        outdated = self.waiting(scope)
        with self._engine.reading(scope) as rows:
            unknown = [str(cells[0]) for cells in rows.rows(_UNKNOWN)]
        if unknown:
            with self._engine.writing(scope) as rows:
                for source in unknown:
                    rows.rows(_ADOPT, source=source, encoder=self._encoder)
        return outdated

    def waiting(self, scope: Scope) -> list[SourceName]:
        """The outdated sources; records nothing."""
        with self._engine.reading(scope) as rows:
            return [str(cells[0]) for cells in rows.rows(_OUTDATED, encoder=self._encoder)]

    def left(self, scope: Scope, source: SourceName) -> int:
        """The number of rows to encode: all of them as long as another encoder's vectors are there."""
        with self._engine.reading(scope) as rows:
            filling = _step(*self._state(rows, source)) == (self._encoder, "fill")
            return int(rows.rows(_LEFT if filling else _ALL, source=source)[0][0] or 0)

    def clear(self, scope: Scope, source: SourceName) -> str:
        """Delete the vectors of another encoder; return its name, "" if they were deleted before."""
        with self._engine.writing(scope) as rows:
            encoder, encoding = self._state(rows, source)
            if encoder != self._encoder:
                self._set_state(rows, source, "clear")
            elif encoding != "clear":
                return ""
        while True:
            with self._engine.writing(scope) as rows:
                if self._state(rows, source) != (self._encoder, "clear"):
                    return encoder  # another process was quicker, or has another encoder again
                keys = [int(cells[0] or 0) for cells in rows.rows(_OLD, source=source)]
                if keys:
                    rows.rows(_CLEAR, source=source, keys=json.dumps(keys))
                else:
                    self._set_state(rows, source, "fill")
                    break
        self._forget(scope, source, False)
        return encoder

    def claim(self, scope: Scope, source: SourceName) -> Claim:
        """Claim the rows of a cleared source for this process, unless another one encodes them."""
        with self._engine.writing(scope) as rows:
            encoder, encoding = self._state(rows, source)
            if _step(encoder, encoding) != (self._encoder, "fill"):
                return "over"
            if _claimed_by(encoding) not in ("", self._owner):
                return "theirs"
            rows.rows(_CLAIM, source=source, encoding=self._claimed())
        return "ours"

    def release(self, scope: Scope, source: SourceName) -> None:
        """Give a claim back before its end, where rows are left for the next process."""
        with self._engine.writing(scope) as rows:
            if self._is_ours(rows, source):
                rows.rows(_CLAIM, source=source, encoding="fill")

    def pages(self, scope: Scope, source: SourceName, size: int) -> Iterator[list[Unencoded]]:
        """The rows without vectors, some at a time, in order of insertion."""
        last = 0
        while True:
            with self._engine.reading(scope) as rows:
                page = rows.rows(_PAGE, source=source, last=last, most=size)
            if not page:
                return
            last = int(page[-1][0] or 0)
            yield [Unencoded(int(key or 0), bytes(digest), from_cells(cells)) for key, digest, *cells in page]  # type: ignore[arg-type]  # a BLOB

    def write(self, scope: Scope, source: SourceName, page: Sequence[Unencoded], vectors: FloatArray) -> bool:
        """Store the vectors of rows that are still as they were; False if the source is no longer this process's."""
        packed = dict(zip((row.key for row in page), pack(vectors, len(page)), strict=True))
        with self._engine.writing(scope) as rows:
            if not self._is_ours(rows, source):
                return False
            keys = json.dumps([row.key for row in page])
            still = {int(key or 0): digest for key, digest in rows.rows(_STILL, source=source, keys=keys)}
            vector_rows = [
                {
                    "source": source,
                    "seq": row.key,
                    "id": row.passage.id,
                    "parent": row.passage.parent,
                    "vector": packed[row.key],
                }
                for row in page
                if still.get(row.key) == row.digest and packed[row.key] is not None
            ]
            if vector_rows:
                rows.many(PUT_VECTOR, vector_rows)
            self._set_state(rows, source, self._claimed())
        return True

    def finish(self, scope: Scope, source: SourceName) -> None:
        """Record that every row of a source has its vector, and index them."""
        with self._engine.writing(scope) as rows:
            if not self._is_ours(rows, source):
                return
            self._set_state(rows, source, "")
        self._forget(scope, source, True)

    def _state(self, rows: ScopedRows, source: SourceName) -> tuple[str, str]:
        cells = rows.rows(_STATE, source=source)
        return (str(cells[0][0]), str(cells[0][1])) if cells else ("", "")

    def _is_ours(self, rows: ScopedRows, source: SourceName) -> bool:
        """Whether rows of a source are to be encoded, and no other process has claimed them."""
        encoder, encoding = self._state(rows, source)
        return _step(encoder, encoding) == (self._encoder, "fill") and _claimed_by(encoding) in ("", self._owner)

    def _claimed(self) -> str:
        return f"fill {self._owner} {time.time() + _CLAIM_SECONDS:.0f}"

    def _set_state(self, rows: ScopedRows, source: SourceName, encoding: str) -> None:
        rows.rows(_SET_STATE, source=source, encoder=self._encoder, encoding=encoding, counter=rows.tick())


def _step(encoder: str, encoding: str) -> tuple[str, str]:
    """The encoder of a source and the step of its change, without the claim."""
    return encoder, encoding.partition(" ")[0]


def _claimed_by(encoding: str) -> str:
    """The server whose claim holds; "" where there is none, or it has ended."""
    _, _, claim = encoding.partition(" ")
    owner, _, until = claim.partition(" ")
    # a clock that was set back must not keep a dead process's claim for hours
    return owner if until and 0.0 < float(until) - time.time() <= 2 * _CLAIM_SECONDS else ""
