"""Controls of a chat in headless Chromium: private chats, search, memory and sources, and labels for the gate."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.integration, pytest.mark.slow]
COST = "What does a day ticket cost?"


def say(page, text):
    """Send a message and wait for the whole reply; private replies have no thumbs."""
    before = page.locator(".turn.agent .copy-reply").count()
    field = page.get_by_label("Your message")
    field.fill(text)
    field.press("Enter")  # wherever the focus has gone meanwhile
    page.wait_for_function("n => document.querySelectorAll('.turn.agent .copy-reply').length > n", arg=before)
    return page.locator(".turn.agent .text").last.inner_text()


def choose(page, group, name):
    """Choose a setting in the menu of the composer."""
    page.get_by_role("button", name="Search, memory and sources").click()
    page.get_by_role("radiogroup", name=group).get_by_role("radio", name=name).click()
    expect(page.get_by_role("radiogroup", name=group).get_by_role("radio", name=name)).to_be_checked()
    page.keyboard.press("Escape")
    expect(page.get_by_role("radiogroup", name=group)).to_be_hidden()


@pytest.fixture
def shoot():
    """Takes a picture where `DRAGOMAN_IMAGES` names a folder."""

    def take(page, name):
        if folder := os.environ.get("DRAGOMAN_IMAGES"):
            page.wait_for_timeout(500)
            page.screenshot(path=Path(folder) / f"controls-{name}.png", animations="disabled")

    return take


@pytest.mark.trust
def test_a_private_chat_leaves_nothing_in_any_file_or_in_the_browser(page_session, home, shoot):
    page = page_session()
    page.get_by_role("button", name="New private chat").click()
    expect(page.locator(".private-note")).to_contain_text("Nothing here is saved")
    shoot(page, "01-private")
    assert "nothing is saved" in say(page, "Remember that my PIN is quartzpin.")
    say(page, "I live in Quartzville. What does a day ticket cost?")
    shoot(page, "02-private-replies")
    expect(page.locator(".turn.agent .thumb")).to_have_count(0)
    expect(page.locator(".chip-saved")).to_have_count(0)
    page.get_by_label("Your message").fill("an unsent quartzdraft")
    kept = page.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}, location.href, document.cookie])")
    assert "quartz" not in kept.lower() and "dialogue=" not in kept
    expect(page.locator(".dialogues .item", has_text="uartz")).to_have_count(0)
    page.locator(".chip-private").get_by_role("button", name="leave").click()
    expect(page.locator(".private-note")).to_have_count(0)
    expect(page.locator(".chip-private")).to_have_count(0)
    expect(page.get_by_label("Your message")).to_have_value("")
    files = [path for path in home.rglob("*") if path.is_file()]
    assert files and not [path for path in files if b"quartz" in path.read_bytes().lower()]


def test_search_is_chosen_for_a_chat_and_a_reply_can_be_searched_after_all(page_session, address, shoot):
    page = page_session()
    choose(page, "Search", "Never")
    expect(page.locator(".chip-set")).to_contain_text("Not searching")
    say(page, COST)
    expect(page.locator(".turn.agent .why").last).to_contain_text("not looked up")
    page.reload()
    page.wait_for_selector(".turn.agent .copy-reply")
    expect(page.locator(".chip-set")).to_contain_text("Not searching")
    shoot(page, "03-not-searched")
    page.get_by_role("button", name="Look it up").click()
    expect(page.locator(".turn.agent .text").last).to_contain_text("6 francs")
    expect(page.locator(".turn.user .figure")).to_have_text("2/2")
    no_need = page.get_by_role("button", name="No need to look this up")
    no_need.click()
    expect(no_need).to_have_attribute("aria-pressed", "true")
    shoot(page, "04-searched-after-all")
    labels = [json.loads(line) for line in page.request.get(f"{address}/v1/feedback?agent=robin").text().splitlines()]
    assert [row["needed"] for row in labels[-2:]] == [True, False]
    assert [row["retrieved"] for row in labels[-2:]] == [False, True]
    page.get_by_role("button", name="Remove: Not searching").click()
    expect(page.locator(".chip-set")).to_have_count(0)


def test_memory_and_sources_are_chosen_for_a_chat(page_session, shoot):
    page = page_session()
    say(page, "My parrot is called Rico.")
    expect(page.locator(".chip-saved")).to_contain_text("Rico")
    page.get_by_role("button", name="New chat", exact=True).click()
    expect(page.locator(".welcome")).to_be_visible()
    choose(page, "Memory", "Off")
    assert "Rico" not in say(page, "What is my parrot called?")
    choose(page, "Memory", "Read only")
    assert "Rico" in say(page, "What is my parrot called?")
    say(page, "My goat is called Gruff.")
    expect(page.locator(".chip-saved")).to_have_count(0)
    page.get_by_role("button", name="Search, memory and sources").click()
    shoot(page, "05-menu")
    page.get_by_role("checkbox", name="Documents").click()
    expect(page.get_by_role("checkbox", name="Documents")).not_to_be_checked()
    page.keyboard.press("Escape")
    expect(page.locator(".chip-set", has_text="Searching only in")).to_contain_text("Notes")
    assert "francs" not in say(page, COST)
    shoot(page, "06-sources")


def test_slash_commands_search_or_not(page_session):
    page = page_session()
    assert "6 francs" in say(page, f"/search {COST}")
    expect(page.locator(".turn.user .bubble").last).to_have_text(COST)
    page.get_by_label("Your message").fill("/nosearch")
    page.get_by_label("Your message").press("Enter")
    expect(page.get_by_role("button", name="No need to look this up")).to_have_attribute("aria-pressed", "true")
    say(page, f"/nosearch {COST}")
    expect(page.locator(".turn.agent .why").last).to_contain_text("not looked up")
    page.get_by_label("Your message").fill("/private")
    page.get_by_label("Your message").press("Enter")
    expect(page.locator(".private-note")).to_be_visible()


def test_a_lost_connection_is_said_and_nothing_that_is_typed_is_lost(page_session, shoot):
    page = page_session()
    page.evaluate("window.socket.disconnect()")
    expect(page.locator(".no-connection")).to_contain_text("No connection to the server")
    page.get_by_label("Your message").fill("a half-written question")
    shoot(page, "07-offline")
    page.evaluate("window.socket.connect()")
    expect(page.locator(".no-connection")).to_be_hidden()
    expect(page.get_by_label("Your message")).to_have_value("a half-written question")
    assert "6 francs" in say(page, COST)


def test_a_correction_in_memory_can_be_undone(page_session):
    page = page_session()
    say(page, "My canary is called Twee.")
    page.get_by_role("tab", name="Memory").click()
    page.locator(".fact", has_text="Twee").get_by_role("button", name="Edit").click()
    field = page.locator(".fact").get_by_role("textbox", name="Edit")
    field.fill("My canary is called Pip.")
    field.press("Enter")
    expect(page.locator(".fact p.grow", has_text="Pip")).to_be_visible()
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.locator(".fact p.grow", has_text="Twee")).to_be_visible()
    expect(page.locator(".fact p.grow", has_text="Pip")).to_have_count(0)


def test_a_language_model_is_chosen_among_those_that_the_server_allows(page_session, shoot):
    page = page_session()
    choose(page, "Language model", "other")
    expect(page.locator(".chip-set")).to_contain_text("Model: other")
    assert say(page, COST) == "The other model speaks."
    page.reload()
    page.wait_for_selector(".turn.agent .copy-reply")
    shoot(page, "08-model")
    page.get_by_role("button", name="Remove: Model: other").click()
    expect(page.locator(".chip-set")).to_have_count(0)
    assert "other model" not in say(page, "What does a dog need?")
