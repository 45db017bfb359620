"""The line of a dialogue over several servers: in order, held by the living, and nothing kept without a ticket."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.core.errors import StoreBusyError, StoreError
from dragoman.core.values import Receipt, Scope, Turn
from dragoman.stores.postgres import dialogue_order
from dragoman.stores.postgres.dialogue_order import _number

ANA = Scope("acme", "ana")
WHOSE = ("acme", "ana")
TOLD = [Turn("user", "hello"), Turn("agent", "hi")]


@pytest.fixture
def lines(make_store, schema, monkeypatch):
    """Makes the lines of another server each time it is called."""
    schema.run("DELETE FROM dragoman.line")
    monkeypatch.setattr(dialogue_order, "_PING_SECONDS", 0.1)
    return lambda **options: make_store(**options).lines


def taken(lines, dialogue="d"):
    return lines.take((*WHOSE, dialogue), WHOSE)


def first(lines, *places):
    found = lines.called(places)
    return [found.get(place) for place in places]


def waits(found, *, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_tickets_of_all_servers_are_called_in_their_order(lines):
    one, two = lines(), lines()
    (a, begins), (b, _), (c, _), (other, begins_too) = taken(one), taken(two), taken(one), taken(two, "another")
    assert (begins, begins_too) == (True, True) and first(two, a, b, c, other) == [True, False, False, True]
    one.leave(a)
    assert first(one, a, b, c) == [None, True, False]
    two.leave(b)
    assert first(one, c) == [True]


def test_a_turn_is_kept_with_its_ticket_or_not_at_all(make_store, lines):
    store, other = make_store(), make_store()
    place, _ = taken(store.lines)
    behind, _ = taken(other.lines)
    store.append(ANA, "d", TOLD, under=place)
    assert first(other.lines, behind) == [True], "the ticket went with the turn"
    with pytest.raises(StoreBusyError, match="lost its place") as raised:
        store.append(ANA, "d", TOLD, under=place)
    assert raised.value.remedy and list(store.dialogue(ANA, "d")) == TOLD


def test_whoever_is_being_forgotten_keeps_nothing_anywhere(make_store, lines):
    store, other = make_store(), make_store()
    place, _ = taken(store.lines)
    bens, _ = other.lines.take(("acme", "ben", "d"), ("acme", "ben"))
    other.lines.clear(WHOSE)
    with pytest.raises(StoreBusyError):
        store.append(ANA, "d", TOLD, under=place)
    assert first(other.lines, place, bens) == [None, True]


def test_a_dead_server_holds_nobody_up_and_a_living_one_is_not_buried(lines, schema):
    dead, living, waiting = lines(), lines(), lines()
    gone, stays = taken(dead)[0], taken(living)[0]
    mine, _ = taken(waiting)
    assert waiting.bury([mine]) == 0
    dead._closed.set()  # nobody there who would come back
    schema.run(f"SELECT pg_terminate_backend({dead._alive.info.backend_pid})")
    waits(lambda: waiting.bury([mine]))
    assert first(waiting, gone, stays, mine) == [None, True, False]


def test_a_server_that_was_only_taken_for_dead_keeps_nothing_and_comes_back(make_store, lines, schema, caplog):
    store, other = make_store(), lines()
    place, _ = taken(store.lines)
    behind, _ = taken(other)
    before = store.lines._replica
    schema.run(f"SELECT pg_terminate_backend({store.lines._alive.info.backend_pid})")
    waits(lambda: other.bury([behind]))
    with pytest.raises(StoreBusyError, match="lost its place"):
        store.append(ANA, "d", TOLD, under=place)
    waits(lambda: store.lines._replica > before)
    assert "lost sight" in caplog.text and not store.lines.is_lost
    assert first(store.lines, behind, taken(store.lines)[0]) == [True, False]


def test_a_ticket_that_could_not_be_given_back_is_given_back_later(lines, monkeypatch):
    one, two = lines(), lines()
    place, _ = taken(one)
    behind, _ = taken(two)

    def failing(*_):
        raise StoreError("The database is gone.")

    with monkeypatch.context() as patch:
        patch.setattr(one._database, "once", failing)
        one.leave(place)
        with pytest.raises(StoreError):
            taken(one)
    assert first(two, behind) == [False]
    waits(lambda: first(two, behind) == [True])


def test_what_ends_in_doubt_leaves_no_ticket_behind(lines, monkeypatch):
    one, two = lines(), lines()
    held, _ = taken(one, "d")
    once = one._database.once

    def unheard(sql, given):
        once(sql, given)
        raise StoreError("The answer never came.")

    with monkeypatch.context() as patch:
        patch.setattr(one._database, "once", unheard)
        with pytest.raises(StoreError):
            taken(one, "d")
    behind, _ = taken(two, "d")
    one.leave(held)
    waits(lambda: first(two, behind) == [True])


def test_many_threads_of_many_servers_hold_a_line_one_after_the_other(lines):
    servers, running, most, done = [lines() for _ in range(3)], [0], [0], []
    guard = threading.Lock()

    def go(server, number):
        for _ in range(4):
            place, begins = taken(server)
            while not begins:
                begins = server.called([place])[place]
            with guard:
                running[0] += 1
                most[0] = max(most[0], running[0])
            done.append(place.ticket)
            with guard:
                running[0] -= 1
            server.leave(place)

    threads = [threading.Thread(target=go, args=(servers[i % 3], i)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert most == [1] and done == sorted(done) and len(set(done)) == 24


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 1), st.sampled_from(["take", "leave"]), st.sampled_from("de")), max_size=20))
def test_in_whatever_order_they_come_and_go_the_earliest_is_first(make_store, schema, moves):
    """The line is a queue: at any time exactly the earliest of those that have not left is called."""
    schema.run("DELETE FROM dragoman.line")
    made = make_store().lines, make_store().lines
    queue: dict[str, list[tuple[int, Receipt]]] = {"d": [], "e": []}
    for who, move, dialogue in moves:
        if move == "take":
            place, begins = taken(made[who], dialogue)
            assert begins == (not queue[dialogue])
            queue[dialogue].append((who, place))
        elif queue[dialogue]:
            holder, place = queue[dialogue].pop(who % len(queue[dialogue]))
            made[holder].leave(place)
        for places in queue.values():
            assert first(made[who], *(place for _, place in places)) == [i == 0 for i in range(len(places))]
    for one in made:
        one.close()


def test_names_of_lines_are_told_apart():
    assert len({_number(*parts) for parts in (("a", "b"), ("ab",), ("a", "b", ""), ('a", "b',), ("a\x1fb",))}) == 5
