"""The files of deploy/: well formed, in step with the command line, and locked down."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from dragoman.cli.app import app
from dragoman.config import load_config
from dragoman.server.observe.prometheus import Metrics

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[2] / "deploy"


@pytest.fixture(scope="module")
def compose():
    return yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def objects():
    return list(yaml.safe_load_all((ROOT / "kubernetes.yaml").read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def deployment(objects):
    return next(entry for entry in objects if entry["kind"] == "Deployment")["spec"]["template"]["spec"]


def parsed(arguments):
    """Whether our command line takes these arguments: an unknown command or option is an error."""
    command = typer.main.get_command(app)
    words = list(arguments)
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    return command.make_context("dragoman", words)


def instructions(name):
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    return [line.partition(" ")[2].strip() for line in text.splitlines() if line.startswith(name)]


def test_commands_of_the_image_and_of_compose_exist(compose):
    given = [yaml.safe_load(instructions("CMD")[-1])]
    given += [service["command"] for service in compose["services"].values() if service.get("image") == "dragoman"]
    for command in given:
        assert parsed([str(word) for word in command])


def test_commands_of_kubernetes_and_its_head_exist(deployment):
    for container in (*deployment["initContainers"], *deployment["containers"]):
        assert parsed(container["args"])
    head = (ROOT / "kubernetes.yaml").read_text(encoding="utf-8").split("apiVersion")[0]
    (line,) = (line for line in head.splitlines() if "-- dragoman" in line)
    assert parsed(shlex.split(line.partition("-- dragoman ")[2]))


def test_the_image_runs_without_root_and_copies_what_the_build_needs():
    assert instructions("USER") == ["10001"] and instructions("HEALTHCHECK")
    copied = {word for line in instructions("COPY") for word in line.split()[:-1] if not word.startswith("-")}
    assert {"pyproject.toml", "README.md", "LICENSE", "src", "experiments"} <= copied
    ignored = (ROOT / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    assert {f"!{name}" for name in copied if not name.startswith("/")} <= set(ignored)


def test_what_the_build_imports_after_stripping_is_there():
    (line,) = (line for line in instructions("RUN") if "strip" in line)
    code = shlex.split(line)[shlex.split(line).index("-c") + 1]
    assert "xllamacpp" in code
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_servers_have_no_rights_and_no_writable_root(compose, deployment):
    for name in ("one", "two"):
        service = compose["services"][name]
        assert service["read_only"] and service["cap_drop"] == ["ALL"]
    for container in (*deployment["initContainers"], *deployment["containers"]):
        assert container["securityContext"]["readOnlyRootFilesystem"]
    assert deployment["securityContext"]["runAsNonRoot"]


def test_volumes_probes_and_selectors_fit_together(compose, objects, deployment):
    named = {volume["name"] for volume in deployment["volumes"]}
    (container,) = deployment["containers"]
    assert {mount["name"] for mount in container["volumeMounts"]} == named
    assert {container[probe]["httpGet"]["path"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")} == {
        "/healthz",
        "/readyz",
    }
    service = next(entry for entry in objects if entry["kind"] == "Service")
    assert service["spec"]["selector"] == {"app": "dragoman"}
    used = {
        mount.split(":")[0]
        for entry in compose["services"].values()
        for mount in entry.get("volumes", ())
        if not mount.startswith(".")
    }
    assert used == set(compose["volumes"])


def test_no_password_is_written_down(compose):
    assert "${POSTGRES_PASSWORD" in compose["services"]["database"]["environment"]["POSTGRES_PASSWORD"]
    assert "PASSWORD@" not in (ROOT / "kubernetes.yaml").read_text(encoding="utf-8").split("apiVersion", 1)[1]


def test_the_agent_is_a_valid_one(monkeypatch):
    config = load_config(ROOT / "agent" / "agent.toml", {})
    assert [source.name for source in config.sources] == ["MEMORY", "DOCUMENTS"]


def test_the_dashboard_asks_for_metrics_that_there_are():
    service = SimpleNamespace(turn_queue=SimpleNamespace(load=0), ready=True)
    page = Metrics(service).page().decode()
    exported = set(re.findall(r"^# TYPE (\S+)", page, re.MULTILINE))
    dashboard = json.loads((ROOT / "grafana.json").read_text(encoding="utf-8"))
    asked = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"\b(?:dragoman|process)_\w+", target["expr"])
    }
    known = exported | {f"{name}_bucket" for name in exported}
    assert asked and asked <= known
    assert {name for name in exported if name.startswith("dragoman") and not name.endswith("_created")} <= {
        name.removesuffix("_bucket") for name in asked
    }
