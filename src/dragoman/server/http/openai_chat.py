"""OpenAI's chat API on top of turns: finds the dialogue, and writes completions and chunks."""

from __future__ import annotations

import hashlib
import itertools
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from dragoman.core.control import DEFAULT_CONTROL
from dragoman.core.errors import InputError
from dragoman.core.values import Draft, Turn, Usage
from dragoman.server.access.caller import Caller
from dragoman.server.data.user_data import check_dialogue
from dragoman.server.http import views
from dragoman.server.http.caller_tools import call_views, caller_tools
from dragoman.server.http.chat_parameters import check_parameters, ignored, refused
from dragoman.server.http.problems import problem_of
from dragoman.server.http.reply_limits import ReplyLimits, count_tokens
from dragoman.server.http.schemas import ChatMessage, ChatRequest
from dragoman.server.http.streams import EVENTS
from dragoman.server.http.structured_reply import UnfilledError, check_format, fill
from dragoman.server.http.views import View, dumps
from dragoman.server.turns.dialogue_match import DialogueMatch
from dragoman.server.turns.events import Decided, Event, Text, TurnDone, TurnPreface
from dragoman.server.turns.turn_runner import CallerTurn

_TEXT_ALONE = "Send text; upload documents, and pictures where the server has a reader of them, to /v1/files."
_LONGEST_INSTRUCTIONS = 20_000
_WRITTEN = ("generated", "drafted")
"""Methods of drafts that a model wrote, and for which it read the instructions."""
_PROCESS = secrets.token_hex(6)
_COUNTED = itertools.count(16)
_NOBODY = ChatMessage(role="system")


@dataclass(frozen=True, slots=True)
class ReaderTraits:
    """Whether an agent's reader obeys system messages, and `temperature` and `seed`; why it cannot use tools."""

    follows_instructions: bool = False
    takes_sampling: bool = False
    why_no_tools: str = ""


NO_TRAITS = ReaderTraits()


def new_dialogue(request: str = "", *, origin: Literal["api", "mcp"] = "api") -> str:
    """A new, unique dialogue name that says where the dialogue comes from and when it began.

    With a request id the name is derived from it, so that a repeated request does not start a second dialogue.
    """
    if request:
        return f"r-{hashlib.blake2b(request.encode(), digest_size=12).hexdigest()}"
    return f"{origin}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{_unique()}"


def _unique() -> str:
    """A unique name from a process id and a counter, which is cheaper than random bytes."""
    return f"{_PROCESS}{next(_COUNTED):x}"


