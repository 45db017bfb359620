"""Versions of a chat: a question that is edited or asked again begins a branch, and both are kept."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

from dragoman.core.values import Turn
from dragoman.server.data.chat_settings import ChatSettings, change_settings, settings
from dragoman.server.data.chats import TITLES, check_exists, keep_title, new_chat, own_title
from dragoman.server.data.user_data import check_chat_room
from dragoman.server.hosted_agent import Seat
from dragoman.server.http.problems import absent


@dataclass(frozen=True, slots=True)
class Variants:
    """Chats that hold the versions of a question, oldest first; `current` is the place of the one shown."""

    names: tuple[str, ...]
    current: int


def branch(seat: Seat, name: str, at: int) -> str:
    """A new chat with the turns of another one before `at`, their explanations included; returns its name."""
    check_exists(seat, name)
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
    given = own_title(old, assistant.store.dialogue(seat.scope, TITLES))
    title = keep_title(seat, given) if given else None
    made_settings = replace(old, title=title, branch_of=name, at=at, user="", metadata={})
    change_settings(seat, branch_name, lambda _: made_settings)
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
