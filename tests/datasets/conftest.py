"""Where the data lies: small files of our own beside the tests, the real sets where DRAGOMAN_DATA says."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from dragoman.core.examples import Example, Problem

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def data() -> Path:
    """Our own fixtures."""
    return DATA


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The real sets."""
    place = os.environ.get("DRAGOMAN_DATA")
    if not place:
        pytest.skip("DRAGOMAN_DATA does not name a folder with the real data sets")
    return Path(place)


@pytest.fixture
def write(tmp_path):
    """Writes bytes, text or a JSON value, and gives the path."""

    def write_file(content, name="set.json"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(content, bytes):
            content = (content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)).encode()
        path.write_bytes(content)
        return path

    return write_file


@pytest.fixture
def read():
    """Reads a set: its examples, and what its problems say."""

    def read_all(dataset):
        found = list(dataset.examples())
        examples = [one for one in found if isinstance(one, Example)]
        return examples, [one for one in found if isinstance(one, Problem)]

    return read_all
