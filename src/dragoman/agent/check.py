"""Written conversations with what must be true of each reply, read from TOML and tried on an assistant."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dragoman.agent.assistant import Assistant
from dragoman.agent.build import assemble, locate, models_of
from dragoman.agent.declared import read_declared
from dragoman.config import DEFAULT_KINDS, Overrides, load_config
from dragoman.core.errors import DragomanError, InputError, UnknownNameError
from dragoman.core.registry import REGISTRIES
from dragoman.core.trace import Reply
from dragoman.core.values import SourceName

if TYPE_CHECKING:
    from dragoman.sources.ingest import IngestProgress

_ON_A_SERVER = "store.postgres.v1"


@dataclass(frozen=True, slots=True)
class Expectation:
    """One turn to say and what must be true of its reply; each entry of `must` is a choice of strings."""

    say: str
    user: str
    gate: bool | None = None
    sources: tuple[SourceName, ...] | None = None
    must: tuple[tuple[str, ...], ...] = ()
    must_not: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """A written conversation; `kind` groups it in the summary."""

    name: str
    kind: str
    turns: tuple[Expectation, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a conversation went: what was wrong, turn by turn, and what was answered."""

    name: str
    kind: str
    wrong: tuple[str, ...]
    replies: tuple[str, ...]
    seconds: float

    @property
    def passed(self) -> bool:
        return not self.wrong


class Answers(Protocol):
    """The part of an assistant that a conversation needs."""

    def ask(self, text: str, *, user: str, dialogue: str) -> Reply: ...


