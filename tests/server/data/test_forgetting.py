"""Forgetting, however it is asked for, is of everything that was meant, and nothing that runs meanwhile undoes it."""

from __future__ import annotations

import asyncio
import io
import threading
import time

import pytest

from dragoman.core.errors import StoreError, StoreFullError
from dragoman.server.access.caller import LOCAL
from dragoman.server.turns.dialogue_match import DialogueMatch
from dragoman.server.turns.forget_requests import asks_to_forget
from dragoman.server.turns.turn_runner import CallerTurn

from ..mcp.test_tool_server import over_http
from ..turns.test_turn_queue import Asking, until

pytestmark = pytest.mark.trust
SECRET = b"# Secret\n\nThe Zanzibarian badger sleeps at noon.\n"
OTHER = b"# Other\n\nThe boat leaves at nine.\n"


def upload(client, **files):
    given = [("files", (f"{name}.md", io.BytesIO(content))) for name, content in files.items()]
    return client.post("/v1/sources/NOTES/files", files=given)


def kept(client):
    """What of somebody's uploads can be seen: their names, and what is found in them."""
    found = client.post("/v1/sources/NOTES/search", json={"query": "Zanzibarian badger boat"}).json()["data"]
    names = [file["name"] for file in client.get("/v1/sources/NOTES/files").json()["data"]]
    return names, [row["text"] for row in found]


def files_below(root, words):
    return [path for path in root.rglob("*") if path.is_file() and words in path.read_bytes()]


class Held:
    """Stands before a function, and lets a call go on when it is told to."""

    def __init__(self, function):
        self._function = function
        self.begun, self.go = threading.Event(), threading.Event()

    def __call__(self, *args, **options):
        self.begun.set()
        assert self.go.wait(60)
        return self._function(*args, **options)


def doing(function):
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("way", ["a turn", "a chat", "a tool", "a tool, in words"])
def test_forgetting_everything_in_any_way_takes_the_uploaded_files(make_house, serve, tmp_path, way):
    started = serve(make_house())
    client = started.client()
    assert upload(client, secret=SECRET, other=OTHER).json()["files"] == 2
    if way == "a turn":
        question = told(started, "Forget everything about me.")
        assert "1 chat and 2 uploaded files" in question["text"] and question["memory"]["pending"]["files"] == 2
        assert len(kept(client)[0]) == 2
        erased = told(started, "yes")["memory"]["erased"]
        receipt = erased.pop("receipt")
        assert erased == {"facts": 0, "chats": 1, "files": 2}
        files = sorted(line["place"] for line in receipt if line["what"] == "uploaded file")
        assert files == ["other.md", "secret.md"]
    elif way == "a chat":
        messages = [{"role": "user", "content": "Please forget everything about me."}]
        answer = client.post("/v1/chat/completions", json={"model": "robin", "messages": messages}).json()
        messages += [answer["choices"][0]["message"], {"role": "user", "content": "Yes, delete everything."}]
        assert "2 uploaded files" in messages[1]["content"] and len(kept(client)[0]) == 2
        assert client.post("/v1/chat/completions", json={"model": "robin", "messages": messages}).status_code == 200
    else:
        asyncio.run(forget_by_tool(started, {"fact": "everything"} if "words" in way else {"everything": True}))
    assert kept(client) == ([], [])
    assert client.delete("/v1/sources/NOTES/files/other.md").status_code == 404
    assert kept(client) == ([], []) and files_below(tmp_path, b"Zanzibarian") == []
    assert upload(client, other=OTHER).json()["files"] == 1


async def forget_by_tool(server, arguments):
    async with over_http(server) as client:
        refused = await client.call_tool("forget", arguments)
        assert refused.is_error and "2 uploaded files" in refused.content[0].text
        assert not (await client.call_tool("forget", {**arguments, "confirm": True})).is_error


def told(server, text, dialogue="d"):
    """The end of a turn."""
    name, done = server.events(server.client().post("/v1/turns", json={"text": text, "dialogue": dialogue}).text)[-1]
    assert name == "done", done
    return done


