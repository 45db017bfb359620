"""Agents as files: the same bytes each time, opened without trust."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from dragoman.agent.build import locate
from dragoman.agent.packing import pack, unpack
from dragoman.config import load_config
from dragoman.core.errors import ConfigError, InputError

CONFIG = 'name = "Robin"\n[[sources]]\nname = "DOCUMENTS"\ndescription = "prices"\npath = "documents"\n'


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "pier"
    (root / "documents").mkdir(parents=True)
    (root / "agent.toml").write_text(CONFIG)
    (root / "documents" / "prices.md").write_text("A ticket costs 6 francs.")
    (root / ".dragoman").mkdir()
    (root / ".dragoman" / "dragoman.db").write_text("memories")
    return root


def altered(file, out, change):
    """A copy of a packed agent whose members `change` has edited."""
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out


def relisted(members):
    """List the members with the hashes that they have, as somebody who means harm would."""
    import hashlib

    files = {name: hashlib.sha256(content).hexdigest() for name, content in members.items() if name != "pack.json"}
    members["pack.json"] = json.dumps({"format": 1, "name": "x", "files": files}).encode()


def packed_with(table, folder, tmp_path):
    """A packed agent whose configuration somebody extended by a table afterwards."""

    def change(members):
        members["agent.toml"] = f"{CONFIG}{table}\n".encode()
        relisted(members)

    pack(folder, tmp_path / "a.dragoman")
    return altered(tmp_path / "a.dragoman", tmp_path / "b.dragoman", change)


def test_a_packed_agent_holds_its_files_and_no_state(folder, tmp_path, own_home):
    file = tmp_path / "pier.dragoman"
    assert pack(folder, file).files == 2
    inner, state = locate(file)
    assert {path.relative_to(inner.parent).as_posix() for path in inner.parent.rglob("*") if path.is_file()} == {
        "agent.toml",
        "documents/prices.md",
    }
    assert state.is_relative_to(own_home) and not state.is_relative_to(inner.parent)
    assert locate(file) == (inner, state)  # unpacked once


def test_the_same_folder_makes_the_same_bytes(folder, tmp_path):
    first, second = tmp_path / "a.dragoman", tmp_path / "b.dragoman"
    pack(folder, first)
    (folder / "agent.toml").touch()
    pack(folder, second)
    assert first.read_bytes() == second.read_bytes()


def test_parts_outside_of_the_folder_are_refused(folder, tmp_path):
    with (folder / "agent.toml").open("a") as file:
        file.write('[gate]\nkind = "linear"\npart = "../gate"\n')
    with pytest.raises(ConfigError, match=r"'\.\./gate' lies outside"):
        pack(folder, tmp_path / "a.dragoman")


@pytest.fixture
def reaching_out(folder):
    """The agent, whose sources are read from a folder and a file elsewhere."""
    notes = folder.parent / "notes"
    (notes / "deep").mkdir(parents=True)
    (notes / "deep" / "hours.md").write_text("We open at nine.")
    (notes / "tool.py").write_text("import os")
    (notes / ".secret.md").write_text("hidden")
    (folder.parent / "prices.csv").write_text("what,price\nticket,6\n")
    (folder / "agent.toml").write_text(
        'name = "Robin"  # its name\n[[sources]]\nname = "DOCUMENTS"\ndescription = "path = hours"\n'
        'path = "../notes"  # elsewhere\n\n[[sources]]\nname = "PRICES"\ndescription = "prices"\n'
        f"path = '{(folder.parent / 'prices.csv').as_posix()}'\n"
    )
    return folder


def test_documents_from_elsewhere_are_packed_with_the_agent(reaching_out, tmp_path, own_home):
    before = (reaching_out / "agent.toml").read_text()
    report = pack(reaching_out, tmp_path / "a.dragoman")
    assert [(one.source, one.files, one.left_out) for one in report.copied] == [("DOCUMENTS", 1, 1), ("PRICES", 1, 0)]
    assert (reaching_out / "agent.toml").read_text() == before
    inner = unpack(tmp_path / "a.dragoman")
    config = load_config(inner / "agent.toml", {})
    # The folder's own `documents` stands in the way of the first name.
    assert [source.path for source in config.sources] == ["documents-2", "prices/prices.csv"]
    assert (inner / "documents-2/deep/hours.md").read_text() == "We open at nine."
    assert (inner / "prices/prices.csv").is_file()
    assert not [path for path in inner.rglob("*") if path.name in {"tool.py", ".secret.md"}]
    assert "# its name" in (inner / "agent.toml").read_text()
    pack(reaching_out, tmp_path / "b.dragoman")
    assert (tmp_path / "a.dragoman").read_bytes() == (tmp_path / "b.dragoman").read_bytes()


def test_what_cannot_be_copied_is_refused(reaching_out, tmp_path):
    toml = (reaching_out / "agent.toml").read_text()
    for wrong, reason in (
        (toml.replace("../notes", "../gone"), "There is no"),
        (toml.replace('path = "../notes"', 'path = "../notes"\nprivate = true'), "lies outside"),
        ('sources = [{ name = "A", description = "a", path = "../notes" }]', "lies outside"),  # in the middle of a line
    ):
        (reaching_out / "agent.toml").write_text(wrong)
        with pytest.raises(ConfigError, match=reason):
            pack(reaching_out, tmp_path / "a.dragoman")
    (reaching_out / "agent.toml").write_text(toml)
    (reaching_out.parent / "notes/deep/hours.md").unlink()
    with pytest.raises(ConfigError, match="no file that can be read"):
        pack(reaching_out, tmp_path / "a.dragoman")


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ('[models]\nlanguage = "openai:gpt-4.1-mini"', "talks to a server"),
        ('[[sources]]\nname = "X"\ntool = "x"\nmcp = { command = ["sh"] }', "starts the program"),
        ("", ""),
    ],
)
def test_whoever_packs_an_agent_hears_what_others_will(folder, tmp_path, own_home, table, reason):
    (folder / "agent.toml").write_text(f"{CONFIG}{table}\n")
    report = pack(folder, tmp_path / "a.dragoman")
    assert bool(report.refused) == bool(reason) and reason in report.refused
    if reason:
        with pytest.raises(ConfigError, match=reason) as caught:
            unpack(tmp_path / "a.dragoman")
        assert caught.value.message == report.refused
    else:
        unpack(tmp_path / "a.dragoman")


def test_programs_are_not_packed(folder, tmp_path):
    (folder / "tool.py").write_text("import os")
    with pytest.raises(InputError, match="may run code"):
        pack(folder, tmp_path / "a.dragoman")
    assert not list(tmp_path.glob("*.dragoman"))


@pytest.mark.trust
@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ('mcp = { command = ["sh", "-c", "ls"] }\ntool = "x"', "starts the program 'sh -c ls'"),
        ('[models.language]\nkind = "remote"\nurl = "https://example.org"', "talks to 'https://example.org'"),
        ('[store]\nkind = "store.postgres.v1"\nurl = "env:SECRET"', "talks to 'env:SECRET'"),
        ('[[sources]]\nname = "X"\ndescription = "x"\npath = "/etc"', "'/etc' lies outside"),
    ],
)
def test_agents_that_start_programs_or_talk_elsewhere_are_refused(folder, tmp_path, own_home, table, reason):
    agent = packed_with(table, folder, tmp_path)
    with pytest.raises(ConfigError, match=reason):
        unpack(agent)
    assert not [path for path in (own_home / "packed").iterdir() if path.is_dir()]


@pytest.mark.trust
@pytest.mark.parametrize("name", ["../out.md", "/out.md", "a/../../out.md", ".hidden", "c:x", "a\\b.md", "x.pkl"])
def test_names_that_lead_out_and_pickles_are_refused(folder, tmp_path, name):
    pack(folder, tmp_path / "a.dragoman")

    def change(members):
        members[name] = b"x"
        relisted(members)

    with pytest.raises(InputError):
        unpack(altered(tmp_path / "a.dragoman", tmp_path / "b.dragoman", change))
    assert not (tmp_path / "out.md").exists()


@pytest.mark.trust
def test_changed_and_unlisted_files_are_not_used(folder, tmp_path):
    pack(folder, tmp_path / "a.dragoman")
    changed = altered(
        tmp_path / "a.dragoman",
        tmp_path / "b.dragoman",
        lambda members: members.update({"documents/prices.md": b"free"}),
    )
    with pytest.raises(InputError, match="damaged"):
        unpack(changed)
    more = altered(tmp_path / "a.dragoman", tmp_path / "c.dragoman", lambda members: members.update({"more.md": b"x"}))
    assert not (unpack(more) / "more.md").exists()


def test_other_files_are_refused(tmp_path):
    empty = io.BytesIO()
    zipfile.ZipFile(empty, "w").close()
    for number, content in enumerate((b"no zip", empty.getvalue(), b"PK\x03\x04" + bytes(50))):
        file = tmp_path / f"{number}.dragoman"
        file.write_bytes(content)
        with pytest.raises(InputError, match="not a packed agent"):
            unpack(file)


@pytest.mark.trust
@pytest.mark.parametrize(
    "table",
    [
        '[models]\nlanguage = "openai:gpt-5"',
        '[models]\nlanguage = "ollama:qwen3:4b"',
        '[models]\nlanguage = "x@https://example.org/v1"',
        '[models.language]\nkind = "remote"\nprofile = "anthropic"\nmodel = "m"',
        '[models.encoder]\nkind = "encoder.remote.v1"\nmodel = "m"',
        '[models.encoder]\nkind = "remote"\nmodel = "m"',
        '[store]\nkind = "postgres"',
    ],
)
def test_agents_that_talk_to_a_server_by_its_usual_address_are_refused(folder, tmp_path, own_home, table):
    """A vendor's address is not in the file, and this user's key would be used for it."""
    agent = packed_with(table, folder, tmp_path)
    with pytest.raises(ConfigError, match="talks to"):
        unpack(agent)


@pytest.mark.trust
@pytest.mark.parametrize(
    "table",
    [
        '[gate]\nkind = "linear"\npart = "~/gate"',
        '[models.language]\nkind = "llamacpp"\nweights = "/etc/passwd"',
        '[models]\nlanguage = "/etc/passwd"',
        '[models]\nlanguage = "../../x.gguf"',
        '[models.encoder]\nkind = "onnx"\nmodel = "..\\\\..\\\\x"',
        '[models.encoder]\nkind = "onnx"\nmodel = "C:/x"',
        '[reader]\nfiles = ["documents", "../../secret"]',
    ],
)
def test_paths_that_lead_out_are_refused_under_any_key(folder, tmp_path, own_home, table):
    agent = packed_with(table, folder, tmp_path)
    with pytest.raises(ConfigError, match="lies outside"):
        unpack(agent)


@pytest.mark.trust
@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_ways_of_packing_that_unpack_without_a_limit_are_refused(folder, tmp_path, own_home, method):
    pack(folder, tmp_path / "a.dragoman")
    with zipfile.ZipFile(tmp_path / "a.dragoman", "a", method) as archive:
        archive.writestr("more.md", b" " * 2**20)
    with pytest.raises(InputError, match="unusual way"):
        unpack(tmp_path / "a.dragoman")


@pytest.mark.trust
@pytest.mark.parametrize(
    "change",
    [
        {"pack.json": b"[]"},
        {"pack.json": b'{"format": 1, "files": 3}'},
        {"pack.json": b'{"format": 1, "files": {"agent.toml": 3}}'},
        {"pack.json": b"[" * 100_000},
        {"pack.json": b" " * (17 * 2**20)},
        {"agent.toml": b"#" * (2 * 2**20)},
        {"agent.toml": b"a = " + b"[" * 100_000},
        {"documents/prices.md/inner.md": b"x"},
        {"x" * 250 + ".md": b"x"},
        {"documents/model.onnx": b"\xff" * 20},
    ],
    ids=["list", "number", "hash", "deep", "long", "long config", "deep config", "folder", "name", "onnx"],
)
def test_whatever_a_packed_file_holds_it_is_opened_or_refused_in_words(folder, tmp_path, own_home, change):
    pack(folder, tmp_path / "a.dragoman")

    def altering(members):
        members.update(change)
        if "pack.json" not in change:
            relisted(members)

    with pytest.raises((InputError, ConfigError)):
        unpack(altered(tmp_path / "a.dragoman", tmp_path / "b.dragoman", altering))
    assert not [path for path in (own_home / "packed").iterdir() if path.is_dir()]
