"""Store dialogues, traces and key-value pairs in SQL tables: add, read, blank and erase them."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dragoman.core.clock import stamp
from dragoman.core.errors import StoreError
from dragoman.core.values import Answered, Receipt, Scope, Turn
from dragoman.stores.erasure_hold import ErasureHold
from dragoman.stores.rows import check_key, check_request, check_text, check_turns, holds, kept_twice, needles

if TYPE_CHECKING:
    from dragoman.core.codec import Json
    from dragoman.stores.engine import Bindings, Engine

_DIALOGUE = """SELECT speaker, text, said_at FROM turns
    WHERE tenant = :tenant AND user = :user AND dialogue = :dialogue ORDER BY seq"""
_DIALOGUES = "SELECT dialogue FROM turns WHERE tenant = :tenant AND user = :user GROUP BY dialogue ORDER BY min(seq)"
_BYTES = """SELECT coalesce(sum(octet_length(text) + coalesce(octet_length(trace), 0)), 0), count(seq) FROM turns
    WHERE tenant = :tenant AND user = :user"""
_LAST = """SELECT speaker, text, said_at FROM turns
    WHERE tenant = :tenant AND user = :user AND dialogue = :dialogue ORDER BY seq DESC LIMIT :most"""
_COUNT = "SELECT count(*) FROM turns WHERE tenant = :tenant AND user = :user AND dialogue = :dialogue"
_SOME = """SELECT seq, speaker, text, said_at, trace FROM turns
    WHERE tenant = :tenant AND user = :user AND dialogue = :dialogue AND seq > :after ORDER BY seq LIMIT :most"""
_AT_ONCE = 500
"""Turns that are read at once where a whole dialogue is."""
_ROW_BYTES = 200
_TRACE = """SELECT trace FROM turns
    WHERE tenant = :tenant AND user = :user AND dialogue = :dialogue AND speaker = 'agent' ORDER BY seq DESC LIMIT 1"""
_TRACES = """SELECT trace FROM turns
    WHERE tenant = :tenant AND user = :user AND dialogue = :dialogue ORDER BY seq"""
_ANSWERED = "SELECT dialogue, seq, trace FROM turns WHERE tenant = :tenant AND user = :user AND request = :request"
_TOLD = """SELECT speaker, text FROM turns
    WHERE tenant = :tenant AND user = :user AND dialogue = :dialogue AND seq <= :seq ORDER BY seq"""
_TURNS = "SELECT seq, text, trace FROM turns WHERE tenant = :tenant AND user = :user"
_REDACT = "UPDATE turns SET text = :text, trace = :trace WHERE tenant = :tenant AND user = :user AND seq = :seq"
_DROP = "DELETE FROM turns WHERE tenant = :tenant AND user = :user AND dialogue = :dialogue"
_PLACES = "SELECT seq FROM turns WHERE tenant = :tenant AND user = :user AND dialogue = :dialogue ORDER BY seq"
KEEP = """INSERT INTO kept (tenant, user, key, value) VALUES (:tenant, :user, :key, :value)
    ON CONFLICT (tenant, user, key) DO UPDATE SET value = excluded.value"""
_KEPT = "SELECT value FROM kept WHERE tenant = :tenant AND user = :user AND key = :key"


def _turn(speaker: object, text: object, said_at: object) -> Turn:
    return Turn("agent" if speaker == "agent" else "user", str(text), str(said_at or ""))


class DialogueTable(ABC):
    """Tables of turns, each with its trace, and of key-value pairs."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def hold(self, scope: Scope) -> ErasureHold:
        """A context in which writes to the scope are refused once anybody has erased data of it since this call."""
        with self._engine.reading(scope) as rows:
            return ErasureHold(scope, rows.erasures())

    @abstractmethod
    def _append(self, scope: Scope, turns: Sequence[Bindings], under: Receipt | None) -> None:
        """Add turns, all or none."""

    def append(
        self, scope: Scope, dialogue: str, turns: Sequence[Turn], trace: Json = None, *, under: Receipt | None = None
    ) -> None:
        """Add turns to a dialogue, with the trace of the agent's turn, all or none; under a receipt, once.

        A turn without a time of its own gets the current one.
        """
        check_key("A dialogue id", dialogue)
        request = check_request(under, turns)
        check_turns(turns, traced=trace is not None)
        last = max((i for i, turn in enumerate(turns) if turn.speaker == "agent"), default=-1)
        text = None if trace is None else json.dumps(trace)
        written_at = stamp()
        rows: list[Bindings] = [
            {
                "dialogue": dialogue,
                "speaker": turn.speaker,
                "text": turn.text,
                "trace": text if i == last else None,
                "request": request if i == last else None,
                "said_at": turn.said_at or written_at,
            }
            for i, turn in enumerate(turns)
        ]
        try:
            self._append(scope, rows, under)
        except StoreError as error:
            if request is None or (answer := self._stored_answer(scope, request)) is None:
                raise
            if trace is None or answer.trace != json.loads(text or ""):
                raise kept_twice(request) from error
            # The answer to the commit was lost, not the turn: its trace, with its times, is nobody else's.

    def _stored_answer(self, scope: Scope, request: str) -> Answered | None:
        """The turn stored under a request id, looked up after a failure; None if it is absent or the look-up fails."""
        try:
            return self.answered(scope, request)
        except StoreError:
            return None

    def answered(self, scope: Scope, request: str) -> Answered | None:
        """The turn that is stored under a request id."""
        with self._engine.reading(scope) as rows:
            answers = rows.rows(_ANSWERED, request=request)
            if not answers:
                return None
            dialogue, seq, trace = answers[0]
            turns = rows.rows(_TOLD, dialogue=dialogue, seq=seq)
        question = next((str(text) for speaker, text in reversed(turns) if speaker == "user"), "")
        return Answered(str(dialogue), len(turns) - 1, question, None if trace is None else json.loads(str(trace)))

    def dialogue(self, scope: Scope, dialogue: str) -> Sequence[Turn]:
        with self._engine.reading(scope) as rows:
            cells = rows.rows(_DIALOGUE, dialogue=dialogue)
        return [_turn(*row) for row in cells]

    def last_turns(self, scope: Scope, dialogue: str, most: int) -> tuple[Sequence[Turn], int]:
        """The last turns of a dialogue, however long it is, and the number of all of its turns."""
        with self._engine.reading(scope) as rows:
            ((count,),) = rows.rows(_COUNT, dialogue=dialogue)
            cells = rows.rows(_LAST, dialogue=dialogue, most=most)
        return [_turn(*row) for row in reversed(cells)], int(count or 0)

    def exchanges(self, scope: Scope, dialogue: str) -> Iterator[tuple[Turn, Json]]:
        """The turns of a dialogue with their traces, read a few at a time: a long one is never in memory as a whole."""
        after = -1
        while True:
            with self._engine.reading(scope) as rows:
                cells = rows.rows(_SOME, dialogue=dialogue, after=after, most=_AT_ONCE)
            for seq, speaker, text, said_at, trace in cells:
                yield _turn(speaker, text, said_at), None if trace is None else json.loads(str(trace))
                after = int(seq or 0)
            if len(cells) < _AT_ONCE:
                return

    def dialogues(self, scope: Scope) -> Sequence[str]:
        """Oldest first."""
        with self._engine.reading(scope) as rows:
            return [str(cells[0]) for cells in rows.rows(_DIALOGUES)]

    def turn_bytes(self, scope: Scope) -> int:
        """About how many bytes the dialogues of a scope take up, with their traces."""
        with self._engine.reading(scope) as rows:
            ((held, turns),) = rows.rows(_BYTES)
        return int(held or 0) + _ROW_BYTES * int(turns or 0)

    def trace(self, scope: Scope, dialogue: str) -> Json:
        """The trace of a dialogue's last agent turn."""
        with self._engine.reading(scope) as rows:
            traces = rows.rows(_TRACE, dialogue=dialogue)
        if not traces or traces[0][0] is None:
            return None
        trace: Json = json.loads(str(traces[0][0]))
        return trace

    def traces(self, scope: Scope, dialogue: str) -> Sequence[Json]:
        """The trace of each turn of a dialogue; None where a turn has none."""
        with self._engine.reading(scope) as rows:
            traces = rows.rows(_TRACES, dialogue=dialogue)
        return [None if trace is None else json.loads(str(trace)) for (trace,) in traces]

    def redact(self, scope: Scope, texts: Sequence[str]) -> int:
        """Blank turns and drop traces that hold any of the texts, ignoring case; return the number of turns.

        Counts as an erasure of the scope: a turn that holds it (`hold`) and began earlier stores nothing any more.
        """
        targets, changes = needles(texts), []
        with self._engine.writing(scope) as rows:
            for seq, text, trace in rows.rows(_TURNS):
                in_text, in_trace = (
                    holds(str(text), targets),
                    trace is not None and holds(json.loads(str(trace)), targets),
                )
                if in_text or in_trace:
                    changes.append({"seq": seq, "text": "" if in_text else text, "trace": None if in_trace else trace})
            rows.many(_REDACT, changes)
            rows.count_erasure()
        self._engine.erase()
        return len(changes)

    def erase_turns(self, scope: Scope, dialogue: str, places: Sequence[int] | None = None) -> int:
        """Delete a dialogue with its traces, or blank the turns at `places`; no byte of them stays in any file."""
        with self._engine.writing(scope) as rows:
            if places is None:
                erased = rows.run(_DROP, dialogue=dialogue)
            else:
                sequence = [seq for (seq,) in rows.rows(_PLACES, dialogue=dialogue)]
                blank = [{"seq": sequence[i], "text": "", "trace": None} for i in set(places) if 0 <= i < len(sequence)]
                rows.many(_REDACT, blank)
                erased = len(blank)
        self._engine.erase()
        return erased

    def keep(self, scope: Scope, key: str, value: str) -> None:
        check_key("A key", key)
        check_text("A kept value", value)
        with self._engine.writing(scope) as rows:
            rows.rows(KEEP, key=key, value=value)

    def kept(self, scope: Scope, key: str) -> str | None:
        with self._engine.reading(scope) as rows:
            values = rows.rows(_KEPT, key=key)
        return str(values[0][0]) if values else None
