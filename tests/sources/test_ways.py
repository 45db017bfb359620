"""Files of an agent's own and uploaded ones in one source: neither way removes or replaces what the other brought."""

from __future__ import annotations

import io
from contextlib import contextmanager

import pytest

import dragoman
from dragoman.core.values import Passage, Scope, Source
from dragoman.core.workers import InProcess
from dragoman.server.access.quota import QUOTA, Stock
from dragoman.server.data import uploads
from dragoman.server.data.uploads import Upload
from dragoman.server.hosted_agent import Seat
from dragoman.sources.files import SourceFile
from dragoman.sources.ingest import ingest
from dragoman.sources.ingest_run import IngestRun
from dragoman.sources.upload_folders import source_folder

from .conftest import SwitchingStore

DOCS, NOTES = Source("DOCS"), Source("NOTES", private=True)
ANA = Scope("t", "ana")
AGENT = """
name = "Robin"
[[sources]]
name = "NOTES"
private = true
[[sources]]
name = "DOCS"
path = "{path}"
[models.language]
kind = "model.scripted.v1"
[models.encoder]
kind = "encoder.hashing.v1"
"""


class Place:
    """An agent's folder, and beside it a server's state, each of which can be read into one store."""

    def __init__(self, root, store, encoder):
        self.folder, self.state = root / "agent", root / "state"
        self.uploads = source_folder(self.state, ANA, DOCS)
        (self.uploads / "uploads").mkdir(parents=True)
        self.folder.mkdir()
        self._store, self._encoder = store, encoder

    def declare(self, path="."):
        return self._ingest([self.folder / path], self.folder, sync=True)

    def upload(self, name, text):
        file = self.uploads / "uploads" / name
        file.write_text(text)
        report = self._ingest([file], self.uploads, way="uploaded")
        if report.failed:
            file.unlink()
        return report

    def remove(self, name):
        (self.uploads / "uploads" / name).unlink()
        return self._ingest([self.uploads / "uploads"], self.uploads, sync=True, way="uploaded")

    def texts(self):
        return sorted(row.text for row in self._store.passages(DOCS.scope(ANA), "DOCS"))

    def _ingest(self, paths, base, **options):
        return ingest(self._store, self._encoder, DOCS, paths, scope=ANA, base=base, **options)


@pytest.fixture
def store():
    return SwitchingStore()


@pytest.fixture
def place(tmp_path, store, encoder):
    return Place(tmp_path, store, encoder)


@pytest.mark.parametrize("path", [".", "uploads"])
def test_a_sync_of_the_agents_folder_leaves_uploads_alone(place, path):
    (place.folder / "uploads").mkdir()
    (place.folder / "uploads" / "a.md").write_text("declared")
    place.declare(path)
    place.upload("boats.md", "uploaded")
    assert place.declare(path).removed == 0
    assert place.texts() == ["declared", "uploaded"]


def test_removing_an_upload_leaves_the_agents_own_files_alone(place):
    (place.folder / "uploads").mkdir()
    (place.folder / "uploads" / "a.md").write_text("declared")
    place.declare()
    place.upload("boats.md", "uploaded")
    assert place.remove("boats.md").removed == 1
    assert place.texts() == ["declared"]


def test_an_upload_that_was_broken_off_is_left_alone_too(place, store, encoder):
    text = "\n".join(f"## H{i}\ntext {i}" for i in range(100))
    encoder.stop_after = 70
    with pytest.raises(KeyboardInterrupt):
        place.upload("boats.md", text)
    assert place.texts() == [], "a file is uploaded whole or not at all"
    place.declare()
    assert place.texts() == []


def test_id_of_a_declared_file_is_refused_to_an_upload(place):
    (place.folder / "d.jsonl").write_text('{"id": "d1", "text": "declared"}')
    place.declare()
    ((path, reason),) = place.upload("e.jsonl", '{"id": "d1", "text": "uploaded"}').failed
    assert (path, reason) == (
        "uploads/e.jsonl",
        "The id 'd1' is used by 'd.jsonl' in 'DOCS'. Give one of them another id.",
    )
    place.declare()
    assert place.texts() == ["declared"]


def test_id_of_an_upload_is_refused_to_a_declared_file_until_the_upload_is_gone(place):
    place.upload("e.jsonl", '{"id": "d1", "text": "uploaded"}')
    (place.folder / "d.jsonl").write_text('{"id": "d1", "text": "declared"}')
    assert "'uploads/e.jsonl'" in place.declare().failed[0].reason
    assert place.texts() == ["uploaded"]
    place.remove("e.jsonl")
    assert place.declare().failed == ()
    assert place.texts() == ["declared"]


