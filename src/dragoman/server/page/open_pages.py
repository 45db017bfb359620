"""Limit of open pages: the one idle for longest is closed to make room."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from html import escape
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote

from dragoman.server.http.problem_response import PLAIN_STYLE
from dragoman.server.turns.fair_share import GREED

if TYPE_CHECKING:
    from dragoman.server.page.texts import Language

MOST = 1000
"""Pages open at once, those included whose browser left a moment ago."""
_LOADING = 20.0
"""Seconds in which a page that was asked for may still be on its way to its browser."""
_PATIENCE = 300.0
"""Seconds that an open page is left alone by those who wait, since it was last used."""
_FAREWELL = 2.0
REST = "location.replace('rest' + location.search)"


class Client(Protocol):
    """Protocol of a NiceGUI client."""

    id: str
    created: float

    @property
    def has_socket_connection(self) -> bool: ...

    @property
    def is_deleted(self) -> bool: ...

    def run_javascript(self, code: str) -> object: ...

    def delete(self) -> None: ...


class OpenPages:
    """The open pages and when each was last used."""

    def __init__(self, clients: Callable[[], Collection[Client]], *, clock: Callable[[], float] = time.time) -> None:
        self._clients = clients
        self._clock = clock
        self._used: dict[str, Callable[[], float]] = {}
        self._owners: dict[str, str | None] = {}
        self._settled: set[str] = set()
        self._leaving: set[str] = set()

    def came(self, client: Client, used: Callable[[], float], owner: str | None = None) -> None:
        """Register a requested page; `used` returns when it was last used. Without keys it has no `owner`."""
        self._used[client.id] = used
        self._owners[client.id] = owner

    def settled(self, client: Client) -> None:
        """Mark a page as connected; NiceGUI deletes it when its browser disconnects."""
        self._settled.add(client.id)

    def left(self, client: Client) -> None:
        self._used.pop(client.id, None)
        self._owners.pop(client.id, None)
        self._settled.discard(client.id)
        self._leaving.discard(client.id)

    def is_full(self, owner: str | None = None) -> bool:
        """Whether an owner can open no page; closes an idle one if possible.

        A user with many open pages leaves places to others (`FairShare`).
        """
        open_now = [client for client in self._clients() if client.id not in self._leaving]
        own = sum(self._owners.get(client.id) == owner for client in open_now) if owner is not None else 0
        if own and own >= GREED * (MOST - len(open_now) - 1):
            open_now = [client for client in open_now if self._owners.get(client.id) == owner]
        elif len(open_now) < MOST:
            return False
        now = self._clock()
        # Pages that no browser came back for go first: programs ask for them, and see nothing of them.
        unseen = [one for one in open_now if one.id not in self._settled and one.created <= now - _LOADING]
        if unseen:
            min(unseen, key=lambda client: client.created).delete()
            return False
        resting = [one for one in open_now if one.has_socket_connection and self._last(one) <= now - _PATIENCE]
        if not resting:
            return True
        self._send_to_rest(min(resting, key=self._last))
        return False

    def _last(self, client: Client) -> float:
        """When a page was last used."""
        used = self._used.get(client.id)
        return client.created if used is None else max(client.created, used())

    def _send_to_rest(self, client: Client) -> None:
        """Send the browser to the `rest` page, then delete the page."""
        self._leaving.add(client.id)
        client.run_javascript(REST)

        def end() -> None:
            if client.has_socket_connection and not client.is_deleted:
                client.delete()

        asyncio.get_running_loop().call_later(_FAREWELL, end)


_MESSAGES: dict[str, dict[Language, tuple[str, str, str]]] = {
    "full": {
        "en": ("The server is busy", "Too many pages are open. This page tries again automatically.", ""),
        "zh": ("服务器繁忙", "打开的页面太多，本页会自动重试。", ""),
    },
    "rest": {
        "en": (
            "This page was closed",
            "It was inactive while others were waiting. Your messages are saved.",
            "Continue",
        ),
        "zh": ("此页面已关闭", "它一段时间没有活动，而其他人在等待。您的消息都已保存。", "继续"),
    },
}
_PLAIN = """<!doctype html><html lang="{language}"><head><meta charset="utf-8"><title>Dragoman</title>
<link rel="icon" href="data:,"><meta name="viewport" content="width=device-width, initial-scale=1">{refresh}
{style}</head><body><main><h1>{title}</h1><p>{text}</p>{link}</main></body></html>"""


def full_page(language: Language, *, seconds: int) -> bytes:
    """HTML of a full server; reloads itself after some seconds."""
    title, text, _ = _MESSAGES["full"][language]
    refresh = f'<meta http-equiv="refresh" content="{seconds}">'
    return _PLAIN.format(
        language=language, refresh=refresh, title=title, text=text, link="", style=PLAIN_STYLE
    ).encode()


def rest_page(language: Language, agent: str, dialogue: str) -> str:
    """HTML of a page that was closed, with a link back to its dialogue."""
    title, text, go_on = _MESSAGES["rest"][language]
    parameters = {"agent": agent, "dialogue": dialogue}
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in parameters.items() if value)
    link = f'<p><a href="{escape(f"./?{query}", quote=True)}">{go_on}</a></p>'
    return _PLAIN.format(language=language, refresh="", title=title, text=text, link=link, style=PLAIN_STYLE)
