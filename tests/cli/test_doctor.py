"""`doctor`: what is broken is found, named with a remedy, and hides nothing else."""

from __future__ import annotations

import json
import re

import pytest

import dragoman
from dragoman.cli.terminal import diagnosis
from dragoman.core.errors import WeightsError
from dragoman.core.registry import Registry

SCRIPTED = """
name = "Test"
[models.language]
kind = "scripted"
default = "Hello there."
[models.encoder]
kind = "hashing"
"""


@pytest.fixture
def agent(tmp_path, monkeypatch):
    """An agent whose models need no weights, and a home of its own."""
    monkeypatch.setenv("DRAGOMAN_HOME", str(tmp_path / "home"))
    (tmp_path / "agent.toml").write_text(SCRIPTED)
    return tmp_path


def findings(agent):
    return {finding.what: finding for finding in diagnosis.examine(str(agent))}


def test_every_part_of_a_sound_installation_is_found(agent):
    found = findings(agent)
    assert {name: finding for name, finding in found.items() if finding.state == "broken"} == {}
    assert "SQLite 3." in found["apsw"].found
    assert "GiB free" in found["home"].found
    assert re.search(r"\bgate \d+, planner \d+", found["components"].found)
    assert "2 tokens" in found["generating"].found
    assert "256 dimensions" in found["encoding"].found
    assert "none in" in found["store"].found
    assert not (agent / ".dragoman").exists()


def test_role_without_components_has_a_line_of_its_own(agent, monkeypatch):
    monkeypatch.setitem(diagnosis.REGISTRIES, "juggler", Registry("juggler", "dragoman.none"))
    found = findings(agent)
    assert found["juggler"].state == "broken" and "juggler" not in found["components"].found


def test_broken_part_is_named_with_the_command_that_mends_it(agent, monkeypatch):
    monkeypatch.setattr(diagnosis, "_PARTS", ("apsw", "no_such_library"))
    found = findings(agent)
    assert found["no_such_library"].state == "broken"
    assert found["no_such_library"].remedy == "pip install --force-reinstall no_such_library"
    assert found["apsw"].state == "ok"


def test_missing_extra_is_a_note_with_the_command_that_installs_it(agent, monkeypatch):
    monkeypatch.setattr(diagnosis, "_EXTRAS", {"zh": ("no-such-package", "cuts words")})
    finding = findings(agent)["extra zh"]
    assert (finding.state, finding.remedy) == ("note", "pip install 'dragoman[zh]'")


def test_unknown_agent_is_broken_and_the_rest_is_still_examined(agent):
    found = findings("no-such-agent")
    assert found["agent"].state == "broken"
    assert "extra zh" in found and "generating" not in found


def test_shipped_parts_say_whether_the_agent_has_them_or_how_it_would(agent):
    (agent / "agent.toml").write_text(f'{SCRIPTED}[critic]\nkind = "nli"\npart = "english/critic"\n')
    found = findings(agent)
    assert found["part english/critic"].found.startswith(f"Test ({agent}) has it in [critic]. A critic is heard")
    assert found["part english/gate"].found == 'to use it: [gate] kind = "encoder", part = "english/gate"'


def test_the_judge_that_the_reader_takes_by_itself_is_found_with_it(agent):
    (agent / "agent.toml").write_text(f'{SCRIPTED}[reader]\nkind = "grounded"\n')
    assert "has it in [reader]" in findings(agent)["part english-joint"].found
    (agent / "agent.toml").write_text(f'{SCRIPTED}[reader]\nkind = "grounded"\njoint = ""\n')
    assert findings(agent)["part english-joint"].found == (
        'to use it: [reader] kind = "grounded", joint = "english-joint"'
    )


def test_part_of_ones_own_is_not_the_shipped_one_of_its_name(agent):
    (agent / "agent.toml").write_text(f'{SCRIPTED}[critic]\nkind = "nli"\npart = "english/critic"\n')
    (agent / "english" / "critic").mkdir(parents=True)
    (agent / "english" / "critic" / "part.json").write_text("{}")
    assert findings(agent)["part english/critic"].found.startswith("to use it: ")


def test_failing_model_says_what_its_error_says(agent, monkeypatch):
    def fail(*_):
        raise WeightsError("The weights are gone.", remedy="Fetch them.")

    monkeypatch.setattr(diagnosis, "_generates", fail)
    finding = findings(agent)["generating"]
    assert (finding.state, finding.found, finding.remedy) == ("broken", "The weights are gone.", "Fetch them.")


def test_home_that_cannot_be_written_is_broken(agent, monkeypatch):
    (agent / "file").write_text("")
    monkeypatch.setenv("DRAGOMAN_HOME", str(agent / "file"))
    finding = findings(agent)["home"]
    assert finding.state == "broken" and "DRAGOMAN_HOME" in finding.remedy


def test_damaged_store_is_broken(agent):
    state = agent / ".dragoman"
    state.mkdir()
    (state / "dragoman.db").write_bytes(b"not a database at all" * 400)
    finding = findings(agent)["store"]
    assert finding.state == "broken" and finding.remedy


def test_vectors_of_another_encoder_are_a_note(agent):
    (agent / "notes.md").write_text("# Hours\n\nThe shop opens at nine.\n")
    with (agent / "agent.toml").open("a") as file:
        file.write('[[sources]]\nname = "NOTES"\npath = "notes.md"\n')
    with dragoman.load(agent):
        pass
    assert findings(agent)["store"].state == "ok"
    text = (agent / "agent.toml").read_text()
    (agent / "agent.toml").write_text(text.replace('kind = "hashing"', 'kind = "hashing"\ndimensions = 64'))
    found = findings(agent)["store"]
    assert found.state == "note" and "NOTES (1 passages)" in found.found and "next start" in found.remedy


@pytest.mark.parametrize(("state", "code"), [("ok", 0), ("note", 0), ("broken", 1)])
def test_exit_code_says_whether_something_essential_is_broken(invoke, monkeypatch, state, code):
    monkeypatch.setattr(diagnosis, "examine", lambda *_: [diagnosis.Finding("part", state, "found", "mend it")])
    done = invoke("doctor")
    assert done.exit_code == code
    assert "To mend it: mend it" in done.stdout and ("Broken: part." in done.stdout) == (state == "broken")
    done = invoke("doctor", "--json")
    assert done.exit_code == code
    assert json.loads(done.stdout) == [{"what": "part", "state": state, "found": "found", "remedy": "mend it"}]
