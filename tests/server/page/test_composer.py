"""The composer and running replies, by what a person does: nothing typed is lost, and Stop stops at once."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.integration


def write(page, text):
    page.get_by_label("Your message").fill(text)
    page.get_by_label("Your message").press("Enter")


def test_stop_acts_at_once_and_what_waits_is_sent_after_it(page_session):
    page = page_session()
    write(page, "Tell me slowly")
    expect(page.locator(".turn.agent .text").last).to_contain_text("word1")
    page.get_by_label("Your message").press_sequentially("What does a dog")
    write(page, "What does a dog cost?")
    expect(page.locator(".queued")).to_contain_text("What does a dog cost?")
    page.get_by_label("Your message").fill("half a thought")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".stopped")).to_be_visible()
    expect(page.locator(".turn.agent .text").last).to_contain_text("2 francs")
    expect(page.locator(".queued")).to_have_count(0)
    expect(page.get_by_label("Your message")).to_have_value("half a thought")


def test_stop_is_said_before_the_server_has_heard_of_it(page_session):
    page = page_session()
    write(page, "Tell me slowly")
    expect(page.locator(".turn.agent .text").last).to_contain_text("word1")
    page.evaluate(
        "addEventListener('halt', (event) => event.stopPropagation(), {capture: true, once: true})"
    )  # the server does not hear of the first click
    stop = page.get_by_role("button", name="Stop")
    stop.click()
    expect(page.locator(".composer .stopping")).to_have_text("Stopping …")
    expect(page.locator(".stopped")).to_have_count(0)
    stop.click()
    expect(page.locator(".stopped")).to_be_visible()
    expect(page.locator(".composer .stopping")).to_have_text("")
    write(page, "Tell me slowly, again")
    expect(page.locator(".turn.agent .text").last).to_contain_text("word1")
    page.get_by_label("Your message").press("Escape")
    expect(page.locator(".stopped")).to_have_count(2)
    expect(page.locator(".composer .stopping")).to_have_text("")


def test_drafts_and_replies_outlive_a_reload_and_a_second_tab_sees_them(page_session):
    page = page_session()
    page.get_by_label("Your message").fill("a draft of a new chat")
    page.reload()
    expect(page.get_by_label("Your message")).to_have_value("a draft of a new chat")
    write(page, "Tell me slowly, please")
    expect(page.locator(".turn.agent .text").last).to_contain_text("word1")
    page.get_by_label("Your message").fill("and then")
    page.reload()
    expect(page.locator(".turn.user .bubble")).to_have_text("Tell me slowly, please")
    expect(page.get_by_label("Your message")).to_have_value("and then")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator(".turn.agent .text")).to_contain_text("word")
    other.get_by_role("button", name="Stop").click()
    expect(page.locator(".stopped")).to_be_visible()
    expect(other.locator(".stopped")).to_be_visible()


def test_a_reply_is_tried_again_and_a_question_edited_with_both_kept(page_session, ask):
    page = page_session()
    ask(page, "What does a dog cost?")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".turn.user .tools")).to_contain_text("2/2")
    page.locator(".turn.user").hover()
    page.locator(".turn.user").get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="Edit").press("Escape")
    expect(page.locator(".turn.user .bubble")).to_have_text("What does a dog cost?")
    page.locator(".turn.user").hover()
    page.locator(".turn.user").get_by_role("button", name="Edit").click()
    page.get_by_role("textbox", name="Edit").fill("What does a day ticket cost?")
    page.get_by_role("textbox", name="Edit").press("Enter")
    expect(page.locator(".turn.agent .text")).to_contain_text("6 francs")
    expect(page.locator(".turn.user .bubble")).to_have_text("What does a day ticket cost?")
    page.get_by_role("button", name="Earlier version").click()
    expect(page.locator(".turn.user .bubble")).to_have_text("What does a dog cost?")


def test_citations_saved_facts_and_used_ones(page_session, ask):
    page = page_session()
    ask(page, "My name is Hildegard.")
    saved = page.locator(".chip-saved")
    expect(saved).to_contain_text("Hildegard")
    saved.get_by_role("button", name="undo").click()
    expect(page.locator(".chip-saved")).to_have_text("Not saved")
    expect(page.locator(".turn.user .bubble").first).to_contain_text("Hildegard")
    page.get_by_role("tab", name="Memory").click()
    expect(page.locator(".fact", has_text="Hildegard")).to_have_count(0)
    page.get_by_role("button", name="New chat").click()
    expect(page.locator(".welcome")).to_be_visible()
    ask(page, "What does a day ticket cost?")
    page.get_by_role("button", name="Source 1").click()
    expect(page.locator(".cited mark")).to_contain_text("A day ticket costs 6 francs.")
    page.get_by_role("button", name="Close").click()
    expect(page.locator(".cited")).to_have_count(0)


def test_after_a_reload_a_stopped_message_can_be_sent_again_or_changed(page_session):
    page = page_session()
    write(page, "Tell me slowly, once more")
    expect(page.locator(".turn.agent .text")).to_contain_text("word1")
    page.reload()
    expect(page.locator(".turn.agent .text")).to_contain_text("word1")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".stopped").get_by_role("button", name="Try again")).to_be_visible()
    page.get_by_role("button", name="Edit the message").click()
    expect(page.get_by_label("Your message")).to_have_value("Tell me slowly, once more")


def test_what_is_sent_without_a_connection_waits_for_it(page_session, ask):
    page = page_session("/page/?agent=wren", requests_fail=True)
    ask(page, "What does a dog cost?")
    page.context.set_offline(True)
    expect(page.locator(".no-connection")).to_be_visible()
    write(page, "What does a day ticket cost?")
    expect(page.locator(".queued")).to_contain_text("What does a day ticket cost?")
    page.context.set_offline(False)
    expect(page.locator(".turn.user .bubble").last).to_have_text("What does a day ticket cost?")
    expect(page.locator(".turn.agent .thumb.no-search")).to_have_count(2)
    expect(page.locator(".queued")).to_have_count(0)


def test_a_tab_that_is_looked_at_again_shows_what_another_has_added(page_session, ask):
    page = page_session("/page/?agent=wren")
    ask(page, "What does a dog cost?")
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator(".turn.user .bubble")).to_have_count(1)
    ask(other, "What does a day ticket cost?")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator(".turn.user .bubble").last).to_have_text("What does a day ticket cost?")
    # One that asks on its own, too, has missed what came before its question.
    ask(other, "Hello!")
    write(page, "What does a dog cost, again?")
    expect(page.locator(".turn.user .bubble")).to_have_text(
        ["What does a dog cost?", "What does a day ticket cost?", "Hello!", "What does a dog cost, again?"]
    )


@pytest.mark.slow
def test_chats_are_renamed_found_pinned_and_exported(page_session, ask):
    page = page_session("/page/?agent=wren")
    ask(page, "What does a dog cost?")
    entry = page.locator(".entry", has=page.locator("[aria-current=true]"))
    entry.hover()
    entry.get_by_role("button", name="Options for").click()
    page.get_by_role("menuitem", name="Rename").click()
    field = page.get_by_role("textbox", name="Rename")
    field.fill("Rex and the ferry")
    field.press("Enter")
    expect(page.locator(".entry", has_text="Rex and the ferry")).to_be_visible()
    page.get_by_label("Search chats").fill("2 francs")
    expect(page.locator(".entry .snippet").first).to_contain_text("2 francs")
    page.get_by_label("Search chats").fill("")
    expect(page.locator(".entry .snippet")).to_have_count(0)
    page.get_by_label("Your message").fill("/exp")
    with page.expect_download() as download:
        page.get_by_label("Your message").press("Enter")
    assert download.value.path().read_text(encoding="utf-8").startswith("# Rex and the ferry")
    page.locator(".entry", has_text="Rex and the ferry").get_by_role("button", name="Options for").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Share as a file").click()
    assert download.value.suggested_filename == "chat.html"
    shared = page.context.new_page()
    shared.set_content(download.value.path().read_text(encoding="utf-8"))
    expect(shared.locator("h1")).to_have_text("Rex and the ferry")
    expect(shared.locator(".sources mark").first).to_contain_text("2 francs")
    shared.close()
    page.get_by_label("Your message").blur()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()


@pytest.mark.slow
def test_an_unknown_address_says_so(page_session):
    page = page_session("/page/?agent=robin&dialogue=20200101-000000-aaaaaa", wait=".missing")
    expect(page.locator(".missing")).to_contain_text("This chat does not exist.")
    page.locator(".missing").get_by_role("button", name="New chat").click()
    expect(page.locator(".agent-name")).to_be_visible()


@pytest.mark.slow
def test_the_page_can_be_installed(page_session, address):
    page = page_session()
    link = page.locator("link[rel=manifest]").get_attribute("href")
    manifest = page.request.get(f"{address}/page/{link}").json()
    assert manifest["start_url"] == "/page/" and manifest["icons"][0]["src"].startswith("data:image/svg+xml")


def test_the_beginning_of_a_long_chat_is_shown_on_demand(page_session, address):
    page = page_session()
    for number in range(19):
        body = {"text": f"Question {number} about dogs", "agent": "robin", "dialogue": "a-long-chat"}
        assert page.request.post(f"{address}/v1/turns", data=body).ok
    page.goto(f"{address}/page/?dialogue=a-long-chat")
    questions = page.locator(".turn.user .bubble")
    expect(questions).to_have_count(12)
    expect(questions.first).to_have_text("Question 7 about dogs")
    page.get_by_role("button", name="Show earlier messages").click()
    expect(questions).to_have_count(19)
    expect(questions.first).to_have_text("Question 0 about dogs")
    expect(page.get_by_role("button", name="Show earlier messages")).to_have_count(0)
    write(page, "What does a dog cost?")
    expect(page.locator(".turn.agent .text").last).to_contain_text("2 francs")
    expect(page.locator(".turn.user").last.get_by_role("button", name="Edit")).to_be_attached()
    expect(questions).to_have_count(12)  # what is drawn stays little, and quick
    expect(questions.first).to_have_text("Question 8 about dogs")
    page.get_by_role("button", name="Show earlier messages").click()
    expect(questions).to_have_count(20)
