"""A newcomer's visit to the sample agent with its real weights, step by step, with a picture of each step.

`DRAGOMAN_IMAGES=DIR` keeps the pictures.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from .conftest import started

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture(scope="module")
def sample(tmp_path_factory, weights_home):
    place = tmp_path_factory.mktemp("visit")
    (place / "models").symlink_to(weights_home / "models", target_is_directory=True)
    with started([sys.executable, "-m", "dragoman", "serve", "harbour", "--port", "0"], place) as (url, _):
        yield url


@pytest.fixture
def shoot(tmp_path):
    """Takes a numbered picture of a page that has come to rest."""
    folder = Path(os.environ.get("DRAGOMAN_IMAGES") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)

    def take(page, name):
        page.wait_for_timeout(600)
        page.screenshot(path=folder / f"visit-{name}.png", animations="disabled")

    return take


def pdf(text):
    """A PDF of one line, written by hand."""
    stream = f"BT /F1 14 Tf 72 720 Td ({text}) Tj ET".encode("ascii")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    body, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, start=1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = len(body)
    body += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    return body + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, end)


def fact_of(page, text):
    """The card of a fact; others may quote the same sentence."""
    return page.locator(".fact", has=page.locator("p.grow", has_text=text))


def test_a_newcomer_asks_sees_why_corrects_uploads_and_forgets(page_session, ask, sample, shoot, tmp_path):
    page = page_session(at=sample, viewport={"width": 1320, "height": 900})
    shoot(page, "01-welcome")

    ask(page, "Hi, I'm Ana, I'm vegetarian and I have a dog called Rex.")
    expect(page.locator(".chip-saved", has_text="vegetarian")).to_be_visible()
    shoot(page, "02-saved")

    reply = ask(page, "Can I have the fish soup?")
    assert reply.startswith("No") and "vegetarian" in reply
    why = page.get_by_role("tabpanel", name="Why")
    expect(why.locator(".learned").first).to_contain_text("You told me")
    expect(page.locator(".chip-used", has_text="vegetarian")).to_be_visible()
    shoot(page, "03-refused-with-its-reason")
    page.get_by_role("button", name="Source 1").click()
    expect(page.locator(".cited mark").first).to_contain_text("fish soup")
    shoot(page, "04-citation")
    page.get_by_role("button", name="Close").click()
    why.get_by_text("Details").click()
    shoot(page, "05-details")

    page.get_by_role("tab", name="Memory").click()
    expect(fact_of(page, "I am vegetarian.")).to_be_visible()
    shoot(page, "06-memory")
    fact = fact_of(page, "I am vegetarian.")
    fact.get_by_role("button", name="Edit").click()
    field = page.locator(".fact").get_by_role("textbox", name="Edit")
    field.fill("I eat fish and no meat.")
    field.press("Enter")
    expect(fact_of(page, "I eat fish")).to_be_visible()
    fact_of(page, "I have a dog called Rex.").get_by_role("button", name="Delete").click()
    expect(page.locator(".toast")).to_contain_text("Deleted, and removed from your chats.")
    shoot(page, "07-deleted-with-undo")
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(fact_of(page, "I have a dog called Rex.")).to_be_visible()

    (tmp_path / "ferry.pdf").write_bytes(pdf("The night ferry to Osprey Island leaves at 23:40."))
    (tmp_path / "archive.zip").write_bytes(b"PK")
    page.get_by_role("tab", name="Documents").click()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose files").click()
    chooser.value.set_files([tmp_path / "ferry.pdf", tmp_path / "archive.zip"])
    expect(page.locator(".files .read", has_text="ferry.pdf")).to_contain_text("read · 1 passage")
    expect(page.locator(".report .failed", has_text="archive.zip")).to_contain_text("not supported")
    page.locator(".report").scroll_into_view_if_needed()
    shoot(page, "08-uploaded")
    page.get_by_role("button", name="Show what I read in ferry.pdf").click()
    expect(page.locator(".preview")).to_contain_text("23:40")
    page.get_by_role("button", name="Close").click()

    page.get_by_role("button", name="New chat").click()
    expect(page.locator(".welcome")).to_be_visible()
    assert "23:40" in ask(page, "When does the night ferry to Osprey Island leave?")
    shoot(page, "09-answer-from-the-upload")
    page.set_viewport_size({"width": 390, "height": 780})
    shoot(page, "10-phone")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 1320, "height": 900})
    shoot(page, "11-dark")
    page.emulate_media(color_scheme="light")

    page.get_by_role("button", name="New private chat").click()
    expect(page.locator(".private-note")).to_be_visible()
    page.get_by_label("Your message").fill("I am allergic to dogs. What does the fish soup cost?")
    page.get_by_label("Your message").press("Enter")
    expect(page.locator(".turn.agent .text")).to_contain_text("19 francs")
    expect(page.locator(".chip-saved")).to_have_count(0)
    shoot(page, "12-private")
    page.get_by_role("button", name="Search, memory and sources").click()
    shoot(page, "13-controls")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="leave", exact=True).click()

    page.get_by_role("tab", name="Memory").click()
    expect(fact_of(page, "dogs")).to_have_count(0)
    page.get_by_role("button", name="Delete everything about me").click()
    asked = page.get_by_role("alertdialog", name="Delete everything about you?")
    expect(asked).to_contain_text("This deletes 3 facts about you, 2 chats")
    shoot(page, "14-forget-everything")
    asked.get_by_role("button", name="Delete everything").click()
    expect(page.locator(".facts")).to_contain_text("Nothing yet.")
    expect(page.locator(".dialogues .list")).to_contain_text("Your chats appear here.")
    shoot(page, "15-forgotten")
