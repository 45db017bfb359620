"""A user's chats as a list: titles, pins, branches, search and export. Functions for `Service.do`."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from secrets import token_hex
from threading import Lock
from typing import Literal, TypeAlias

from dragoman.agent.turns import WITHHELD
from dragoman.core.control import MEMORY_MODES, RETRIEVE_MODES, MemoryMode, RetrieveMode, TurnControl
from dragoman.core.errors import InputError, StoreCorruptError
from dragoman.core.values import ASIDE, Turn
from dragoman.server.data.user_data import check_chat_room, check_dialogue, dialogue, forget_dialogue
from dragoman.server.hosted_agent import Seat
from dragoman.server.http.problems import absent
from dragoman.server.http.views import View
from dragoman.text.form import SOCIAL, act_and_core

Origin: TypeAlias = Literal["page", "api", "mcp", "terminal"]
KEY = "chats"
TITLES = f"{ASIDE}titles"
"""Titles are turns of a dialogue of their own, so that forgetting a fact blanks them too."""
PRIVATE = "private-"
"""How the names of private chats begin; the browser keeps no drafts of these."""
LONGEST_TITLE = 120
MOST_METADATA = 16
"""Texts of a chat's metadata: as many as one request may send."""
_MOST_SETTINGS = 4 * 2**20
"""Characters of the settings of a user's chats; beyond them the metadata of the oldest chats is dropped."""
_STAMP = re.compile(r"(?:(?P<prefix>api|mcp)-)?(?P<time>\d{8}-\d{6})-(?P<unique>[0-9a-f]+)$")
_PAGE_UNIQUE = 6
_BEFORE, _AFTER = 24, 48  # characters around a match
_HEADINGS, _LONGEST_GREETING = 5, 60
_CHANGING = Lock()
"""Settings are read, changed and written back: one change at a time."""


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """Settings of a chat by a user or a program. `title` is a position in the dialogue of titles.

    A branch shares the turns before `at` with the chat `branch_of`.
    """

    title: int | None = None
    pinned: bool = False
    branch_of: str = ""
    at: int = 0
    user: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    retrieve: str = "auto"
    memory: str = "on"
    sources: Sequence[str] | None = None
    model: str = ""

    @property
    def control(self) -> TurnControl:
        """How turns of the chat search and use memory; what this version does not know is left at its default."""
        retrieve: RetrieveMode = next((mode for mode in RETRIEVE_MODES if mode == self.retrieve), "auto")
        memory: MemoryMode = next((mode for mode in MEMORY_MODES if mode == self.memory), "on")
        return TurnControl(retrieve, memory, sources=None if self.sources is None else tuple(self.sources))


@dataclass(frozen=True, slots=True)
class Variants:
    """Chats that hold the versions of a question, oldest first; `current` is the place of the one shown."""

    names: tuple[str, ...]
    current: int


@dataclass(frozen=True, slots=True)
class ChatRow:
    """A chat in the list. `began` is None where its name does not tell; `snippet` shows what a search found."""

    id: str
    title: str
    origin: Origin
    began: datetime | None
    pinned: bool = False
    is_named: bool = False
    is_blank: bool = False
    snippet: str = ""


def private_chat() -> str:
    """The name of a private chat: the store never sees it."""
    return f"{PRIVATE}{token_hex(8)}"


