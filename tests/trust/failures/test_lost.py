"""The network to the model goes, the clock goes backwards: no turn is half kept, and the next one is answered."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import time

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.agent.build import assemble
from dragoman.config import load_config
from dragoman.core.errors import EndpointError, LimitError
from dragoman.core.values import Passage, Scope, Turn
from dragoman.models.remote.model import RemoteModel
from dragoman.models.scripted import ScriptedEncoder
from dragoman.server.access.caller import Limits
from dragoman.server.access.keys import create
from dragoman.server.access.postgres_ledger import PostgresLedger
from dragoman.server.access.sqlite_ledger import SqliteLedger

pytestmark = pytest.mark.trust
QUESTION = "What does a day ticket cost?"


class Line(httpx.SyncByteStream):
    """An answer word by word, which breaks off after some of them."""

    def __init__(self, words, breaks):
        self._words, self._breaks = words, breaks

    def __iter__(self):
        for word in self._words:
            piece = {"choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]}
            yield f"data: {json.dumps(piece)}\n\n".encode()
        if self._breaks:
            raise httpx.ReadError("the network is gone")
        yield b"data: [DONE]\n\n"


class Endpoint:
    """A model over the network: `ways` says how each request ends, the last one ever after."""

    def __init__(self, *ways):
        self._ways = list(ways)

    def __call__(self, request):
        if request.method == "GET":
            return httpx.Response(404)  # no list of models
        way = self._ways.pop(0) if len(self._ways) > 1 else self._ways[0]
        if way == "refused":
            raise httpx.ConnectError("refused")
        if json.loads(request.content).get("stream"):
            return httpx.Response(200, stream=Line(["Six", " francs"], way == "breaks"))
        if way == "breaks":
            raise httpx.ReadError("the network is gone")
        choice = {"message": {"role": "assistant", "content": "Six francs"}, "finish_reason": "stop"}
        return httpx.Response(200, json={"choices": [choice]})


@pytest.fixture
def talking(folder, state):
    """The folder's agent with a model over a network that ends requests as told."""
    made = []

    def make(*ways):
        config = load_config(
            folder / "agent.toml", {"reader.kind": "prompted", "gate.kind": "always", "planner.kind": "all"}
        )
        transport = httpx.MockTransport(Endpoint(*ways))
        model = RemoteModel(url="http://models.test/v1", model="m", transport=transport, sleep=lambda _: None)
        made.append(assemble(config, folder=folder, state=state, models=(model, ScriptedEncoder())))
        return made[-1]

    yield make
    for assistant in made:
        assistant.close()


@pytest.mark.parametrize("way", ["breaks", "refused"])
@pytest.mark.parametrize("streamed", [True, False])
def test_a_turn_whose_model_is_lost_is_not_kept_and_can_be_asked_again(talking, way, streamed):
    assistant = talking("answers")
    assistant.ask("I live in Bern.", user="ana", dialogue="d")
    before = assistant.history(user="ana", dialogue="d")
    assistant.close()
    assistant = talking(*[way] * 8, "answers")
    with pytest.raises(EndpointError) as raised:
        for _ in range(8):
            if streamed:
                list(assistant.stream(QUESTION, user="ana", dialogue="d"))
            else:
                assistant.ask(QUESTION, user="ana", dialogue="d")
    assert raised.value.remedy
    assert assistant.history(user="ana", dialogue="d") == before, "no half of a turn"
    assert [fact.text for fact in assistant.recall(user="ana")] == ["I live in Bern."]
    assistant.close()
    again = talking("answers")
    assert again.ask(QUESTION, user="ana", dialogue="d").text == "Six francs"
    assert len(again.history(user="ana", dialogue="d")) == len(before) + 2


def test_what_a_lost_turn_taught_is_there_once(talking):
    assistant = talking("refused")
    with pytest.raises(EndpointError):
        assistant.ask("My dog is called Rufus. What does a day ticket cost?", user="ana")
    assistant.close()
    again = talking("answers")
    again.ask("My dog is called Rufus. What does a day ticket cost?", user="ana")
    assert len([fact for fact in again.recall(user="ana") if "Rufus" in fact.text]) == 1


@pytest.fixture
def backwards(monkeypatch):
    """Every look at the clock is an hour before the last one."""
    now = [time.time()]

    def earlier():
        now[0] -= 3600
        return now[0]

    monkeypatch.setattr(time, "time", earlier)
    monkeypatch.setattr(time, "time_ns", lambda: int(earlier() * 1e9))


