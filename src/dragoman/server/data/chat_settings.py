"""Settings of a user's chats, kept as one text: titles, pins, branches, metadata and controls."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING

from dragoman.core.control import MEMORY_MODES, RETRIEVE_MODES, MemoryMode, RetrieveMode, TurnControl
from dragoman.core.errors import StoreCorruptError
from dragoman.core.protocols import Store
from dragoman.core.values import Scope

if TYPE_CHECKING:
    from dragoman.server.hosted_agent import Seat
    from dragoman.server.http.views import View

KEY = "chats"
MOST_METADATA = 16
"""Texts of a chat's metadata: as many as one request may send."""
_MOST_SETTINGS = 4 * 2**20
"""Characters of the settings of a user's chats; beyond them the metadata of the oldest chats is dropped."""
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


def settings(seat: Seat) -> dict[str, ChatSettings]:
    """The settings of the user's chats, by name."""
    return _parsed(seat.assistant.store.kept(seat.scope, KEY), seat.user)


def _parsed(kept: str | None, user: str) -> dict[str, ChatSettings]:
    try:
        rows: dict[str, View] = json.loads(kept or "{}")
        return {name: ChatSettings(**row) for name, row in rows.items()}
    except (ValueError, TypeError) as error:
        raise StoreCorruptError(f"The chats of '{user}' cannot be read.", remedy="Forget them.") from error


def change_settings(seat: Seat, name: str, change: Callable[[ChatSettings], ChatSettings]) -> None:
    """Change the settings of a chat."""
    with _CHANGING:
        stored = settings(seat)
        old = stored.get(name, ChatSettings())
        new = change(old)
        if new != old:
            _write(seat, {**stored, name: new})


def drop_settings(seat: Seat, name: str) -> ChatSettings:
    """Remove the settings of a chat; returns what they were."""
    with _CHANGING:
        stored = settings(seat)
        old = stored.pop(name, None)
        if old is not None:
            _write(seat, stored)
    return old or ChatSettings()


def count_chats(store: Store, scope: Scope, names: Collection[str]) -> int:
    """How many chats dialogues are: the versions of a chat count as one."""
    return len(set(families(names, _parsed(store.kept(scope, KEY), scope.user)).values()))


def families(names: Collection[str], stored: Mapping[str, ChatSettings]) -> dict[str, str]:
    """For each chat the one that it and its other versions were branched from, as far as those still exist."""
    return {name: _origin(name, set(names), stored) for name in names}


def _origin(name: str, there: Collection[str], stored: Mapping[str, ChatSettings]) -> str:
    visited = {name}
    while name in stored and stored[name].branch_of in there and stored[name].branch_of not in visited:
        name = stored[name].branch_of
        visited.add(name)
    return name


def keep_metadata(seat: Seat, name: str, *, user: str, metadata: Mapping[str, str]) -> None:
    """Keep what a calling program said about a chat: its own id of the user, and the latest texts by name."""

    def kept(old: ChatSettings) -> ChatSettings:
        texts = {**{key: text for key, text in old.metadata.items() if key not in metadata}, **metadata}
        return replace(old, user=user or old.user, metadata=dict(list(texts.items())[-MOST_METADATA:]))

    change_settings(seat, name, kept)


def keep_control(seat: Seat, name: str, control: TurnControl, *, model: str = "") -> None:
    """Keep how turns of a chat search and use memory, and the language model that answers them."""
    sources = None if control.sources is None else list(control.sources)

    def kept(old: ChatSettings) -> ChatSettings:
        return replace(old, retrieve=control.retrieve, memory=control.memory, sources=sources, model=model)

    change_settings(seat, name, kept)


def control_of(seat: Seat, name: str) -> tuple[TurnControl, str]:
    """How turns of a chat search and use memory, and their language model, without sources and models that are gone."""
    chat_settings = settings(seat).get(name, ChatSettings())
    control, model = chat_settings.control, chat_settings.model if chat_settings.model in seat.models else ""
    if control.sources is None:
        return control, model
    declared = {source.name for source in seat.assistant.sources}
    return replace(control, sources=tuple(name for name in control.sources if name in declared)), model


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
