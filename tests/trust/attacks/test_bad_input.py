"""Every wrong input ends in words: what happened, with what value, and what to do; and nothing is lost."""

from __future__ import annotations

import io
import os
import shutil
import sys

import apsw
import pytest

import dragoman
from dragoman.core.errors import StoreFullError, StoreLockedError
from dragoman.models import weights
from dragoman.stores.sqlite.database import Database

pytestmark = pytest.mark.trust


@pytest.fixture
def known(command):
    """The folder's agent knows one thing about its user."""
    assert command("remember", "My bicycle is called Comet.").code == 0
    return lambda: "Comet" in command("recall").out


@pytest.mark.parametrize("text", ["", "   ", "\x01\x02", "\ufeff"])
@pytest.mark.parametrize("verb", ["ask", "remember", "forget", "recall"])
def test_turn_without_words(refused, verb, text):
    assert refused(verb, text).startswith("Error: The turn is empty.\n       Say something.")


def test_turn_of_a_megabyte_from_a_pipe(refused, monkeypatch):
    pipe = io.TextIOWrapper(io.BytesIO(b"x" * 1_000_000))
    monkeypatch.setattr(sys, "stdin", pipe)
    assert "1,000,000 characters; at most 32,000 are read" in refused("ask")


@pytest.mark.parametrize(
    "raw",
    [
        b"What does a day ticket cost? \xff\xfe\x80",
        b"What does a\x00 day ticket\x1b[31m cost?",
        "🎫🎫 day ticket?".encode(),
    ],
)
def test_broken_bytes_control_characters_and_emoji_are_answered(command, monkeypatch, raw):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    done = command("ask")
    assert (done.code, done.err) == (0, "")
    assert "6 francs" in done.out


def test_user_without_an_id(refused):
    for verb in (("recall",), ("ask", "hi"), ("remember", "I like tea")):
        assert "A user needs an id.\n       Give a name" in refused(*verb, "--user", "  ")


def test_missing_file(refused, tmp_path):
    (tmp_path / "notes.md").write_text("x")
    error = refused("ingest", str(tmp_path / "note.md"))
    assert f"There is no file or folder '{tmp_path / 'note.md'}'." in error and "Did you mean" in error


def test_unusable_files_are_named_with_the_reason_and_the_good_one_goes_in(command, tmp_path):
    from pypdf import PdfWriter

    locked = PdfWriter()
    locked.add_blank_page(100, 100)
    locked.encrypt("geheim", algorithm="AES-256")
    with (tmp_path / "locked.pdf").open("wb") as opened:
        locked.write(opened)
    (tmp_path / "empty.md").write_bytes(b"")
    (tmp_path / "binary.txt").write_bytes(b"\x7fELF\x00\x01" * 50)
    (tmp_path / "torn.pdf").write_bytes(b"not a PDF at all")
    (tmp_path / "tool.exe").write_bytes(b"MZ")
    (tmp_path / "good.md").write_text("The pear tree was planted in 1962.")
    names = ("locked.pdf", "empty.md", "binary.txt", "torn.pdf", "tool.exe", "good.md")
    done = command("ingest", *(str(tmp_path / name) for name in names))
    assert done.code == 1
    reasons = done.err.splitlines()
    assert len(reasons) == 5 and all(line.startswith("Failed: ") for line in reasons), done.err
    words = ("password", "is empty", "binary file", "cannot be read as a PDF", "'.exe' cannot be read")
    assert all(name in line and word in line for name, word, line in zip(names[:5], words, reasons, strict=True))
    assert "1962" in command("ask", "When was the pear tree planted?").out


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda raw: b"nonsense" + raw[8:], "is not a store, or is damaged: file is not a database"),
        (lambda raw: raw[:32768] + b"\xaa" * 65536 + raw[98304:], "is not a store, or is damaged"),
        (lambda raw: raw[:50_000], "is not a store, or is damaged"),
    ],
)
def test_corrupt_database_is_left_as_it_is(known, refused, state, damage, words):
    file = state / "dragoman.db"
    file.write_bytes(damage(file.read_bytes()))
    before = file.read_bytes()
    for verb in (("recall",), ("ask", "hi"), ("forget", "--all", "--yes")):
        error = refused(*verb)
        assert words in error and str(file) in error and "Restore it from a backup" in error
    assert file.read_bytes() == before


def test_database_of_something_else_or_of_a_newer_version_is_not_touched(known, refused, state):
    file = state / "dragoman.db"
    with apsw.Connection(str(file)) as connection:
        connection.pragma("user_version", 99)
    assert "written by a newer Dragoman (schema 99" in refused("recall")
    file.unlink()
    with apsw.Connection(str(file)) as connection:
        connection.execute("CREATE TABLE bills (id)")
    assert "not a store of Dragoman" in refused("recall")
    assert apsw.Connection(str(file)).execute("SELECT count(*) FROM sqlite_schema").get == 1


def test_locked_database_is_named_and_the_next_try_succeeds(known, command, refused, state):
    holder = apsw.Connection(str(state / "dragoman.db"))
    holder.execute("BEGIN IMMEDIATE")
    error = refused("remember", "I like tea.", "--store.busy_seconds", "0.2")
    assert "Another process holds" in error and "try again" in error
    assert command("recall").code == 0
    holder.execute("ROLLBACK")
    holder.close()
    assert command("remember", "I like tea.").code == 0 and known()


