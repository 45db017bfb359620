"""What may run at once, what may wait, what a key may use; and what happens to those who leave or are too late."""

from __future__ import annotations

import asyncio
import socket
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import LimitError
from dragoman.core.trace import Note, Refinement
from dragoman.core.values import Draft, Usage
from dragoman.models.metering import record
from dragoman.server.access.caller import LOCAL, Limits
from dragoman.server.access.keys import create
from dragoman.server.access.ledger import DAY
from dragoman.server.access.sqlite_ledger import SqliteLedger
from dragoman.server.http.request_limits import BodyLimits
from dragoman.server.turns.events import Toll
from dragoman.server.turns.fair_share import FairShare
from dragoman.sources.ingest import IngestReport

pytestmark = pytest.mark.trust


class Asking(threading.Thread):
    """A request in a thread of its own."""

    def __init__(self, client, text, dialogue="d", **more):
        super().__init__(daemon=True)
        self._given = client, {"text": text, "dialogue": dialogue}, more
        self.response = None
        self.start()

    def run(self):
        client, body, more = self._given
        self.response = client.post("/v1/turns", json=body, **more)

    def done(self):
        self.join(60)
        assert not self.is_alive()
        return self.response


def until(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)
    assert condition()


def expire(queue):
    """End the running turns as their timers would, however slow the machine is until then."""
    for run in tuple(queue._live):
        queue.loop.call_soon_threadsafe(queue._expire, run)


def test_turns_of_one_dialogue_are_answered_in_order_and_others_do_not_wait_for_them(make_house, serve, held_reader):
    held_reader.held = True
    started = serve(make_house(reader=held_reader, workers=4))
    first = Asking(started.client(), "one")
    until(lambda: held_reader.running == 1)
    rest = []
    for place, text in enumerate(("two", "three", "four"), start=2):
        rest.append(Asking(started.client(), text))
        until(lambda place=place: started.service.turn_queue.load == place)
    other = Asking(started.client(), "elsewhere", "other")
    until(lambda: held_reader.running == 2)
    assert held_reader.order == ["one", "elsewhere"]
    held_reader.go.set()
    for asking in (first, *rest, other):
        assert asking.done().status_code == 200
    assert [text for text in held_reader.order if text != "elsewhere"] == ["one", "two", "three", "four"]
    turns = started.client().get("/v1/dialogues/d").json()["turns"]
    assert [turn["text"] for turn in turns if turn["speaker"] == "user"] == ["one", "two", "three", "four"]


def test_a_full_queue_refuses_at_once_and_says_when_to_come_back(make_house, serve, held_reader):
    held_reader.held = True
    started = serve(make_house(reader=held_reader, workers=1, queue=2))
    taken = [Asking(started.client(**{"x-dragoman-user": f"u{i}"}), "hold", f"d{i}") for i in range(3)]
    until(lambda: started.service.turn_queue.load == 3)
    refused = started.client().post("/v1/turns", json={"text": "late"})
    assert started.service.turn_queue.load == 3
    assert (refused.status_code, refused.json()["code"]) == (503, "busy")
    assert int(refused.headers["retry-after"]) >= 1
    assert started.client().get("/healthz").status_code == 200
    held_reader.go.set()
    assert [asking.done().status_code for asking in taken] == [200, 200, 200]
    assert started.client().post("/v1/turns", json={"text": "now"}).status_code == 200


