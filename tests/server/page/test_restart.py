"""A server that is restarted while it answers: the page comes back, and no message is lost."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from playwright.sync_api import expect

from .conftest import PAGE_SERVER

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture
def restarted(agents, tmp_path):
    """A server that can be killed and started again at the same address."""
    running = []

    def start(port="0"):
        process = subprocess.Popen(
            [sys.executable, str(PAGE_SERVER), str(agents), str(tmp_path / "state"), port],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "DRAGOMAN_HOME": str(tmp_path), "OMP_NUM_THREADS": "1"},
        )
        running.append(process)
        return next(line for line in process.stdout if line.startswith("http://127.0.0.1")).strip()

    def stop():
        process = running.pop()
        process.kill()
        process.wait(20)
        process.stdout.close()

    address = start()

    def again():
        stop()
        assert start(address.rpartition(":")[2]) == address

    yield address, again
    stop()


@pytest.mark.parametrize("before", ["", "What does a dog cost?"])
def test_a_message_whose_reply_is_broken_off_goes_back_into_the_field(page_session, ask, restarted, before):
    address, again = restarted
    page = page_session(at=address, requests_fail=True)
    if before:
        ask(page, before)
    field = page.get_by_label("Your message")
    field.fill("Tell me slowly")
    field.press("Enter")
    expect(page.locator(".turn.agent .text").last).to_contain_text("word1")
    field.fill("And what waits?")
    field.press("Enter")
    field.fill("a draft")
    again()
    expect(page.locator(".unsent")).to_contain_text("Your last message was not answered")
    expect(field).to_have_value("Tell me slowly\na draft")
    expect(page.locator(".queued")).to_contain_text("And what waits?")
    expect(page.locator(".turn.user .bubble" if before else ".welcome").first).to_be_visible()
    expect(page.locator(".missing")).to_have_count(0)
    field.fill("What does a day ticket cost?")
    field.press("Enter")
    expect(page.locator(".turn.user .bubble").last).to_have_text("And what waits?")
    expect(page.locator(".queued")).to_have_count(0)
    expect(page.locator(".turn.agent .thumb").last).to_be_visible()
    page.reload()
    expect(page.locator(".turn.user .bubble").last).to_have_text("And what waits?")
    expect(field).to_have_value("")