class ChatTurn:
    """One chat request: its turn, its dialogue, and the format of its answer."""

    media_type = EVENTS

    def __init__(
        self,
        request: ChatRequest,
        caller: Caller,
        once: str = "",
        *,
        reader: ReaderTraits = NO_TRAITS,
        dialogue: str = "",
        continues: bool = True,
    ) -> None:
        """Without the name of a `dialogue`, one that the messages repeat continues, unless `continues` is false."""
        check_parameters(request)
        self._continues = continues
        self.place = 1  # of the reply, where the dialogue has no name
        self._reader = reader
        self.ignored = ignored(request, samples=reader.takes_sampling)
        self._schema = check_format(request.response_format)
        self._new_limits = partial(ReplyLimits, max_tokens=request.most_tokens, stop=request.stops)
        self._limits = self._new_limits()
        self._ends: DialogueMatch | None = None
        self._once = once
        self._whose = (request.model, caller.tenant, caller.user)
        target = dialogue or (request.dragoman.dialogue if request.dragoman else None)
        self._is_named = target is not None
        tools = caller_tools(request, _text, why_not=reader.why_no_tools, is_whole=not self._is_named)
        *earlier, last = [message for message in request.messages if _is_turn(message)] or [_NOBODY]
        if last.role != "user":
            raise InputError("The last message must be from the user.", remedy="End `messages` with role 'user'.")
        self._before = tuple(Turn("user" if each.role == "user" else "agent", _text(each)) for each in earlier)
        self._text = _text(last)
        self.model = request.model
        control = request.dragoman.control if request.dragoman else DEFAULT_CONTROL
        if (request.model_extra or {}).get("store") is False:
            control = replace(control, keep=False)
        self._claimed: str | None = None
        if target is not None:
            check_dialogue(target)
        instructions = _instructions(request)
        self._instructed = bool(instructions)
        self._sampling = request.sampling if reader.takes_sampling else None
        self.ask = CallerTurn(
            self._text,
            request.model,
            target or "",
            request=once,
            instructions=instructions,
            control=control,
            model=request.dragoman.model if request.dragoman else "",
            sampling=self._sampling,
            tools=tools,
        )
        self._usage = bool(request.stream_options and request.stream_options.include_usage)
        self._prompt_tokens = count_tokens(_text(message) for message in request.messages)
        self._id = f"chatcmpl-{_unique()}"
        self._created = int(time.time())
        self._gathered = TurnPreface()
        self._greeted = self._opened = False
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
            continues = self._continues and self.ask.control.keep
            self._claimed = claimed = ends.claim(self._whose, self._before) if continues else None
            before = () if claimed else tuple(turn for turn in self._before if turn.text.strip())
            self.place = len(self._before if claimed else before) + 1
            self.ask = replace(self.ask, dialogue=claimed or new_dialogue(self._once), before=before)

    def ended(self, done: TurnDone) -> None:
        """Record the new end of the dialogue for the next request; called in the thread that ran the turn."""
        if done.calls:
            self.restore()  # the client sends the question again, with the results
        elif not self._is_named and self._ends is not None and not done.replayed and self.ask.control.keep:
            turns = (*self._before, Turn("user", self._text), Turn("agent", self.delivered(done)))
            self._ends.note(self._whose, turns, done.dialogue)
            self._claimed = None

    def restore(self) -> None:
        """Restore the end of the dialogue after a failed turn, so that a retry continues it."""
        if self._claimed is not None and self._ends is not None:
            claimed, self._claimed = self._claimed, None
            self._ends.note(self._whose, self._before, claimed)

    def whole(self, done: TurnDone) -> View:
        """The completion object of a finished turn."""
        text, refusal = self.content(done)
        return {
            "id": self._id,
            "object": "chat.completion",
            "created": self._created,
            "model": self.model,
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text, "refusal": refusal, **_called(done)},
                    "logprobs": None,
                    "finish_reason": self.finish(done),
                }
            ],
            "usage": self.usage(done, text or refusal or ""),
            "dragoman": self.extension(done),
        }

    def pieces(self, event: Event) -> Iterator[bytes]:
        """The chunks that an event adds to the stream. The first one names the role, before anything is decided."""
        if not self._greeted:
            self._greeted = True
            yield self._chunk({"role": "assistant", "content": ""}, finish=None)
        match event:
            case Decided():
                self._gathered.take(event)
            case Text(text):
                yield from self._open()
                if piece := self.feed(text):
                    yield self._piece(piece)
            case TurnDone():
                yield from self._open()
                yield from self._rest(event)
                yield self._chunk({}, finish=self.finish(event), dragoman=self._second_half(event))
                if self._usage:
                    usage = self.usage(event, self.delivered(event))
                    yield self._line({"choices": [], "usage": usage})
                yield b"data: [DONE]\n\n"

    def failed(self, error: BaseException) -> bytes:
        """The error chunk, which OpenAI's clients raise."""
        return b"data: " + dumps({"error": problem_of(error).view(openai=True)["error"]}) + b"\n\n"

    def usage(self, done: TurnDone, text: str) -> View:
        """Tokens of the reply: those that its models counted, or, where none was called, those of the texts."""
        if done.usage.calls:
            return views.usage(done.usage)
        return views.usage(Usage(self._prompt_tokens, count_tokens([text])))

    def _rest(self, done: TurnDone) -> Iterator[bytes]:
        """Return the text that was held back: the end of a limited text, or a whole structured reply."""
        if done.calls:
            calls = [{"index": index, **call} for index, call in enumerate(call_views(done.calls))]
            yield self._chunk({"tool_calls": calls}, finish=None)
        elif refusal := self.content(done)[1]:
            yield self._chunk({"refusal": refusal}, finish=None)
        elif piece := self.close(done):
            yield self._piece(piece)

    def feed(self, text: str) -> str:
        """Return the part of a new piece of text that may be sent now; a structured reply is sent at the end."""
        if self._schema is not None:
            return ""
        return self._limits.feed(text) if self._limits.is_set else text

    def close(self, done: TurnDone) -> str:
        """The text that was held back until the end."""
        if done.calls:
            return ""
        if self._schema is not None:
            return self.content(done)[0] or ""
        return self._limits.close() if self._limits.is_set else ""

    def extension(self, done: TurnDone) -> View:
        """Both halves of the explanation."""
        return {**self._first_half(TurnPreface.of(done.reply), done.dialogue), **self._second_half(done)}

    def content(self, done: TurnDone) -> tuple[str | None, str | None]:
        """The text of the reply, or the reason why its schema cannot be filled; neither where it calls tools."""
        if done.calls:
            return None, None
        if self._schema is not None:
            try:
                return fill(self._schema, done.reply), None
            except UnfilledError as unfilled:
                return None, str(unfilled)
        # Limits of its own: this is called in the thread of the turn too, while the stream still feeds the others.
        return self._new_limits().cut(done.reply.text) if self._limits.is_set else done.reply.text, None

    def delivered(self, done: TurnDone) -> str:
        """The text that the client has, and will repeat in its next request."""
        text, refusal = self.content(done)
        return text or refusal or ""

    def finish(self, done: TurnDone) -> str:
        """Why the reply ends: `stop`, `length` where it was cut, or `tool_calls`."""
        if done.calls:
            return "tool_calls"
        if self._schema is None and self._limits.is_set:
            limits = self._new_limits()
            limits.cut(done.reply.text)
            if limits.reason is not None:
                return limits.reason
        drafts = [note.value for note in done.reply.trace if isinstance(note.value, Draft)]
        return "length" if drafts and drafts[-1].notes.get("finish") == "length" else "stop"

    def _second_half(self, done: TurnDone) -> View:
        after = views.after(done)
        is_written = after["method"] in _WRITTEN
        if self._instructed:
            after["instructions"] = "used" if is_written and self._reader.follows_instructions else "unused"
        if self._sampling is not None:
            after["sampling"] = "used" if is_written else "unused"
        return after

    def _first_half(self, gathered: TurnPreface, dialogue: str) -> View:
        return {**views.before(gathered, dialogue=dialogue), "ignored": self.ignored}

    def _open(self) -> Iterator[bytes]:
        if not self._opened:
            self._opened = True
            yield self._chunk({}, finish=None, dragoman=self._first_half(self._gathered, self.ask.dialogue))

    def _piece(self, text: str) -> bytes:
        # The chunks of a text differ only in this field, so serialise the rest once.
        usage = b',"usage":null' if self._usage else b""
        delta = b',"choices":[{"index":0,"delta":{"content":' + dumps(text)
        return b"data: " + self._head + delta + b'},"logprobs":null,"finish_reason":null}]' + usage + b"}\n\n"

    def _chunk(self, delta: View, *, finish: str | None, dragoman: View | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        more: View = {"usage": None} if self._usage else {}
        if dragoman is not None:
            more["dragoman"] = dragoman
        return self._line({"choices": [choice], **more})

    def _line(self, members: View) -> bytes:
        return b"data: " + self._head + b"," + dumps(members)[1:] + b"\n\n"


def _is_turn(message: ChatMessage) -> bool:
    """Whether a message is a turn of the dialogue; calls of tools and their results are not."""
    return message.role == "user" or (message.role == "assistant" and not message.tool_calls)


def _called(done: TurnDone) -> View:
    return {"tool_calls": call_views(done.calls)} if done.calls else {}


def _text(message: ChatMessage) -> str:
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    for part in message.content:
        if part.text is None:
            raise refused("messages", "A message has a part that is not text.", remedy=_TEXT_ALONE)
    return "".join(part.text or "" for part in message.content)


def _instructions(request: ChatRequest) -> str:
    """The system and developer messages: instructions for the wording, which change neither sources nor identity."""
    parts = [_text(message) for message in request.messages if message.role in ("system", "developer")]
    text = "\n".join(part.strip() for part in parts if part.strip())
    if len(text) > _LONGEST_INSTRUCTIONS:
        raise InputError(
            f"The system messages have {len(text):,} characters.", remedy=f"Send at most {_LONGEST_INSTRUCTIONS:,}."
        )
    return text