class _Turn(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    say: str = Field(min_length=1)
    user: str | None = None
    gate: bool | None = None
    sources: list[str] | None = None
    must: list[str | list[str]] = []
    must_not: list[str] = []


class _Conversation(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    name: str = Field(min_length=1)
    kind: str = "other"
    user: str = "guest"
    turns: list[_Turn] = Field(min_length=1)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    conversation: list[_Conversation] = Field(min_length=1)


def read_conversations(path: Path) -> tuple[Conversation, ...]:
    """The conversations of a TOML file; an entry that is wrong is named with its line."""
    try:
        text = path.read_bytes().decode("utf-8")
        parsed = _File.model_validate(tomllib.loads(text))
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.", remedy="Name another file with --file.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text.", remedy="Save it as UTF-8.") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not valid TOML: {error}.", remedy="Mend that line.") from error
    except RecursionError as error:
        raise InputError(f"{path} nests too deeply.", remedy="Write flatter values.") from error
    except ValidationError as error:
        raise InputError(f"{path}: {_first(error, text)}", remedy="Mend that entry.") from error
    conversations = tuple(_conversation(entry) for entry in parsed.conversation)
    twice = [name for name, count in Counter(one.name for one in conversations).items() if count > 1]
    if twice:
        raise InputError(f"{path}: two conversations are named '{twice[0]}'.", remedy="Give each its own name.")
    return conversations


def _first(error: ValidationError, text: str) -> str:
    """The first thing that is wrong, in the words of the file: which conversation, line, turn and field."""
    wrong = error.errors()[0]
    where, message = list(wrong["loc"]), wrong["msg"].removeprefix("Value error, ")
    if wrong["type"] == "extra_forbidden":
        message = "is not a known field"
    if len(where) < 2 or not isinstance(where[1], int):
        return f"'{where[0]}': {message}. A file of conversations begins with [[conversation]]."
    lines = [n for n, line in enumerate(text.splitlines(), start=1) if re.match(r"\s*\[\[\s*conversation\s*\]\]", line)]
    at = f" (line {lines[where[1]]})" if where[1] < len(lines) else ""
    turn = f", turn {where[3] + 1}" if len(where) > 3 and isinstance(where[3], int) else ""
    field = next((part for part in where[4 if turn else 2 :] if isinstance(part, str)), "")
    return f"conversation {where[1] + 1}{at}{turn}: '{field}' {message[0].lower()}{message[1:]}."


def _conversation(entry: _Conversation) -> Conversation:
    turns = tuple(
        Expectation(
            say=turn.say,
            user=turn.user or entry.user,
            gate=turn.gate,
            sources=None if turn.sources is None else tuple(turn.sources),
            must=tuple((choice,) if isinstance(choice, str) else tuple(choice) for choice in turn.must),
            must_not=tuple(turn.must_not),
        )
        for turn in entry.turns
    )
    return Conversation(entry.name, entry.kind, turns)


def require_sources(conversations: Iterable[Conversation], known: Iterable[SourceName]) -> None:
    """Refuse a conversation that expects a source which the agent does not declare."""
    names = tuple(known)
    for conversation in conversations:
        for name in (name for turn in conversation.turns for name in turn.sources or ()):
            if name not in names:
                raise UnknownNameError(f"source in conversation '{conversation.name}'", name, names)


def check(
    fresh: Callable[[], AbstractContextManager[Answers]], conversations: Iterable[Conversation]
) -> Iterator[Outcome]:
    """Hold every conversation, each with a fresh assistant, and say as soon as it is over how it went."""
    for conversation in conversations:
        with fresh() as assistant:
            yield _hold(assistant, conversation)


def _hold(assistant: Answers, conversation: Conversation) -> Outcome:
    wrong: list[str] = []
    replies: list[str] = []
    began = perf_counter()
    for number, turn in enumerate(conversation.turns, start=1):
        try:
            reply = assistant.ask(turn.say, user=turn.user, dialogue=conversation.name)
        except DragomanError as error:
            wrong.append(f"turn {number}: {error.message}")
            break
        replies.append(reply.text)
        wrong += [f"turn {number}: {words}" for words in judge(turn, reply)]
    return Outcome(conversation.name, conversation.kind, tuple(wrong), tuple(replies), perf_counter() - began)


def judge(turn: Expectation, reply: Reply) -> list[str]:
    """What is wrong with a reply; nothing where it is as expected."""
    wrong = []
    if turn.gate is not None and reply.verdict.retrieve is not turn.gate:
        wrong.append("looked something up" if reply.verdict.retrieve else "looked nothing up")
    if turn.sources is not None and set(reply.plan.sources) != set(turn.sources):
        asked, expected = (" > ".join(names) or "no source" for names in (reply.plan.sources, turn.sources))
        wrong.append(f"asked {asked}, not {expected}")
    said = _plain(reply.text)
    for choices in turn.must:
        if not any(_says(said, choice) for choice in choices):
            wrong.append(f"lacks {' or '.join(repr(choice) for choice in choices)}")
    wrong += [f"says {words!r}" for words in turn.must_not if _says(said, words)]
    return wrong


def _plain(text: str) -> str:
    """Case, spacing and curly apostrophes make no difference."""
    return " ".join(text.replace("’", "'").replace("‘", "'").casefold().split())


def _says(said: str, words: str) -> bool:
    """Whether the words occur; a number only as a whole number, so that 34 is not found in 134."""
    wanted = re.escape(_plain(words))
    before = r"(?<![0-9])" if words[:1].isdigit() else ""
    after = r"(?![0-9])" if words[-1:].isdigit() else ""
    return re.search(f"{before}{wanted}{after}", said) is not None


@contextmanager
def fresh_assistants(
    agent: str | Path, *, overrides: Overrides = (), progress: IngestProgress | None = None
) -> Iterator[tuple[Callable[[], AbstractContextManager[Assistant]], tuple[SourceName, ...]]]:
    """A maker of assistants that know an agent's files and nothing else, and the agent's sources.

    Files are read once, and every assistant starts from a copy of that state; all of them share the models. Where the
    agent's store is on a server, a file takes its place: what is tried must not stay there.
    """
    file, _ = locate(agent)
    config = load_config(file, overrides)
    if REGISTRIES["store"].resolve(str(config.store["kind"])) == _ON_A_SERVER:
        config = config.model_copy(update={"store": {"kind": DEFAULT_KINDS["store"]}})
    models = models_of(config, folder=file.parent, file=str(file))
    with TemporaryDirectory(prefix="dragoman-check-") as folder, ExitStack() as cleanup:
        for model in models:
            cleanup.callback(getattr(model, "close", _nothing))
        template = Path(folder) / "template"
        with assemble(config, folder=file.parent, state=template, file=str(file), models=models) as reading:
            read_declared(config, file.parent, reading, progress=progress)

        @contextmanager
        def fresh() -> Iterator[Assistant]:
            with TemporaryDirectory(dir=folder) as copy:
                state = Path(copy) / "state"
                copytree(template, state)
                with assemble(config, folder=file.parent, state=state, file=str(file), models=models) as assistant:
                    yield assistant

        yield fresh, tuple(source.name for source in config.sources)


def _nothing() -> None:
    """What closing does for a model that has nothing to close."""