def test_one_caller_cannot_fill_the_queue_and_others_are_still_served(make_house, serve, held_reader):
    service = make_house(keys=True, reader=held_reader, workers=1, queue=7, limits=Limits(turns_per_minute=1000))
    first, second = (create(service.ledger, user, user=user)[1] for user in ("ana", "ben"))
    held_reader.held = True
    started = serve(service)
    taken = [Asking(started.client(first), "hold", f"d{i}") for i in range(6)]
    until(lambda: service.turn_queue.load == 6)
    refused = started.client(first).post("/v1/turns", json={"text": "more"})
    assert (refused.status_code, refused.json()["code"]) == (429, "too-many-waiting")
    assert int(refused.headers["retry-after"]) >= 1
    served = Asking(started.client(second), "hello")
    until(lambda: service.turn_queue.load == 7)
    held_reader.go.set()
    for asking in (served, *taken):
        assert started.events(asking.done().text)[-1][0] == "done"
    until(lambda: service.turn_queue.load == 0)
    assert service.turn_queue._shares.total == 0 and not service.turn_queue._shares._held
    assert started.client(first).post("/v1/turns", json={"text": "now"}).status_code == 200


@given(st.integers(1, 40), st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=150))
def test_whoever_holds_nothing_finds_a_place_unless_everybody_has_one(most, moves):
    """In a room of which somebody alone takes what they can, a place is left; nobody holds above three quarters."""
    shares, held = FairShare(most), dict.fromkeys("abc", 0)
    for whose, comes in moves:
        if comes and shares.total < most and shares.may_take(whose):
            shares.take(whose)
            held[whose] += 1
        elif not comes and held[whose]:
            shares.give_back(whose)
            held[whose] -= 1
        assert shares.total == sum(held.values()) <= most
        assert all(n <= max(1, 0.75 * most) for n in held.values())
        if most > 1 and sum(n > 0 for n in held.values()) < 2:
            assert shares.total < most and shares.may_take("newcomer")


def test_one_caller_cannot_take_all_the_other_work_either(make_house):
    async def scene():
        service, go = make_house(), threading.Event()
        greedy = [asyncio.create_task(service.call(lambda: go.wait(60), whose="ana")) for _ in range(80)]
        await asyncio.sleep(0)
        other = asyncio.create_task(service.call(lambda: "served", whose="ben"))
        await asyncio.sleep(0)
        go.set()
        refused = [error for error in await asyncio.gather(*greedy, return_exceptions=True) if error is not True]
        assert await other == "served"
        await service.close()
        return refused

    refused = asyncio.run(scene())
    assert len(refused) == 80 - 48 and {error.code for error in refused} == {"too-many-waiting"}


@pytest.mark.parametrize("path", ["/v1/turns", "/v1/chat/completions", "whole"])
def test_a_client_that_leaves_frees_its_generation(make_house, serve, held_reader, path):
    held_reader.held = True
    started = serve(make_house(reader=held_reader, workers=1, queue=0))
    chat = {"model": "robin", "messages": [{"role": "user", "content": "Hello"}], "stream": path != "whole"}
    body = {"text": "Hello"} if path == "/v1/turns" else chat
    leaving = started.client()
    where = "/v1/chat/completions" if path == "whole" else path
    if path == "whole":
        with pytest.raises(Exception, match="timed out"):
            leaving.post(where, json=body, timeout=0.5)
    else:
        with leaving.stream("POST", where, json=body):
            until(held_reader.begun.is_set)
    until(lambda: all(run.cancelled for run in started.service.turn_queue._live))  # the server saw the client leave
    held_reader.go.set()
    until(held_reader.stopped.is_set)
    until(lambda: started.service.turn_queue.load == 0)
    assert started.client().get("/v1/dialogues").json()["data"] == []
    assert started.client().post("/v1/turns", json={"text": "Next"}).status_code == 200


def test_a_turn_that_waits_and_is_left_never_begins(make_house, serve, held_reader):
    held_reader.held = True
    started = serve(make_house(reader=held_reader, workers=1))
    first = Asking(started.client(), "one")
    until(lambda: held_reader.running == 1)
    with pytest.raises(Exception, match="timed out"):
        started.client().post("/v1/turns", json={"text": "two", "dialogue": "d"}, timeout=0.3)
    until(lambda: started.service.turn_queue.load == 1)
    held_reader.go.set()
    assert first.done().status_code == 200
    assert held_reader.order == ["one"]