@pytest.mark.parametrize(
    ("turns", "left"),
    [
        (["Forget everything about me.", "yes"], []),
        (["Forget everything about me.", "是的，全部删除"], []),
        (["Forget everything about me.", "no", "yes"], ["I live in Bern."]),
        (["Forget everything about me.", "What does a day ticket cost?", "Yes, please."], ["I live in Bern."]),
        (["yes"], ["I live in Bern."]),
        (["Would you like to know more?", "yes"], ["I live in Bern."]),
        (["Forget everything about me.", "Forget everything about me."], ["I live in Bern."]),
    ],
)
def test_everything_is_deleted_by_a_yes_right_after_the_question_alone(make_house, serve, turns, left):
    started = serve(make_house())
    started.client().post("/v1/memory", json={"text": "I live in Bern."})
    for text in turns:
        told(started, text)
    assert [fact["text"] for fact in started.client().get("/v1/memory").json()["data"]] == left


def test_a_yes_in_another_dialogue_deletes_nothing(make_house, serve):
    started = serve(make_house())
    started.client().post("/v1/memory", json={"text": "I live in Bern."})
    told(started, "Forget everything about me.", "one")
    told(started, "yes", "two")
    assert len(started.client().get("/v1/memory").json()["data"]) == 1


def test_a_plain_yes_does_not_end_the_users_other_turns(make_house, serve, held_reader):
    held_reader.held = True
    started = serve(make_house(reader=held_reader))
    other = Asking(started.client(), "Hello", "other")
    until(lambda: held_reader.running == 1)
    yes = Asking(started.client(), "yes", "d")
    until(lambda: held_reader.running == 2)
    held_reader.go.set()
    for asking in (other, yes):
        assert started.events(asking.done().text)[-1][0] == "done"


def test_a_deleted_fact_comes_back_by_undo(make_house, serve):
    started = serve(make_house())
    started.client().post("/v1/memory", json={"text": "I live in Bern."})
    deleted = told(started, "Forget that I live in Bern.")
    assert deleted["text"] == 'Deleted: you live in Bern. Say "undo" within a minute to keep it.'
    assert started.client().get("/v1/memory").json()["data"] == []
    restored = told(started, "undo")
    assert restored["text"] == "Restored: you live in Bern."
    assert [fact["text"] for fact in restored["memory"]["restored"]] == ["I live in Bern."]
    assert [fact["text"] for fact in started.client().get("/v1/memory").json()["data"]] == ["I live in Bern."]


def test_forgetting_a_fact_leaves_the_uploaded_files(make_house, serve):
    client = serve(make_house()).client()
    upload(client, secret=SECRET)
    client.post("/v1/memory", json={"text": "I live in Bern."})
    client.post("/v1/turns", json={"text": "Forget that I live in Bern.", "dialogue": "d"})
    assert client.get("/v1/memory").json()["data"] == [] and kept(client)[0] == ["secret.md"]


@pytest.mark.parametrize("by_talking", [False, True])
def test_what_is_being_uploaded_while_everything_is_forgotten_is_forgotten_too(
    make_house, serve, monkeypatch, tmp_path, by_talking
):
    """The file has been read, and its passages are about to be written."""
    service = make_house()
    store = service.hosted("").assistant.store
    held = Held(store.switch)
    monkeypatch.setattr(store, "switch", held)
    started = serve(service)
    if by_talking:
        told(started, "Forget everything about me.")
    sending = doing(lambda: upload(started.client(), secret=SECRET))
    assert held.begun.wait(60)
    if by_talking:
        forgetting = Asking(started.client(), "Yes, delete everything.")
    else:
        forgetting = doing(lambda: started.client().delete("/v1/memory?everything=true&confirm=true"))
    time.sleep(0.3)
    held.go.set()
    sending.join(60)
    forgetting.join(60)
    assert kept(started.client()) == ([], []) and files_below(tmp_path, b"Zanzibarian") == []


def test_files_that_cannot_be_removed_are_said_to_be_there(make_house, serve, monkeypatch):
    from dragoman.sources import upload_folders

    client = serve(make_house()).client()
    upload(client, secret=SECRET)

    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(upload_folders.shutil, "rmtree", refused)
        failed = client.delete("/v1/memory?everything=true&confirm=true")
    assert (failed.status_code, failed.json()["code"]) == (500, "store")
    assert failed.json()["detail"].startswith("Facts, chats and passages are deleted. Uploaded files cannot be removed")
    assert client.delete("/v1/memory?everything=true&confirm=true").status_code == 200 and kept(client) == ([], [])


