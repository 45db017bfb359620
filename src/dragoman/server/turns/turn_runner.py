"""Run one turn of a caller in a worker thread: its events, its quota, and the tokens that it spends."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING

from dragoman.agent.assistant import Kept, UserTurn
from dragoman.core.control import DEFAULT_CONTROL, TurnControl
from dragoman.core.errors import StoreError
from dragoman.core.trace import Note, Reply, Trace
from dragoman.core.values import Receipt, Sampling, Turn, Usage, Verdict
from dragoman.models.metering import metered
from dragoman.models.tool_calls import ToolCall
from dragoman.server.access.quota import ChatUsage
from dragoman.server.turns.events import Event, Text, Toll, TurnDone, again, decided, usage_of
from dragoman.server.turns.tool_reader import CALLED, CallerTools, ToolCallsRequested, with_tools

if TYPE_CHECKING:
    from dragoman.agent.assistant import Assistant
    from dragoman.server.access.caller import Caller
    from dragoman.server.access.ledger import UsageLedger
    from dragoman.server.hosted_agent import Hosted
    from dragoman.server.observe.hooks import Observer, Watch

_log = logging.getLogger("dragoman.server")
_TRACE_BYTES = 4000


@dataclass(frozen=True, slots=True)
class CallerTurn:
    """One user turn. `before` holds the earlier turns of a dialogue held elsewhere.

    `request` is the caller's id of the request: a repeated request gets the same answer and is not executed twice.
    `instructions` and `sampling` concern the wording of the reply, where a model writes it.
    `control` says whether to search, how memory is used, and whether anything is kept; a private turn is not replayed.
    `model` is a language model that the server allows instead of the agent's.
    `tools` are those of the calling program that the reading model may call.
    """

    text: str
    agent: str = ""
    dialogue: str = "main"
    before: tuple[Turn, ...] = ()
    request: str = ""
    instructions: str = ""
    sampling: Sampling | None = None
    control: TurnControl = DEFAULT_CONTROL
    model: str = ""
    tools: CallerTools | None = None

    @property
    def bytes(self) -> int:
        """About how many bytes the turn takes up when it is stored, with the turns before it."""
        return sum(len(text.encode("utf-8", "replace")) for text in (self.text, *(turn.text for turn in self.before)))


class TurnRunner:
    """Answers turns and accounts for them; `observers` (more may be added later) receive each outcome."""

    def __init__(self, ledger: UsageLedger | None, observers: Sequence[Observer], *, most_bytes: int | None) -> None:
        self._ledger = ledger
        self._observers = observers
        self._most_bytes = most_bytes
        self._usage = ChatUsage()

    def events(
        self,
        hosted: Hosted,
        caller: Caller,
        ask: CallerTurn,
        began: float,
        *,
        watches: Sequence[Watch] = (),
        after: Callable[[TurnDone], None] | None = None,
        place: Receipt | None = None,
        is_counted: bool = True,
    ) -> Generator[Event]:
        """The events of a turn, in a worker thread."""
        assistant = hosted.answering(caller.tenant, ask.model)
        done: TurnDone | None = None
        failure: BaseException | None = None
        toll = Toll(ask.text, ask.before)
        under = replace(place or Receipt(), request=ask.request) if ask.request or place else None
        user_turn = UserTurn(
            ask.text, caller.user, ask.dialogue, ask.before, under, ask.instructions, ask.sampling, ask.control
        )
        with metered() as meter:  # also for a turn that ends before its reply
            try:
                if ask.request and ask.control.keep and (answered := assistant.answered(user_turn)) is not None:
                    dialogue, kept = answered
                    usage, seconds = usage_of(kept.reply), perf_counter() - began
                    done = TurnDone(kept.reply, hosted.name, dialogue, kept.place, usage, seconds, replayed=True)
                    yield from again(done)
                    return
                scope, most = assistant.scope(caller.user), self._most_bytes
                self._usage.check(assistant.store, scope, ask.bytes, most if is_counted else None)
                for piece in _pieces(assistant, user_turn, ask.tools):
                    toll.take(piece)
                    if isinstance(piece, str):
                        yield Text(piece)
                    elif isinstance(piece, Note):
                        for watch in watches:
                            watch.noted(piece)
                        event = decided(piece)
                        if event is not None:
                            yield event
                    else:
                        seconds, usage = perf_counter() - began, usage_of(piece.reply)
                        calls = piece.calls if isinstance(piece, _Asking) else ()
                        done = TurnDone(
                            piece.reply, hosted.name, ask.dialogue, piece.place, usage, seconds, calls=calls
                        )
                        self._spend(caller, usage)
                        self._usage.add(scope, _trace_bytes(piece.reply) if ask.control.keep and not calls else 0)
                        if after is not None:
                            after(done)
                        yield done
            except BaseException as error:
                failure = error
                raise
            finally:
                self._spend_rest(caller, done, toll.usage + meter.usage.above(toll.usage))
                for observer in self._observers:
                    observer.turn_ended(hosted.name, done, failure, perf_counter() - began)
                for watch in watches:
                    watch.ended(done, failure)

    def _spend(self, caller: Caller, usage: Usage) -> None:
        """Count the tokens of a stored turn; a ledger that fails does not fail the turn."""
        if self._ledger is not None:
            try:
                self._ledger.spend(caller.key, usage.total_tokens, time.time())
            except StoreError as error:
                _log.warning("the tokens of a turn were not counted: %s", type(error).__name__)

    def _spend_rest(self, caller: Caller, done: TurnDone | None, usage: Usage) -> None:
        """Count the tokens of a cancelled turn: its client may have read most of the reply."""
        if done is None and usage.calls:
            self._spend(caller, usage)


@dataclass(frozen=True, slots=True)
class _Asking(Kept):
    """The end of a turn that asks for calls of tools; nothing of it is stored, and it has no place."""

    calls: tuple[ToolCall, ...] = ()


def _pieces(assistant: Assistant, turn: UserTurn, tools: CallerTools | None) -> Iterator[Note | str | Kept]:
    """The pieces of a turn; with `tools` it may end by asking for calls."""
    if tools is None:
        yield from assistant.exchange(turn)
        return
    notes: list[Note] = []
    began = perf_counter()
    try:
        for piece in with_tools(assistant, tools).exchange(turn):
            if isinstance(piece, Note):
                notes.append(piece)
            yield piece
    except ToolCallsRequested as requested:
        yield _Asking(_asking(requested, notes, perf_counter() - began), -1, requested.calls)


def _asking(requested: ToolCallsRequested, notes: Sequence[Note], seconds: float) -> Reply:
    task, draft = requested.task, requested.draft
    reading = max(seconds - sum(note.seconds for note in notes), 0.0)
    trace = Trace((*notes, Note("reader", CALLED, reading, draft)))
    verdicts = [note.value for note in notes if isinstance(note.value, Verdict)]
    verdict = verdicts[-1] if verdicts else Verdict(False, 0.0)
    return Reply("", verdict, task.plan, task.evidence, trace, draft.confidence)


def _trace_bytes(reply: Reply) -> int:
    """About how many bytes a reply takes up in the store: its trace repeats the evidence in the notes."""
    return len(reply.text) + 3 * sum(len(piece.passage.text) for piece in reply.evidence) + _TRACE_BYTES