def new_chat() -> str:
    """The name of a chat that begins on the page now."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{token_hex(_PAGE_UNIQUE // 2)}"


def origin_of(name: str) -> Origin:
    """Return where a chat was begun, by its name; unknown names come from programs."""
    match = _STAMP.match(name)
    if match is None:
        return "terminal" if name == "main" else "api"
    if match["prefix"]:
        return "mcp" if match["prefix"] == "mcp" else "api"
    return "page" if len(match["unique"]) == _PAGE_UNIQUE else "api"


def began(name: str) -> datetime | None:
    """The time at which a chat began, read from its name."""
    match = _STAMP.match(name)
    try:
        return None if match is None else datetime.strptime(match["time"], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None


def chats(seat: Seat, *, query: str = "", limit: int = 50) -> tuple[list[ChatRow], bool]:
    """The user's chats, pinned ones first, then the newest, and whether there are more than `limit`.

    With a query only chats whose title or text has all of its words. Of a chat and its branches the newest is listed.
    """
    stored = settings(seat)
    titles = seat.assistant.store.dialogue(seat.scope, TITLES)
    names = list(reversed(seat.assistant.dialogues(user=seat.user)))
    if not query.strip():
        hidden = {stored[name].branch_of for name in names if name in stored and stored[name].branch_of}
        names = [name for name in names if name not in hidden]
    names.sort(key=lambda name: not (name in stored and stored[name].pinned))
    rows: list[ChatRow] = []
    for name in names:
        row = _row(seat, name, stored.get(name, ChatSettings()), titles, query.casefold().split())
        if row is not None:
            rows.append(row)
        if len(rows) > limit:
            break
    return rows[:limit], len(rows) > limit


def _row(
    seat: Seat, name: str, chat_settings: ChatSettings, titles: Sequence[Turn], words: Sequence[str] = ()
) -> ChatRow | None:
    turns = seat.assistant.history(user=seat.user, dialogue=name)
    own_title = (
        titles[chat_settings.title].text
        if chat_settings.title is not None and chat_settings.title < len(titles)
        else ""
    )
    first = _heading([turn.text for turn in turns if turn.speaker == "user" and turn.text])
    own_title = "" if own_title == WITHHELD else own_title
    is_blank = not own_title and first in ("", WITHHELD)
    title = own_title or ("" if is_blank else " ".join(first.split())[:LONGEST_TITLE])
    snippet = ""
    if words:
        texts = [title, *(turn.text for turn in turns if turn.text != WITHHELD)]
        text = next((text for text in texts if all(word in text.casefold() for word in words)), None)
        if text is None:
            return None
        snippet = "" if text is title else _around(text, words[0])
    return ChatRow(name, title, origin_of(name), began(name), chat_settings.pinned, bool(own_title), is_blank, snippet)


def _heading(texts: Sequence[str]) -> str:
    """The first message that says what a chat is about: greetings and thanks do not."""
    for text in texts[:_HEADINGS]:
        if text != WITHHELD and (len(text) > _LONGEST_GREETING or act_and_core(text)[0] not in SOCIAL):
            return text
    return texts[0] if texts else ""


def _around(text: str, word: str) -> str:
    """The words around a match, which stands near the beginning: a list shows two short lines."""
    line = " ".join(text.split())
    place = max(0, line.casefold().find(word))
    start, end = max(0, place - _BEFORE), place + len(word) + _AFTER
    if start:
        start = max(start, line.find(" ", start - 1, place) + 1)  # at a word, where there are spaces
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"


def settings(seat: Seat) -> dict[str, ChatSettings]:
    """The settings of the user's chats, by name."""
    try:
        rows: dict[str, View] = json.loads(seat.assistant.store.kept(seat.scope, KEY) or "{}")
        return {name: ChatSettings(**row) for name, row in rows.items()}
    except (ValueError, TypeError) as error:
        raise StoreCorruptError(f"The chats of '{seat.user}' cannot be read.", remedy="Forget them.") from error


def rename(seat: Seat, name: str, title: str) -> None:
    """Give a chat a title; an empty one brings its first words back."""
    _exists(seat, name)
    text = " ".join(title.split())
    if len(text) > LONGEST_TITLE:
        raise InputError(f"A title has at most {LONGEST_TITLE} characters.", remedy="Give a shorter one.")
    store, scope = seat.assistant.store, seat.scope

    def titled(old: ChatSettings) -> ChatSettings:
        place = None
        if text:
            place = len(store.dialogue(scope, TITLES))
            store.append(scope, TITLES, [Turn("user", text)])
        if old.title is not None:
            store.erase_turns(scope, TITLES, [old.title])
        return replace(old, title=place)

    _change(seat, name, titled)


