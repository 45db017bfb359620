"""A user's chats as a list: titles, pins, search and export. Functions for `Service.do`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from secrets import token_hex
from typing import Literal, TypeAlias

from dragoman.agent.turns import WITHHELD
from dragoman.core.errors import InputError
from dragoman.core.values import ASIDE, Turn
from dragoman.server.data.chat_settings import (
    ChatSettings,
    change_settings,
    drop_settings,
    families,
    settings,
)
from dragoman.server.data.user_data import check_dialogue, dialogue, forget_dialogue
from dragoman.server.hosted_agent import Seat
from dragoman.server.http.problems import absent
from dragoman.server.http.views import View
from dragoman.text.form import SOCIAL, act_and_core

Origin: TypeAlias = Literal["page", "api", "mcp", "terminal"]
TITLES = f"{ASIDE}titles"
"""Titles are turns of a dialogue of their own, so that forgetting a fact blanks them too."""
PRIVATE = "private-"
"""How the names of private chats begin; the browser keeps no drafts of these."""
LONGEST_TITLE = 120
_STAMP = re.compile(r"(?:(?P<prefix>api|mcp)-)?(?P<time>\d{8}-\d{6})-(?P<unique>[0-9a-f]+)$")
_PAGE_UNIQUE = 6
_BEFORE, _AFTER = 24, 48  # characters around a match
_HEADINGS, _LONGEST_GREETING = 5, 60
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*")


@dataclass(frozen=True, slots=True)
class ChatRow:
    """A chat in the list. `began` is None where its name does not tell; `snippet` shows what a search found.

    `versions` are the names of all its versions, its own included.
    """

    id: str
    title: str
    origin: Origin
    began: datetime | None
    pinned: bool = False
    is_named: bool = False
    is_blank: bool = False
    snippet: str = ""
    versions: tuple[str, ...] = ()


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

    With a query only chats whose title or text has all of its words. Of the versions of a chat the newest is listed;
    a query lists each version in which it finds something.
    """
    stored = settings(seat)
    titles = seat.assistant.store.dialogue(seat.scope, TITLES)
    names = list(reversed(seat.assistant.dialogues(user=seat.user)))
    versions = _versions(names, stored)
    if not query.strip():
        names = [_shown(seat, members, stored) for members in dict.fromkeys(versions.values())]
    names.sort(key=lambda name: not (name in stored and stored[name].pinned))
    rows: list[ChatRow] = []
    for name in names:
        row = _row(seat, name, stored.get(name, ChatSettings()), titles, query.casefold().split())
        if row is not None:
            rows.append(replace(row, versions=versions[name]))
        if len(rows) > limit:
            break
    return rows[:limit], len(rows) > limit


def versions_of(seat: Seat, name: str) -> tuple[str, ...]:
    """The names of all versions of a chat, newest first; its own alone where it was never branched."""
    names = list(reversed(seat.assistant.dialogues(user=seat.user)))
    return _versions(names, settings(seat)).get(name, (name,))


def _versions(names: Sequence[str], stored: Mapping[str, ChatSettings]) -> dict[str, tuple[str, ...]]:
    """All versions of each chat, in the order of `names`."""
    origins = families(names, stored)
    members: dict[str, list[str]] = {}
    for name in names:
        members.setdefault(origins[name], []).append(name)
    return {name: tuple(members[origins[name]]) for name in names}


def _shown(seat: Seat, versions: Collection[str], stored: Mapping[str, ChatSettings]) -> str:
    """The newest version that has its question: one that was stopped ends before it."""
    for name in versions:
        chat_settings = stored.get(name)
        if chat_settings is None or not chat_settings.branch_of:
            return name
        if len(seat.assistant.history(user=seat.user, dialogue=name)) > chat_settings.at:
            return name
    return next(iter(versions))


def summaries(seat: Seat, *, limit: int, before: str | None = None) -> tuple[list[View], bool]:
    """The user's dialogues, newest first, each version of a chat by itself, and whether there are more."""
    names = list(reversed(seat.assistant.dialogues(user=seat.user)))
    if before is not None:
        if before not in names:
            raise absent("dialogue")
        names = names[names.index(before) + 1 :]
    stored = settings(seat)
    titles = seat.assistant.store.dialogue(seat.scope, TITLES)
    return [_summary(seat, name, stored.get(name, ChatSettings()), titles) for name in names[:limit]], len(
        names
    ) > limit


