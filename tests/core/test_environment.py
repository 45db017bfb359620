"""Telemetry of dependencies: off before any of them is imported, in every process; the user may decide otherwise."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dragoman.core.environment import SWITCHES, switches

ENTRIES = ("dragoman", "dragoman.cli.app", "dragoman.cluster.node", "dragoman.models.onnx.session")
REPORT = "; import os; print(*(os.environ[name] for name in {names!r}))"


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_switch_is_off_once_any_module_is_imported(entry):
    assert environment_after(entry) == list(SWITCHES.values())


def test_a_switch_that_the_user_set_is_left_alone():
    values = environment_after("dragoman", RAY_USAGE_STATS_ENABLED="1")
    assert values == [*{**SWITCHES, "RAY_USAGE_STATS_ENABLED": "1"}.values()]


def test_libraries_see_the_switches():
    code = "import dragoman, huggingface_hub.constants as hub; from ray._common.usage import usage_lib as ray; "
    code += "print(hub.HF_HUB_DISABLE_TELEMETRY, ray.usage_stats_enabled())"
    assert run(code).split() == ["True", "False"]


def test_switches_hold_what_this_process_has(monkeypatch):
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "0")
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY")
    assert switches() == {**SWITCHES, "HF_HUB_DISABLE_TELEMETRY": "0"}


def environment_after(entry, **variables):
    return run(f"import {entry}" + REPORT.format(names=tuple(SWITCHES)), **variables).split()


def run(code, **variables):
    clean = {name: value for name, value in os.environ.items() if name not in SWITCHES}
    done = subprocess.run(
        [sys.executable, "-c", code], env=clean | variables, capture_output=True, text=True, check=True
    )
    return done.stdout