def pin(seat: Seat, name: str, *, pinned: bool) -> None:
    """Pin a chat to the top of the list, or unpin it."""
    _exists(seat, name)
    _change(seat, name, lambda old: replace(old, pinned=pinned))


def keep_metadata(seat: Seat, name: str, *, user: str, metadata: Mapping[str, str]) -> None:
    """Keep what a calling program said about a chat: its own id of the user, and the latest texts by name."""

    def kept(old: ChatSettings) -> ChatSettings:
        texts = {**{key: text for key, text in old.metadata.items() if key not in metadata}, **metadata}
        return replace(old, user=user or old.user, metadata=dict(list(texts.items())[-MOST_METADATA:]))

    _change(seat, name, kept)


def keep_control(seat: Seat, name: str, control: TurnControl, *, model: str = "") -> None:
    """Keep how turns of a chat search and use memory, and the language model that answers them."""
    sources = None if control.sources is None else list(control.sources)
    retrieve, memory = control.retrieve, control.memory
    _change(seat, name, lambda old: replace(old, retrieve=retrieve, memory=memory, sources=sources, model=model))


def control_of(seat: Seat, name: str) -> tuple[TurnControl, str]:
    """How turns of a chat search and use memory, and their language model, without sources and models that are gone."""
    chat_settings = settings(seat).get(name, ChatSettings())
    control, model = chat_settings.control, chat_settings.model if chat_settings.model in seat.models else ""
    if control.sources is None:
        return control, model
    declared = {source.name for source in seat.assistant.sources}
    return replace(control, sources=tuple(name for name in control.sources if name in declared)), model


def branch(seat: Seat, name: str, at: int) -> str:
    """A new chat with the turns of another one before `at`, their explanations included; returns its name."""
    _exists(seat, name)
    assistant = seat.assistant
    turns = assistant.history(user=seat.user, dialogue=name)
    traces = assistant.store.traces(seat.scope, name)
    if not 0 <= at < len(turns) or turns[at].speaker != "user":
        raise absent("question")
    check_chat_room(seat, sum(len(turn.text) for turn in turns[:at]))
    branch_name = new_chat()
    waiting: list[Turn] = []
    for turn, trace in zip(turns[:at], traces[:at], strict=True):
        waiting.append(turn)
        if turn.speaker == "agent":
            assistant.store.append(seat.scope, branch_name, waiting, trace)
            waiting = []
    old = settings(seat).get(name, ChatSettings())
    made_settings = ChatSettings(
        branch_of=name,
        at=at,
        pinned=old.pinned,
        retrieve=old.retrieve,
        memory=old.memory,
        sources=old.sources,
        model=old.model,
    )
    _change(seat, branch_name, lambda _: made_settings)
    return branch_name


def variants(seat: Seat, name: str) -> dict[int, Variants]:
    """The versions of each question of a chat that was asked again or edited, by the question's place."""
    stored = settings(seat)
    there = set(seat.assistant.dialogues(user=seat.user)) | {name}
    groups: dict[int, Variants] = {}
    member, below, shared = name, "", sys.maxsize  # the chat shares the first `shared` turns of the member
    visited = {name}
    while True:
        children: dict[int, list[str]] = {}
        for other, chosen in stored.items():
            if chosen.branch_of == member and other in there and chosen.at <= shared:
                children.setdefault(chosen.at, []).append(other)
        for at, others in children.items():
            if below in others:
                versions = (member, *(name if other == below else other for other in others))
                groups.setdefault(at, Variants(versions, versions.index(name)))
            elif at < shared:
                groups.setdefault(at, Variants((name, *others), 0))
        chosen = stored.get(member, ChatSettings())
        if chosen.branch_of not in there or chosen.branch_of in visited:
            return groups
        member, below, shared = chosen.branch_of, member, min(shared, chosen.at)
        visited.add(member)


