"""What is installed: a bill of materials, and what can be checked of it without a network.

    python -m tests.trust.supply                    licences, versions, and every installed file against its hash
    python -m tests.trust.supply --sbom FILE        the same as CycloneDX 1.6 JSON, without the checks

Known weaknesses are the business of `pip-audit`, which asks a service: `make audit` runs both.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.markers import UndefinedEnvironmentName
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
# As they are written in metadata; a distribution whose every word is here may be used by us and beside us.
ALLOWED = re.compile(
    r"\b(apache|bsd|mit|isc|mpl|psf|python software|python-2|zlib|unlicense|cc0|0bsd|hpnd|lgpl|any-osi|any osi|blueoak"
    r"|historical permission|lesser general|boost|bsl-1\.0|nvidia|public domain|osi approved)",
    re.IGNORECASE,
)
REFUSED = re.compile(r"\b(agpl|gpl-[23]|affero|gnu general public|sspl|busl|non-?commercial|cc-by-nc)", re.IGNORECASE)
KNOWN = {"atheris": "Apache-2.0", "docutils": "Public Domain AND BSD-2-Clause"}
"""From their licence files, where the metadata say nothing, or name what is not installed (an Emacs mode under GPL)."""
TOOLS = {"pip", "setuptools", "wheel", "dragoman"}


def licence_of(distribution: Distribution) -> str:
    """In the words of the metadata: an expression, else classifiers, else the first line of the free field."""
    told = distribution.metadata
    if name_of(distribution) in KNOWN:
        return KNOWN[name_of(distribution)]
    if expression := told.get("License-Expression"):
        return str(expression)
    classified = [line.rpartition(" :: ")[2] for line in told.get_all("Classifier") or () if line.startswith("License")]
    free = (told.get("License") or "").strip().splitlines()
    return "; ".join(classified) or (free[0][:200] if free else "")


def name_of(distribution: Distribution) -> str:
    return canonicalize_name(distribution.metadata["Name"])


def installed(path: list[str] | None = None) -> dict[str, Distribution]:
    """By name; the first that would be imported."""
    found: dict[str, Distribution] = {}
    for distribution in distributions(path=path) if path else distributions():
        found.setdefault(name_of(distribution), distribution)
    return found


def licence_problems(known: dict[str, Distribution]) -> Iterator[str]:
    """Licences that nobody allowed, and none at all."""
    for name, distribution in known.items():
        licence = licence_of(distribution)
        if name not in TOOLS and (not ALLOWED.search(licence) or REFUSED.search(licence)):
            yield f"{name} {distribution.version}: licence {licence or 'unknown'!r}"


def file_problems(known: dict[str, Distribution]) -> Iterator[str]:
    """Files that are not what the installed package says they are."""
    for name, distribution in known.items():
        for file in distribution.files or ():
            if file.hash is None or file.suffix == ".pyc":
                continue
            path = Path(str(file.locate()))
            digest = hashlib.new(file.hash.mode, path.read_bytes()).digest() if path.is_file() else b""
            if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
                yield f"{name}: {file} is {'changed' if digest else 'missing'}"


def declared() -> list[Requirement]:
    """Every requirement of ours: of the package, its extras, the groups of its developers, and its constraints."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    lists = [*project["optional-dependencies"].values(), *settings["dependency-groups"].values(), _constraints()]
    return [Requirement(line) for line in (*project["dependencies"], *(line for lines in lists for line in lines))]


def _constraints() -> list[str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [stripped for line in lines if (stripped := line.partition("#")[0].strip())]


def version_problems(known: dict[str, Distribution], wanted: Iterable[Requirement]) -> Iterator[str]:
    """What is installed must be what was asked for: by us, and by everything else that is installed."""
    for requirement in wanted:
        found = known.get(canonicalize_name(requirement.name))
        if found is not None and not requirement.specifier.contains(found.version, prereleases=True):
            yield f"{found.metadata['Name']} {found.version} is not {requirement}"
        if not requirement.specifier and not requirement.name.startswith("dragoman"):
            yield f"{requirement} has no lower bound"
    for name, distribution in known.items():
        if Version(distribution.version).is_devrelease:
            yield f"{name} {distribution.version} is a development version"


def strangers(known: dict[str, Distribution]) -> list[str]:
    """What nothing of ours asks for, directly or through others."""
    reached, left = set(TOOLS), [(requirement, ("",)) for requirement in declared()]
    while left:
        requirement, _ = left.pop()
        name = canonicalize_name(requirement.name)
        if name not in known or (name, *sorted(requirement.extras)) in reached:
            continue
        reached |= {name, (name, *sorted(requirement.extras))}
        left += [(inner, ()) for inner in needs(known[name], requirement.extras)]
    return sorted(name for name in known if name not in reached)


def needs(distribution: Distribution, extras: Iterable[str] = ()) -> Iterator[Requirement]:
    """What a distribution asks for here, with some of its extras."""
    for line in distribution.requires or ():
        requirement = Requirement(line)
        for extra in ("", *extras):
            try:
                if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                    yield requirement
                    break
            except UndefinedEnvironmentName:
                continue


def sbom(known: dict[str, Distribution]) -> dict[str, object]:
    """CycloneDX 1.6: every distribution with its licence, and who needs whom."""

    def reference(name: str) -> str:
        return f"pkg:pypi/{name}@{known[name].version}"

    def component(name: str) -> dict[str, object]:
        licence = licence_of(known[name])
        made: dict[str, object] = {"type": "library", "bom-ref": reference(name), "name": name}
        made |= {"version": known[name].version, "purl": reference(name)}
        return made | ({"licenses": [{"license": {"name": licence}}]} if licence else {})

    dependencies = [
        {
            "ref": reference(name),
            "dependsOn": sorted(
                {reference(on) for one in needs(known[name]) if (on := canonicalize_name(one.name)) in known}
            ),
        }
        for name in sorted(known)
    ]
    others = [component(name) for name in sorted(known) if name != "dragoman"]
    head = {"component": component("dragoman") | {"type": "application"}} if "dragoman" in known else {}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": head,
        "components": others,
        "dependencies": dependencies,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sbom", type=Path, metavar="FILE")
    options = parser.parse_args()
    known = installed()
    if options.sbom:
        options.sbom.parent.mkdir(parents=True, exist_ok=True)
        options.sbom.write_text(json.dumps(sbom(known), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        sys.stdout.write(f"{options.sbom}: {len(known)} distributions\n")
        return
    found = [*licence_problems(known), *version_problems(known, declared()), *file_problems(known)]
    for problem in found:
        sys.stdout.write(f"{problem}\n")
    if unasked := strangers(known):
        sys.stdout.write(f"Nothing of ours needs: {', '.join(unasked)}\n")
    sys.stdout.write(f"{len(known)} distributions, {len(found)} problems\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
