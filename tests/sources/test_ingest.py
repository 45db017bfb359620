import contextlib
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.effort import LONGER, assert_linear, lines_of

from dragoman.core.errors import InputError, StoreFullError
from dragoman.core.values import Passage, Query, Scope, Source
from dragoman.sources import files, ingest_work
from dragoman.sources.files import SourceFile, find
from dragoman.sources.ingest import IngestReport, ingest

from .conftest import CountingStore, SwitchingStore

DOCS = Source("DOCS")
NOTES = Source("NOTES", private=True)
ANA, BEN = Scope("t", "ana"), Scope("t", "ben")


def fill(folder, **texts):
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return folder


def rows(store, source=DOCS, scope=ANA):
    return {passage.id: passage for passage in store.passages(source.scope(scope), source.name)}


def texts(store, source=DOCS, scope=ANA):
    return sorted(passage.text for passage in rows(store, source, scope).values())


def vectors_found(store, encoder):
    """Ids that a search by vector finds."""
    query = Query(DOCS.scope(ANA), "DOCS", 10_000, vector=encoder.encode(["anything"])[0])
    return {hit.passage.id for hit in store.nearest([query])[0]}


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "docs"
    made.mkdir()
    return made


@pytest.fixture
def take(store, encoder, tmp_path):
    def run(*paths, source=DOCS, scope=ANA, **options):
        return ingest(store, encoder, source, paths, scope=scope, base=tmp_path, **options)

    return run


def test_every_format_goes_in(folder, take, store, encoder, make_pdf):
    fill(folder, a="# Ferry\nmarkdown text")
    (folder / "b.txt").write_text("plain text")
    (folder / "c.html").write_text("<p>html text</p>")
    (folder / "d.pdf").write_bytes(make_pdf(["pdf text"]))
    (folder / "e.csv").write_text("kind\ncsv text\n")
    (folder / "f.jsonl").write_text('{"text": "jsonl text"}\n')
    (folder / "g.md").write_text("渡轮九点开。", encoding="utf-8")
    report = take(folder)
    assert (report.added, report.files, report.failed) == (7, 7, ())
    assert texts(store) == sorted(
        ["markdown text", "plain text", "html text", "pdf text", "kind: csv text", "jsonl text", "渡轮九点开。"]
    )
    assert vectors_found(store, encoder) == set(rows(store))


def test_what_is_encoded_is_the_text_under_its_title_and_headings(folder, take, encoder):
    take(fill(folder, a="# Ferry\n## Prices\ntext"))
    assert encoder.texts == ["Ferry > Prices\ntext"]


def test_second_run_writes_and_encodes_nothing(folder, take, store, encoder):
    take(fill(folder, a="one", b="two"))
    before, encoded = list(store.writes), list(encoder.texts)
    report = take(folder)
    assert (report.added, report.changed, report.removed, report.unchanged, report.files) == (0, 0, 0, 2, 2)
    assert (store.writes, encoder.texts) == (before, encoded)


def test_file_whose_size_and_time_are_known_is_not_even_opened(folder, take, monkeypatch):
    fill(folder, a="one")
    os.utime(folder / "a.md", (1_000_000_000, 1_000_000_000))
    take(folder)
    monkeypatch.setattr(files.Path, "read_bytes", lambda path: pytest.fail(f"{path} was opened"))
    assert take(folder).unchanged == 1


def test_edit_at_once_with_the_same_size_is_seen(folder, take, store):
    for text in ("one", "two", "six", "ten"):
        take(fill(folder, a=text))
        assert texts(store) == [text]


def test_touched_file_with_the_same_content_writes_nothing(folder, take, store):
    take(fill(folder, a="one"))
    writes = len(store.writes)
    os.utime(folder / "a.md", (1_500_000_000, 1_500_000_000))
    assert take(folder).unchanged == 1
    assert len(store.writes) == writes


def test_only_changed_passages_are_encoded_and_gone_ones_removed(folder, take, store, encoder):
    take(fill(folder, a="## A\none\n## B\ntwo\n## C\nthree\n"))
    encoder.texts.clear()
    report = take(fill(folder, a="## A\none\n## B\nchanged\n"))
    assert (report.added, report.changed, report.removed, report.unchanged) == (0, 1, 1, 1)
    assert [text.rpartition("\n")[2] for text in encoder.texts] == ["changed"]
    assert texts(store) == ["changed", "one"]


def test_failing_files_are_reported_while_the_others_go_in(folder, take, store):
    fill(folder, good="fine", empty="")
    (folder / "binary.txt").write_bytes(b"\x00\x01")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    (folder / "lines.jsonl").write_text('{"text": "line"}\noops\n')
    for _ in range(2):  # the second time as well, though nothing changed
        report = take(folder)
        reasons = dict(report.failed)
        assert sorted(reasons) == ["docs/binary.txt", "docs/empty.md", "docs/lines.jsonl, line 2", "docs/picture.png"]
        assert "NUL byte" in reasons["docs/binary.txt"]
        assert report.files == 2
    assert texts(store) == ["fine", "line"]


