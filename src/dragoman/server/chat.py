"""OpenAI's chat API in terms of turns: which dialogue messages continue, and a turn as a completion or as chunks."""

from __future__ import annotations

import hashlib
import itertools
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence

from dragoman.core.errors import InputError
from dragoman.core.values import Draft, Turn
from dragoman.server import views
from dragoman.server.caller import Caller
from dragoman.server.events import Decided, Done, Event, Gathered, Text
from dragoman.server.house import Ask
from dragoman.server.person import check_dialogue
from dragoman.server.schemas import ChatMessage, ChatRequest
from dragoman.server.views import View, dumps

_KNOWN = frozenset(ChatRequest.model_fields)
_HARMLESS = frozenset({"user", "metadata", "store", "service_tier"})
_REMEMBERED = 20_000
_PROCESS = secrets.token_hex(6)
_COUNTED = itertools.count(16)
_NOBODY = ChatMessage(role="system")


def new_dialogue() -> str:
    """A name for a dialogue that begins now: sortable by time, and never one of before."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{_unique()}"


def _unique() -> str:
    """A name that nothing else has: of this process, and counted; asking the machine for chance would cost more."""
    return f"{_PROCESS}{next(_COUNTED):x}"


class Continuations:
    """Which dialogue ends with some messages, by their digest: a client that repeats the history goes on where it was.

    Once a dialogue has gone on, its earlier end is forgotten: an answer asked for again begins a dialogue of its own.
    """

    def __init__(self, most: int = _REMEMBERED) -> None:
        self._ends: OrderedDict[bytes, str] = OrderedDict()
        self._most = most

    def claim(self, whose: Sequence[str], turns: Sequence[Turn]) -> str | None:
        """The dialogue that these turns are the whole of; nobody else can claim it until it ends anew."""
        return self._ends.pop(_digest(whose, turns), None) if turns else None

    def note(self, whose: Sequence[str], turns: Sequence[Turn], dialogue: str) -> None:
        """Remember how a dialogue ends now."""
        self._ends[_digest(whose, turns)] = dialogue
        if len(self._ends) > self._most:
            self._ends.popitem(last=False)

    def drop(self, dialogue: str) -> None:
        """Forget how a dialogue ends: it is no more, and whoever repeats its history begins anew with it."""
        for digest in [digest for digest, name in self._ends.items() if name == dialogue]:
            del self._ends[digest]


def _digest(whose: Sequence[str], turns: Sequence[Turn]) -> bytes:
    told = [[turn.speaker, turn.text.strip()] for turn in turns]
    return hashlib.blake2b(json.dumps([list(whose), told]).encode(), digest_size=16).digest()


class Conversation:
    """One chat request: what is asked, in which dialogue, and how its answer is written."""

    def __init__(self, request: ChatRequest, caller: Caller, ends: Continuations) -> None:
        self.ignored = _ignored(request)
        self._ends = ends
        self._whose = (request.model, caller.tenant, caller.user)
        *earlier, last = [message for message in request.messages if message.role in ("user", "assistant")] or [_NOBODY]
        if last.role != "user":
            raise InputError("The last message is not the user's.", remedy="End `messages` with role 'user'.")
        self._before = tuple(Turn("user" if each.role == "user" else "agent", _text(each)) for each in earlier)
        self._text = _text(last)
        self.model = request.model
        named = request.dragoman.dialogue if request.dragoman else None
        self._is_named = named is not None
        self._claimed: str | None = None
        if named is not None:
            check_dialogue(named)
            self.ask = Ask(self._text, request.model, named)
        else:
            self._claimed = known = ends.claim(self._whose, self._before)
            before = () if known else tuple(turn for turn in self._before if turn.text.strip())
            self.ask = Ask(self._text, request.model, known or new_dialogue(), before)
        self._usage = bool(request.stream_options and request.stream_options.include_usage)
        self._id = f"chatcmpl-{_unique()}"
        self._created = int(time.time())
        self._gathered = Gathered()
        self._opened = False
        head = {"id": self._id, "object": "chat.completion.chunk", "created": self._created, "model": self.model}
        self._head = dumps(head)[:-1]

    def ended(self, done: Done) -> None:
        """Let the next request find the dialogue by what it now ends with."""
        if not self._is_named:
            turns = (*self._before, Turn("user", self._text), Turn("agent", done.reply.text))
            self._ends.note(self._whose, turns, done.dialogue)
            self._claimed = None

    def failed(self) -> None:
        """Nothing was added to the dialogue: who asks again, as clients do by themselves, goes on where it was."""
        if self._claimed is not None:
            self._ends.note(self._whose, self._before, self._claimed)
            self._claimed = None

    def completion(self, done: Done) -> View:
        """The whole answer."""
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
            "dragoman": {**self._first_half(Gathered.of(done.reply)), **views.after(done)},
        }

    def chunks(self, event: Event) -> Iterator[bytes]:
        """What an event adds to the stream."""
        match event:
            case Decided():
                self._gathered.take(event)
            case Text(text):
                yield from self._open()
                yield self._piece(text)
            case Done():
                yield from self._open()
                yield self._chunk({}, finish=_finish(event), dragoman=views.after(event))
                if self._usage:
                    yield self._line({"choices": [], "usage": views.usage(event.usage)})
                yield b"data: [DONE]\n\n"

    def _first_half(self, gathered: Gathered) -> View:
        return {**views.before(gathered, dialogue=self.ask.dialogue), "ignored": self.ignored}

    def _open(self) -> Iterator[bytes]:
        if not self._opened:
            self._opened = True
            delta = {"role": "assistant", "content": ""}
            yield self._chunk(delta, finish=None, dragoman=self._first_half(self._gathered))

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
    """What was given and does not change an agent's answer."""
    given = {name for name, value in (request.model_extra or {}).items() if value not in (None, [], {})} - _HARMLESS
    given -= _KNOWN
    given |= {"messages.system" for message in request.messages if message.role in ("system", "developer")}
    given |= {"messages.tool" for message in request.messages if message.role in ("tool", "function")}
    return sorted(given)[:50]


def _finish(done: Done) -> str:
    drafts = [note.value for note in done.reply.trace if isinstance(note.value, Draft)]
    return "length" if drafts and drafts[-1].notes.get("finish") == "length" else "stop"
