"""A reply that is stopped, or left, before its turn has begun."""

from __future__ import annotations

import asyncio

from dragoman.server.page.chat.live_turns import LiveTurn
from dragoman.server.page.chat.running_reply import RunningReply


class Answer:
    """Stands for a reply on the page."""

    class Box:
        is_deleted = False

    def __init__(self):
        self.notes, self.text, self.box = [], "", self.Box()


async def run(meanwhile):
    """Start a turn and do something before it has begun; the turn and the states in which it ended."""
    ended = []
    running = RunningReply({}, decided=lambda _: None, ended=lambda _, live: ended.append(live.state))
    begun, live = asyncio.Event(), LiveTurn("What?")

    async def begin():
        await begun.wait()
        return live

    task = asyncio.create_task(running.start(Answer(), begin()))
    await asyncio.sleep(0)
    assert running.is_on
    meanwhile(running)
    begun.set()
    await task
    return live, ended, running


def test_a_turn_that_is_stopped_before_it_begins_ends_at_once():
    live, ended, running = asyncio.run(run(lambda running: running.stop()))
    assert live.state == "stopped" and ended == ["stopped"] and not running.is_on


def test_a_turn_that_is_left_before_it_begins_goes_on_unwatched():
    live, ended, running = asyncio.run(run(lambda running: running.leave()))
    assert live.state == "running" and ended == [] and not running.is_on