def forget_chat(seat: Seat, name: str) -> int:
    """Delete a chat with its title and settings; returns the number of its turns. Facts learned from it stay."""
    erased = forget_dialogue(seat, name)
    with _CHANGING:
        stored = settings(seat)
        old = stored.pop(name, None)
        if old is not None:
            if old.title is not None:
                seat.assistant.store.erase_turns(seat.scope, TITLES, [old.title])
            _write(seat, stored)
    return erased


def title_of(seat: Seat, name: str) -> str:
    """The title of a chat, its own or its first words; "" where it has none."""
    titles = seat.assistant.store.dialogue(seat.scope, TITLES)
    row = _row(seat, name, settings(seat).get(name, ChatSettings()), titles)
    return "" if row is None else row.title


def export_markdown(seat: Seat, name: str, *, you: str = "You", fact: str = "You told me") -> str:
    """A chat as a Markdown file: who said what, and what each reply rests on.

    `you` names the user, and `fact` stands before facts about them.
    """
    turns = dialogue(seat, name)
    agent = seat.assistant.name
    when = began(name)
    lines = [f"# {title_of(seat, name) or name}", ""]
    if when is not None:
        lines += [f"{when:%Y-%m-%d %H:%M} UTC · {agent}", ""]
    for turn in turns:
        lines += [f"**{you if turn['speaker'] == 'user' else agent}:**", "", str(turn["text"]), ""]
        reply = turn["reply"]
        quoted = [] if reply is None else [piece for piece in reply["sources"] if piece["id"] in reply["quoted"]]
        facts = [piece for piece in quoted if "slot" in piece["meta"]]
        for piece in facts:
            lines += [f"> {fact}: {piece['text']}", ""]
        for number, piece in enumerate((piece for piece in quoted if piece not in facts), start=1):
            heads = " › ".join(dict.fromkeys(part for part in (piece["title"], *piece["headings"]) if part))
            place = piece["origin"] or piece["source"]
            where = f"[{number}] {heads} ({place})" if heads else f"[{number}] {place}"
            lines += [f"> {where}:", ">", *(f"> {line}".rstrip() for line in str(piece["text"]).splitlines()), ""]
    return "\n".join(lines)


def export_json(seat: Seat, name: str) -> View:
    """A chat with its settings and the explanation of each reply."""
    chat_settings = settings(seat).get(name, ChatSettings())
    row = _row(seat, name, chat_settings, seat.assistant.store.dialogue(seat.scope, TITLES))
    return {
        "id": name,
        "agent": seat.agent,
        "title": row.title if row is not None else "",
        "origin": origin_of(name),
        "pinned": chat_settings.pinned,
        "user": chat_settings.user,
        "metadata": dict(chat_settings.metadata),
        "turns": dialogue(seat, name),
    }


def _exists(seat: Seat, name: str) -> None:
    check_dialogue(name)
    if not seat.assistant.history(user=seat.user, dialogue=name):
        raise absent("chat")


def _change(seat: Seat, name: str, change: Callable[[ChatSettings], ChatSettings]) -> None:
    with _CHANGING:
        stored = settings(seat)
        old = stored.get(name, ChatSettings())
        new = change(old)
        if new != old:
            _write(seat, {**stored, name: new})


def _write(seat: Seat, stored: Mapping[str, ChatSettings]) -> None:
    plain = asdict(ChatSettings())
    rows = {
        name: {key: value for key, value in asdict(chat_settings).items() if value != plain[key]}
        for name, chat_settings in stored.items()
        if chat_settings != ChatSettings()
    }
    text = json.dumps(rows, ensure_ascii=False)
    size = len(text)
    if size > _MOST_SETTINGS:  # all of it is written at every change
        for row in rows.values():
            size -= len(json.dumps(row.pop("metadata", ""), ensure_ascii=False))
            if size <= _MOST_SETTINGS:
                break
        text = json.dumps(rows, ensure_ascii=False)
    seat.assistant.store.keep(seat.scope, KEY, text)