def test_a_turn_that_takes_too_long_is_ended(make_house, serve, held_reader):
    held_reader.held = True
    started = serve(make_house(reader=held_reader, workers=1))
    queue = started.service.turn_queue
    streamed = Asking(started.client(), "one")
    until(held_reader.begun.is_set)  # else the second may come first
    queue._turn_seconds = 0.05
    late = Asking(started.client(), "two", "other").done()
    assert (late.status_code, late.json()["code"]) == (503, "busy")
    queue._turn_seconds = 120.0
    expire(queue)
    events = started.events(streamed.done().text)
    assert events[-1][0] == "error" and events[-1][1]["code"] == "turn-timeout"
    body = {"model": "robin", "messages": [{"role": "user", "content": "Hello"}]}
    held_reader.go.set()
    held_reader.held = False
    until(lambda: queue.load == 0)
    assert started.client().post("/v1/chat/completions", json=body).status_code == 200


def test_closing_finishes_running_turns_and_begins_no_new_ones(make_house, serve, held_reader):
    held_reader.held = True
    started = serve(make_house(reader=held_reader, workers=1))
    running, waiting = Asking(started.client(), "one"), Asking(started.client(), "two")
    until(lambda: started.service.turn_queue.load == 2)
    started.server.should_exit = True
    time.sleep(0.3)
    held_reader.go.set()
    for asking in (running, waiting):
        assert started.events(asking.done().text)[-1][0] == "done"
    started.thread.join(60)
    assert not started.thread.is_alive() and started.service.ready is False


def test_a_key_that_is_revoked_while_its_turn_runs_ends_it(make_house, serve, held_reader, monkeypatch):
    from dragoman.server import service as services

    monkeypatch.setattr(services, "_LOOK_SECONDS", 0.02)
    service = make_house(keys=True, reader=held_reader)
    (key, first), (_, second) = (create(service.ledger, user, user=user) for user in ("ana", "ben"))
    held_reader.held = True
    started = serve(service)
    ended, other = Asking(started.client(first), "one"), Asking(started.client(second), "two")
    until(lambda: held_reader.running == 2)
    service.ledger.revoke(key.id, time.time())
    name, told = started.events(ended.done().text)[-1]
    assert (name, told["code"]) == ("error", "unauthorized")
    held_reader.go.set()
    assert started.events(other.done().text)[-1][0] == "done"
    assert started.client(first).get("/v1/models").status_code == 401


def test_turns_a_minute_are_refused_with_the_time_to_wait(make_house, serve):
    service = make_house(keys=True, limits=Limits(turns_per_minute=2))
    texts = [create(service.ledger, name)[1] for name in ("a", "b")]
    _, free = create(service.ledger, "c", turns_per_minute=100)
    started = serve(service)
    ask = {"text": "Hello"}
    codes = [started.client(texts[0]).post("/v1/turns", json=ask).status_code for _ in range(3)]
    assert codes == [200, 200, 429]
    refused = started.client(texts[0]).post("/v1/turns", json=ask)
    assert refused.json()["code"] == "too-many-turns" and 1 <= int(refused.headers["retry-after"]) <= 30
    assert started.client(texts[1]).post("/v1/turns", json=ask).status_code == 200
    assert [started.client(free).post("/v1/turns", json=ask).status_code for _ in range(4)] == [200] * 4


def test_tokens_a_day_are_counted_when_a_turn_is_done(make_house, serve, tmp_path):
    service = make_house(keys=True, limits=Limits(tokens_per_day=50))
    key, text = create(service.ledger, "a")
    started = serve(service)
    service.ledger.spend(key.id, 49, time.time())
    assert started.client(text).post("/v1/turns", json={"text": "Hello"}).status_code == 200
    service.ledger.spend(key.id, 1, time.time())
    refused = started.client(text).post("/v1/turns", json={"text": "Hello"})
    assert (refused.status_code, refused.json()["code"]) == (429, "too-many-tokens")
    assert 1 <= int(refused.headers["retry-after"]) <= DAY
    assert service.ledger.spent(key.id, time.time()).turns == 3


