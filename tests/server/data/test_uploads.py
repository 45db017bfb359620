"""Uploaded files and their passages come and go together, whoever else writes, and whatever breaks in between."""

from __future__ import annotations

import asyncio
import io
import threading
import time
from pathlib import Path

import pytest

from dragoman.core.errors import AbsentError, ServiceError, StoreBusyError
from dragoman.server.access.caller import LOCAL
from dragoman.server.data import uploads
from dragoman.server.data.pending_uploads import PendingUpload
from dragoman.server.data.uploads import Upload
from dragoman.sources.ingest_run import IngestRun

from ..turns.test_turn_queue import until
from .test_forgetting import Held, doing

pytestmark = pytest.mark.trust
OLD, NEW = b"# Boats\n\nThe boat leaves at nine.\n", b"# Boats\n\nThe boat leaves at ten, and not before.\n"


def upload(client, name, content=OLD, source="DOCUMENTS"):
    return client.post(f"/v1/sources/{source}/files", files={"files": (name, io.BytesIO(content))})


def found(client, query="boat", source="DOCUMENTS"):
    rows = client.post(f"/v1/sources/{source}/search", json={"query": query}).json()["data"]
    return [row["text"] for row in rows if row["origin"].startswith("uploads/")]


@pytest.fixture
def seat(make_house):
    return make_house().hosted("").seat(LOCAL)


def put(seat, name, content=OLD):
    return uploads.put(seat, seat.source("NOTES"), [Upload(name, io.BytesIO(content))])


def shown(seat):
    files = {file["name"]: file["passages"] for file in uploads.files(seat, seat.source("NOTES"))}
    return files, [row.text for row in seat.assistant.store.passages(seat.scope, "NOTES")]


def hidden(seat):
    return [path for path in (seat.state / "uploads").rglob("*") if any(part[0] == "." for part in path.parts)]


def test_removing_a_file_takes_its_own_passages_and_no_others(seat):
    """Another server may be about to put a file in its place whose passages are there already."""
    put(seat, "a.md")
    put(seat, "b.md", NEW)
    next(seat.state.rglob("b.md")).unlink()
    assert uploads.remove(seat, seat.source("NOTES"), "a.md") == 1
    assert shown(seat) == ({}, ["The boat leaves at ten, and not before."])


def test_files_that_a_tenant_shares_are_written_one_after_the_other(make_house, serve, monkeypatch):
    held = Held(uploads._ingest)
    monkeypatch.setattr(uploads, "_ingest", held)
    started = serve(make_house())
    first, second = (started.client(**{"x-dragoman-user": user}) for user in ("one", "two"))
    sending = doing(lambda: upload(first, "a.md"))
    assert held.begun.wait(60)
    held.begun.clear()
    after = [doing(lambda: upload(second, "b.md")), doing(lambda: second.delete("/v1/sources/DOCUMENTS/files/b.md"))]
    until(lambda: started.service.threads.reading.total == 3)
    time.sleep(0.1)
    assert not held.begun.is_set(), "the folder is the tenant's, whoever of it writes"
    own = doing(lambda: upload(second, "own.md", source="NOTES"))
    assert held.begun.wait(60), "a user's own folder is another one"
    held.go.set()
    for thread in (sending, *after, own):
        thread.join(60)


def test_a_file_whose_passages_cannot_be_removed_now_can_be_removed_later(make_house, serve, monkeypatch):
    service = make_house()
    client = serve(service).client()
    upload(client, "a.md")

    def busy(*_):
        raise StoreBusyError("The store is busy.")

    with monkeypatch.context() as patched:
        patched.setattr(service.hosted("").assistant.store, "remove", busy)
        assert client.delete("/v1/sources/DOCUMENTS/files/a.md").status_code == 503
    assert client.delete("/v1/sources/DOCUMENTS/files/a.md").json() == {"removed": 1}
    assert found(client) == [] and client.get("/v1/sources/DOCUMENTS/files").json()["data"] == []
    assert client.delete("/v1/sources/DOCUMENTS/files/a.md").status_code == 404


def test_passages_whose_file_is_gone_can_be_removed(seat):
    put(seat, "a.md")
    next(seat.state.rglob("a.md")).unlink()
    assert uploads.remove(seat, seat.source("NOTES"), "a.md") == 1
    assert shown(seat) == ({}, [])


def test_removing_the_name_of_a_folder_removes_nothing(seat):
    put(seat, "a.md/b.md")
    with pytest.raises(Exception, match="no such file"):
        uploads.remove(seat, seat.source("NOTES"), "a.md")
    assert shown(seat) == ({"a.md/b.md": 1}, ["The boat leaves at nine."])