@pytest.fixture
def parsed(monkeypatch):
    """The names of the files that readers were asked to read."""
    names = []
    parse = ingest_work.parse
    monkeypatch.setattr(ingest_work, "parse", lambda content, name: names.append(name) or parse(content, name))
    return names


@pytest.mark.parametrize("settled", [True, False], ids=["an older file", "a file of this second"])
def test_a_refused_file_is_not_read_again_until_something_changes(folder, take, store, parsed, monkeypatch, settled):
    path = folder / "a.pdf"
    path.write_bytes(b"no PDF")
    if settled:
        os.utime(path, (1_000_000_000, 1_000_000_000))
    first = take(folder, retry=False)
    assert first.failed and parsed == ["a.pdf"]
    again = take(folder, retry=False)
    assert (again.failed, again.files, parsed) == (first.failed, 0, ["a.pdf"])
    take(folder)
    assert parsed == ["a.pdf"] * 2  # asked for by name
    monkeypatch.setattr(files, "_PACKAGES", {".pdf": ("pytest",)})
    take(folder, retry=False)
    assert parsed == ["a.pdf"] * 3  # another version, or another package, may read it
    path.write_bytes(b"still no PDF")
    take(folder, retry=False)
    assert parsed == ["a.pdf"] * 4


def test_a_refused_file_that_is_mended_is_read_and_its_old_passages_stay_meanwhile(folder, take, store):
    take(fill(folder, a="one"), retry=False)
    for _ in range(2):
        (folder / "a.md").write_bytes(b"\xff\xfe\xff")
        assert take(folder, sync=True, retry=False).failed
        assert texts(store) == ["one"]
    report = take(fill(folder, a="one"), retry=False)
    assert (report.failed, report.unchanged, report.added) == ((), 1, 0)
    take(fill(folder, a="two"), retry=False)
    assert texts(store) == ["two"]


def test_the_refusal_of_a_reader_that_a_package_brings_is_not_remembered(folder, take, monkeypatch):
    asked = []

    def read(content, name):
        asked.append(name)
        raise InputError("no")

    monkeypatch.setattr(files, "readers", lambda: {**files.READERS, ".png": read})
    (folder / "a.png").write_bytes(b"picture")
    for _ in range(2):
        assert take(folder, retry=False).failed
    assert asked == ["a.png"] * 2


def test_an_upload_may_have_the_name_of_a_file_that_was_refused(folder, take, store):
    (folder / "a.md").write_bytes(b"\xff\xfe\xff")
    assert take(folder).failed
    fill(folder, a="one")
    assert take(folder, way="uploaded").failed == ()
    assert texts(store) == ["one"]


def test_file_that_breaks_later_keeps_what_was_read_before(folder, take, store):
    take(fill(folder, a="one"))
    (folder / "a.md").write_bytes(b"\xff\xfe\xff")
    assert [failure.path for failure in take(folder).failed] == ["docs/a.md"]
    assert texts(store) == ["one"]


def test_deleted_file_stays_unless_synced(folder, take, store):
    take(fill(folder, a="one", b="two"))
    (folder / "b.md").unlink()
    assert take(folder).removed == 0
    assert take(folder, sync=True).removed == 1
    assert texts(store) == ["one"]
    writes = len(store.writes)
    assert take(folder, sync=True).removed == 0
    assert len(store.writes) == writes


def test_file_that_comes_back_after_a_sync_is_read_again(folder, take, store):
    take(fill(folder, a="one", b="two"))
    (folder / "b.md").unlink()
    take(folder, sync=True)
    take(fill(folder, b="two"), sync=True)
    assert texts(store) == ["one", "two"]


def test_sync_leaves_other_folders_other_sources_and_learned_rows_alone(folder, tmp_path, take, store):
    other = tmp_path / "docs2"
    other.mkdir()
    take(fill(folder, a="one"))
    take(fill(other, b="two"))
    take(fill(folder, a="one"), source=Source("OTHER"))
    store.put(DOCS.scope(ANA), [Passage("said", "DOCS", "said", origin="docs/chat")])
    (folder / "a.md").unlink()
    assert take(folder, sync=True).removed == 1
    assert texts(store) == ["said", "two"]
    assert texts(store, Source("OTHER")) == ["one"]


def test_sync_of_the_base_itself_removes_what_is_gone_below_it(folder, tmp_path, take, store):
    take(fill(folder, a="one", b="two"))
    (folder / "a.md").unlink()
    take(tmp_path, sync=True)
    assert texts(store) == ["two"]


