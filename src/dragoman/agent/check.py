"""Written test conversations: read them from TOML, run them on an assistant and check each reply."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from shutil import copytree
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dragoman.agent.answers import ExpectedAnswer, answer_problem
from dragoman.agent.assistant import Assistant
from dragoman.agent.build import assemble, locate, models_of
from dragoman.agent.declared import read_declared
from dragoman.config import DEFAULT_KINDS, Overrides, load_config
from dragoman.core.errors import DragomanError, InputError, UnknownNameError
from dragoman.core.registry import REGISTRIES
from dragoman.core.trace import Reply, model_failures
from dragoman.core.values import Learned, Passage, SourceName
from dragoman.text.claims import unsupported

if TYPE_CHECKING:
    from dragoman.sources.ingest import IngestProgress

_ON_A_SERVER = "store.postgres.v1"


@dataclass(frozen=True, slots=True)
class Expectation:
    """A user turn and the requirements on its reply.

    Each entry of `must` is a choice of strings, and each entry of `evidence` a choice of files. Strings of `instead_of`
    may stand in the reply only after one that it must contain: "30 instead of 48". `dialogue` names the dialogue in
    which the turn is said; by default all turns of a conversation are one dialogue.
    """

    say: str
    user: str
    gate: bool | None = None
    sources: tuple[SourceName, ...] | None = None
    must: tuple[tuple[str, ...], ...] = ()
    must_not: tuple[str, ...] = ()
    instead_of: tuple[str, ...] = ()
    answer: ExpectedAnswer | None = None
    evidence: tuple[tuple[str, ...], ...] = ()
    dialogue: str | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """A written conversation; `kind` groups it in the summary, and `facts` are in memory before it begins."""

    name: str
    kind: str
    turns: tuple[Expectation, ...]
    facts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConversationResult:
    """Result of a conversation: the faults by turn, and the replies.

    `unsupported` lists, for each reply, its numbers and names that are in no text that the reply could rest on.
    """

    name: str
    kind: str
    wrong: tuple[str, ...]
    replies: tuple[str, ...]
    seconds: float
    unsupported: tuple[tuple[str, ...], ...] = ()
    tokens: int = 0
    """Tokens of the language model's drafts, thoughts included."""
    model_failures: tuple[str, ...] = ()
    """Why the model failed, for each reply that was composed without it."""

    @property
    def passed(self) -> bool:
        return not self.wrong


class Answers(Protocol):
    """The methods of an assistant that a conversation needs."""

    def ask(self, text: str, *, user: str, dialogue: str) -> Reply: ...

    def remember(self, text: str, *, user: str) -> Learned: ...

    def recall(self, query: str | None = None, *, user: str) -> tuple[Passage, ...]: ...


