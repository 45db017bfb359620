"""What is seen: nothing is cut off, covered or in the wrong order, on a wide screen and on a phone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.integration, pytest.mark.slow]
PHONE = {"viewport": {"width": 390, "height": 780}}
BEYOND = """(root) => [...document.querySelectorAll(root + " *")]
    .filter((each) => each.offsetParent && each.getBoundingClientRect().right > innerWidth + 0.5)
    .map((each) => each.className)"""


def test_menus_are_in_the_order_in_which_they_are_written(page_session, ask):
    page = page_session()
    ask(page, "What does a dog cost?")
    page.locator(".dialogues .entry", has=page.locator("[aria-current=true]")).hover()
    page.get_by_role("button", name="Options for: What does a dog cost?").first.click()
    items = page.get_by_role("menuitem")
    expect(items).to_have_count(6)
    assert items.first.inner_text() == "Rename"
    tops = [items.nth(number).bounding_box()["y"] for number in range(6)]
    assert tops == sorted(tops)


def test_an_open_menu_stays_while_its_chat_changes(page_session, ask):
    page = page_session("/page/?agent=wren")
    ask(page, "What does a dog cost?")
    entry = page.locator(".dialogues .entry", has=page.locator("[aria-current=true]"))
    entry.hover()
    entry.get_by_role("button", name="Options for").click()
    expect(page.get_by_role("menuitem", name="Pin", exact=True)).to_be_visible()
    name = entry.locator("[data-chat]").get_attribute("data-chat")
    page.request.patch(
        f"{page.url.split('/page/')[0]}/v1/dialogues/{name}?agent=wren", data={"pinned": True, "title": "Dogs here"}
    )
    page.evaluate("document.querySelector('.composer textarea').dispatchEvent(new CustomEvent('ask', {detail: 'Hi'}))")
    expect(entry).to_contain_text("Dogs here")
    expect(page.get_by_role("menuitem", name="Unpin")).to_be_visible()
    expect(page.locator(".dialogues").get_by_text("Pinned")).to_be_visible()


def test_a_file_that_is_not_read_has_its_name_on_one_line_and_the_reason_below(page_session):
    page = page_session("/page/?agent=wren", **PHONE)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Attach files").click()
    chooser.value.set_files([{"name": "torn.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.4 torn"}])
    line = page.locator(".report .failed")
    expect(line).to_contain_text("not read")
    # Both at once: the page may scroll between two questions.
    name, reason = line.evaluate(
        "line => ['.grow', '.state-of'].map(part => line.querySelector(part).getBoundingClientRect().toJSON())"
    )
    assert name["width"] > 100
    assert reason["y"] >= name["y"] + name["height"]


def test_on_a_phone_nothing_leaves_the_screen(page_session, ask):
    page = page_session(**PHONE)
    ask(page, "What does a dog cost?")
    field = page.get_by_label("Your message")
    field.fill("/")
    expect(page.locator(".slash")).to_be_visible()
    assert page.evaluate(BEYOND, ".talk") == []
    field.fill("")
    page.get_by_role("tab", name="Why").click()
    page.get_by_role("tabpanel", name="Why").get_by_text("Details").click()
    expect(page.locator(".waterfall")).to_be_visible()
    assert page.evaluate(BEYOND, ".panel.why") == []
    page.get_by_role("tab", name="Documents").click()
    expect(page.locator(".drop")).to_be_visible()
    assert page.evaluate(BEYOND, ".panel.sources") == []


def test_a_long_word_that_somebody_told_stays_on_a_phone_s_screen(page_session, ask):
    page = page_session(**PHONE)
    ask(page, f"I like bassoon{'s and bassoon' * 3}{'bassoon' * 30}, and my name is Jo")
    assert page.evaluate(BEYOND, ".talk") == []
    page.get_by_role("tab", name="Memory").click()
    expect(page.locator(".fact").first).to_be_visible()
    assert page.evaluate(BEYOND, ".panel.memory") == []


def test_the_keyboard_of_a_phone_leaves_room_for_the_reply(page_session, ask):
    page = page_session(**PHONE)
    ask(page, "What does a dog cost?")
    page.get_by_label("Your message").focus()
    page.set_viewport_size({"width": 390, "height": 400})
    expect(page.get_by_role("tab", name="Chat")).to_be_hidden()
    expect(page.get_by_label("Your message")).to_be_in_viewport()
    expect(page.locator(".turn.agent .text").last).to_be_in_viewport()
    page.set_viewport_size({"width": 390, "height": 780})
    expect(page.get_by_role("tab", name="Chat")).to_be_visible()


def test_a_touch_beside_the_list_of_chats_closes_it(page_session):
    page = page_session(**PHONE)
    page.get_by_role("button", name="Chats").click()
    expect(page.get_by_role("button", name="New chat")).to_be_visible()
    page.mouse.click(380, 400)
    expect(page.get_by_role("button", name="New chat")).to_be_hidden()


def test_a_tablet_that_is_turned_goes_on_showing_the_chat(page_session, ask):
    page = page_session(viewport={"width": 900, "height": 600})
    ask(page, "What does a dog cost?")
    expect(page.get_by_role("tabpanel", name="Why")).to_be_visible()
    page.set_viewport_size({"width": 600, "height": 900})
    expect(page.get_by_label("Your message")).to_be_visible()
    expect(page.locator(".turn.agent .text").last).to_be_in_viewport()


def test_quoted_words_are_seen_without_scrolling_and_others_are_not_marked(page_session, ask):
    page = page_session("/page/?agent=wren")
    parts = "\n\n".join(f"Line {number} of the log says nothing about whales at all." for number in range(25))
    text = f"# Log\n\n{parts} Whales pass Crane Point every March."
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Attach files").click()
    chooser.value.set_files([{"name": "log.txt", "mimeType": "text/plain", "buffer": text.encode()}])
    expect(page.locator(".files .read", has_text="log.txt")).to_be_visible()
    ask(page, "When do whales pass Crane Point?")
    page.get_by_role("tab", name="Why").click()
    marked = page.locator(".evidence.rests mark").last
    marked.scroll_into_view_if_needed()
    expect(marked).to_contain_text("March")
    assert page.locator(".evidence.rests .passage").evaluate_all(
        "(all) => all.every((each) => each.scrollHeight <= each.clientHeight + 1)"
    )
    expect(page.locator(".panel.why .evidence:not(.rests) mark")).to_have_count(0)


def test_the_passages_of_a_shared_source_can_be_read(page_session):
    page = page_session()
    page.get_by_role("tab", name="Documents").click()
    page.get_by_role("button", name="Show what is in Documents").click()
    dialog = page.get_by_role("dialog", name="Documents")
    dialog.get_by_role("button", name="documents/prices.md").click()
    expect(dialog).to_contain_text("A day ticket costs 6 francs.")
    dialog.get_by_role("button", name="Back").click()
    expect(dialog.get_by_role("button", name="documents/dogs.md")).to_be_visible()


def test_the_open_documents_panel_counts_what_was_just_said(page_session, ask):
    page = page_session("/page/?agent=wren")
    page.get_by_role("tab", name="Documents").click()
    count = page.locator(".source", has_text="Memory").locator(".figure")
    expect(count).to_contain_text("fact")
    before = count.inner_text()
    ask(page, "My hedgehog is called Quill.")
    expect(count).not_to_have_text(before)


def test_memories_are_imported_from_a_file(page_session):
    page = page_session("/page/?agent=wren")
    page.get_by_role("tab", name="Memory").click()
    page.get_by_role("button", name="Import memories").click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose a file").click()
    chooser.value.set_files([{"name": "me.md", "mimeType": "text/markdown", "buffer": b"- I play the bassoon.\n"}])
    expect(page.locator(".imported")).to_contain_text("bassoon")
    page.get_by_role("button", name="Keep these facts (1)").click()
    expect(page.locator(".fact", has_text="bassoon")).to_be_visible()


def test_a_message_whose_reply_was_stopped_goes_back_into_the_field(page_session):
    page = page_session()
    field = page.get_by_label("Your message")
    field.fill("Tell me slowly")
    field.press("Enter")
    expect(page.locator(".turn.agent .text")).to_contain_text("word1")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("tabpanel", name="Why")).to_contain_text("This reply was not finished.")
    page.get_by_role("button", name="Edit the message").click()
    expect(page.locator(".welcome").first).to_be_visible()
    expect(field).to_have_value("Tell me slowly")
    page.reload()
    page.wait_for_selector(".welcome")
    expect(field).to_have_value("Tell me slowly")


def test_a_message_that_is_sent_and_a_field_to_edit_one_come_into_view(page_session, ask):
    page = page_session("/page/?agent=wren", viewport={"width": 1280, "height": 420})
    for number in range(4):
        ask(page, f"What does a day ticket cost? Number {number}")
    first = page.locator(".turn.user").first
    first.scroll_into_view_if_needed()
    ask(page, "What does a dog cost?")
    expect(page.locator(".turn.agent .text").last).to_be_in_viewport()
    first.get_by_role("button", name="Edit").evaluate("button => button.click()")
    expect(page.get_by_role("textbox", name="Edit")).to_be_in_viewport()


def test_time_and_cost_of_a_reply_are_details(page_session, ask):
    page = page_session("/page/?agent=wren")
    ask(page, "What does a day ticket cost?")
    expect(page.locator(".turn.agent .btn.why")).to_have_text(re.compile(r"^Why\?\s*not certain · From prices.md$"))
    page.get_by_role("tabpanel", name="Why").get_by_text("Details").click()
    expect(page.locator(".why-details .total")).to_contain_text("s")


def test_a_link_to_a_chat_without_the_path_of_the_page_leads_there(page_session, ask):
    page = page_session("/page/?agent=wren")
    ask(page, "What does a dog cost?")
    page.goto(page.url.replace("/page/", "/"))
    expect(page.locator(".turn.user .bubble")).to_have_text("What does a dog cost?")


def test_without_a_connection_the_page_says_so_over_the_whole_width_of_a_phone(page_session):
    page = page_session(requests_fail=True, **PHONE)
    page.context.set_offline(True)
    banner = page.locator(".no-connection")
    expect(banner).to_be_visible()
    assert banner.bounding_box()["width"] > 340
    page.context.set_offline(False)
    expect(banner).to_be_hidden()