def test_private_source_goes_to_the_user_and_a_shared_one_to_the_tenant(folder, take, store):
    fill(folder, a="mine")
    take(folder, source=NOTES, scope=ANA)
    take(folder, scope=ANA)
    assert texts(store, NOTES, ANA) == ["mine"]
    assert texts(store, NOTES, BEN) == []
    assert texts(store, DOCS, BEN) == ["mine"]
    assert take(folder, source=NOTES, scope=BEN).added == 1


def test_superseded_row_is_not_revived_by_an_edit_elsewhere_in_its_file(folder, take, store):
    take(fill(folder, a="- old {#old}\n- other {#other}\n"), source=NOTES)
    store.put(ANA, [Passage("new", "NOTES", "new")])
    store.supersede(ANA, "old", "new")
    take(fill(folder, a="- old {#old}\n- other, edited {#other}\n"), source=NOTES)
    assert texts(store, NOTES) == ["new", "other, edited"]


def test_id_of_another_file_is_refused_and_names_it(folder, take, store):
    report = take(fill(folder, a="- first {#x}\n", b="- second {#x}\n"))
    assert texts(store) == ["first"]
    ((path, reason),) = report.failed
    assert (path, reason) == ("docs/b.md", "The id 'x' is used by 'docs/a.md'. Give one of them another id.")


def test_file_that_another_process_reads_at_the_same_time_is_no_clash(folder, take, store, monkeypatch):
    fill(folder, a="one text")
    get = store.get

    def late(*arguments):
        monkeypatch.setattr(store, "get", get)
        take(folder)
        return get(*arguments)

    monkeypatch.setattr(store, "get", late)
    assert take(folder).failed == ()
    assert texts(store) == ["one text"]


def test_id_of_another_source_is_refused(folder, take):
    take(fill(folder, a="- first {#x}\n"), source=Source("PERSONA"))
    assert "'docs/a.md' in 'PERSONA'" in take(folder).failed[0].reason


def test_ids_move_with_a_renamed_file(folder, take, store):
    take(fill(folder, a="- first {#x}\n"))
    (folder / "a.md").rename(folder / "b.md")
    assert take(folder).failed == ()
    assert [(row.text, row.origin) for row in rows(store).values()] == [("first", "docs/b.md")]


def test_missing_path_is_an_error_and_nothing_is_written(folder, take, store):
    with pytest.raises(InputError, match="There is no file or folder"):
        take(fill(folder, a="one"), folder / "gone")
    assert store.writes == []


def test_empty_folder_is_an_empty_report(folder, take):
    report = take(folder)
    assert IngestReport(seconds=report.seconds) == report


def test_progress_rises_to_the_total_in_bytes(folder, take):
    told = []
    take(fill(folder, **{f"f{i}": "text " * 500 for i in range(5)}), progress=lambda *now: told.append(now), batch=3)
    done = [now[0] for now in told]
    assert done == sorted(done)
    assert told[0] == (0, 12_500, "docs/f0.md")
    assert told[-1][:2] == (12_500, 12_500)
    assert len(set(done)) > 5


def test_interrupted_run_is_finished_by_the_next(tmp_path, folder, make_store, make_encoder):
    fill(folder, **{f"f{i}": "\n".join(f"## H{j}\ntext {i} {j}" for j in range(7)) for i in range(6)})

    def run(store, encoder):
        return ingest(store, encoder, DOCS, [folder], scope=ANA, base=tmp_path, batch=5)

    whole = make_store()
    run(whole, make_encoder())
    for stop in range(1, 42, 4):
        store, encoder = make_store(), make_encoder()
        encoder.stop_after = stop
        with pytest.raises(KeyboardInterrupt):
            run(store, encoder)
        encoder.stop_after = None
        run(store, encoder)
        assert rows(store) == rows(whole)
        assert len(encoder.texts) == 42  # nothing acknowledged was encoded again


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_stop_at_any_write_then_any_edit_ends_in_the_state_of_the_files(
    tmp_path_factory, make_store, make_encoder, data
):
    """Also where a file goes back to what it was: the half-written change must not pass for whole."""
    base = tmp_path_factory.mktemp("base")
    store, encoder = make_store(), make_encoder()
    versions = ("## A\none\n## B\ntwo\n", "## A\nother\n## C\nthree\n## D\nfour\n", "five", None)

    def write():
        for name in ("a", "b", "c"):
            text = data.draw(st.sampled_from(versions))
            path = base / f"{name}.md"
            path.unlink(missing_ok=True) if text is None else path.write_text(text)

    def run(target):
        return ingest(target, encoder, DOCS, [base], scope=ANA, base=base, batch=2, sync=True)

    for _ in range(3):
        write()
        store.fail_at = len(store.writes) + data.draw(st.integers(0, 12))
        with contextlib.suppress(KeyboardInterrupt):
            run(store)
    store.fail_at = None
    write()
    run(store)
    fresh = make_store()
    run(fresh)
    assert rows(store) == rows(fresh)


