"""`ingest`, `remember`, `recall` and `forget`."""

from __future__ import annotations

import json

from dragoman.cli.facts.recall import moment
from dragoman.core.clock import now, use_clock
from dragoman.core.errors import InputError


def test_remembered_facts_are_recalled_and_forgotten_by_user(invoke):
    done = invoke("remember", "I", "am", "vegetarian", "--user", "ana")
    assert "Remembered: I am vegetarian" in done.stdout and "dragoman recall --user ana" in done.stdout
    assert "I am vegetarian" in invoke("recall", "--user", "ana").stdout
    assert "Nothing is remembered about tom" in invoke("recall", "--user", "tom").stdout
    assert invoke("forget", "vegetarian", "--user", "ana").stdout.startswith("Deleted: 1.")
    assert "Nothing is remembered about ana" in invoke("recall", "--user", "ana").stdout


def test_what_is_suggested_next_means_the_same_agent(invoke):
    for words in (("remember", "I am tall"), ("recall",), ("forget", "tall"), ("ingest", "a.md")):
        assert "--agent 'my agent'" in invoke(*words, "--agent", "my agent").stdout
    assert "--agent" not in invoke("recall").stdout


def test_recall_json_is_the_passages(invoke):
    invoke("remember", "I am vegetarian")
    invoke("remember", "I am tall")
    rows = json.loads(invoke("recall", "tall", "--json").stdout)
    assert [row["text"] for row in rows] == ["I am tall"]
    assert json.loads(invoke("recall", "nothing like it", "--json").stdout) == []


def test_forgetting_what_is_not_there_fails_with_the_way_to_look(command):
    done = command("forget", "unicorns")
    assert done.returncode == 1
    assert b"dragoman recall --user me" in done.stderr


def test_forgetting_everything_needs_yes_where_nobody_can_be_asked(invoke, stub):
    invoke("remember", "I am tall")
    refused = invoke("forget", "--all")
    assert refused.exit_code == 2 and "--yes" in refused.stderr
    assert len(stub.facts["me"]) == 1
    assert invoke("forget", "--all", "--yes").exit_code == 0
    assert stub.facts["me"] == []


def test_words_that_mean_everything_delete_nothing(invoke, stub):
    invoke("remember", "I am tall")
    refused = invoke("forget", "everything", "about", "me")
    assert refused.exit_code == 2 and "--all" in refused.stderr
    assert len(stub.facts["me"]) == 1


def test_forget_takes_words_or_all_but_not_both(invoke, stub):
    assert invoke("forget", "tall", "--all", "--yes").exit_code == 2
    assert not stub.loaded


def test_ingest_prints_what_changed_and_what_to_do_next(invoke, stub):
    done = invoke("ingest", "a.md", "docs", "--source", "NOTES", "--user", "ana")
    assert done.exit_code == 0
    assert stub.ingested == (("a.md", "docs"), "NOTES", "ana")
    assert ["NOTES", "2", "4", "3", "2", "1", "0", "1.3"] in [line.split() for line in done.stdout.splitlines()]
    assert "dragoman ask" in done.stdout


def test_ingest_names_each_failed_file_and_fails(invoke):
    done = invoke("ingest", "a.md", "empty.md")
    assert done.exit_code == 1
    assert done.stderr == "Failed: empty.md: It is empty.\n"


def test_ingest_takes_addresses_with_their_limits(invoke, stub):
    assert invoke("ingest", "https://example.org/a", "notes", "--pages", "7").exit_code in (0, 1)
    assert stub.ingested[0] == ("https://example.org/a", "notes")
    assert stub.web.pages == 7 and not stub.web.allow_private


def test_ingest_watch_reads_again_at_every_change(invoke, stub, tmp_path, monkeypatch):
    monkeypatch.setattr("dragoman.sources.watch.changes", lambda paths, follow_links: iter([None, None]))
    done = invoke("ingest", str(tmp_path), "https://example.org/a", "--watch")
    assert "Watching for changes" in done.stdout and done.stdout.count(" added, ") == 2
    assert stub.ingested[0] == (str(tmp_path),)  # pages are not fetched again
    assert not stub.retried  # files that were refused are not read at every change


def test_ingest_watch_names_a_failed_file_once(invoke, stub, tmp_path, monkeypatch):
    monkeypatch.setattr("dragoman.sources.watch.changes", lambda paths, follow_links: iter([None, None]))
    (tmp_path / "empty.md").write_text("")
    assert invoke("ingest", str(tmp_path / "empty.md"), "--watch").stderr.count("It is empty.") == 1


def test_ingest_watch_needs_something_to_watch(invoke):
    assert "--watch needs a file" in str(invoke("ingest", "https://example.org/a", "--watch").exception)


def test_recall_at_a_date_is_what_was_known_at_the_end_of_that_day(invoke, monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    with use_clock("2026-05-04T12:00:00Z"):
        assert moment("2026-05-03").date().isoformat() == "2026-05-03"
        assert moment("yesterday") == moment("2026-05-03") == moment("昨天")
        assert moment("today") == now()
        assert invoke("recall", "--at", "last Friday").exit_code == 0
        refused = invoke("recall", "--at", "someday")
    assert isinstance(refused.exception, InputError) and "'someday' is no date" in str(refused.exception)