class _TurnTable(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    say: str = Field(min_length=1)
    user: str | None = None
    gate: bool | None = None
    sources: list[str] | None = None
    must: list[str | list[str]] = []
    must_not: list[str] = []
    instead_of: list[str] = []
    answer: ExpectedAnswer | None = None
    evidence: list[str | list[str]] = []
    dialogue: str | None = None


class _ConversationTable(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    name: str = Field(min_length=1)
    kind: str = "other"
    user: str = "guest"
    facts: list[str] = []
    turns: list[_TurnTable] = Field(min_length=1)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    conversation: list[_ConversationTable] = Field(min_length=1)


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
    """Describe the first error in the file's terms: conversation, line, turn and field."""
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


def _conversation(entry: _ConversationTable) -> Conversation:
    turns = tuple(
        Expectation(
            say=turn.say,
            user=turn.user or entry.user,
            gate=turn.gate,
            sources=None if turn.sources is None else tuple(turn.sources),
            must=_choices(turn.must),
            must_not=tuple(turn.must_not),
            instead_of=tuple(turn.instead_of),
            answer=turn.answer,
            evidence=_choices(turn.evidence),
            dialogue=turn.dialogue,
        )
        for turn in entry.turns
    )
    return Conversation(entry.name, entry.kind, turns, tuple(entry.facts))


def _choices(entries: Iterable[str | list[str]]) -> tuple[tuple[str, ...], ...]:
    return tuple((entry,) if isinstance(entry, str) else tuple(entry) for entry in entries)


def require_sources(conversations: Iterable[Conversation], sources: Iterable[SourceName]) -> None:
    """Refuse a conversation that expects a source which the agent does not declare."""
    names = tuple(sources)
    for conversation in conversations:
        for name in (name for turn in conversation.turns for name in turn.sources or ()):
            if name not in names:
                raise UnknownNameError(f"source in conversation '{conversation.name}'", name, names)


def check(
    fresh: Callable[[], AbstractContextManager[Answers]],
    conversations: Iterable[Conversation],
    *,
    texts: Sequence[str] = (),
) -> Iterator[ConversationResult]:
    """Run every conversation with a fresh assistant and yield each result as soon as it is known.

    `texts` are the agent's files (see `shared_texts`): a number or name in a reply is supported by them, by the
    evidence, by the user's facts and by the user's own turns.
    """
    for conversation in conversations:
        with fresh() as assistant:
            yield _hold(assistant, conversation, texts)


def _hold(assistant: Answers, conversation: Conversation, texts: Sequence[str]) -> ConversationResult:
    wrong: list[str] = []
    replies: list[str] = []
    strange: list[tuple[str, ...]] = []
    tokens = 0
    failures: list[str] = []
    spoken: dict[str, list[str]] = {}
    began = perf_counter()
    for fact in conversation.facts:
        assistant.remember(fact, user=conversation.turns[0].user)
    for number, turn in enumerate(conversation.turns, start=1):
        dialogue = conversation.name if turn.dialogue is None else f"{conversation.name}, {turn.dialogue}"
        try:
            reply = assistant.ask(turn.say, user=turn.user, dialogue=dialogue)
        except DragomanError as error:
            wrong.append(f"turn {number}: {error.message}")
            break
        replies.append(reply.text)
        tokens += reply.trace.usage.total_tokens
        failures += model_failures(reply.trace)[:1]
        spoken.setdefault(turn.user, []).append(turn.say)
        supports = [*texts, *spoken[turn.user], *(evidence.passage.indexed for evidence in reply.evidence)]
        learned = [note.value for note in reply.trace if isinstance(note.value, Learned)]
        supports += [fact.text for each in learned for fact in (*each.superseded, *each.forgotten)]
        strange.append(_unsupported(reply.text, supports, assistant, turn.user))
        wrong += [f"turn {number}: {words}" for words in judge(turn, reply)]
    seconds = perf_counter() - began
    return ConversationResult(
        *(conversation.name, conversation.kind, tuple(wrong), tuple(replies), seconds, tuple(strange), tokens),
        model_failures=tuple(failures),
    )


def _unsupported(text: str, supports: Sequence[str], assistant: Answers, user: str) -> tuple[str, ...]:
    """Return numbers and names without support; read the user's facts only if the other texts do not suffice."""
    if not unsupported(text, supports):
        return ()
    return unsupported(text, [*supports, *(fact.text for fact in assistant.recall(user=user))])


def shared_texts(fresh: Callable[[], AbstractContextManager[Assistant]]) -> tuple[str, ...]:
    """Return the texts that all users of an agent share: the passages of its files under their headings."""
    with fresh() as assistant:
        shared = [source.name for source in assistant.sources if not source.private]
        scope = assistant.scope().shared
        return tuple(passage.indexed for name in shared for passage in assistant.store.passages(scope, name))


def judge(turn: Expectation, reply: Reply) -> list[str]:
    """Return the faults of a reply; empty if it is as expected."""
    wrong = []
    if turn.gate is not None and reply.verdict.retrieve is not turn.gate:
        wrong.append("looked something up" if reply.verdict.retrieve else "looked nothing up")
    if turn.sources is not None and set(reply.plan.sources) != set(turn.sources):
        asked, expected = (" > ".join(names) or "no source" for names in (reply.plan.sources, turn.sources))
        wrong.append(f"asked {asked}, not {expected}")
    text = _plain(reply.text)
    for choices in turn.must:
        if not any(_place(text, choice) is not None for choice in choices):
            wrong.append(f"lacks {' or '.join(repr(choice) for choice in choices)}")
    wrong += [f"says {words!r}" for words in turn.must_not if _place(text, words) is not None]
    right = [place for choices in turn.must for choice in choices if (place := _place(text, choice)) is not None]
    for words in turn.instead_of:
        place = _place(text, words)
        if place is not None and place < min(right, default=len(text)):
            wrong.append(f"says {words!r} first")
    if turn.answer is not None and (problem := answer_problem(turn.answer, reply.text)):
        wrong.append(problem)
    files = {PurePath(evidence.passage.origin).name for evidence in reply.evidence}
    for choices in turn.evidence:
        if files.isdisjoint(choices):
            wrong.append(f"has no evidence from {' or '.join(choices)}")
    return wrong


def _plain(text: str) -> str:
    """Normalise case, spacing and curly apostrophes."""
    return " ".join(text.replace("’", "'").replace("‘", "'").casefold().split())


def _place(reply: str, words: str) -> int | None:
    """Return the first position of the words; a number matches only as a whole, so 34 is not in 134."""
    pattern = re.escape(_plain(words))
    before = r"(?<![0-9])" if words[:1].isdigit() else ""
    after = r"(?![0-9])" if words[-1:].isdigit() else ""
    match = re.search(f"{before}{pattern}{after}", reply)
    return match and match.start()


@contextmanager
def fresh_assistants(
    agent: str | Path, *, overrides: Overrides = (), progress: IngestProgress | None = None
) -> Iterator[tuple[Callable[[], AbstractContextManager[Assistant]], tuple[SourceName, ...]]]:
    """Return a factory of assistants that know only the agent's files, and the agent's sources.

    Files are read once, and every assistant starts from a copy of that state; all of them share the models. A store on
    a server is replaced by a file, so that test conversations leave nothing there.
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
    """Do nothing: the close function of a model without resources."""