@pytest.mark.trust
def test_files_that_fit_into_a_batch_are_written_by_one_transaction(tmp_path, folder, make_encoder):
    store = SwitchingStore()
    fill(folder, **{f"f{i}": f"text {i}" for i in range(200)})
    ingest(store, make_encoder(), DOCS, [folder], scope=ANA, base=tmp_path)
    assert store.writes == ["switch"] * 4  # of 64 files and the rest
    assert len(rows(store)) == 200


def test_a_file_longer_than_a_batch_is_written_batch_by_batch(tmp_path, folder, make_encoder):
    """So that it is never in memory whole, with its vectors."""
    store = SwitchingStore()
    fill(folder, long="\n".join(f"## H{i}\ntext {i}" for i in range(150)))
    ingest(store, make_encoder(), DOCS, [folder], scope=ANA, base=tmp_path)
    assert store.writes == ["keep", "put", "put", "put", "keep"]


@pytest.mark.trust
def test_the_memory_of_a_folder_is_the_names_in_it(tmp_path):
    """A value for each file would be ten times as much."""
    import tracemalloc

    count = 2000
    for i in range(count):
        (tmp_path / f"a file of a folder {i:06}.txt").touch()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    found = find([tmp_path], base=tmp_path).files
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert len(found) == count == len({file.origin for file in found})
    assert held < 60 * count, held / count


def test_paths_that_overlap_name_a_file_once(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "a.txt").write_text("a")
    (tmp_path / "b.txt").write_text("b")
    found = find([tmp_path, tmp_path / "inner", tmp_path / "b.txt"], base=tmp_path).files
    assert [file.origin for file in found] == ["b.txt", "inner/a.txt"]
    assert SourceFile(tmp_path / "b.txt", "b.txt") in found


def test_ledger_is_written_after_the_passages(folder, take, store):
    take(fill(folder, a="one"))
    assert store.writes == ["keep", "put", "keep"]


@pytest.mark.trust
def test_full_disk_is_told_and_what_was_acknowledged_stays(folder, take, store):
    fill(folder, **{f"f{i}": f"text {i}" for i in range(6)})
    store.fail_at, store.error = 6, StoreFullError("The disk is full.")
    with pytest.raises(StoreFullError):
        take(folder, batch=2)
    assert texts(store) == ["text 0", "text 1"]
    store.fail_at = None
    assert take(folder, batch=2).added == 4


@pytest.mark.slow
def test_the_time_for_files_grows_with_their_number_and_files_that_did_not_change_take_less(tmp_path, encoder):
    def folder_of(count):
        folder = tmp_path / str(count)
        if not folder.exists():
            folder.mkdir()
            for i in range(count):
                (folder / f"f{i:04}.md").write_text(f"# File {i}\nSome text about {i}.\n## More\nAnd more.\n")
        return folder

    def take_in(count, store=None):
        return ingest(store or CountingStore(), encoder, DOCS, [folder_of(count)], scope=ANA, base=tmp_path)

    def skip(count):
        assert take_in(count, filled[count]).unchanged == 2 * count

    filled = {count: CountingStore() for count in (1000 // LONGER, 1000)}
    for count, store in filled.items():
        assert take_in(count, store).added == 2 * count
    assert_linear(take_in, 1000)
    assert_linear(skip, 1000)
    assert lines_of(lambda: skip(1000)) < lines_of(lambda: take_in(1000)) / 2


def test_a_store_with_an_index_refreshes_it_after_a_change_and_only_then(folder, take, store, monkeypatch):
    refreshed = []
    monkeypatch.setattr(type(store), "refresh_index", lambda _, *given: refreshed.append(given), raising=False)
    fill(folder, ferry="The ferry leaves at nine.")
    take(folder)
    take(folder)
    assert refreshed == [(DOCS.scope(ANA), "DOCS")]


def test_encoder_that_reads_passages_otherwise_is_asked_so(folder, store, encoder, tmp_path):
    asked = []

    class Asymmetric:
        dimensions = encoder.dimensions

        def encode(self, texts):
            asked.append("encode")
            return encoder.encode(texts)

        def encode_passages(self, texts):
            asked.append("encode_passages")
            return encoder.encode(texts)

    fill(folder, tides="The tide turns at nine.")
    assert ingest(store, Asymmetric(), DOCS, [folder], scope=ANA, base=tmp_path).added == 1
    assert asked == ["encode_passages"]
    assert len(vectors_found(store, encoder)) == 1
    fill(folder, tides="I sail.")
    ingest(store, Asymmetric(), Source("WHO", about="bot"), [folder], scope=ANA, base=tmp_path)
    assert asked[1:] == ["encode"]  # statements about somebody are few