def test_turns_facts_and_dialogues_keep_their_order_while_the_clock_goes_backwards(talking, backwards):
    assistant = talking("answers")
    for name in ("first", "second"):
        for i in range(3):
            assistant.ask(f"I like Pal{i}{name}.", user="ana", dialogue=name)
    said = [turn.text for turn in assistant.history(user="ana", dialogue="first") if turn.speaker == "user"]
    assert said == [f"I like Pal{i}first." for i in range(3)]
    assert [fact.meta["value"] for fact in assistant.recall(user="ana")] == [
        f"Pal{i}{name}" for name in ("first", "second") for i in range(3)
    ]
    assistant.ask("I live in Bern.", user="ana")
    assistant.ask("I moved to Basel.", user="ana")
    homes = [fact.text for fact in assistant.recall(user="ana") if fact.meta.get("slot") == "home"]
    assert homes == ["I moved to Basel."], "the later word counts, whatever the clock says"


def test_a_file_whose_time_went_backwards_is_read_again(talking, folder, backwards):
    assistant = talking("answers")
    file = folder / "documents" / "prices.md"
    file.write_text("# Prices\n\nA day ticket costs 9 francs.\n", encoding="utf-8")  # as long as before
    os.utime(file, (1_000_000, 1_000_000))
    assistant.ingest([file], source="DOCUMENTS")
    rows = assistant.store.passages(assistant.scope().shared, "DOCUMENTS")
    assert [("9 francs" in row.text, "6 francs" in row.text) for row in rows] == [(True, False)]


def test_a_clock_set_back_gives_no_turn_away_and_locks_nobody_out(tmp_path):
    ledger, limits, now = SqliteLedger(tmp_path / "server.db"), Limits(turns_per_minute=6), 2_000_000.0
    for _ in range(6):
        ledger.admit("k", limits, now)
    for _ in range(3):
        now -= 3600
        with pytest.raises(LimitError):
            ledger.admit("k", limits, now)
    ledger.admit("k", limits, now + 10)  # six a minute is one in ten seconds, by the clock as it goes now
    with pytest.raises(LimitError):
        ledger.admit("k", limits, now + 11)
    ledger.close()


NUMBERS = itertools.count()
LIMITS = Limits(turns_per_minute=6, tokens_per_day=100)


JUMPS = st.lists(
    st.sampled_from([-90_000.0, -3600.0, -10.0, -0.5, 0.0, 0.5, 10.0, 60.0, 90_000.0]), min_size=1, max_size=60
)


def check_jumps(ledger, key, jumps):
    now, forward, admitted, spent = 2_000_000.0, 0.0, 0, {}
    for jump in jumps:
        now += jump
        forward += max(0.0, jump)
        with contextlib.suppress(LimitError):
            ledger.admit(key, LIMITS, now)
            admitted += 1
            ledger.spend(key, 30, now)
            spent[now // 86_400] = spent.get(now // 86_400, 0) + 30
    assert admitted <= 6 + forward * 6 / 60
    assert all(tokens < 100 + 30 for tokens in spent.values()), "a day's tokens are a day's, whichever day it is"


@settings(max_examples=25, deadline=None)
@given(JUMPS)
def test_however_the_clock_jumps_no_more_is_given_than_its_way_forward_earns(tmp_path_factory, jumps):
    ledger = SqliteLedger(tmp_path_factory.mktemp("ledger") / "server.db")
    check_jumps(ledger, "k", jumps)
    ledger.close()


@pytest.mark.slow
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(JUMPS)
def test_nor_on_a_ledger_that_servers_share(make_store, jumps):
    store = make_store()
    check_jumps(PostgresLedger(store.engine, own_clock=True), f"k{next(NUMBERS)}", jumps)
    store.close()


def test_a_revoked_key_stays_revoked_whatever_the_clock_says(tmp_path, backwards):
    ledger = SqliteLedger(tmp_path / "server.db")
    key, _ = create(ledger, "ana's", user="ana")
    assert ledger.revoke(key.id, time.time() + 1e9)
    found, _ = ledger.find(key.id)
    assert found.revoked is not None and not ledger.revoke(key.id, time.time())
    ledger.close()


@pytest.mark.slow
def test_a_server_keeps_the_order_of_turns_that_come_from_clocks_set_back(make_store, backwards):
    stores = [make_store(), make_store()]
    for i in range(10):
        stores[i % 2].append(Scope("acme", "ana"), "d", [Turn("user", f"t{i}"), Turn("agent", f"a{i}")])
        stores[i % 2].put(Scope("acme", "ana"), [Passage(f"p{9 - i}", "NOTES", f"row {i}")])
    assert [turn.text for turn in stores[0].dialogue(Scope("acme", "ana"), "d")[::2]] == [f"t{i}" for i in range(10)]
    assert [row.text for row in stores[1].passages(Scope("acme", "ana"), "NOTES")] == [f"row {i}" for i in range(10)]
