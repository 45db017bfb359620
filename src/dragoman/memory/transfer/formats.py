"""What files of other programs hold: statements about the user, and messages of chats, each with its date."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Literal, TextIO, TypeAlias

from dragoman.core.clock import moment_of, stamp
from dragoman.core.codec import Json
from dragoman.core.errors import InputError
from dragoman.core.values import Speaker
from dragoman.memory.transfer.first_person import first_person
from dragoman.memory.transfer.json_stream import json_elements

Format: TypeAlias = Literal["chatgpt", "claude", "mem0", "dragoman", "json", "markdown"]
OWN_FORMAT = "dragoman-memory.v1"
_TEXT_KEYS = ("text", "fact", "memory", "content", "value")
_TIME_KEYS = ("said_at", "created_at", "create_time", "updated_at", "date", "timestamp", "time")
_ITEM = re.compile(r"(?:[-*+•]|\d{1,4}[.)])\s+(?P<text>\S.*)")
_DATE = re.compile(r"[(\[](?:told |said |saved )?(?:on )?(?P<date>\d{4}-\d\d-\d\d(?:T[\d:]{5,8}Z?)?)[)\]]$")
_LEADING_DATE = re.compile(r"^[(\[]?(?P<date>\d{4}-\d\d-\d\d)[)\]]?\s*[:-]\s+")
_LONGEST = 4000
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")
"""NUL, and halves of characters, which JSON can spell and no store can keep."""
_ZIPPED = ("conversations.json", "memories.json")
_LARGEST_UNPACKED = 1 << 36


@dataclass(frozen=True, slots=True)
class Item:
    """What a file holds: a `statement` about the user, a `message` of a chat, a `row` or a `wish` of our own export."""

    kind: Literal["statement", "message", "row", "wish"]
    text: str = ""
    said_at: str = ""
    speaker: Speaker = "user"
    dialogue: str = ""
    row: Mapping[str, Json] | None = None


def read_items(path: Path, format: Format | None = None) -> Iterator[Item]:
    """What a file holds, one thing after the other. The format is found out where it is not given."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if Path(name).name in _ZIPPED]
            if not names:
                raise InputError(
                    f"'{path.name}' holds no {' or '.join(_ZIPPED)}.", remedy="Give the export as it came."
                )
            if sum(archive.getinfo(name).file_size for name in names) > _LARGEST_UNPACKED:
                raise InputError(f"'{path.name}' unpacks to more than 64 GB.", remedy="Give a part of it.")
            for name in names:
                with archive.open(name) as packed, _text(packed) as stream:
                    yield from _items(stream, format, is_json=True)
        return
    if not path.is_file():
        raise InputError(f"There is no file '{path}'.", remedy="Check the path.")
    with path.open(encoding="utf-8-sig", errors="replace") as stream:
        head = stream.read(200).lstrip()
        stream.seek(0)
        is_json = format not in (None, "markdown") or (format is None and head[:1] in ("[", "{"))
        yield from _items(stream, format, is_json=is_json)


def text_items(text: str, format: Format | None = None) -> Iterator[Item]:
    """What a text holds that was read already, such as one that was sent over HTTP."""
    is_json = format not in (None, "markdown") or (format is None and text.lstrip()[:1] in ("[", "{"))
    yield from _items(io.StringIO(text), format, is_json=is_json)


@contextmanager
def _text(packed: IO[bytes]) -> Iterator[TextIO]:
    wrapper = io.TextIOWrapper(packed, encoding="utf-8-sig", errors="replace")
    try:
        yield wrapper
    finally:
        wrapper.detach()


def _items(stream: TextIO, format: Format | None, *, is_json: bool) -> Iterator[Item]:
    if not is_json:
        yield from _markdown(stream)
        return
    for element in json_elements(stream):
        yield from _element(element, format)


def _element(element: Json, format: Format | None) -> Iterator[Item]:
    if isinstance(element, str):
        yield from _statement(element, "")
    elif not isinstance(element, dict):
        return
    elif element.get("format") == OWN_FORMAT:
        yield from _own(element)
    elif isinstance(element.get("mapping"), dict) and format in (None, "chatgpt"):
        yield from _chatgpt(element)
    elif isinstance(element.get("chat_messages"), list) and format in (None, "claude"):
        yield from _claude(element)
    elif isinstance(memory := element.get("conversations_memory"), str):
        yield from _markdown(io.StringIO(memory))
    else:
        lists = [
            value
            for key in ("results", "memories", "facts", "data", "items")
            if isinstance(value := element.get(key), list)
        ]
        for value in lists:
            for inner in value:
                yield from _element(inner, format)
        if not lists:
            text = next((value for key in _TEXT_KEYS if isinstance(value := element.get(key), str)), "")
            yield from _statement(text, _moment(element))


