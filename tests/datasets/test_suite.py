"""Every loader, held to the suite on fixtures of our own."""

from __future__ import annotations

import pytest

from dragoman.core.registry import datasets
from dragoman.testing import DatasetConformance

SETS = {
    "kbp": {"file": "kbp.json"},
    "kbp with spaces": {"file": "kbp.json", "spaces": "keep"},
    "dulemon": {"file": "dulemon.jsonl"},
    "ketod-gate": {"file": "ketod_gate.jsonl"},
    "ketod": {"file": "ketod/dev_ketod.json", "sgd": "ketod/sgd"},
    "focus": {"file": "focus_train.json"},
    "dstc11": {"file": "dstc11/dev"},
    "dstc11 gold": {"file": "dstc11/dev", "pool": "gold"},
    "dstc11 blind": {"file": "dstc11/blind"},
    "convai2": {"file": "convai2.txt"},
    "convai2 both": {"file": "convai2.txt", "personas": "both"},
}
PATHS = ("file", "sgd")


def make(data, name, options):
    options = {key: data / value if key in PATHS else value for key, value in options.items()}
    return datasets.factory(name.split()[0])(**options)


class TestLoaders(DatasetConformance):
    @pytest.fixture(params=SETS)
    def dataset(self, request, data):
        return make(data, request.param, SETS[request.param])


class TestFocusTest(DatasetConformance):
    whole = False  # the released test file has the bare questions

    @pytest.fixture
    def dataset(self, data):
        return make(data, "focus", {"file": "focus_test.json"})


class TestMentionedPool(DatasetConformance):
    complete = False  # an entity that is not named is not found

    @pytest.fixture
    def dataset(self, data):
        return make(data, "dstc11", {"file": "dstc11/dev", "pool": "mentioned"})