def _summary(seat: Seat, name: str, chat_settings: ChatSettings, titles: Sequence[Turn]) -> View:
    turns = seat.assistant.history(user=seat.user, dialogue=name)
    first = next((turn.text for turn in turns if turn.speaker == "user" and turn.text), "")
    return {
        "id": name,
        "turns": len(turns),
        "begins": first[:120],
        "title": _title(chat_settings, turns, titles),
        "pinned": chat_settings.pinned,
    }


def _title(chat_settings: ChatSettings, turns: Sequence[Turn], titles: Sequence[Turn]) -> str:
    """The title that the user gave, else the first words; "" where those were deleted."""
    first = _heading([turn.text for turn in turns if turn.speaker == "user" and turn.text])
    return own_title(chat_settings, titles) or ("" if first == WITHHELD else " ".join(first.split())[:LONGEST_TITLE])


def _row(
    seat: Seat, name: str, chat_settings: ChatSettings, titles: Sequence[Turn], words: Sequence[str] = ()
) -> ChatRow | None:
    turns = seat.assistant.history(user=seat.user, dialogue=name)
    title = _title(chat_settings, turns, titles)
    is_named = bool(own_title(chat_settings, titles))
    snippet = ""
    if words:
        texts = [title, *(turn.text for turn in turns if turn.text != WITHHELD)]
        text = next((text for text in texts if all(word in text.casefold() for word in words)), None)
        if text is None:
            return None
        snippet = "" if text is title else _around(text, words[0])
    return ChatRow(name, title, origin_of(name), began(name), chat_settings.pinned, is_named, not title, snippet)


def own_title(chat_settings: ChatSettings, titles: Sequence[Turn]) -> str:
    """The title that the user gave a chat; "" where there is none, or it was deleted with a fact."""
    place = chat_settings.title
    title = titles[place].text if place is not None and place < len(titles) else ""
    return "" if title == WITHHELD else title


def _heading(texts: Sequence[str]) -> str:
    """The first message that says what a chat is about, without a greeting before it."""
    for text in texts[:_HEADINGS]:
        if text != WITHHELD and not _is_social(text):
            first, *rest = _SENTENCE_END.split(text.strip(), maxsplit=1)
            return rest[0] if rest and rest[0] and _is_social(first) else text
    return texts[0] if texts else ""


def _is_social(text: str) -> bool:
    return len(text) <= _LONGEST_GREETING and act_and_core(text)[0] in SOCIAL


def _around(text: str, word: str) -> str:
    """The words around a match, which stands near the beginning: a list shows two short lines."""
    line = " ".join(text.split())
    place = max(0, line.casefold().find(word))
    start, end = max(0, place - _BEFORE), place + len(word) + _AFTER
    if start:
        start = max(start, line.find(" ", start - 1, place) + 1)  # at a word, where there are spaces
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"


def rename(seat: Seat, name: str, title: str) -> None:
    """Give a chat a title; an empty one brings its first words back."""
    check_exists(seat, name)
    text = " ".join(title.split())
    if len(text) > LONGEST_TITLE:
        raise InputError(f"A title has at most {LONGEST_TITLE} characters.", remedy="Give a shorter one.")

    def titled(old: ChatSettings) -> ChatSettings:
        place = keep_title(seat, text) if text else None
        if old.title is not None:
            seat.assistant.store.erase_turns(seat.scope, TITLES, [old.title])
        return replace(old, title=place)

    change_settings(seat, name, titled)


def keep_title(seat: Seat, title: str) -> int:
    """Store a title; returns its position in the dialogue of titles."""
    place = len(seat.assistant.store.dialogue(seat.scope, TITLES))
    seat.assistant.store.append(seat.scope, TITLES, [Turn("user", title)])
    return place


def pin(seat: Seat, name: str, *, pinned: bool) -> None:
    """Pin a chat to the top of the list, or unpin it."""
    check_exists(seat, name)
    change_settings(seat, name, lambda old: replace(old, pinned=pinned))


def forget_chat(seat: Seat, name: str) -> int:
    """Delete a chat with its title and settings; returns the number of its turns. Facts learned from it stay."""
    erased = forget_dialogue(seat, name)
    title = drop_settings(seat, name).title
    if title is not None:
        seat.assistant.store.erase_turns(seat.scope, TITLES, [title])
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


def check_exists(seat: Seat, name: str) -> None:
    """Raise an error unless the user has such a chat."""
    check_dialogue(name)
    if not seat.assistant.history(user=seat.user, dialogue=name):
        raise absent("chat")
