"""Several tasks over one trunk: rows numbered through, batches of one task each, the mean of what decides."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.train.loop.multi_task import MEAN, MixedTask


class Stub:
    """A task whose loss says which rows it was given: `base` and the sum of them."""

    def __init__(self, rows, *, size=2, base=0.0, measures=None):
        self.rows = rows
        self.size = size
        self.base = base
        self.measures = measures or {}
        self.seen = []

    def batches(self, epoch):
        order = [(row + epoch) % self.rows for row in range(self.rows)]
        return [order[i : i + self.size] for i in range(0, self.rows, self.size)]

    def loss(self, batch):
        self.seen.append(list(batch))
        return torch.tensor(self.base + sum(batch))

    def measure(self):
        return self.measures


def mixed(tasks, *, weights=None, deciding=None, seed=1):
    named = {name: (task, task.rows) for name, task in tasks.items()}
    return MixedTask(None, named, deciding=deciding or {}, weights=weights or {}, seed=seed)


def test_rows_of_a_task_begin_where_those_of_the_one_before_end():
    task = mixed({"a": Stub(3, size=3), "b": Stub(2, size=2), "c": Stub(4, size=4)})
    assert sorted(sorted(batch) for batch in task.batches(0)) == [[0, 1, 2], [3, 4], [5, 6, 7, 8]]


@given(rows=st.lists(st.integers(1, 9), min_size=1, max_size=4), size=st.integers(1, 4), epoch=st.integers(0, 5))
def test_every_row_comes_once_in_a_batch_of_one_task(rows, size, epoch):
    task = mixed({str(place): Stub(count, size=size) for place, count in enumerate(rows)})
    batches = task.batches(epoch)
    assert sorted(row for batch in batches for row in batch) == list(range(sum(rows)))
    owner = [place for place, count in enumerate(rows) for _ in range(count)]
    assert all(len({owner[row] for row in batch}) == 1 for batch in batches)
    assert len(batches) == sum(-(-count // size) for count in rows)


def test_seed_and_epoch_alone_decide_the_order():
    def order(epoch, seed=1):
        return [tuple(batch) for batch in mixed({"a": Stub(12), "b": Stub(12)}, seed=seed).batches(epoch)]

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert order(1) != order(1, seed=2)
    assert set(order(0)) == set(order(0, seed=2))


def test_tasks_take_turns_by_chance():
    owners = [batch[0] >= 40 for batch in mixed({"a": Stub(40), "b": Stub(40)}).batches(0)]
    assert owners.count(True) == owners.count(False) == 20
    assert sum(left != right for left, right in pairwise(owners)) > 5


def test_a_batch_goes_to_its_task_with_the_rows_numbers_there_and_its_weight():
    first, second = Stub(3, base=100.0), Stub(4, base=1000.0)
    task = mixed({"a": first, "b": second}, weights={"b": 0.5})
    assert float(task.loss([0, 2])) == 102.0
    assert float(task.loss([3, 6])) == 0.5 * 1003.0
    assert (first.seen, second.seen) == ([[0, 2]], [[0, 3]])
    assert task.batch_setting([0, 2]) == "input.tables.a.train.batch"
    assert task.batch_setting([3, 6]) == "input.tables.b.train.batch"


def test_what_decides_is_the_mean_of_each_tasks_own_measure():
    tasks = {"a": Stub(1, measures={"auc": 0.9, "loss": 3.0}), "b": Stub(1, measures={"hit@1": 0.5})}
    found = mixed(tasks, deciding={"a": "auc", "b": "hit@1"}).measure()
    assert found == {"a/auc": 0.9, "a/loss": 3.0, "b/hit@1": 0.5, MEAN: pytest.approx(0.7)}
