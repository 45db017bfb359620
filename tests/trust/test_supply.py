"""The supply chain, as far as it can be seen without a network: licences, versions, files, a bill of materials."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from packaging.requirements import Requirement

from .supply import ROOT, declared, file_problems, installed, licence_problems, needs, sbom, strangers, version_problems

pytestmark = pytest.mark.trust


@pytest.fixture(scope="module")
def known():
    return installed()


def made(folder, name, *, version="1.0", licence="MIT", content=b"x = 1\n", recorded=b"x = 1\n", needs=()):
    """A distribution as pip leaves one."""
    import base64
    import hashlib

    info = folder / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (folder / f"{name}.py").write_bytes(content)
    digest = base64.urlsafe_b64encode(hashlib.sha256(recorded).digest()).rstrip(b"=").decode()
    (info / "RECORD").write_text(f"{name}.py,sha256={digest},{len(recorded)}\n")
    lines = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {line}" for line in needs)]
    (info / "METADATA").write_text("\n".join(["Metadata-Version: 2.4", *lines, f"License-Expression: {licence}", ""]))
    return installed([str(folder)])


def test_every_installed_distribution_has_a_licence_that_is_allowed(known):
    assert list(licence_problems(known)) == []


def test_every_requirement_has_a_bound_and_is_met(known):
    assert list(version_problems(known, declared())) == []


@pytest.mark.slow
def test_every_installed_file_is_the_one_that_was_published(known):
    assert list(file_problems(known)) == []


@pytest.mark.parametrize("licence", ["AGPL-3.0-only", "GPL-3.0-or-later", "CC-BY-NC-4.0", "Proprietary", ""])
def test_other_licences_are_named(tmp_path, licence):
    assert len(list(licence_problems(made(tmp_path, "thing", licence=licence)))) == 1


def test_a_changed_file_an_unmet_bound_and_a_stranger_are_named(tmp_path):
    known = made(tmp_path, "thing", content=b"x = 2\n")
    assert list(file_problems(known)) == ["thing: thing.py is changed"]
    assert list(version_problems(known, [Requirement("thing>=2")])) == ["thing 1.0 is not thing>=2"]
    assert list(version_problems(known, [Requirement("thing")])) == ["thing has no lower bound"]
    assert strangers(known) == ["thing"]


@pytest.mark.slow
def test_the_bill_of_materials_names_everything_once_with_who_needs_whom(known):
    bill = sbom(known)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    names = [component["name"] for component in bill["components"]]
    assert sorted([*names, "dragoman"]) == sorted(known) and len(set(names)) == len(names)
    assert all(
        component["licenses"] for component in bill["components"] if component["name"] not in ("pip", "setuptools")
    )
    references = {entry["ref"]: entry["dependsOn"] for entry in bill["dependencies"]}
    assert all(on in references for others in references.values() for on in others)
    (pydantic,) = (ref for ref in references if ref.startswith("pkg:pypi/pydantic@"))
    assert any(on.startswith("pkg:pypi/pydantic-core@") for on in references[pydantic])


def test_extras_are_followed(tmp_path):
    known = made(tmp_path, "thing", needs=["other>=1; extra == 'more'", "third>=1"])
    assert [one.name for one in needs(known["thing"])] == ["third"]
    assert sorted(one.name for one in needs(known["thing"], ["more"])) == ["other", "third"]


@pytest.mark.slow
def test_the_command_writes_it(tmp_path):
    file = tmp_path / "out" / "sbom.json"
    command = [sys.executable, "-m", "tests.trust.supply", "--sbom", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert str(file) in done.stdout and json.loads(file.read_text())["components"]
