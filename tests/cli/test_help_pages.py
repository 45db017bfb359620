"""Pages that are generated from the commands and metrics are up to date."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def test_help_pages_are_up_to_date():
    path = Path(__file__).parents[2] / "docs" / "generate_help.py"
    spec = importlib.util.spec_from_file_location("dragoman_generate_help", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.stale() == [], "run: make docs-help"


def test_the_page_of_metrics_is_up_to_date():
    docs = Path(__file__).parents[2] / "docs"
    spec = importlib.util.spec_from_file_location("dragoman_generate_metrics", docs / "generate_metrics.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (docs / "metrics.md").read_text(encoding="utf-8") == module.page(), "run: make docs-help"