@pytest.mark.parametrize("how", ["left", "expired"])
def test_tokens_of_a_turn_that_ends_before_its_end_are_counted(make_house, serve, held_reader, how):
    """Whoever reads all but the last word and leaves has had the text."""
    held_reader.held = True
    service = make_house(keys=True, reader=held_reader, limits=Limits(tokens_per_day=8))
    key, text = create(service.ledger, "a")
    started = serve(service)
    if how == "left":
        with started.client(text).stream("POST", "/v1/turns", json={"text": "Hello there, " * 4}):
            until(held_reader.begun.is_set)
    else:
        asking = Asking(started.client(text), "Hello there, " * 4)
        until(held_reader.begun.is_set)
        expire(service.turn_queue)
        assert "turn-timeout" in asking.done().text
    until(lambda: all(run.cancelled for run in service.turn_queue._live))
    held_reader.go.set()
    until(lambda: service.turn_queue.load == 0)
    assert service.ledger.spent(key.id, time.time()).tokens >= 12  # 52 bytes asked, and a word said
    refused = started.client(text).post("/v1/turns", json={"text": "Hello"})
    assert (refused.status_code, refused.json()["code"]) == (429, "too-many-tokens")


def test_a_turn_that_was_left_before_anything_was_written_costs_nothing(make_house, serve, held_reader):
    service = make_house(keys=True, reader=held_reader, limits=Limits(tokens_per_day=8))
    key, text = create(service.ledger, "a")
    held_reader.stream = lambda task: iter(()).throw(RuntimeError)
    assert "internal" in serve(service).client(text).post("/v1/turns", json={"text": "Hello"}).text
    assert service.ledger.spent(key.id, time.time()).tokens == 0


def test_what_a_turn_asked_a_model_before_it_failed_is_counted(make_house, serve, held_reader):
    service = make_house(keys=True, reader=held_reader, limits=Limits(tokens_per_day=8))
    key, text = create(service.ledger, "a")

    def failing(task):
        record(Usage(30, 4, 1))  # as models do, whatever becomes of their answer
        raise RuntimeError
        yield

    held_reader.stream = failing
    assert "internal" in serve(service).client(text).post("/v1/turns", json={"text": "Hello"}).text
    assert service.ledger.spent(key.id, time.time()).tokens == 34


def test_what_the_drafts_of_a_turn_say_is_what_it_used():
    toll = Toll("Hello there")
    assert toll.usage == Usage()
    toll.take("You")
    assert toll.usage == Usage(2, 1, 1)  # 11 bytes are two tokens and a bit
    toll.take(Note("reader", "r", 0.0, Draft("You", 0.5, usage=Usage(30, 4, 1))))
    assert toll.usage == Usage(30, 4, 1)
    second = Refinement((), (), (), Draft("Thou", 0.5, usage=Usage(20, 3, 1)))
    toll.take(Note("refiner", "r", 0.0, second))
    assert toll.usage == Usage(50, 7, 2)


@given(st.lists(st.floats(0, 30), max_size=60), st.integers(1, 20))
def test_no_minute_holds_more_than_the_bucket_and_its_refill(tmp_path_factory, pauses, limit):
    """In any stretch of t seconds at most limit + t * limit / 60 turns begin; a worked bound of a token bucket."""
    ledger = SqliteLedger(tmp_path_factory.mktemp("bucket") / "l.db")
    now, admitted = 1_000_000.0, []
    for pause in pauses:
        now += pause
        try:
            ledger.admit("k", Limits(turns_per_minute=limit), now)
            admitted.append(now)
        except LimitError as error:
            assert 0 < error.seconds <= 60 / limit + 1e-6
    ledger.close()
    for i, first in enumerate(admitted):
        for j in range(i, len(admitted)):
            assert j - i + 1 <= limit + (admitted[j] - first) * limit / 60 + 1e-6


