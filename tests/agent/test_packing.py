"""Agents as files: the same bytes each time, opened without trust."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from dragoman.agent.build import locate
from dragoman.agent.packing import pack, unpack
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


def test_a_packed_agent_holds_its_files_and_no_state(folder, tmp_path, own_home):
    file = tmp_path / "pier.dragoman"
    assert pack(folder, file) == 2
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
    pack(folder, tmp_path / "a.dragoman")

    def change(members):
        members["agent.toml"] = f"{CONFIG}{table}\n".encode()
        relisted(members)

    with pytest.raises(ConfigError, match=reason):
        unpack(altered(tmp_path / "a.dragoman", tmp_path / "b.dragoman", change))
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
