"""Several servers on one database: any turn on any of them, each dialogue in order, each request answered once."""

from __future__ import annotations

import io
import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from dragoman.core.errors import ServiceError, StoreError
from dragoman.core.values import Draft
from dragoman.server.access.keys import create
from dragoman.server.access.postgres_ledger import postgres_ledger
from dragoman.server.access.quota import Quota, SharedStock
from dragoman.sources.upload_folders import UploadUsage
from dragoman.stores import PostgresStore
from dragoman.stores.in_memory import words
from dragoman.stores.postgres import dialogue_order

pytestmark = pytest.mark.trust
ONCE = "idempotency-key"


class Counting:
    """Answers with what it was told, and counts how often it was asked."""

    def __init__(self):
        self.asked = []

    def read(self, tasks):
        self.asked += [task.context.last for task in tasks]
        return [Draft(f"You said: {task.context.last}", 0.5, "said") for task in tasks]

    def stream(self, task):
        (draft,) = self.read([task])
        yield from (draft.text, draft)


def until(found, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def on_database(database, monkeypatch):
    """Overrides that put an agent's store on the server."""
    monkeypatch.setenv("REPLICAS", database.url())
    monkeypatch.setattr(dialogue_order, "_PING_SECONDS", 0.2)
    names = (
        "line",
        "turns",
        "kept",
        "passages",
        "vectors",
        "places",
        "scopes",
        "keys",
        "buckets",
        "spent",
        "stock",
        "ends",
    )
    database.run(";".join(f"DELETE FROM dragoman.{name}" for name in names))
    return {"store.kind": "store.postgres.v1", "store.url": "env:REPLICAS", "store.wait_seconds": 2}


@pytest.fixture
def replica(make_house, serve, on_database):
    """Starts another server on the database."""
    return lambda **options: serve(make_house(store=on_database, **options), grace=2.0)


@pytest.fixture
def asking():
    """Asks in a thread of its own."""
    with ThreadPoolExecutor(16) as pool:

        def ask(client, text, dialogue="d", key=None):
            headers = {ONCE: key} if key else {}
            return pool.submit(client.post, "/v1/turns", json={"text": text, "dialogue": dialogue}, headers=headers)

        yield ask


def said(server, dialogue="d"):
    turns = server.client().get(f"/v1/dialogues/{dialogue}").json()["turns"]
    return [turn["text"] for turn in turns if turn["speaker"] == "user"]


def last(server, response):
    assert response.status_code == 200, response.text
    return server.events(response.text)[-1]


def test_turns_of_a_dialogue_go_on_wherever_they_are_asked_in_the_order_they_came(replica, held_reader, asking):
    one, two = replica(reader=held_reader), replica(reader=held_reader)
    held_reader.held = True
    turns = []
    for number, (server, text) in enumerate([(one, "a1"), (one, "a2"), (two, "b1"), (one, "a3"), (two, "b2")]):
        turns.append((server, asking(server.client(), text)))
        until(lambda number=number: one.service.turn_queue.load + two.service.turn_queue.load == number + 1)
        time.sleep(0.02)  # the ticket is taken when the turn is in the house
    other = asking(two.client(), "elsewhere", "other")
    until(lambda: held_reader.running == 2)
    time.sleep(0.1)
    assert sorted(held_reader.order) == ["a1", "elsewhere"], "one dialogue waits, another does not"
    held_reader.go.set()
    places = [last(server, turn.result())[1]["turn"] for server, turn in turns]
    assert other.result().status_code == 200
    assert places == [1, 3, 5, 7, 9] and said(two) == ["a1", "a2", "b1", "a3", "b2"]


@pytest.mark.parametrize("place", ["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
@pytest.mark.parametrize("path", ["/v1/turns", "/v1/chat/completions"])
def test_a_request_sent_again_is_answered_once_and_alike(make_house, serve, request, place, path):
    store = request.getfixturevalue("on_database") if place == "postgres" else None
    reader = Counting()
    servers = [serve(make_house(store=store, reader=reader))]
    servers += [serve(make_house(store=store, reader=reader))] if store else servers
    chat = {"model": "robin", "messages": [{"role": "user", "content": "Hello"}]}
    body = {"text": "Hello"} if path == "/v1/turns" else chat
    first, again, other = (
        server.client().post(path, json=body, headers={ONCE: key})
        for server, key in zip((*servers, servers[0]), ("k1", "k1", "k2"), strict=True)
    )
    told = [
        last(servers[0], response)[1] if path == "/v1/turns" else response.json()["dragoman"]
        for response in (first, again, other)
    ]
    assert told[1].pop("replayed") is True and "replayed" not in {**told[0], **told[2]}
    times = {"seconds": 0.0}
    assert {**told[0], **times} == {**told[1], **times} and told[2]["dialogue"] != told[0]["dialogue"]
    assert reader.asked == ["Hello", "Hello"]
    assert said(servers[0], told[0]["dialogue"]) == ["Hello"]
    if path == "/v1/turns":
        events = [[name for name, _ in servers[0].events(response.text)] for response in (first, again)]
        assert [name for name in events[0] if name != "text"] == [name for name in events[1] if name != "text"]


def test_the_id_of_a_request_says_one_thing_only(client):
    def post(text, key):
        return client.post("/v1/turns", json={"text": text, "dialogue": "d"}, headers={ONCE: key})

    assert post("Hello", "k").status_code == 200
    for wrong in (post("Something else", "k"), post("Hello", "x" * 201), post("Hello", b"\xe9")):
        assert wrong.status_code in (400, 422) and wrong.json()["remedy"]
    assert post("Something else", "k").json()["code"] == "request-reused"
    both = client.post("/v1/turns", json={"text": "x"}, headers=[(ONCE, "a"), (ONCE, "b")])
    assert both.status_code == 400
    assert post("Hello", "k").status_code == 200
    figures = client.get("/metrics").text
    assert re.search(r'dragoman_turns_total\{agent="robin",outcome="replayed"\} [1-9]', figures)
    client.delete("/v1/dialogues/d")
    assert post("Something else", "k").status_code == 200, "what is forgotten is as if it never was"


def test_the_answer_to_a_wish_to_be_forgotten_is_gone_and_not_given_twice(client):
    client.post("/v1/turns", json={"text": "I live in Bern.", "dialogue": "d"})
    headers, body = {ONCE: "k"}, {"text": "Please forget where I live.", "dialogue": "d"}
    assert client.post("/v1/turns", json=body, headers=headers).status_code == 200
    again = client.post("/v1/turns", json=body, headers=headers)
    assert (again.status_code, again.json()["code"]) == (410, "forgotten")


def test_a_request_sent_again_while_it_runs_waits_for_the_same_answer(replica, held_reader, asking):
    one, two = replica(reader=held_reader), replica(reader=held_reader)
    held_reader.held = True
    first = asking(one.client(), "Hello", key="k")
    until(lambda: held_reader.running)
    again = asking(two.client(), "Hello", key="k")
    until(lambda: two.service.turn_queue.load == 1)
    held_reader.go.set()
    (_, done), (_, replayed) = last(one, first.result()), last(two, again.result())
    assert replayed.pop("replayed") and (done["text"], done["turn"]) == (replayed["text"], replayed["turn"])
    assert held_reader.order == ["Hello"] and said(one) == ["Hello"]


def test_the_same_request_in_two_dialogues_at_once_is_kept_once(replica, held_reader, asking):
    one, two = replica(reader=held_reader), replica(reader=held_reader)
    held_reader.held = True
    turns = [asking(one.client(), "Hello", "d", "k"), asking(two.client(), "Hello", "e", "k")]
    until(lambda: held_reader.running == 2)
    held_reader.go.set()
    events = [one.events(turn.result().text)[-1] for turn in turns]
    assert sorted(name for name, _ in events) == ["done", "error"]
    (problem,) = (data for name, data in events if name == "error")
    assert problem["code"] == "request-answered" and "Idempotency-Key" in problem["remedy"]
    assert one.client().get("/v1/dialogues").json()["data"][0]["turns"] == 2


def test_a_waiting_turn_that_nobody_listens_to_leaves_its_line(replica, held_reader, asking, database):
    one, two = replica(reader=held_reader), replica(reader=held_reader)
    held_reader.held = True
    first = asking(one.client(), "one")
    until(lambda: held_reader.running)
    leaving = two.client()
    with pytest.raises(Exception, match="timed out"):
        leaving.post("/v1/turns", json={"text": "gone", "dialogue": "d"}, timeout=0.3)
    until(lambda: two.service.turn_queue.load == 0)
    third = asking(two.client(), "three")
    held_reader.go.set()
    assert first.result().status_code == third.result().status_code == 200
    assert said(one) == ["one", "three"]
    until(lambda: database.run("SELECT count(*) FROM dragoman.line") == [(0,)])


def test_waiting_for_another_server_has_an_end_and_says_what_to_do(replica, held_reader, asking):
    one, two = replica(reader=held_reader), replica(reader=held_reader, turn_seconds=0.5)
    held_reader.held = True
    first = asking(one.client(), "one")
    until(lambda: held_reader.running)
    refused = asking(two.client(), "two").result()
    assert (refused.status_code, refused.json()["code"]) == (503, "busy")
    assert "Earlier turns of this dialogue" in refused.json()["detail"] and "Ask again" in refused.json()["remedy"]
    assert int(refused.headers["retry-after"]) >= 1
    held_reader.go.set()
    assert first.result().status_code == 200 and said(one) == ["one"]


def test_forgetting_on_one_server_lets_turns_on_another_keep_nothing(replica, held_reader, asking):
    one, two = replica(reader=held_reader), replica(reader=held_reader)
    held_reader.held = True
    turns = [asking(one.client(), "I live in Bern.")]
    until(lambda: held_reader.running)
    turns.append(asking(one.client(), "And you?"))
    until(lambda: one.service.turn_queue.load == 2)
    assert two.client().delete("/v1/memory?everything=true&confirm=true").status_code == 200
    held_reader.go.set()
    answers = [turn.result() for turn in turns]
    (name, problem), refused = one.events(answers[0].text)[-1], answers[1]
    assert (name, problem["code"]) == ("error", "busy") and "nothing of this one was kept" in problem["detail"]
    assert (refused.status_code, refused.json()["code"]) == (503, "busy")
    assert two.client().get("/v1/dialogues").json()["data"] == []


def test_forgetting_by_talking_on_one_server_lets_turns_on_another_keep_nothing(replica, held_reader, asking, database):
    one, two = replica(reader=held_reader), replica(reader=Counting())
    assert two.client().post("/v1/memory", json={"text": "I live in Bern."}).status_code == 200
    held_reader.held = True
    turn = asking(one.client(), "Where do I live?", "other")
    until(lambda: held_reader.running)
    assert last(two, two.client().post("/v1/turns", json={"text": "Forget that I live in Bern."}))[0] == "done"
    held_reader.go.set()
    name, problem = one.events(turn.result().text)[-1]
    assert (name, problem["code"]) == ("error", "busy")
    assert "Bern" not in two.client().get("/v1/memory/export").text
    until(lambda: database.run("SELECT count(*) FROM dragoman.line") == [(0,)])


def test_turns_that_wait_behind_a_forgetting_turn_of_their_dialogue_are_answered(
    replica, held_reader, asking, database
):
    one, two = replica(reader=held_reader), replica(reader=Counting())
    assert two.client().post("/v1/memory", json={"text": "I live in Bern."}).status_code == 200
    held_reader.held = True
    turns = [asking(one.client(), "Hello", "d")]
    until(lambda: held_reader.running)
    for place, (server, text) in enumerate(((one, "Forget that I live in Bern."), (two, "And then?")), start=2):
        turns.append(asking(server.client(), text, "d"))
        until(lambda place=place: database.run("SELECT count(*) FROM dragoman.line") == [(place,)])
    held_reader.go.set()
    for server, turn in zip((one, one, two), turns, strict=True):
        assert server.events(turn.result().text)[-1][0] == "done"
    assert len(two.client().get("/v1/dialogues/d").json()["turns"]) == 6


def test_forgetting_everything_ends_a_turn_elsewhere_that_forgets_itself(replica, held_reader, asking):
    one, two = replica(reader=held_reader), replica(reader=Counting())
    held_reader.held = True
    turn = asking(one.client(), "Forget my dog.")
    until(lambda: held_reader.running)
    assert two.client().delete("/v1/memory?everything=true&confirm=true").status_code == 200
    held_reader.go.set()
    assert one.events(turn.result().text)[-1][1]["code"] == "busy"
    assert two.client().get("/v1/dialogues").json()["data"] == []


def test_everything_is_confirmed_on_another_server_than_it_was_asked_on(replica, database):
    one, two = replica(reader=Counting()), replica(reader=Counting())
    one.client().post("/v1/memory", json={"text": "I live in Bern."})
    for server, text in ((one, "Forget everything about me."), (two, "Hello"), (one, "yes")):
        assert last(server, server.client().post("/v1/turns", json={"text": text, "dialogue": "d"}))[0] == "done"
    assert len(two.client().get("/v1/memory").json()["data"]) == 1, "another turn came between"
    for server, text in ((one, "Forget everything about me."), (two, "yes")):
        assert last(server, server.client().post("/v1/turns", json={"text": text, "dialogue": "d"}))[0] == "done"
    assert two.client().get("/v1/memory").json()["data"] == []
    until(lambda: database.run("SELECT count(*) FROM dragoman.line") == [(0,)])


def test_a_server_that_dies_holds_no_dialogue_up(replica, held_reader, asking, database):
    one, two = replica(reader=held_reader), replica(reader=held_reader)
    held_reader.held = True
    first = asking(one.client(), "one")
    until(lambda: held_reader.running)
    lines = one.service.hosted("").lines
    lines._closed.set()  # as a process that is gone: nobody begins another session
    database.run(f"SELECT pg_terminate_backend({lines._alive.info.backend_pid})")
    second = asking(two.client(), "two")
    until(lambda: held_reader.order == ["one", "two"])
    held_reader.go.set()
    assert last(two, second.result())[0] == "done"
    assert one.events(first.result().text)[-1][1]["code"] == "busy", "it was taken for dead, and keeps nothing"
    assert said(two) == ["two"]


def test_limits_and_keys_are_those_of_all_servers(make_house, serve, on_database, database):
    ledgers = [postgres_ledger(database.url()) for _ in range(2)]
    servers = [serve(make_house(store=on_database, ledger=ledger, reader=Counting())) for ledger in ledgers]
    key, text = create(ledgers[0], "ana's", user="ana", turns_per_minute=3)
    statuses = [servers[i % 2].client(text).post("/v1/turns", json={"text": "Hi"}).status_code for i in range(5)]
    assert statuses == [200, 200, 200, 429, 429]
    assert ledgers[1].spent(key.id, 0.0).turns == 3
    ledgers[1].revoke(key.id, time.time())
    until(lambda: servers[0].client(text).get("/v1/models").status_code == 401, seconds=1.0)


def test_a_running_turn_of_a_key_revoked_elsewhere_is_ended(
    make_house, serve, on_database, database, held_reader, asking
):
    ledgers = [postgres_ledger(database.url()) for _ in range(2)]
    one = serve(make_house(store=on_database, ledger=ledgers[0], reader=held_reader))
    key, text = create(ledgers[1], "ana's", user="ana")
    held_reader.held = True
    turn = asking(one.client(text), "Hello")
    until(lambda: held_reader.running)
    ledgers[1].revoke(key.id, time.time())
    until(lambda: one.service.turn_queue.load == 0 or turn.done(), seconds=3.0)
    held_reader.go.set()
    assert one.events(turn.result().text)[-1][1]["code"] == "unauthorized"
    ledgers[1].close()


def test_a_turn_is_its_callers_though_its_tokens_cannot_be_counted(make_house, serve, on_database, database, caplog):
    ledger = postgres_ledger(database.url())
    one = serve(make_house(store=on_database, ledger=ledger, reader=Counting()))
    _, text = create(ledger, "ana's", user="ana")

    def failing(*_):
        raise StoreError("The database is gone.")

    ledger.spend = failing
    assert last(one, one.client(text).post("/v1/turns", json={"text": "Hi"}))[0] == "done"
    assert "were not counted" in caplog.text


def test_a_database_out_of_sight_makes_a_server_unready_until_it_is_back(replica, database):
    one = replica(reader=Counting())
    assert one.client().post("/v1/turns", json={"text": "Hi"}).status_code == 200
    lines = one.service.hosted("").lines
    session = lines._database.session

    def refused():
        raise StoreError("No server answers.")

    lines._database.session = refused
    database.run(f"SELECT pg_terminate_backend({lines._alive.info.backend_pid})")
    until(lambda: one.client().get("/readyz").status_code == 503)
    lines._database.session = session
    until(lambda: one.client().get("/readyz").status_code == 200)


def test_a_pool_that_is_used_up_is_said_and_the_turn_can_be_sent_again(make_house, serve, on_database):
    one = serve(make_house(store={**on_database, "store.connections": 1, "store.wait_seconds": 0.3}, reader=Counting()))
    assert one.client().post("/v1/turns", json={"text": "Hi", "dialogue": "d"}).status_code == 200
    database = one.service.hosted("").assistant.store._database
    with database.reading(one.service.hosted("").assistant.scope("me")):
        refused = one.client().post("/v1/turns", json={"text": "Again", "dialogue": "d"}, headers={ONCE: "k"})
    assert (refused.status_code, refused.json()["code"]) == (503, "busy") and refused.headers["retry-after"]
    again = one.client().post("/v1/turns", json={"text": "Again", "dialogue": "d"}, headers={ONCE: "k"})
    assert last(one, again)[1]["turn"] == 3 and said(one) == ["Hi", "Again"]


def upload(client, **files):
    given = [("files", (f"{name}.md", io.BytesIO(content))) for name, content in files.items()]
    return client.post("/v1/sources/NOTES/files", files=given)


def test_room_for_uploads_is_that_of_all_servers(make_house, serve, on_database, database, tmp_path):
    """Three servers, of which the first two share a folder."""
    quota = Quota(user_files=3, user_bytes=200, tenant_files=4)
    services = [make_house(store=on_database, quota=quota) for _ in range(3)]
    services[1].hosted("").state = services[0].hosted("").state
    servers = [serve(service) for service in services]
    ana, ben = ([server.client(**{"x-dragoman-user": user}) for server in servers] for user in ("ana", "ben"))
    assert upload(ana[0], a=b"One boat.", b=b"Two boats.").json()["files"] == 2
    assert upload(ana[1], c=b"Three boats.").json()["files"] == 1
    for client, more in ((ana[0], {"d": b"Four."}), (ana[1], {"a": b"x" * 200})):
        refused = upload(client, **more)
        assert (refused.status_code, refused.json()["code"]) == (409, "quota") and "A user" in refused.json()["detail"]
    assert upload(ben[2], a=b"Ben's boat.").json()["files"] == 1
    assert "This tenant" in upload(servers[0].client(**{"x-dragoman-user": "eve"}), b=b"A boat.").json()["detail"]
    assert ana[1].delete("/v1/sources/NOTES/files/c.md").status_code == 200
    assert upload(ana[0], d=b"Four.").json()["files"] == 1
    assert database.run("SELECT sum(files), sum(bytes) FROM dragoman.stock") == [(4, 9 + 10 + 11 + 5)]
    assert ana[0].delete("/v1/memory?everything=true&confirm=true").status_code == 200
    assert upload(ana[1], e=b"x" * 60, f=b"y" * 60, g=b"z" * 60).json()["files"] == 3


def test_files_that_lie_with_another_server_are_let_alone_and_that_is_said(replica):
    """A server that does not see a user's files would take their passages for those of files that are gone."""
    one, two = replica(), replica()
    assert upload(one.client(), a=b"One boat.", b=b"Two boats.").json()["files"] == 2
    away = two.client()
    for refused in (
        upload(away, c=b"Three boats."),
        away.get("/v1/sources/NOTES/files"),
        away.delete("/v1/sources/NOTES/files/a.md"),
        away.delete("/v1/memory?everything=true&confirm=true"),
    ):
        assert (refused.status_code, refused.json()["code"]) == (421, "elsewhere") and refused.json()["remedy"]
    found = away.post("/v1/sources/NOTES/search", json={"query": "boats"}).json()["data"]
    assert len(found) == 2, "what was read of them is everybody's"
    assert one.client().delete("/v1/memory?everything=true&confirm=true").json()["removed"] >= 2
    assert upload(away, c=b"Three boats.").json()["files"] == 1


def test_uploads_at_once_on_several_servers_leave_nobody_more_room_than_there_is(database, tmp_path, on_database):
    store = PostgresStore(url=database.url(), analyse=words, folder=tmp_path)
    stocks, quota, kept = [SharedStock(store.usage) for _ in range(3)], Quota(tenant_files=10), []

    def keep(number):
        folder = tmp_path / f"machine{number}" / "uploads" / "tenant" / f"user{number}"
        folder.mkdir(parents=True)
        for i in range(6):
            try:
                with stocks[number].claiming(folder, UploadUsage(1, 1), quota, private=True):
                    (folder / f"{i}").write_bytes(b"x")
                    kept.append(1)
            except ServiceError as error:
                assert error.code == "quota"

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(keep, range(3)))
    assert len(kept) == 10 and database.run("SELECT sum(files) FROM dragoman.stock") == [(10,)]
    again = SharedStock(store.usage)
    file = next(tmp_path.glob("machine*/uploads/tenant/*/0"))
    file.unlink()  # by hand
    again.add(file.parent, UploadUsage())
    assert database.run("SELECT sum(files) FROM dragoman.stock") == [(9,)], "counted anew where the files lie"
    store.close()


def chat(client, *messages, **more):
    told = [{"role": role, "content": text} for role, text in zip(("user", "assistant") * 9, messages, strict=False)]
    response = client.post("/v1/chat/completions", json={"model": "robin", "messages": told, **more})
    assert response.status_code == 200, response.text
    return response


def test_a_client_that_repeats_the_history_goes_on_with_its_dialogue_on_any_server(replica):
    one, two = replica(reader=Counting()), replica(reader=Counting())
    first = chat(one.client(), "a").json()
    dialogue, reply = first["dragoman"]["dialogue"], first["choices"][0]["message"]["content"]
    second = chat(two.client(), "a", reply, "b").json()
    assert second["dragoman"]["dialogue"] == dialogue and second["dragoman"]["turn"] == 3
    again = chat(one.client(), "a", reply, "b").json()
    assert again["dragoman"]["dialogue"] != dialogue, "an answer asked for again begins a dialogue of its own"
    third = chat(one.client(), "a", reply, "b", second["choices"][0]["message"]["content"], "c", stream=True)
    assert dialogue not in third.text or again["dragoman"]["dialogue"] not in third.text
    stranger = two.client(**{"x-dragoman-user": "eve"})
    assert chat(stranger, "a", reply, "b").json()["dragoman"]["dialogue"] != dialogue
    assert one.client().delete(f"/v1/dialogues/{dialogue}").status_code == 200


def test_a_turn_that_failed_leaves_its_dialogue_to_be_gone_on_with(replica, database, held_reader):
    one, two = replica(reader=Counting()), replica(reader=held_reader)
    first = chat(one.client(), "a").json()
    dialogue, reply = first["dragoman"]["dialogue"], first["choices"][0]["message"]["content"]
    held_reader.held = True
    with pytest.raises(Exception, match="timed out"):
        told = [{"role": "user", "content": "a"}, {"role": "assistant", "content": reply}]
        body = {"model": "robin", "messages": [*told, {"role": "user", "content": "b"}]}
        two.client().post("/v1/chat/completions", json=body, timeout=0.5)
    until(lambda: all(run.cancelled for run in two.service.turn_queue._live))
    held_reader.go.set()
    until(lambda: database.run("SELECT dialogue FROM dragoman.ends") == [(dialogue,)])
    assert chat(one.client(), "a", reply, "b").json()["dragoman"]["dialogue"] == dialogue
    assert one.client().delete("/v1/memory?everything=true&confirm=true").status_code == 200
    assert database.run("SELECT count(*) FROM dragoman.ends") == [(0,)]


def test_deleting_a_dialogue_on_one_server_lets_a_turn_on_another_keep_nothing(replica, held_reader, asking):
    one, two = replica(reader=held_reader), replica(reader=Counting())
    assert two.client().post("/v1/turns", json={"text": "Hello", "dialogue": "d"}).status_code == 200
    held_reader.held = True
    turn = asking(one.client(), "And?")
    until(lambda: held_reader.running)
    assert two.client().delete("/v1/dialogues/d").status_code == 200
    held_reader.go.set()
    assert one.events(turn.result().text)[-1][1]["code"] == "busy"
    assert two.client().get("/v1/dialogues").json()["data"] == []