def test_two_processes_count_on_one_ledger(tmp_path):
    first, second = SqliteLedger(tmp_path / "l.db"), SqliteLedger(tmp_path / "l.db")
    limits = Limits(turns_per_minute=2)
    first.admit("k", limits, 100.0)
    second.admit("k", limits, 100.0)
    with pytest.raises(LimitError) as caught:
        first.admit("k", limits, 100.0)
    assert caught.value.seconds == pytest.approx(30.0)  # two a minute are one each 30 s
    second.admit("k", limits, 130.0)
    first.close()
    second.close()


def test_a_slow_sender_of_a_body_is_sent_away(make_house, serve):
    started = serve(make_house(), measure=BodyLimits(piece_seconds=0.3))

    def dribble():
        yield b'{"text": '
        time.sleep(1.0)
        yield b'"x"}'

    response = started.client().post("/v1/turns", content=dribble(), headers={"content-type": "application/json"})
    assert (response.status_code, response.json()["code"]) == (408, "slow-sender")


def test_one_caller_cannot_send_all_the_uploads_at_once(make_house, serve):
    """An upload lies on the disk before it is read; as many as somebody cares to begin would fill it."""
    service = make_house()
    service.receiving = FairShare(2)
    started = serve(service)
    ana, ben = (started.client(**{"x-dragoman-user": user}) for user in ("ana", "ben"))
    given = {"files": ("a.md", b"# A\n\nA boat.")}
    with socket.socket(socket.AF_UNIX) as slow:
        slow.connect(started.path)
        head = b"POST /v1/sources/NOTES/files HTTP/1.1\r\nhost: localhost\r\nx-dragoman-user: ana\r\n"
        slow.sendall(head + b"content-type: multipart/form-data; boundary=X\r\ncontent-length: 500\r\n\r\n--X")
        until(lambda: service.receiving.total == 1)
        refused = ana.post("/v1/sources/NOTES/files", files=given)
        assert (refused.status_code, refused.json()["code"]) == (429, "too-many-waiting")
        assert ben.post("/v1/sources/NOTES/files", files=given).status_code == 200
    until(lambda: service.receiving.total == 0)
    assert ana.post("/v1/sources/NOTES/files", files=given).status_code == 200


def test_a_dialogue_goes_on_after_a_refusal(make_house, serve, held_reader):
    """Clients try again after 503 with the same messages: that is the same dialogue, not a new one."""
    started = serve(make_house(reader=held_reader, workers=1, queue=0))
    client = started.client()
    first = chat(client, FIRST)
    more = [*FIRST, first["choices"][0]["message"], {"role": "user", "content": "And then?"}]
    held_reader.held = True
    other = Asking(started.client(), "hold", "other")
    until(lambda: held_reader.running == 1)
    body = {"model": "robin", "messages": more}
    assert client.post("/v1/chat/completions", json=body).status_code == 503
    assert client.post("/v1/chat/completions", json={**body, "stream": True}).status_code == 503
    held_reader.go.set()
    other.done()
    until(lambda: started.service.turn_queue.load == 0)
    again = chat(client, more)
    assert again["dragoman"]["dialogue"] == first["dragoman"]["dialogue"]
    assert len(client.get("/v1/dialogues").json()["data"]) == 2


@pytest.mark.parametrize("stream", [True, False])
def test_a_dialogue_goes_on_after_its_turn_failed(make_house, serve, held_reader, stream):
    started = serve(make_house(reader=held_reader))
    client = started.client()
    first = chat(client, FIRST)
    more = [*FIRST, first["choices"][0]["message"], {"role": "user", "content": "And then?"}]
    works, held_reader.stream = held_reader.stream, lambda task: iter(()).throw(RuntimeError)
    body = {"model": "robin", "messages": more, "stream": stream}
    assert "internal" in client.post("/v1/chat/completions", json=body).text
    held_reader.stream = works
    assert chat(client, more)["dragoman"]["dialogue"] == first["dragoman"]["dialogue"]


