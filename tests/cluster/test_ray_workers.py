"""Shards as tasks: in order, once, whoever dies; and what is said where something is wrong."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.cluster import build, node
from dragoman.core.errors import InputError, ShardError, UnknownNameError, WorkersError
from dragoman.core.workers import InProcess, Shard, ShardJob


@pytest.fixture
def toys(beside):
    module = beside("cluster/toys.py")
    module.opened.clear()
    module.closed.clear()
    return module


def shards(count):
    return (Shard(f"number {number}", number) for number in range(count))


def expected(count):
    return [piece for number in range(count) for piece in (number * number, -number)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    count=st.integers(0, 30),
    cpus=st.integers(1, 5),
    seed=st.integers(0, 99),
    deaths=st.dictionaries(st.integers(0, 29), st.integers(0, 3)),
)
def test_whoever_is_first_and_whoever_dies_pieces_come_once_and_in_order(fake, toys, count, cpus, seed, deaths):
    ray, workers = fake(cpus=float(cpus), seed=seed, deaths=deaths)
    job = ShardJob("squares", toys.squares)
    assert list(workers.map(job, shards(count))) == list(InProcess().map(job, shards(count))) == expected(count)
    assert len(ray.tasks) == count
    assert ray.ahead <= 3 * cpus


def test_shards_are_taken_only_a_few_ahead(fake, toys):
    _, workers = fake(cpus=2.0)
    taken = []
    found = workers.map(ShardJob("squares", toys.squares), (taken.append(one) or one for one in shards(1000)))
    for _ in range(20):
        next(found)
    assert len(taken) <= 10 + 6


def test_a_job_is_opened_once_in_a_process_and_few_stay_open(fake, toys):
    _, workers = fake()
    for name in ("a", "b", "c"):
        list(workers.map(ShardJob(name, partial(toys.squares, name)), shards(5)))
    assert (toys.opened, toys.closed) == (["a", "b", "c"], ["a"])


def test_what_a_shard_tells_is_heard_with_its_name(fake, toys, monkeypatch):
    monkeypatch.setattr(node, "_TELL_SECONDS", 0.0)
    heard = []
    _, workers = fake()
    list(
        workers.map(
            ShardJob("squares", toys.squares), shards(3), listener=lambda shard, news: heard.append((shard.name, news))
        )
    )
    assert ("number 0", "at 0") in heard
    assert all(name.removeprefix("number ") == news.removeprefix("at ") for name, news in heard)


def test_told_in_this_process_is_told_at_once(toys):
    heard = []
    list(
        InProcess().map(
            ShardJob("squares", toys.squares), shards(2), listener=lambda shard, news: heard.append((shard, news))
        )
    )
    assert [(shard.name, news) for shard, news in heard] == [("number 0", "at 0"), ("number 1", "at 1")]


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        ("input", InputError, r"It is wrong\. \(shard 'number 4', on the node \S+\)$"),
        ("name", UnknownNameError, r"Did you mean 'prompted'\?.*shard 'number 4'"),
        ("other", ShardError, r"The shard 'number 4' failed: ValueError: no such thing \(on the node \S+\)$"),
    ],
)
def test_an_error_keeps_its_kind_names_its_shard_and_comes_after_all_before_it(fake, toys, kind, error, message):
    ray, workers = fake(cpus=1.0)
    found, pieces = workers.map(ShardJob("failing", partial(toys.failing, 4, kind)), shards(20)), []
    with pytest.raises(error) as caught:
        for piece in found:
            pieces.append(piece)
    assert pieces == [0, 1, 2, 3, 4]  # what the shard itself had made too
    assert caught.match(f"(?s){message.rstrip('$')}")
    assert caught.value.fields.get("shard") == "number 4"
    assert "toys.py" in caught.value.__notes__[0]  # for --debug
    assert ray.ran.count(4) == 1  # what fails by itself is not tried again


def test_an_error_keeps_its_fields_and_its_remedy(fake, toys):
    _, workers = fake()
    with pytest.raises(InputError) as caught:
        list(workers.map(ShardJob("failing", partial(toys.failing, 0, "input")), shards(1)))
    assert (caught.value.remedy, caught.value.fields["row"]) == ("Mend it.", 3)


def test_a_job_that_cannot_be_opened_is_told(fake, toys):
    _, workers = fake()
    with pytest.raises(InputError, match=r"The weights are not here.*number 0"):
        list(workers.map(ShardJob("unopened", toys.unopened), shards(3)))


def test_a_shard_over_which_every_worker_dies_is_named(fake, toys):
    _, workers = fake(deaths={2: 9}, cpus=1.0)
    pieces = []
    with pytest.raises(ShardError, match=r"'number 2' was given to 4 workers.*memory") as caught:
        pieces.extend(piece for piece in workers.map(ShardJob("squares", toys.squares), shards(5)))
    assert caught.value.fields["shard"] == "number 2"


def test_a_node_that_lacks_the_code_is_told(fake):
    ray, workers = fake()
    job = ShardJob("gone", partial(_gone))
    with pytest.raises(WorkersError, match=r"cannot do Dragoman's work: .*Install on every node"):
        ray.remote = _broken(ray.remote)
        list(workers.map(job, shards(1)))


def _gone():
    raise AssertionError


def _broken(remote):
    def made(**options):
        return lambda what: remote(**options)(_missing)

    return made


def _missing(*given):
    raise ModuleNotFoundError("No module named 'dragoman.cluster.node'")


@pytest.mark.trust
@pytest.mark.parametrize("answer", [None, "pieces", ["pieces"], {"pieces": [1], "failed": None}])
def test_an_answer_that_is_no_result_is_refused_in_words(fake, toys, answer):
    """Of a node on which another job has replaced what we run."""
    ray, workers = fake()
    remote = ray.remote
    ray.remote = lambda **options: lambda what: remote(**options)(partial(_foreign, answer))
    with pytest.raises(WorkersError, match=r"'number 0' with something that is no result.*Nothing of it was used"):
        list(workers.map(ShardJob("squares", toys.squares), shards(2)))


def _foreign(answer, *given):
    return answer


def test_a_node_of_another_build_does_nothing(fake, toys, monkeypatch):
    _, workers = fake()
    other = {**build.build(), "Dragoman": "9.9"}
    monkeypatch.setattr(node, "build", lambda: other)
    with pytest.raises(WorkersError, match=r"Dragoman is 9\.9 there, \S+ here"):
        list(workers.map(ShardJob("squares", toys.squares), shards(3)))
    assert toys.opened == []


def test_a_cluster_without_a_core_is_not_waited_for_for_ever(fake, toys):
    ray, workers = fake(cpus=1.0)
    found = workers.map(ShardJob("squares", toys.squares), shards(9))
    next(found)
    ray.resources["CPU"] = 0.0
    with pytest.raises(WorkersError, match=r"no core to work on.*ray start"):
        list(found)


def test_a_job_that_needs_a_gpu_is_refused_where_there_is_none(fake, toys):
    _, workers = fake()
    with pytest.raises(WorkersError, match="no GPU"):
        next(workers.map(ShardJob("squares", toys.squares, gpus=1), shards(3)))
    ray, workers = fake(gpus=2.0, cpus=16.0)
    assert list(workers.map(ShardJob("squares", toys.squares, gpus=1), shards(9))) == expected(9)
    assert ray.ahead <= 6


def test_what_differs_is_told_and_what_only_one_has_is_not():
    here = {"Dragoman": "1", "code of Dragoman": "a" * 64, "machine": "x", "torch": "2.1", "jieba": "", "numpy": "2.0"}
    there = {**here, "code of Dragoman": "b" * 64, "torch": "", "jieba": "0.4", "numpy": "2.1"}
    assert build.differences(here, here) == []
    assert build.differences(here, there) == [
        "code of Dragoman is bbbbbbbb there, aaaaaaaa here",
        "numpy is 2.1 there, 2.0 here",
    ]
    assert build.differences(here, {}) == [
        "Dragoman is not installed there, 1 here",
        "code of Dragoman is not installed there, aaaaaaaa here",
        "machine is not installed there, x here",
    ]
