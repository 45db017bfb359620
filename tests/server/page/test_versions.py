"""Versions of a chat on the page: one entry in the list, with one title, deleted and brought back together."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from dragoman.server.page import elements

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def edit_first(page, text):
    """Ask the first question anew."""
    page.locator(".turn.user").first.hover()
    page.locator(".turn.user").first.get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="Edit").fill(text)
    page.get_by_role("textbox", name="Edit").press("Enter")
    expect(page.locator(".turn.user .bubble").first).to_have_text(text)
    expect(page.locator(".composer.busy")).to_have_count(0)
    expect(page.locator(".turn.agent .thumb").first).to_be_visible()


def choose(page, entry, name):
    entry.hover()
    entry.get_by_role("button", name="Options for").click()
    page.get_by_role("menuitem", name=name).click()


def test_an_edited_chat_is_one_entry_that_keeps_its_title_and_is_deleted_whole(page_session, ask):
    page = page_session("/page/?agent=wren")
    ask(page, "What does a dog cost?")
    entry = page.locator(".entry", has=page.locator("[aria-current=true]"))
    choose(page, entry, "Rename")
    page.get_by_role("textbox", name="Rename").fill("The versions of Rex")
    page.get_by_role("textbox", name="Rename").press("Enter")
    entries = page.locator(".entry", has_text="The versions of Rex")
    expect(entries).to_have_count(1)
    expect(page).to_have_title("The versions of Rex · Dragoman")

    edit_first(page, "What does a day ticket cost?")
    expect(page.get_by_label("Your message")).to_be_focused()
    expect(entries).to_have_count(1)
    page.get_by_role("button", name="Earlier version").click()
    expect(page.locator(".turn.user .bubble")).to_have_text("What does a dog cost?")
    expect(entries.locator("[aria-current=true]")).to_have_count(1)

    choose(page, entries, "Delete")
    expect(page.locator(".welcome")).to_be_visible()
    expect(page).to_have_title("Dragoman")
    expect(entries).to_have_count(0)
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.locator(".turn.user .bubble")).to_have_text("What does a dog cost?")
    expect(entries).to_have_count(1)

    choose(page, entries, "Delete")
    expect(page.locator(".welcome")).to_be_visible()
    page.wait_for_timeout(1000 * (elements.UNDO_SECONDS + 1))
    page.reload()
    expect(page.locator(".entry").first.or_(page.get_by_text("Your chats appear here."))).to_be_visible()
    expect(entries).to_have_count(0)


def test_a_stopped_edit_leaves_the_chat_as_it_was(page_session, ask):
    page = page_session("/page/?agent=wren")
    ask(page, "What does a dog cost?")
    ask(page, "And what does a stopped edit cost?")
    page.locator(".turn.user").last.hover()
    page.locator(".turn.user").last.get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="Edit").fill("Tell me slowly")
    page.get_by_role("textbox", name="Edit").press("Enter")
    expect(page.locator(".turn.agent .text").last).to_contain_text("word1")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".stopped")).to_be_visible()
    page.get_by_role("button", name="New chat").click()
    expect(page.locator(".welcome")).to_be_visible()
    page.locator(".entry .btn.item").first.click()
    expect(page.locator(".turn.user .bubble").last).to_have_text("And what does a stopped edit cost?")


def test_a_private_reply_can_be_tried_again(page_session):
    page = page_session()
    page.get_by_role("button", name="New private chat").click()
    expect(page.locator(".private-note")).to_be_visible()
    page.get_by_label("Your message").fill("What does a dog cost?")
    page.get_by_label("Your message").press("Enter")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".turn.agent .text")).to_have_count(2)
    expect(page.locator(".turn.agent .text").last).to_contain_text("2 francs")
