"""The pictures of the page in the README and docs/server.md, taken of the sample agents with their real weights.

`make screenshots` writes them to docs/images; as a test they are taken and looked at for size alone.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from dragoman.core.environment import home

from .conftest import started

pytestmark = [pytest.mark.integration, pytest.mark.slow]
MOST_BYTES = 200_000


@pytest.fixture(scope="module")
def sample(tmp_path_factory, weights_home):
    """The address of a server of both sample agents."""
    place = tmp_path_factory.mktemp("sample")
    (place / "models").symlink_to(weights_home / "models", target_is_directory=True)
    assert home() != place
    with started([sys.executable, "-m", "dragoman", "serve", "harbour", "chaguan", "--port", "0"], place) as (url, _):
        yield url


@pytest.fixture
def take(tmp_path):
    """Takes a picture of a page that has come to rest."""
    folder = Path(os.environ.get("DRAGOMAN_IMAGES") or tmp_path)

    def shoot(page, name):
        page.wait_for_timeout(700)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / name
        page.screenshot(path=file, animations="disabled")
        assert 10_000 < file.stat().st_size < MOST_BYTES

    return shoot


def test_pictures_of_a_desktop(page_session, ask, sample, take):
    page = page_session("/page/?agent=harbour", at=sample, viewport={"width": 1320, "height": 960})
    ask(page, "Hello! I travel with a dog.")
    assert "Dogs travel free" in ask(page, "Can I take my dog on the Petrel?")
    expect(page.locator(".evidence.rests mark").first).to_be_visible()
    page.get_by_label("Your message").blur()
    take(page, "page.png")
    page.emulate_media(color_scheme="dark")
    page.get_by_role("tab", name="Memory").click()
    expect(page.locator(".fact", has_text="dog")).to_be_visible()
    take(page, "page-memory-dark.png")
    page.emulate_media(color_scheme="light")
    page.get_by_role("tab", name="Documents").click()
    page.get_by_label("Search for").fill("seals")
    page.get_by_label("Search for").press("Enter")
    expect(page.locator(".found .evidence").first).to_be_visible()
    heading = page.locator(".panel.sources").get_by_text("What I can search")
    heading.evaluate("it => { it.scrollIntoView(); it.closest('.panel').scrollTop -= 18; }")
    take(page, "page-sources.png")


def test_pictures_of_a_phone(page_session, sample, take):
    phone = {"width": 390, "height": 780}
    page = page_session("/page/?agent=chaguan", at=sample, viewport=phone, locale="zh-CN", color_scheme="dark")
    page.locator(".chip").first.click()
    expect(page.locator(".turn.agent .thumb").first).to_be_visible()
    take(page, "page-phone-chat.png")
    page.get_by_role("tab", name="缘由").click()
    expect(page.locator(".evidence").first).to_be_visible()
    take(page, "page-phone-why.png")