@pytest.mark.parametrize(("before", "after"), [("a.md/b.md", "a.md"), ("a.md", "a.md/b.md")])
def test_a_folder_and_a_file_of_one_name_are_refused(make_house, serve, before, after):
    client = serve(make_house()).client()
    assert upload(client, before, source="NOTES").json()["files"] == 1
    refused = upload(client, after, NEW, source="NOTES")
    assert (refused.status_code, refused.json()["code"]) == (400, "bad-file-name")
    both = [("files", (name, io.BytesIO(OLD))) for name in ("c.md", "c.md/d.md")]
    assert client.post("/v1/sources/NOTES/files", files=both).json()["code"] == "bad-file-name"
    assert [file["name"] for file in client.get("/v1/sources/NOTES/files").json()["data"]] == [before]
    assert found(client, source="NOTES") == ["The boat leaves at nine."]


def cut_off(seat, monkeypatch, name, content):
    """An upload during which the process ends: nothing is put in order any more."""
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(uploads, "_ingest", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        patched.setattr(PendingUpload, "__exit__", lambda self, *_: self._journal.close())
        put(seat, name, content)


def test_an_upload_that_is_cut_off_leaves_the_file_before_it_in_its_place(seat, monkeypatch):
    put(seat, "a.md")
    cut_off(seat, monkeypatch, "a.md", NEW)
    assert shown(seat) == ({"a.md": 1}, ["The boat leaves at nine."])
    assert uploads.files(seat, seat.source("NOTES"))[0]["bytes"] == len(OLD)
    put(seat, "a.md", NEW)
    assert shown(seat) == ({"a.md": 1}, ["The boat leaves at ten, and not before."])


def test_what_was_cut_off_is_no_ones_room_and_is_gone_after_the_next_start(make_house, monkeypatch):
    from dragoman.server.access.quota import counted

    service = make_house()
    seat = service.hosted("").seat(LOCAL)
    put(seat, "a.md")
    cut_off(seat, monkeypatch, "b.md", NEW)
    assert hidden(seat) and counted(seat.state / "uploads").files == 1
    asyncio.run(service.warm_up())
    assert not hidden(seat) and shown(seat)[0] == {"a.md": 1}


def test_what_another_server_is_uploading_outlives_the_start_of_this_one(make_house, monkeypatch):
    service = make_house()
    seat = service.hosted("").seat(LOCAL)
    held = Held(uploads._ingest)
    with monkeypatch.context() as patched:
        patched.setattr(uploads, "_ingest", held)
        sending = doing(lambda: put(seat, "a.md"))
        assert held.begun.wait(60)
        asyncio.run(service.warm_up())
        held.go.set()
        sending.join(60)
    assert shown(seat) == ({"a.md": 1}, ["The boat leaves at nine."]) and not hidden(seat)


@pytest.mark.parametrize("before", [None, OLD])
def test_an_upload_killed_before_its_file_was_moved_is_finished_at_the_next_start(make_house, monkeypatch, before):
    service = make_house()
    seat = service.hosted("").seat(LOCAL)
    if before is not None:
        put(seat, "a.md", before)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(PendingUpload, "settle", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        patched.setattr(PendingUpload, "__exit__", lambda self, *_: self._journal.close())
        patched.setattr(uploads, "_match_file", lambda *_: None)
        put(seat, "a.md", NEW)
    asyncio.run(service.warm_up())
    assert shown(seat) == ({"a.md": 1}, ["The boat leaves at ten, and not before."]) and not hidden(seat)
    assert next(seat.state.rglob("a.md")).read_bytes() == NEW


def test_passages_whose_staged_file_is_damaged_give_way_to_those_of_the_file_in_its_place(make_house, monkeypatch):
    service = make_house()
    seat = service.hosted("").seat(LOCAL)
    put(seat, "a.md")
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(PendingUpload, "settle", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        patched.setattr(PendingUpload, "__exit__", lambda self, *_: self._journal.close())
        patched.setattr(uploads, "_match_file", lambda *_: None)
        put(seat, "a.md", NEW)
    staged = [path for path in seat.state.rglob("a.md") if path.read_bytes() == NEW]
    assert len(staged) == 1
    staged[0].write_bytes(NEW[:9])  # as a disk leaves it that lost what it had not written yet
    asyncio.run(service.warm_up())
    assert shown(seat) == ({"a.md": 1}, ["The boat leaves at nine."]) and not hidden(seat)
    assert next(seat.state.rglob("a.md")).read_bytes() == OLD


def test_a_file_that_cannot_be_moved_into_its_place_leaves_the_one_before_it(seat, monkeypatch):
    put(seat, "a.md")

    def refused(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space"):
        patched.setattr(PendingUpload, "settle", refused)
        put(seat, "a.md", NEW)
    assert shown(seat) == ({"a.md": 1}, ["The boat leaves at nine."]) and not hidden(seat)


def test_a_removal_that_was_cut_off_is_finished_at_the_next_start(make_house, monkeypatch):
    service = make_house()
    seat = service.hosted("").seat(LOCAL)
    put(seat, "a.md")
    put(seat, "b.md", NEW)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(uploads, "amount_of", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        patched.setattr(PendingUpload, "__exit__", lambda self, *_: self._journal.close())
        uploads.remove(seat, seat.source("NOTES"), "a.md")
    asyncio.run(service.warm_up())
    assert shown(seat) == ({"b.md": 1}, ["The boat leaves at ten, and not before."]) and not hidden(seat)


def test_a_file_waits_unseen_until_it_was_read(seat, monkeypatch):
    held = Held(uploads._ingest)
    monkeypatch.setattr(uploads, "_ingest", held)
    sending = doing(lambda: put(seat, "a.md"))
    assert held.begun.wait(60)
    assert shown(seat) == ({}, []) and hidden(seat)
    held.go.set()
    sending.join(60)
    assert shown(seat) == ({"a.md": 1}, ["The boat leaves at nine."]) and not hidden(seat)


def test_a_file_is_read_again_although_it_has_not_changed(seat, monkeypatch):
    put(seat, "a.md")
    assert put(seat, "a.md").added == 0
    held = Held(uploads.limited_reading)
    monkeypatch.setattr(uploads, "limited_reading", held)
    held.go.set()
    report = uploads.read_again(seat, seat.source("NOTES"), "a.md")
    assert held.begun.is_set() and (report.files, report.failed) == (1, ())
    assert shown(seat) == ({"a.md": 1}, ["The boat leaves at nine."]) and not hidden(seat)
    with pytest.raises(AbsentError):
        uploads.read_again(seat, seat.source("NOTES"), "b.md")


def test_a_file_of_the_page_is_taken_into_hand_when_its_turn_comes(make_house):
    from dragoman.server.page.documents import files as panel

    class File:
        """As NiceGUI hands one on."""

        taken = threading.Event()

        async def iterate(self):
            self.taken.set()
            for start in range(0, len(OLD), 10):
                yield OLD[start : start + 10]

    async def scene():
        service, file, held = make_house(), File(), Held(lambda *_: None)
        before = asyncio.create_task(service.read_in(LOCAL, "", "NOTES", held))
        coming = asyncio.create_task(service.read_in(LOCAL, "", "NOTES", panel.put, "a.md", file))
        await asyncio.sleep(0.1)
        assert held.begun.is_set() and not file.taken.is_set()
        held.go.set()
        assert ((await coming).added, await before) == (1, None)
        assert shown(service.hosted("").seat(LOCAL)) == ({"a.md": 1}, ["The boat leaves at nine."])
        await service.close()

    asyncio.run(scene())


def test_what_was_read_of_an_upload_that_failed_is_listed_and_the_rest_is_gone(seat, monkeypatch):
    """The store is busy at the second of two new files, and at one that takes the place of another."""
    put(seat, "old.md")
    ingested, write = [], IngestRun._write

    def busy(self, part, vectors):
        write(self, part, vectors)
        ingested.extend(change.file.origin for change in part.group if part.last)
        raise StoreBusyError("busy")

    monkeypatch.setattr(IngestRun, "_write", busy)
    monkeypatch.setattr(uploads, "_BATCH", 1)
    given = [Upload("a.md", io.BytesIO(NEW)), Upload("b.md", io.BytesIO(NEW)), Upload("old.md", io.BytesIO(NEW))]
    with pytest.raises(StoreBusyError):
        uploads.put(seat, seat.source("NOTES"), given)
    files, texts = shown(seat)
    assert set(files) == {"old.md", *(origin.removeprefix("uploads/") for origin in ingested)}
    assert all(files.values()) and len(texts) == sum(files.values())
    assert not hidden(seat)


def test_a_name_that_differs_by_its_case_alone_is_refused_where_it_is_the_same(seat, monkeypatch):
    put(seat, "a.md")
    real = Path.exists
    monkeypatch.setattr(Path, "exists", lambda self: real(self.with_name(self.name.lower())))  # as on some systems
    for act in (lambda: put(seat, "A.md", NEW), lambda: uploads.remove(seat, seat.source("NOTES"), "A.md")):
        with pytest.raises(ServiceError, match="but for its case"):
            act()
    monkeypatch.undo()
    assert shown(seat)[0] == {"a.md": 1}
