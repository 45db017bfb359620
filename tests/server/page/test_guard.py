"""What stands around the page: headers, a bound on how many are open, and keys kept in memory alone."""

from __future__ import annotations

import asyncio

from dragoman.server.page import _Guarded
from dragoman.server.page.visit import Keys, new_dialogue
from dragoman.server.person import check_dialogue


def sent_for(path, *, crowded):
    """What is sent for a request, and whether the application saw it."""
    messages, seen = [], []

    async def app(scope, receive, send):
        seen.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def keep(message):
        messages.append(message)

    guarded = _Guarded(app, crowded=lambda: crowded)
    asyncio.run(guarded({"type": "http", "path": path, "headers": []}, None, keep))
    return messages[0], seen


def test_no_frame_may_go_around_the_page():
    start, _ = sent_for("/page/", crowded=False)
    headers = dict(start["headers"])
    assert headers[b"x-frame-options"] == b"DENY"
    assert b"default-src 'self'" in headers[b"content-security-policy"]


def test_too_many_pages_are_refused_before_one_more_is_built():
    start, seen = sent_for("/page/", crowded=True)
    assert (start["status"], seen) == (503, [])
    assert dict(start["headers"])[b"retry-after"] == b"30"


def test_pages_that_are_open_go_on_when_no_more_are_let_in():
    start, seen = sent_for("/page/_nicegui/client/1/upload/2", crowded=True)
    assert (start["status"], seen) == (200, ["/page/_nicegui/client/1/upload/2"])


def test_keys_are_of_their_session_until_it_leaves():
    keys = Keys()
    keys.put("one", "a")
    keys.put("two", "b")
    keys.drop("one")
    keys.drop("never seen")
    assert (keys.of("one"), keys.of("two")) == (None, "b")


def test_the_oldest_sessions_go_when_there_are_too_many(monkeypatch):
    monkeypatch.setattr("dragoman.server.page.visit._MOST_SESSIONS", 2)
    keys = Keys()
    for session in ("one", "two", "three"):
        keys.put(session, "key")
    assert [keys.of(session) for session in ("one", "two", "three")] == [None, "key", "key"]


def test_new_dialogues_have_names_of_their_own_that_the_house_takes():
    names = {new_dialogue() for _ in range(20)}
    assert len(names) == 20
    for name in names:
        check_dialogue(name)