def _chatgpt(conversation: Mapping[str, Json]) -> Iterator[Item]:
    """The messages of one conversation in the order of their times; text that was pasted by the program is left out."""
    name = str(conversation.get("conversation_id") or conversation.get("id") or conversation.get("create_time") or "")
    mapping = conversation["mapping"]
    assert isinstance(mapping, dict)
    messages = []
    for node in mapping.values():
        message = node.get("message") if isinstance(node, dict) else None
        if not isinstance(message, dict):
            continue
        author, content = message.get("author"), message.get("content")
        role = author.get("role") if isinstance(author, dict) else ""
        if not isinstance(content, dict):
            continue
        if content.get("content_type") == "user_editable_context" and isinstance(content.get("user_profile"), str):
            yield from _markdown(io.StringIO(str(content["user_profile"])))
        parts = content.get("parts")
        text = "\n".join(part for part in parts if isinstance(part, str)) if isinstance(parts, list) else ""
        if (
            role in ("user", "assistant")
            and text.strip()
            and content.get("content_type") in ("text", "multimodal_text")
        ):
            messages.append(_message(text, _moment(message), role == "user", f"chatgpt-{name}"))
    yield from sorted(messages, key=lambda item: item.said_at)


def _claude(conversation: Mapping[str, Json]) -> Iterator[Item]:
    name = str(conversation.get("uuid") or conversation.get("created_at") or "")
    messages = conversation["chat_messages"]
    assert isinstance(messages, list)
    for message in messages:
        if isinstance(message, dict) and isinstance(text := message.get("text"), str) and text.strip():
            yield _message(text, _moment(message), message.get("sender") == "human", f"claude-{name}")


def _own(export: Mapping[str, Json]) -> Iterator[Item]:
    """The rows of an export of ours, as they were."""
    for key, kind in (("facts", "row"), ("wishes", "wish")):
        rows = export.get(key)
        for row in rows if isinstance(rows, list) else ():
            if not isinstance(row, dict):
                continue
            texts: dict[str, Json] = {name: _text_of(value) for name, value in row.items() if isinstance(value, str)}
            if (text := str(texts.get("text", ""))).strip() and all(
                len(str(value)) <= _LONGEST for value in texts.values()
            ):
                yield Item("row" if kind == "row" else "wish", text, str(texts.get("said_at", "")), row=texts)


def _markdown(stream: TextIO) -> Iterator[Item]:
    for line in stream:
        plain = line.strip()
        if not plain or plain.startswith(("#", "```", "|", "---", ">")):
            continue
        item = _ITEM.match(plain)
        text, date = item["text"] if item else plain, ""
        if dated := _DATE.search(text) or _LEADING_DATE.search(text):
            date, text = dated["date"], (text[: dated.start()] + text[dated.end() :]).strip()
        yield from _statement(text.replace("**", "").replace("`", ""), _stamp(date))


def _statement(text: str, said_at: str) -> Iterator[Item]:
    plain = " ".join(_text_of(text).split())
    if plain and len(plain) <= _LONGEST:
        yield Item("statement", first_person(plain), said_at)


def _message(text: str, said_at: str, is_user: bool, dialogue: str) -> Item:
    name = "".join(char if char.isprintable() else "-" for char in dialogue[:120])
    return Item("message", _text_of(text), said_at, "user" if is_user else "agent", name)


def _text_of(value: str) -> str:
    return _NO_TEXT.sub("\ufffd", value)


def _moment(element: Mapping[str, Json]) -> str:
    """When an element was written; "" where nobody knows."""
    for key in _TIME_KEYS:
        value = element.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _from_number(value)
        if isinstance(value, str) and (moment := _stamp(value)):
            return moment
    return ""


def _from_number(seconds: float) -> str:
    try:
        seconds = seconds / 1000 if seconds > 1e11 else seconds
        return stamp(datetime.fromtimestamp(seconds, UTC))
    except (OverflowError, OSError, ValueError):
        return ""


def _stamp(text: str) -> str:
    moment = moment_of(text) if text else None
    return "" if moment is None else stamp(moment)
