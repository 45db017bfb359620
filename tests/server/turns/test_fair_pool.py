"""Threads that callers share, and turns that end when nobody waits for them any more."""

from __future__ import annotations

import threading
import time

import pytest

from dragoman.core.cancelling import WorkCancelled, cancellable, check_cancelled
from dragoman.core.values import Verdict
from dragoman.server.access.caller import Limits
from dragoman.server.access.keys import create
from dragoman.server.turns.fair_pool import FairPool

from .test_turn_queue import Asking, expire, until

pytestmark = pytest.mark.trust


@pytest.fixture
def pool():
    made = FairPool(4, "test")
    yield made
    made.shutdown(wait=False, cancel_futures=True)


def test_one_caller_leaves_a_thread_to_the_others_and_the_least_served_goes_first(pool):
    go, order = {"ana": threading.Event(), "ben": threading.Event()}, []

    def work(whose):
        order.append(whose)
        assert go[whose].wait(30)
        return whose

    greedy = [pool.submit(lambda: work("ana"), whose="ana") for _ in range(20)]
    until(lambda: len(order) == 3)
    late = [pool.submit(lambda: work("ben"), whose="ben") for _ in range(5)]
    until(lambda: len(order) == 4)
    assert order == ["ana", "ana", "ana", "ben"]
    go["ben"].set()
    assert [future.result(30) for future in late] == ["ben"] * 5
    assert order == ["ana"] * 3 + ["ben"] * 5, "before those of whoever asked for much, and earlier"
    go["ana"].set()
    assert [future.result(30) for future in greedy] == ["ana"] * 20


def test_what_waits_can_be_cancelled_and_errors_are_told(pool):
    go = threading.Event()
    for _ in range(4):
        pool.submit(lambda: go.wait(30))
    waiting, failing = pool.submit(lambda: "never"), pool.submit(lambda: 1 // 0)
    assert waiting.cancel()
    go.set()
    with pytest.raises(ZeroDivisionError):
        failing.result(30)
    assert pool.submit(lambda: "next").result(30) == "next"


def test_the_turns_of_one_key_leave_workers_to_others(make_house, serve, held_reader):
    service = make_house(keys=True, reader=held_reader, workers=4, queue=30, limits=Limits(turns_per_minute=1000))
    ana, ben = (create(service.ledger, user, user=user)[1] for user in ("ana", "ben"))
    held_reader.held = True
    started = serve(service)
    taken = [Asking(started.client(ana), "hold", f"d{i}") for i in range(8)]
    until(lambda: service.turn_queue.load == 8 and held_reader.running == 3)
    served = Asking(started.client(ben), "hello")
    until(lambda: held_reader.running == 4)
    assert held_reader.order[-1] == "hello"
    held_reader.go.set()
    assert {asking.done().status_code for asking in (served, *taken)} == {200}


class EndlessGate:
    """A step that reads the store for ever."""

    def __init__(self, store):
        self._store = store
        self.begun, self.stopped = threading.Event(), threading.Event()

    def decide(self, turns, evidence=None):
        try:
            while True:
                self._store.dialogues(turns[0].scope)
                self.begun.set()
                time.sleep(0.001)
        except WorkCancelled:
            self.stopped.set()
            raise
        return [Verdict(False, 0.0) for _ in turns]


def test_a_turn_that_takes_too_long_frees_its_worker_within_a_step(make_house, serve):
    service = make_house(workers=1)
    assistant = service.hosted("").assistant
    gate, assistant.agent.gate = assistant.agent.gate, EndlessGate(assistant.store)
    started = serve(service)
    late = Asking(started.client(), "Hello")
    until(assistant.agent.gate.begun.is_set)
    expire(service.turn_queue)
    assert "turn-timeout" in late.done().text
    assert assistant.agent.gate.stopped.wait(30)
    assistant.agent.gate = gate
    until(lambda: service.turn_queue.load == 0)
    assert (
        started.events(started.client().post("/v1/turns", json={"text": "Hello", "dialogue": "d"}).text)[-1][0]
        == "done"
    )
    assert len(started.client().get("/v1/dialogues/d").json()["turns"]) == 2, "nothing of the first one is kept"


def test_work_is_cancelled_where_somebody_said_so_only():
    check_cancelled()
    with cancellable(lambda: False):
        check_cancelled()
        with cancellable(lambda: True), pytest.raises(WorkCancelled):
            check_cancelled()
        check_cancelled()
