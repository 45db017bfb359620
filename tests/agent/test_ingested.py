"""Files put in by hand beside those that the agent declares: none is taken for another."""

import dragoman
from dragoman.sources import ingest_work

AGENT = """
name = "A"
[models.language]
kind = "scripted"
default = "ok"
[models.encoder]
kind = "hashing"
[[sources]]
name = "DOCUMENTS"
path = "documents"
"""


def made(tmp_path):
    agent = tmp_path / "agent"
    (agent / "documents").mkdir(parents=True)
    (agent / "agent.toml").write_text(AGENT)
    (agent / "documents" / "welcome.md").write_text("The agent's own welcome.")
    return agent


def texts(agent):
    with dragoman.load(agent) as assistant:
        return sorted(row.text for row in assistant.store.passages(assistant.scope().shared, "DOCUMENTS"))


def put(agent, path):
    with dragoman.load(agent) as assistant:
        assistant.ingest([path], source="DOCUMENTS")


def test_a_file_of_the_same_name_elsewhere_neither_replaces_nor_is_swept_away(tmp_path, monkeypatch):
    agent = made(tmp_path)
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "welcome.md").write_text("Another welcome.")
    monkeypatch.chdir(tmp_path)
    put(agent, "documents")
    assert texts(agent) == ["Another welcome.", "The agent's own welcome."]
    assert texts(agent) == ["Another welcome.", "The agent's own welcome."]  # nor at the next load


def test_files_of_one_name_in_two_working_folders_are_two_files(tmp_path, monkeypatch):
    agent = made(tmp_path)
    for place, text in (("one", "The parrot is called Pim."), ("two", "The quail is called Quin.")):
        (tmp_path / place).mkdir()
        (tmp_path / place / "x.md").write_text(text)
        monkeypatch.chdir(tmp_path / place)
        put(agent, "x.md")
    assert texts(agent) == ["The agent's own welcome.", "The parrot is called Pim.", "The quail is called Quin."]


def test_refused_files_are_read_once_and_named_briefly_at_each_start(tmp_path, caplog, monkeypatch):
    agent = made(tmp_path)
    for number in range(9):
        (agent / "documents" / f"scan{number}.pdf").write_bytes(b"no PDF")
    read = []
    parse = ingest_work.parse
    monkeypatch.setattr(ingest_work, "parse", lambda content, name: read.append(name) or parse(content, name))
    for starts in range(2):
        caplog.clear()
        with dragoman.load(agent) as assistant:
            assert len(assistant.unread) == 9
        assert len(read) == 10, starts
        (warning,) = (record.getMessage() for record in caplog.records if record.name == "dragoman.agent")
        assert "9 files: scan0.pdf, scan1.pdf" in warning and "and 4 more;" in warning