def test_nothing_is_kept_of_a_history_whose_turn_failed(make_house, serve, held_reader):
    started = serve(make_house(reader=held_reader))
    works, held_reader.stream = held_reader.stream, lambda task: iter(()).throw(RuntimeError)
    told = [*FIRST, {"role": "assistant", "content": "Good day."}, {"role": "user", "content": "And then?"}]
    body = {"model": "robin", "messages": told}
    assert started.client().post("/v1/chat/completions", json=body).status_code == 500
    assert started.client().get("/v1/dialogues").json()["data"] == []
    held_reader.stream = works
    kept = chat(started.client(), told)["dragoman"]["dialogue"]
    assert len(started.client().get(f"/v1/dialogues/{kept}").json()["turns"]) == 4


FIRST = [{"role": "user", "content": "Hello"}]


def chat(client, messages):
    response = client.post("/v1/chat/completions", json={"model": "robin", "messages": messages})
    assert response.status_code == 200, response.text
    return response.json()


def test_what_runs_while_everything_is_forgotten_is_not_kept(make_house, serve, held_reader):
    held_reader.held = True
    started = serve(make_house(reader=held_reader))
    asking = Asking(started.client(), "I keep a Zanzibarian badger.")
    until(lambda: held_reader.running == 1)
    forgetting = threading.Thread(
        target=lambda: started.client().delete("/v1/memory?everything=true&confirm=true"), daemon=True
    )
    forgetting.start()
    time.sleep(0.3)
    held_reader.go.set()
    asking.done()
    forgetting.join(60)
    assert "badger" not in started.client().get("/v1/memory/export").text


def test_a_turn_that_runs_while_its_dialogue_is_deleted_is_not_kept_and_others_go_on(make_house, serve, held_reader):
    started = serve(make_house(reader=held_reader))
    assert Asking(started.client(), "zero").done().status_code == 200
    held_reader.held = True
    asking, other = Asking(started.client(), "one"), Asking(started.client(), "two", "other")
    until(lambda: held_reader.running == 2)
    deleting = threading.Thread(target=lambda: started.client().delete("/v1/dialogues/d"), daemon=True)
    deleting.start()
    assert started.events(asking.done().text)[-1][0] == "error"
    held_reader.go.set()
    deleting.join(60)
    assert started.events(other.done().text)[-1][0] == "done"
    assert [row["id"] for row in started.client().get("/v1/dialogues").json()["data"]] == ["other"]


def test_closing_does_not_wait_for_a_file_that_takes_for_ever(make_house, monkeypatch):
    from dragoman.server import service_threads

    monkeypatch.setattr(service_threads, "_LAST_SECONDS", 0.05)
    held = threading.Event()

    async def scene():
        service = make_house(grace=0.1)
        reading = asyncio.create_task(service.read_in(LOCAL, "", "NOTES", lambda *_: held.wait(60)))
        await asyncio.sleep(0.05)
        await service.close()
        assert not reading.done() and service.is_left_undone
        held.set()
        await reading
        assert not service.is_left_undone

    asyncio.run(scene())


def test_files_that_take_long_to_read_hold_up_nobody_else(make_house, serve, monkeypatch):
    from dragoman.server.data import uploads

    held = threading.Event()
    monkeypatch.setattr(uploads, "_ingest", lambda *_args, **_options: held.wait(60) and IngestReport())
    started = serve(make_house())
    given = {"files": ("a.md", b"# A")}
    sending = [
        threading.Thread(target=lambda: started.client().post("/v1/sources/NOTES/files", files=given), daemon=True)
        for _ in range(8)
    ]
    for sender in sending:
        sender.start()
    until(lambda: started.service.threads.reading.total >= 8)
    assert started.client().get("/v1/memory").status_code == 200
    assert all(sender.is_alive() for sender in sending)
    held.set()
    for sender in sending:
        sender.join(60)
