"""OpenAI's chat API on top of turns: finds the dialogue, and writes completions and chunks."""

from __future__ import annotations

import hashlib
import itertools
import secrets
import time
from collections.abc import Iterator
from dataclasses import replace

from dragoman.core.errors import InputError
from dragoman.core.values import Draft, Turn
from dragoman.server.access.caller import Caller
from dragoman.server.data.user_data import check_dialogue
from dragoman.server.http import views
from dragoman.server.http.schemas import ChatMessage, ChatRequest
from dragoman.server.http.views import View, dumps
from dragoman.server.service import CallerTurn
from dragoman.server.turns.dialogue_match import DialogueMatch
from dragoman.server.turns.events import Decided, Event, Text, TurnDone, TurnPreface

_KNOWN = frozenset(ChatRequest.model_fields)
_HARMLESS = frozenset({"user", "metadata", "store", "service_tier"})
_PROCESS = secrets.token_hex(6)
_COUNTED = itertools.count(16)
_NOBODY = ChatMessage(role="system")


def new_dialogue(request: str = "") -> str:
    """A new, unique dialogue name that sorts by time.

    With a request id the name is derived from it, so that a repeated request does not start a second dialogue.
    """
    if request:
        return f"r-{hashlib.blake2b(request.encode(), digest_size=12).hexdigest()}"
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{_unique()}"


def _unique() -> str:
    """A unique name from a process id and a counter, which is cheaper than random bytes."""
    return f"{_PROCESS}{next(_COUNTED):x}"


class ChatTurn:
    """One chat request: its turn, its dialogue, and the format of its answer."""

    def __init__(self, request: ChatRequest, caller: Caller, once: str = "") -> None:
        self.ignored = _ignored(request)
        self._ends: DialogueMatch | None = None
        self._once = once
        self._whose = (request.model, caller.tenant, caller.user)
        *earlier, last = [message for message in request.messages if message.role in ("user", "assistant")] or [_NOBODY]
        if last.role != "user":
            raise InputError("The last message must be from the user.", remedy="End `messages` with role 'user'.")
        self._before = tuple(Turn("user" if each.role == "user" else "agent", _text(each)) for each in earlier)
        self._text = _text(last)
        self.model = request.model
        named = request.dragoman.dialogue if request.dragoman else None
        self._is_named = named is not None
        self._claimed: str | None = None
        if named is not None:
            check_dialogue(named)
        self.ask = CallerTurn(self._text, request.model, named or "", request=once)
        self._usage = bool(request.stream_options and request.stream_options.include_usage)
        self._id = f"chatcmpl-{_unique()}"
        self._created = int(time.time())
        self._gathered = TurnPreface()
        self._opened = False
        head = {"id": self._id, "object": "chat.completion.chunk", "created": self._created, "model": self.model}
        self._head = dumps(head)[:-1]

    @property
    def repeats(self) -> bool:
        """Whether the messages may repeat a dialogue of this server."""
        return not self._is_named and bool(self._before)

    def find(self, ends: DialogueMatch) -> None:
        """Continue the dialogue that the messages repeat, or start one with them."""
        self._ends = ends
        if not self._is_named:
            self._claimed = known = ends.claim(self._whose, self._before)
            before = () if known else tuple(turn for turn in self._before if turn.text.strip())
            self.ask = replace(self.ask, dialogue=known or new_dialogue(self._once), before=before)

    def ended(self, done: TurnDone) -> None:
        """Record the new end of the dialogue for the next request; called in the thread that ran the turn."""
        if not self._is_named and self._ends is not None and not done.replayed:
            turns = (*self._before, Turn("user", self._text), Turn("agent", done.reply.text))
            self._ends.note(self._whose, turns, done.dialogue)
            self._claimed = None

    def failed(self) -> None:
        """Restore the end of the dialogue after a failed turn, so that a retry continues it."""
        if self._claimed is not None and self._ends is not None:
            claimed, self._claimed = self._claimed, None
            self._ends.note(self._whose, self._before, claimed)

    def completion(self, done: TurnDone) -> View:
        """The completion object of a finished turn."""
        return {
            "id": self._id,
            "object": "chat.completion",
            "created": self._created,
            "model": self.model,
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": done.reply.text},
                    "logprobs": None,
                    "finish_reason": _finish(done),
                }
            ],
            "usage": views.usage(done.usage),
            "dragoman": {**self._first_half(TurnPreface.of(done.reply), done.dialogue), **views.after(done)},
        }

    def chunks(self, event: Event) -> Iterator[bytes]:
        """The chunks that an event adds to the stream."""
        match event:
            case Decided():
                self._gathered.take(event)
            case Text(text):
                yield from self._open()
                yield self._piece(text)
            case TurnDone():
                yield from self._open()
                yield self._chunk({}, finish=_finish(event), dragoman=views.after(event))
                if self._usage:
                    yield self._line({"choices": [], "usage": views.usage(event.usage)})
                yield b"data: [DONE]\n\n"

    def _first_half(self, gathered: TurnPreface, dialogue: str) -> View:
        return {**views.before(gathered, dialogue=dialogue), "ignored": self.ignored}

    def _open(self) -> Iterator[bytes]:
        if not self._opened:
            self._opened = True
            delta = {"role": "assistant", "content": ""}
            yield self._chunk(delta, finish=None, dragoman=self._first_half(self._gathered, self.ask.dialogue))

    def _piece(self, text: str) -> bytes:
        # The many chunks of a text differ in this alone, so the rest is written once.
        usage = b',"usage":null' if self._usage else b""
        delta = b',"choices":[{"index":0,"delta":{"content":' + dumps(text)
        return b"data: " + self._head + delta + b'},"logprobs":null,"finish_reason":null}]' + usage + b"}\n\n"

    def _chunk(self, delta: View, *, finish: str | None, dragoman: View) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        more: View = {"usage": None} if self._usage else {}
        return self._line({"choices": [choice], **more, "dragoman": dragoman})

    def _line(self, members: View) -> bytes:
        return b"data: " + self._head + b"," + dumps(members)[1:] + b"\n\n"


def _text(message: ChatMessage) -> str:
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    for part in message.content:
        if part.text is None:
            raise InputError("A message has a part that is not text.", remedy="Send text parts only.")
    return "".join(part.text or "" for part in message.content)


def _ignored(request: ChatRequest) -> list[str]:
    """Names of request fields that have no effect on an agent."""
    given = {name for name, value in (request.model_extra or {}).items() if value not in (None, [], {})} - _HARMLESS
    given -= _KNOWN
    given |= {"messages.system" for message in request.messages if message.role in ("system", "developer")}
    given |= {"messages.tool" for message in request.messages if message.role in ("tool", "function")}
    return sorted(given)[:50]


def _finish(done: TurnDone) -> str:
    drafts = [note.value for note in done.reply.trace if isinstance(note.value, Draft)]
    return "length" if drafts and drafts[-1].notes.get("finish") == "length" else "stop"
