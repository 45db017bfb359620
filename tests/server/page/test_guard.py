"""What stands around the page: headers, a bound on how many are open, and keys kept in memory alone."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext

import pytest

from dragoman.core.errors import AccessError
from dragoman.server.access.caller import Caller
from dragoman.server.data.chats import new_chat
from dragoman.server.data.user_data import check_dialogue
from dragoman.server.page import _Guarded
from dragoman.server.page.open_pages import REST, OpenPages, rest_page
from dragoman.server.page.session import Keys, PageSession
from dragoman.server.turns.fair_share import FairShare

pytestmark = pytest.mark.trust


def sent_for(path, *, crowded=False, kind="http", method="GET", shares=None, **headers):
    """What is sent for a request, and whether the application saw it."""
    messages, seen = [], []

    async def app(scope, receive, send):
        seen.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def keep(message):
        messages.append(message)

    async def place(_):
        return nullcontext() if shares is None else shares.holding("ana", seconds=5.0)

    guarded = _Guarded(app, crowded=lambda _: crowded, receiving=place)
    given = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    asyncio.run(guarded({"type": kind, "method": method, "path": path, "headers": given}, None, keep))
    return messages[0], seen


OWN = {"origin": "https://house.example", "host": "house.example"}
THROUGH_A_PROXY = {"origin": "https://house.example", "host": "10.0.0.1:8000", "x_forwarded_host": "house.example"}


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://house.example.evil.example", "http://"])
def test_other_pages_reach_no_socket_of_the_page(kind, origin):
    start, seen = sent_for("/page/_nicegui_ws/socket.io/", kind=kind, origin=origin, host="house.example")
    assert seen == [] and (start.get("status"), start.get("code")) in ((403, None), (None, 1008))


@pytest.mark.parametrize("headers", [OWN, THROUGH_A_PROXY, {"host": "house.example"}])
def test_the_page_reaches_its_own_socket(headers):
    _, seen = sent_for("/page/_nicegui_ws/socket.io/", kind="websocket", **headers)
    assert seen


def test_no_frame_may_go_around_the_page():
    start, _ = sent_for("/page/", crowded=False)
    headers = dict(start["headers"])
    assert headers[b"x-frame-options"] == b"DENY"
    assert b"default-src 'self'" in headers[b"content-security-policy"]


def test_too_many_pages_are_refused_before_one_more_is_built():
    start, seen = sent_for("/page/", crowded=True)
    assert (start["status"], seen) == (503, [])
    assert dict(start["headers"])[b"retry-after"] == b"30"


def test_a_browser_that_is_refused_sees_a_page_that_asks_again():
    start, seen = sent_for("/page/", crowded=True, accept="text/html,*/*", accept_language="zh-CN")
    headers = dict(start["headers"])
    assert (start["status"], seen, headers[b"retry-after"]) == (503, [], b"30")
    assert headers[b"content-type"].startswith(b"text/html") and headers[b"x-frame-options"] == b"DENY"


class _Open:
    """A page that is open, or was only asked for."""

    def __init__(self, name, created, *, here=True):
        self.id, self.created, self.has_socket_connection, self.is_deleted = name, created, here, False
        self.told = []

    def run_javascript(self, code):
        self.told.append(code)

    def delete(self):
        self.is_deleted = True


def full_at(now, pages, used, monkeypatch):
    """Whether a third page is refused at a time, where two may be open; `used` says when each was used last."""
    monkeypatch.setattr("dragoman.server.page.open_pages.MOST", 2)
    monkeypatch.setattr("dragoman.server.page.open_pages._FAREWELL", 0.0)
    open_pages = OpenPages(lambda: [page for page in pages if not page.is_deleted], clock=lambda: now)
    for page in pages:
        open_pages.came(page, lambda page=page: used.get(page.id, page.created))
        if page.has_socket_connection:
            open_pages.settled(page)

    async def ask():
        full = open_pages.is_full()
        await asyncio.sleep(0.01)
        return full

    return asyncio.run(ask())


def test_the_page_that_is_idle_longest_makes_room(monkeypatch):
    first, second = _Open("first", 0.0), _Open("second", 10.0)
    assert not full_at(5000.0, [first, second], {"first": 4000.0, "second": 3000.0}, monkeypatch)
    assert (first.told, second.told, second.is_deleted) == ([], [REST], True)


def test_a_page_that_no_browser_came_back_for_goes_first(monkeypatch):
    idle, unseen = _Open("idle", 0.0), _Open("unseen", 4000.0, here=False)
    assert not full_at(5000.0, [idle, unseen], {}, monkeypatch)
    assert (idle.told, unseen.is_deleted) == ([], True)


def test_pages_in_use_and_pages_that_load_are_left_alone(monkeypatch):
    used, loading = _Open("used", 0.0), _Open("loading", 4999.0, here=False)
    assert full_at(5000.0, [used, loading], {"used": 4900.0}, monkeypatch)
    assert not (used.told or used.is_deleted or loading.is_deleted)


def test_there_is_room_below_the_limit(monkeypatch):
    assert not full_at(5000.0, [_Open("one", 0.0)], {}, monkeypatch)


def test_the_way_back_from_rest_leads_nowhere_else():
    shown = rest_page("en", '"><script>', "a&b=c")
    assert 'href="./?agent=%22%3E%3Cscript%3E&amp;dialogue=a%26b%3Dc"' in shown
    assert "<script>" not in shown


def test_pages_that_are_open_go_on_when_no_more_are_let_in():
    start, seen = sent_for("/page/_nicegui/client/1/upload/2", crowded=True)
    assert (start["status"], seen) == (200, ["/page/_nicegui/client/1/upload/2"])


def test_uploads_come_in_as_many_at_once_as_on_the_api():
    shares = FairShare(1)
    where = "/page/_nicegui/client/1/upload/2"
    start, seen = sent_for(where, method="POST", shares=shares)
    assert (start["status"], seen, shares.total) == (200, [where], 0)
    shares.take("ana")
    for path, method, status in ((where, "POST", 503), (where, "GET", 200), ("/page/", "POST", 200)):
        start, seen = sent_for(path, method=method, shares=shares)
        assert (start["status"], bool(seen)) == (status, status == 200)


def test_keys_are_of_their_session_until_it_leaves():
    keys = Keys()
    keys.put("one", "a")
    keys.put("two", "b")
    keys.drop("one")
    keys.drop("never seen")
    assert (keys.of("one"), keys.of("two")) == (None, "b")


def test_signing_in_again_and_again_signs_nobody_else_out():
    keys = Keys()
    keys.put("ana's", "a")
    tokens = [keys.admit("b") for _ in range(10_001)]
    assert keys.of("ana's") == "a" and keys.of(tokens[0]) is None and keys.of(tokens[-1]) == "b"
    assert sum(keys.of(token) is not None for token in tokens) == 200


def test_every_sign_in_gets_a_token_of_its_own():
    """Whoever planted a cookie in a browser must not come in with it after its user has signed in."""
    keys = Keys()
    first, second = keys.admit("a"), keys.admit("a")
    assert first != second and (keys.of(first), keys.of(second), keys.of("planted")) == ("a", "a", None)


def test_one_owner_of_many_pages_leaves_places_to_others(monkeypatch):
    monkeypatch.setattr("dragoman.server.page.open_pages.MOST", 8)
    pages = [_Open(str(number), 4990.0) for number in range(6)]
    open_pages = OpenPages(lambda: pages, clock=lambda: 5000.0)
    for page in pages:
        open_pages.came(page, lambda: 4990.0, "ana")
        open_pages.settled(page)
    assert open_pages.is_full("ana") and not open_pages.is_full("ben") and not open_pages.is_full(None)


def test_a_page_that_is_open_ends_with_its_session():
    service, keys = _Asked(), Keys()
    keys.put("one", "a")
    page_session = PageSession(service, None, lambda: keys.of("one"), "en", "robin")
    assert asyncio.run(page_session.caller()) == "a"
    keys.drop("one")
    assert asyncio.run(page_session.caller()) is None


def test_runs_are_an_admins_at_every_click():
    service = _Asked(Caller("k", "t", "ana"))
    page_session = PageSession(service, object(), lambda: "a", "en", "robin")
    for asked in (page_session.listed_runs(), page_session.run_result("first")):
        with pytest.raises(AccessError):
            asyncio.run(asked)


class _Asked:
    """A house that says whom it takes a key for."""

    def __init__(self, caller=None):
        self._caller = caller

    async def caller(self, key):
        return self._caller or key


def test_the_oldest_sessions_go_when_there_are_too_many(monkeypatch):
    monkeypatch.setattr("dragoman.server.page.session._MOST_SESSIONS", 2)
    keys = Keys()
    for session in ("one", "two", "three"):
        keys.put(session, "key")
    assert [keys.of(session) for session in ("one", "two", "three")] == [None, "key", "key"]


def test_new_dialogues_have_names_of_their_own_that_the_house_takes():
    names = {new_chat() for _ in range(20)}
    assert len(names) == 20
    for name in names:
        check_dialogue(name)
