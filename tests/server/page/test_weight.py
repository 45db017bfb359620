"""What a browser loads for the page, compressed."""

from __future__ import annotations

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
