"""What a person does a moment before the page, the server or a list is ready for it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.integration, pytest.mark.slow]
# Types as soon as the field is there, long before the server has said which chat it belongs to.
TYPE_AT_ONCE = """new MutationObserver((_, watch) => {
    const field = document.querySelector(".composer textarea");
    if (!field) return;
    watch.disconnect();
    field.value = %r;
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    if (%s) field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
}).observe(document, { childList: true, subtree: true });"""


def test_a_message_that_is_sent_before_the_chat_is_shown_is_answered(page_session):
    page = page_session(script=TYPE_AT_ONCE % ("What does a dog cost?", "true"), wait=".turn.agent")
    expect(page.locator(".turn.user .bubble")).to_have_text("What does a dog cost?")
    expect(page.locator(".turn.agent .text")).to_contain_text("2 francs")
    expect(page.locator(".turn.agent .thumb").first).to_be_visible()
    expect(page.get_by_label("Your message")).to_have_value("")


def test_what_is_typed_before_the_chat_is_shown_is_kept_with_its_draft(page_session, ask):
    page = page_session()
    ask(page, "What does a dog cost?")
    page.get_by_label("Your message").fill("a draft")
    page.add_init_script(TYPE_AT_ONCE % (" and more", "false"))
    page.reload()
    expect(page.locator(".turn.agent .thumb").first).to_be_visible()
    expect(page.get_by_label("Your message")).to_have_value("a draft and more")


def test_a_menu_and_a_title_that_is_typed_stay_while_the_list_of_chats_is_loaded(page_session, ask):
    page = page_session("/page/?agent=wren")
    ask(page, "What does a dog cost?")
    entry = page.locator(".entry", has=page.locator("[aria-current=true]"))
    page.get_by_label("Your message").fill("Tell me slowly")
    page.get_by_label("Your message").press("Enter")
    expect(page.locator(".turn.agent .text").last).to_contain_text("word1")
    entry.get_by_role("button", name="Options for").click()
    page.get_by_role("menuitem", name="Rename").click()
    field = page.get_by_role("textbox", name="Rename")
    field.fill("A half-typed ti")
    page.get_by_label("Your message").press("Escape")
    expect(page.locator(".stopped")).to_be_visible()
    ask(page, "What does a day ticket cost?")
    expect(field).to_have_value("A half-typed ti")
    field.fill("A whole title")
    field.press("Enter")
    expect(page.locator(".entry", has_text="A whole title")).to_be_visible()


def test_a_fact_that_is_being_edited_stays_while_a_reply_ends(page_session, ask):
    page = page_session()
    ask(page, "My tortoise is called Bolt.")
    page.get_by_role("tab", name="Memory").click()
    page.locator(".fact", has_text="Bolt").get_by_role("button", name="Edit").click()
    field = page.locator(".fact").get_by_role("textbox", name="Edit")
    field.fill("My tortoise is called Fla")
    ask(page, "What does a dog cost?")
    page.wait_for_timeout(500)
    expect(field).to_have_value("My tortoise is called Fla")
    field.fill("My tortoise is called Flash.")
    field.press("Enter")
    expect(page.locator(".fact p.grow", has_text="Flash")).to_be_visible()


def test_files_that_are_dropped_before_the_page_is_filled_are_read(page_session):
    drop = """new MutationObserver((_, watch) => {
        if (!document.querySelector(".tab.sources") || !window.dragoman) return;
        watch.disconnect();
        dragoman.add([new File(["# Rays\\n\\nRays sleep in the sand."], "rays.md")]);
    }).observe(document, { childList: true, subtree: true });"""
    page = page_session("/page/?agent=wren", script=drop)
    expect(page.locator(".files:not(.report) .file", has_text="rays.md")).to_have_count(1)


def test_a_message_that_the_browser_says_twice_is_answered_once(page_session):
    page = page_session("/page/?agent=wren")
    event = "new CustomEvent('ask', {detail: {text: 'What does a dog cost?', id: 'one'}})"
    page.evaluate(f"[1, 2].map(() => document.querySelector('.composer textarea').dispatchEvent({event}))")
    expect(page.locator(".turn.agent .thumb").first).to_be_visible()
    expect(page.locator(".turn.user .bubble")).to_have_text(["What does a dog cost?"])
    expect(page.locator(".queued")).to_have_count(0)
