"""Links in a folder of documents do not bring files from elsewhere into a source, unless the operator asks."""

from __future__ import annotations

import logging

import pytest

import dragoman

pytestmark = pytest.mark.trust
SECRET = "BEGIN PRIVATE KEY 2f9c41 END PRIVATE KEY"


@pytest.fixture
def documents(folder, tmp_path):
    """A folder of documents with links to files and folders outside of it, and one link inside."""
    outside = tmp_path / "home"
    outside.mkdir()
    for name in ("id_rsa", "secret.md"):
        (outside / name).write_text(f"{SECRET} in {name}\n", encoding="utf-8")
    documents = folder / "documents"
    (documents / "key").symlink_to(outside / "id_rsa")
    (documents / "notes.md").symlink_to(documents / "chain.md")
    (documents / "chain.md").symlink_to("../../home/secret.md")
    (documents / "more").symlink_to(outside)
    (documents / "same.md").symlink_to(documents / "prices.md")
    return documents


def origins(folder, source="DOCUMENTS"):
    with dragoman.load(folder) as assistant:
        rows = list(assistant.store.passages(assistant.scope("me").shared, source))
    return {row.origin for row in rows}, " ".join(row.text for row in rows)


def test_links_out_of_a_folder_are_skipped_and_named(folder, documents, command):
    done = command("ingest", str(documents))
    assert done.code == 0
    for name in ("key", "notes.md", "chain.md", "more"):
        assert f"Skipped: documents/{name}: " in done.err
    assert "--follow-links" in done.err
    assert "same.md" not in done.err
    read, text = origins(folder)
    assert read == {"documents/prices.md", "documents/same.md"}
    assert SECRET not in text


def test_an_agents_own_documents_hold_no_links_out_of_their_folder(folder, documents, caplog):
    with caplog.at_level(logging.WARNING, "dragoman"):
        _, text = origins(folder)
    assert SECRET not in text
    assert "documents/key" in caplog.text


def test_facts_that_an_agent_ships_come_from_its_own_folder(folder, tmp_path, caplog):
    (tmp_path / "secret.md").write_text(f"- {SECRET}\n", encoding="utf-8")
    (folder / "users").mkdir()
    (folder / "users" / "me.md").symlink_to(tmp_path / "secret.md")
    agent = folder / "agent.toml"
    agent.write_text(agent.read_text().replace('name = "NOTES"', 'name = "NOTES"\npath = "users"'), encoding="utf-8")
    with caplog.at_level(logging.WARNING, "dragoman"), dragoman.load(folder) as assistant:
        assert list(assistant.store.passages(assistant.scope("me"), "NOTES")) == []
    assert "me.md" in caplog.text


def test_links_are_followed_where_the_operator_asks_for_it(tmp_path, folder, documents, command):
    elsewhere = documents.rename(tmp_path / "library")  # what lies under a declared path follows that path's rule
    for name in ("notes.md", "chain.md", "same.md"):
        (elsewhere / name).unlink()
    (folder / "documents").mkdir()
    done = command("ingest", str(elsewhere), "--follow-links")
    assert (done.code, "Skipped" in done.err) == (0, False)
    read, text = origins(folder)
    assert {origin.removeprefix(elsewhere.as_posix()) for origin in read} == {
        "/prices.md",
        "/key",
        "/more/id_rsa",
        "/more/secret.md",
    }
    assert SECRET in text


def test_a_path_that_is_itself_a_link_is_followed(tmp_path, folder, command):
    (tmp_path / "shelf").symlink_to(folder / "documents")
    done = command("ingest", str(tmp_path / "shelf"))
    assert (done.code, "Skipped" in done.err) == (0, False)