def test_a_name_belongs_to_the_way_it_came_first(place):
    (place.folder / "uploads").mkdir()
    (place.folder / "uploads" / "a.md").write_text("declared")
    place.declare()
    for text in ("declared", "other"):
        ((path, reason),) = place.upload("a.md", text).failed
        assert (path, reason) == (
            "uploads/a.md",
            "There is another 'uploads/a.md', which was not uploaded. Give one of them another name.",
        )
    assert place.texts() == ["declared"]
    (place.folder / "uploads" / "a.md").unlink()
    place.declare()
    assert place.upload("a.md", "other").failed == ()
    (place.folder / "uploads" / "a.md").write_text("declared")
    assert "another 'uploads/a.md', which was uploaded" in place.declare().failed[0].reason
    assert place.texts() == ["other"]


def test_id_of_a_row_that_no_file_brought_is_refused(place, store):
    store.put(DOCS.scope(ANA), [Passage("d1", "DOCS", "said", origin="seed")])
    (place.folder / "d.jsonl").write_text('{"id": "d1", "text": "declared"}')
    assert "'seed' in 'DOCS'" in place.declare().failed[0].reason
    assert place.texts() == ["said"]


def test_file_whose_ids_another_took_is_read_again_when_it_comes_back(place):
    first, second = place.folder / "a.md", place.folder / "b.md"
    first.write_text("- one {#x}\n")
    place._ingest([place.folder], place.folder)
    first.rename(second)
    place._ingest([place.folder], place.folder)
    second.rename(first)
    place.declare()
    assert place.texts() == ["one"]


def test_file_that_waits_elsewhere_until_it_was_read_keeps_its_ids_from_the_next(place, store, encoder):
    waiting = place.uploads / ".waiting"
    waiting.mkdir()
    lines = ['{"id": "x", "text": "first"}', *(f'{{"text": "line {i}"}}' for i in range(10))]
    (waiting / "a.jsonl").write_text("\n".join(lines))
    (waiting / "b.jsonl").write_text('{"id": "x", "text": "second"}')
    files = [SourceFile(waiting / name, f"uploads/{name}") for name in ("a.jsonl", "b.jsonl")]
    run = IngestRun(store, DOCS, scope=DOCS.scope(ANA), batch=2, base=place.uploads, way="uploaded")
    run.bring(files, encoder, InProcess(), None)
    assert [failure.path for failure in run.failures] == ["uploads/b.jsonl"]
    assert "first" in place.texts()


def test_an_entry_of_before_there_were_ways_is_anybodys(place, store):
    place.upload("boats.md", "uploaded")
    key = "file:DOCS:uploads/boats.md"
    for old in ("pending", '{"digest": "", "size": 0, "modified": 0, "passages": 1, "failed": [], "rules": 1}'):
        store.keep(DOCS.scope(ANA), key, old)
        assert place.upload("boats.md", "uploaded").unchanged == 1
        assert store.kept(DOCS.scope(ANA), key) not in ("pending", old)


@contextmanager
def seated(folder, state):
    with dragoman.load(folder, state=state) as assistant:
        yield Seat("robin", assistant, "ana", True, state, QUOTA, Stock())


@pytest.mark.trust
def test_uploads_outlive_a_restart_whatever_the_path_of_their_source(tmp_path):
    folder, state = tmp_path / "agent", tmp_path / "state"
    folder.mkdir()
    (folder / "agent.toml").write_text(AGENT.format(path="."))
    (folder / "d.jsonl").write_text('{"id": "d1", "text": "declared"}')
    with seated(folder, state) as seat:
        uploads.put(seat, DOCS, [Upload("boats.md", io.BytesIO(b"The boat leaves at nine."))])
        failed = uploads.put(seat, DOCS, [Upload("e.jsonl", io.BytesIO(b'{"id": "d1", "text": "other"}'))]).failed
        assert "'d1' is used by 'd.jsonl'" in failed[0].reason
    with seated(folder, state) as seat:
        [row] = uploads.files(seat, DOCS)
        assert (row["name"], row["bytes"], row["passages"]) == ("boats.md", 24, 1)
        texts = sorted(row.text for row in seat.assistant.store.passages(seat.scope.shared, "DOCS"))
        assert texts[-2:] == ["The boat leaves at nine.", "declared"]


def test_a_sync_by_command_leaves_a_users_uploads_alone(tmp_path):
    """The server's own folder is recognised, wherever its state lies."""
    folder = tmp_path / "agent"
    (folder / "uploads").mkdir(parents=True)
    (folder / "agent.toml").write_text(AGENT.format(path="uploads"))
    with seated(folder, tmp_path / "state") as seat:
        uploads.put(seat, NOTES, [Upload("boats.md", io.BytesIO(b"The boat leaves at nine."))])
        report = seat.assistant.ingest([folder / "uploads"], source="NOTES", user="ana", sync=True)
        assert report.removed == 0
        assert uploads.files(seat, NOTES)[0]["passages"] == 1
        assert uploads.remove(seat, NOTES, "boats.md") == 1