def test_full_disk_while_reading_files_loses_nothing_and_is_mended_by_space(
    known, command, refused, state, tmp_path, monkeypatch
):
    long = tmp_path / "long.md"
    long.write_text("\n".join(f"## Part {i}\n\nThe boat number {i} has {i * 7} seats.\n" for i in range(400)))
    connect = Database._connect

    def small(self):
        connection = connect(self)
        connection.pragma("max_page_count", int(connection.pragma("page_count")) + 4)
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(Database, "_connect", small)
        error = refused("ingest", str(long))
        assert "is full; nothing that was acknowledged is lost" in error and "Free some space" in error
        assert known()
        with dragoman.load(state.parent) as assistant, pytest.raises(StoreFullError):
            for i in range(1000):
                assistant.ask(f"Do you know the boat number {i}? " * 50, dialogue="d")
        before = len(assistant.history(dialogue="d"))
    assert command("ingest", str(long)).code == 0 and known()
    with dragoman.load(state.parent) as assistant:
        assert len(assistant.history(dialogue="d")) == before > 0


def test_state_that_cannot_be_made_or_opened(refused, state, tmp_path):
    state.write_text("a file where the folder should be")
    assert f"The folder '{state}' cannot be made" in refused("recall")
    state.unlink()
    (state / "dragoman.db").mkdir(parents=True)
    error = refused("recall")
    assert "cannot be opened or written" in error and "Check that the folder exists" in error


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_state_and_home(known, refused, state, monkeypatch, tmp_path):
    (state / "dragoman.db").chmod(0o400)
    state.chmod(0o500)
    assert "cannot be opened or written" in refused("remember", "I like tea.")
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    monkeypatch.setenv("DRAGOMAN_HOME", str(home))
    assert "cannot be" in refused("recall", "--agent", "harbour", agent=False)
    state.chmod(0o700)


def test_home_that_is_a_file(refused, monkeypatch, tmp_path):
    (tmp_path / "home").write_text("")
    monkeypatch.setenv("DRAGOMAN_HOME", str(tmp_path / "home"))
    assert "cannot be" in refused("recall", "--agent", "harbour", agent=False)
    assert "cannot be written to" in refused("models", "pull", agent=False)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name = \n", "is not valid TOML: Invalid value (at line 1"),
        ('name = "x"\nlanguge = "en"', "unknown key 'languge'. Did you mean 'language'?"),
        ("name = 3", "'name': input should be a valid string. It is 3."),
        ('name = "x"\n[gate]\nkind = "gate.similarty.v1"', "Unknown gate 'similarty'. Did you mean 'similarity'?"),
        ('name = "x"\n[gate]\nkind = "similarity"\nthreshold = "high"', "'gate.threshold' cannot be 'high'"),
        ('name = "x"\n[gate]\nkind = "similarity"\ntreshold = 1', "Did you mean 'threshold'?"),
        (
            'name = "x"\n[[sources]]\nname = "A"\nneeds = ["B"]\n[[sources]]\nname = "B"\nneeds = ["A"]',
            "need each other in a circle: A -> B -> A",
        ),
        ('name = "x"\n[[sources]]\nname = "A"\nneeds = ["C"]', "needs 'C', which is not declared"),
        ('name = "x"\n[models.language]\nkind = "model.remote.v1"\nurl = "ftp://x"\nmodel = "m"', "'ftp://x'"),
    ],
)
def test_wrong_config_is_told_before_anything_is_fetched_or_made(refused, folder, text, words, monkeypatch):
    monkeypatch.setattr(weights, "pull", lambda name, **_: pytest.fail(f"{name} would be fetched"))
    (folder / "agent.toml").write_text(text)
    assert words in refused("ask", "hi")
    assert not (folder / ".dragoman").exists()


def test_wrong_use_is_exit_code_2(command):
    for arguments in (("ask", "hi", "--nope"), ("ingest",), ("forget",), ("nonsense",), ("ask", "hi", "--set", "x")):
        done = command(*arguments, agent=False)
        assert done.code == 2 and "Traceback" not in done.err


def test_two_stores_open_on_one_file_see_each_others_rows(folder, state):
    with dragoman.load(folder) as first, dragoman.load(folder) as second:
        first.remember("I live in Bern.", user="ana")
        assert [fact.text for fact in second.recall(user="ana")] == ["I live in Bern."]
        second.forget(user="ana")
        assert first.recall(user="ana") == ()


def test_forgetting_under_a_reader_says_that_it_is_not_finished(folder, state):
    with dragoman.load(folder, overrides={"store.busy_seconds": "0.2"}) as assistant:
        assistant.remember("I live in Bern.")
        reader = apsw.Connection(str(state / "dragoman.db"))
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM passages").fetchall()
        with pytest.raises(StoreLockedError, match="Repeat the call"):
            assistant.forget("Bern")
        reader.execute("COMMIT")
        reader.close()
        assistant.forget()
    assert not [path for path in state.rglob("*") if path.is_file() and b"Bern" in path.read_bytes()]


def test_damaged_index_is_rebuilt_from_the_rows(folder, command, state, tmp_path):
    long = tmp_path / "long.md"
    long.write_text("\n".join(f"## Part {i}\n\nThe boat number {i} has {i * 7} seats.\n" for i in range(60)))
    above = ("--store.index_above", "10")
    assert command("ingest", str(long), *above).code == 0
    question = ("ask", "How many seats has the boat number 51?", *above)
    assert "357" in command(*question).out
    files = [path for path in (state / "index").rglob("*") if path.is_file() and path.suffix != ".lock"]
    assert files
    for path in files:
        path.write_bytes(b"garbage")
    assert "357" in command(*question).out
    shutil.rmtree(state / "index")
    assert "357" in command(*question).out
