"""docs/cli is what the commands say of themselves."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def test_help_pages_are_up_to_date():
    path = Path(__file__).parents[2] / "docs" / "generate_help.py"
    spec = importlib.util.spec_from_file_location("dragoman_generate_help", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.stale() == [], "run: make docs-help"