def test_on_a_full_disk_nothing_is_deleted_and_that_is_said(make_house, serve, monkeypatch):
    """Rows need space to be deleted, files do not: so rows go first."""
    service = make_house()
    client = serve(service).client()
    upload(client, secret=SECRET)

    def full(*_):
        raise StoreFullError("The disk is full.")

    with monkeypatch.context() as patched:
        patched.setattr(service.hosted("").assistant.store, "forget", full)
        failed = client.delete("/v1/memory?everything=true&confirm=true")
    assert (failed.status_code, failed.json()["code"]) == (507, "disk-full")
    assert "Nothing was changed" in failed.json()["detail"]
    assert kept(client)[0] == ["secret.md"] and len(kept(client)[1]) == 1
    assert client.delete("/v1/memory?everything=true&confirm=true").status_code == 200 and kept(client) == ([], [])


def living_in_bern(make_house, serve, reader):
    """A server whose user lives in Bern, and a turn that has read so and is not over."""
    started = serve(make_house(reader=reader))
    (fact,) = started.client().post("/v1/memory", json={"text": "I live in Bern."}).json()["added"]
    reader.held = True
    asking = Asking(started.client(), "Where do I live?", "first")
    until(lambda: reader.running == 1)
    return started, fact["id"], asking


def test_forgetting_by_talking_ends_the_turns_that_would_write_it_back(make_house, serve, held_reader, tmp_path):
    started, _, asking = living_in_bern(make_house, serve, held_reader)
    forgetting = Asking(started.client(), "Forget that I live in Bern.", "second")
    name, problem = started.events(asking.done().text)[-1]
    assert (name, problem["code"]) == ("error", "busy")
    held_reader.go.set()
    assert started.events(forgetting.done().text)[-1][0] == "done"
    assert "Bern" not in started.client().get("/v1/memory/export").text
    assert files_below(tmp_path, b"Bern") == []
    assert Asking(started.client(), "Hello", "first").done().status_code == 200


def test_correcting_a_fact_ends_the_turns_that_would_write_it_back(make_house, serve, held_reader):
    started, fact, asking = living_in_bern(make_house, serve, held_reader)
    correct = {"text": "My dog is called Rex."}
    correcting = doing(lambda: started.client().put(f"/v1/memory/{fact}", json=correct))
    assert started.events(asking.done().text)[-1][1]["code"] == "busy"
    held_reader.go.set()
    correcting.join(60)
    export = started.client().get("/v1/memory/export").text
    assert "Bern" not in export and "Rex" in export


def test_earlier_turns_of_the_dialogue_in_which_something_is_forgotten_are_answered(make_house, serve, held_reader):
    held_reader.held = True
    started = serve(make_house(reader=held_reader))
    first = Asking(started.client(), "I live in Bern.")
    until(lambda: held_reader.running == 1)
    rest = []
    for place, text in enumerate(("Forget that I live in Bern.", "And then?"), start=2):
        rest.append(Asking(started.client(), text))
        until(lambda place=place: started.service.turn_queue.load == place)
    held_reader.go.set()
    for asking in (first, *rest):
        assert started.events(asking.done().text)[-1][0] == "done"
    assert "Bern" not in started.client().get("/v1/memory/export").text


def test_two_who_forget_at_once_in_two_dialogues_do_not_wait_for_each_other(make_house, serve, held_reader):
    held_reader.held = True
    started = serve(make_house(reader=held_reader, workers=1))
    asking = [Asking(started.client(), "Forget my dog.", dialogue) for dialogue in ("a", "b", "c")]
    until(lambda: held_reader.running == 1)
    held_reader.go.set()
    events = [started.events(each.done().text) for each in asking if each.done().status_code == 200]
    assert "done" in [each[-1][0] for each in events]
    until(
        lambda: (
            started.service.turn_queue.load == 0
            and not started.service.turn_queue._hushed
            and not started.service._locks._held
        )
    )


