"""What the page costs a browser: bytes to load, and time to draw replies."""

from __future__ import annotations

from statistics import median

import pytest
from playwright.sync_api import expect

LIMIT = 600_000


def test_the_page_with_all_its_panels_is_light(page_session, ask):
    page = page_session()
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    network.send("Network.setCacheDisabled", {"cacheDisabled": True})
    addresses, sizes = {}, {}
    network.on("Network.responseReceived", lambda e: addresses.update({e["requestId"]: e["response"]["url"]}))
    network.on("Network.loadingFinished", lambda e: sizes.update({e["requestId"]: e["encodedDataLength"]}))

    page.reload()
    page.wait_for_selector(".welcome")
    ask(page, "What does a day ticket cost?")
    page.get_by_label("Search, memory and sources").click()  # marks of options are icons too
    page.keyboard.press("Escape")
    for panel in ("Memory", "Documents", "Why"):
        page.get_by_role("tab", name=panel).click()
    page.wait_for_load_state("networkidle")

    by_address = {addresses.get(request, request): size for request, size in sizes.items()}
    assert any(address.endswith(".js") for address in by_address)
    assert sum(by_address.values()) < LIMIT, sorted(by_address.items(), key=lambda pair: -pair[1])[:6]
    assert len([address for address in by_address if "/fonts/" in address]) == 1, "icons come from one font"


def test_an_exchange_is_drawn_with_few_elements(page_session, ask):
    """Every change of the page goes through all of its elements."""
    page = page_session()
    counts = []
    for _ in range(3):
        ask(page, "What does a day ticket cost?")
        counts.append(page.locator(".log [id^=c]").count())
    assert counts[2] - counts[1] <= 7, counts


@pytest.mark.slow  # sixty turns, one after the other
def test_the_sixtieth_reply_is_drawn_as_quickly_as_the_tenth(page_session):
    """By the processor time of the page's own thread: how long a frame takes depends on what else the machine does."""
    page = page_session()
    browser = page.context.new_cdp_session(page)
    browser.send("Performance.enable", {"timeDomain": "threadTicks"})
    field = page.get_by_label("Your message")
    costs = []
    for number in range(60):
        before = _seconds(browser)
        field.fill(f"What does a day ticket cost? ({number})")
        field.press("Enter")
        last = page.locator(".turn.user .bubble").last
        expect(last).to_have_text(f"What does a day ticket cost? ({number})")
        expect(page.locator(".composer.busy")).to_have_count(0)
        costs.append(_seconds(browser) - before)
    assert page.locator(".turn").count() <= 40, "earlier turns are folded away"
    assert 0 < median(costs[-15:]) < 2 * median(costs[5:20]), costs


def _seconds(browser):
    metrics = {metric["name"]: metric["value"] for metric in browser.send("Performance.getMetrics")["metrics"]}
    return metrics["TaskDuration"]
