"""What docs/howto/own-model.md shows of `dragoman doctor` is what it prints of the vendors' mocks."""

from __future__ import annotations

import re

from pages import ROOT

from dragoman.cli.terminal.diagnosis import of_endpoint
from dragoman.core.model_names import model_table
from dragoman.models.remote.model import RemoteModel
from dragoman.testing.vendors import MOCKS

PAGE = ROOT / "docs" / "howto" / "own-model.md"
_SECONDS = re.compile(r", \d+\.\d+ s\b")


def shown():
    """The table of the page: for each model the cells under it, by what they say something of."""
    rows = [line.strip().strip("|").split("|") for line in PAGE.read_text(encoding="utf-8").splitlines()]
    begin = next(place for place, cells in enumerate(rows) if cells[0].strip() == "`dragoman doctor --model`")
    names = [cell.strip(" `") for cell in rows[begin][1:]]
    cells = {name: {} for name in names}
    for what, *found in rows[begin + 2 :]:
        if not what:
            break
        for name, cell in zip(names, found, strict=True):
            cells[name][what.strip()] = cell.strip()
    return cells


def test_the_page_shows_what_doctor_prints(monkeypatch, tmp_path):
    monkeypatch.setenv("DRAGOMAN_HOME", str(tmp_path))
    monkeypatch.setenv("MOCK_KEY", "s3cret")
    table = shown()
    assert len(table) == 3
    for name, cells in table.items():
        options = {key: value for key, value in model_table(name).items() if key != "kind"}
        mock = MOCKS[options["profile"]]()
        model = RemoteModel(**options | {"key_env": "MOCK_KEY", "transport": mock.transport()})
        printed = {finding.what: _SECONDS.sub("", finding.found) for finding in of_endpoint(model)}
        assert cells == {what: printed.get(what, "nothing") for what in cells}, name