def test_a_turn_that_waits_for_an_upload_in_order_to_forget_can_be_left(make_house, monkeypatch):
    """It holds no worker, and when nobody listens any more it never begins."""
    held = Held(lambda *_: None)

    async def scene():
        service = make_house(workers=1)
        await (await service.begin(LOCAL, CallerTurn("Forget everything about me."))).outcome()
        reading = asyncio.create_task(service.read_in(LOCAL, "", "NOTES", held))
        run = await service.begin(LOCAL, CallerTurn("yes"))
        await asyncio.sleep(0.05)
        other = await service.begin(LOCAL, CallerTurn("Hello", dialogue="other"))
        assert (await other.outcome()).reply.text and not run.ended
        run.cancel()
        held.go.set()
        await reading
        await asyncio.sleep(0.05)
        assert service.turn_queue.load == 0 and run.future is None
        assert not service.turn_queue._hushed and not service._locks._held
        await service.close()

    asyncio.run(scene())


def test_what_goes_wrong_before_a_turn_that_forgets_is_told(make_house, serve):
    service = make_house()
    started = serve(service)

    async def lost(*_, **__):
        raise StoreError("The database is gone.")

    service.hosted("").clear = lost
    refused = started.client().post("/v1/turns", json={"text": "Forget my dog.", "dialogue": "d"})
    assert (refused.status_code, refused.json()["code"]) == (500, "store")
    until(lambda: service.turn_queue.load == 0 and not service.turn_queue._hushed)
    assert started.client().post("/v1/turns", json={"text": "Hello", "dialogue": "d"}).status_code == 200


def test_a_long_turn_comes_before_the_short_one_after_it(make_house, serve, held_reader):
    """Whether a text asks to forget is read in a thread; what comes after it waits for that."""
    held_reader.held = True
    started = serve(make_house(reader=held_reader))
    long = " ".join(f"This is my sentence number {number}." for number in range(200))
    asking = []
    for place, text in enumerate((long, "And then?"), start=1):
        asking.append(Asking(started.client(), text))
        until(lambda place=place: started.service.turn_queue.load == place)
    held_reader.go.set()
    assert [each.done().status_code for each in asking] == [200, 200]
    assert held_reader.order == [long, "And then?"]


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("Forget everything about me.", "everything"),
        ("Hello. It rains. Could you forget everything about me?", "everything"),
        ("yes", "confirmation"),
        ("Yes, delete everything.", "confirmation"),
        ("是的，全部删除", "confirmation"),
        ("\x00Forget that I live in Bern.", "something"),
        (f"{'It rains. ' * 4000}Forget my dog.", "nothing"),
        ("I never forget a face.", "nothing"),
        ("", "nothing"),
    ],
)
def test_what_a_turn_asks_to_forget_is_read_as_the_memory_reads_it(text, wish):
    assert asks_to_forget(text) == wish


def test_a_dialogue_deleted_on_the_page_is_cleared_on_all_servers(make_house):
    from dragoman.server.page.session import PageSession

    async def scene():
        service, cleared = make_house(), []
        page_session = PageSession(service, None, lambda: None, "en", "robin")
        await (await page_session.start(CallerTurn("Hello", dialogue="d"))).task

        async def clear(caller, dialogue=None, **_):
            cleared.append((caller.user, dialogue))

        service.hosted("").clear = clear
        await page_session.forget_dialogue("d")
        await service.close()
        return cleared

    assert asyncio.run(scene()) == [("me", "d")]


def test_the_end_of_a_dialogue_is_dropped_for_its_user_alone():
    from dragoman.core.values import Turn

    ends, turns = DialogueMatch(), [Turn("user", "Hello"), Turn("agent", "Good day.")]
    ana, ben = ("robin", "local", "ana"), ("robin", "local", "ben")
    for whose in (ana, ben):
        ends.note(whose, turns, "r-1")
    ends.drop(ana, "r-1")
    assert (ends.claim(ana, turns), ends.claim(ben, turns)) == (None, "r-1")


def test_a_dialogue_that_is_erased_while_it_is_read_does_not_break_the_reading(make_house):
    from dragoman.server.data import user_data

    seat = make_house().hosted("").seat(LOCAL)
    seat.assistant.ask("Hello", dialogue="d")
    everything, turns = user_data.export(seat), user_data.dialogue(seat, "d")
    next(turns)
    seat.assistant.ask("And then?", dialogue="e")
    seat.assistant.forget_dialogue("d")
    assert len(list(turns)) < 4
    read = [(row["id"], list(row["turns"])) for row in everything["dialogues"]]
    assert read == [("d", [])]
