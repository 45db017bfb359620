"""The real files: their counts, their plans, and the first, a middle and the last record."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.effort import lines_of

from dragoman.core.examples import Example
from dragoman.core.registry import datasets
from dragoman.testing import DatasetConformance

P, D = "PERSONA", "DOCUMENTS"
R, F = "REVIEWS", "FAQ"
FILES = {
    "kbp train": ("kbp", "kbp/train.json", 9821, 1981, 4),
    "kbp dev": ("kbp", "kbp/dev.json", 1227, 248, 1),
    "dulemon dev": ("dulemon", "dulemon/both_dev.jsonl", 2407, 300, 0),
    "gate train": ("ketod-gate", "ketod/gate_train.jsonl", 2282, 249, 0),
    "gate dev": ("ketod-gate", "ketod/gate_dev.jsonl", 613, 66, 0),
    "dstc11 train": ("dstc11", "dstc11/train", 2918, 2918, 0),
    "dstc11 dev": ("dstc11", "dstc11/dev/logs.json", 426, 426, 0),
    "convai2 self": ("convai2", "convai2/valid_self_original_no_cands.txt", 7801, 1000, 0),
    "convai2 other": ("convai2", "convai2/valid_other_original_no_cands.txt", 7801, 1000, 1),
}
PLANS = {
    "kbp train": {(): 1365, (P,): 959, (P, D): 7497},
    "kbp dev": {(): 191, (P,): 125, (P, D): 911},
    "dulemon dev": {(): 1555, ("USER",): 469, ("BOT",): 376, ("USER", "BOT"): 7},
    "dstc11 train": {(): 1426, (R,): 1227, (F,): 4, (R, F): 261},
    "dstc11 dev": {(): 211, (R,): 183, (R, F): 32},
}
# The first, the middle and the last: id, how the user's turn begins, gold evidence or gate label.
RECORDS = {
    "kbp train": [
        ("train-1#0", "你说考证", ("train-1/B2", "train-1/B2-K3")),
        ("train-990#4", "你是做", ("train-990/B0",)),
        ("train-1981#4", "是啊，我从", ("train-1981/B2", "train-1981/B2-K2")),
    ],
    "kbp dev": [
        ("dev-1#0", "我的朋友", ()),
        ("dev-125#1", "是吗？", ("dev-125/B0",)),
        ("dev-248#4", "你追星", ("dev-248/B1", "dev-248/B1-K3")),
    ],
    "dulemon dev": [
        ("both_dev-1#0", "会开车", ("both_dev-1/U1",)),
        ("both_dev-150#7", "好吧，", ()),
        ("both_dev-300#7", "三年，", ()),
    ],
    "gate train": [
        ("42_00008#0", "I need a", False),
        ("23_00012#3", "Please s", False),
        ("33_00111#6", "Thanks!", False),
    ],
    "gate dev": [
        ("14_00005#0", "I'd like", False),
        ("51_00011#6", "What els", False),
        ("7_00008#3", "Thanks. ", False),
    ],
    "dstc11 train": [
        ("train-1#5", "Could yo", ("restaurant/19250/review/0/3", "restaurant/19250/review/0/4")),
        ("train-1460#2", "What kin", ("hotel/17/review/9/2", "hotel/17/faq/3", "hotel/17/faq/7")),
        ("train-2918#5", "Yes, I w", ()),
    ],
    "dstc11 dev": [
        ("dev-1#1", "Hm, mayb", ()),
        ("dev-214#2", "Do you k", ("hotel/18/review/1/2", "hotel/18/review/5/0", "hotel/18/review/5/1")),
        ("dev-426#3", "What is ", ()),
    ],
    "convai2 self": [
        ("valid_self_original_no_cands-1#0", "hello wh", None),
        ("valid_self_original_no_cands-500#1", "i love d", None),
        ("valid_self_original_no_cands-1000#7", "three an", None),
    ],
}


@pytest.fixture(scope="module")
def load(real_data):
    """Reads a file once for all the tests here."""
    known = {}

    def load_once(name):
        if name not in known:
            kind, file, *_ = FILES[name]
            known[name] = list(datasets.factory(kind)(file=real_data / file).examples())
        return known[name]

    return load_once


def turns(found):
    return [one for one in found if isinstance(one, Example)]


def marked(names):
    """The names of the sets, those of the large training files as slow."""
    return [pytest.param(name, marks=[pytest.mark.slow] * name.endswith("train")) for name in names]


@pytest.mark.parametrize("name", marked(FILES))
def test_counts(load, name):
    *_, count, dialogues, warnings = FILES[name]
    found = load(name)
    problems = [one for one in found if not isinstance(one, Example)]
    assert len(turns(found)) == count
    assert len({example.context.dialogue for example in turns(found)}) == dialogues
    assert [problem.severity for problem in problems] == ["warning"] * warnings


@pytest.mark.parametrize("name", marked(PLANS))
def test_plans(load, name):
    assert Counter(example.gold.plan for example in turns(load(name))) == PLANS[name]


@pytest.mark.parametrize("name", marked(RECORDS))
def test_the_first_a_middle_and_the_last_record(load, name):
    found = turns(load(name))
    for example, (key, begins, gold) in zip((found[0], found[len(found) // 2], found[-1]), RECORDS[name], strict=True):
        assert example.id == key
        assert example.context.last.startswith(begins)
        assert (example.gold.retrieve if isinstance(gold, bool) else example.gold.evidence) == gold


@pytest.mark.parametrize(("name", "count"), [("gate train", 303), ("gate dev", 71)])
def test_positive_gate_labels(load, name, count):
    assert sum(example.gold.retrieve for example in turns(load(name))) == count


@pytest.mark.slow
def test_kbp_has_three_personas_of_five_documents(load):
    assert {len(example.candidates) for example in turns(load("kbp train"))} == {18}


def test_the_dstc11_corpus(real_data):
    passages = list(datasets.factory("dstc11")(file=real_data / "dstc11" / "dev").passages())
    assert Counter(passage.source for passage in passages) == {R: 8013, F: 2869}


@pytest.mark.slow
def test_kbp_train_is_read_in_few_steps(real_data):
    read = datasets.factory("kbp")(file=real_data / "kbp" / "train.json").examples
    found = []
    assert lines_of(lambda: found.extend(read())) < 1000 * len(found)
    assert len(found) == 9825


class Remembered:
    """A set that is read once for the whole suite: reading twice is held to on our own fixtures."""

    def __init__(self, dataset):
        self.name, self.language, self.sources = dataset.name, dataset.language, dataset.sources
        self.labels, self.files = dataset.labels, dataset.files
        self._examples, self._passages = list(dataset.examples()), list(dataset.passages())

    def examples(self):
        return iter(self._examples)

    def passages(self):
        return iter(self._passages)


@pytest.fixture(scope="module")
def remember(real_data):
    known = {}

    def remember_once(kind, file, **options):
        key = (kind, file, *options.items())
        if key not in known:
            known[key] = Remembered(datasets.factory(kind)(file=real_data / file, **options))
        return known[key]

    return remember_once


class TestRealFiles(DatasetConformance):
    """The smaller real files, held to the suite."""

    @pytest.fixture(params=["kbp dev", "dulemon dev", "gate dev", "dstc11 dev"])
    def dataset(self, request, remember):
        return remember(*FILES[request.param][:2])


class TestRealGoldPool(DatasetConformance):
    @pytest.fixture
    def dataset(self, remember):
        return remember("dstc11", "dstc11/dev", pool="gold")
