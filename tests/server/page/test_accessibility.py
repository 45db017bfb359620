"""Contrast of every text and names of every control, in light and in dark, as WCAG's level AA asks."""

from __future__ import annotations

import pytest

# Texts whose contrast with what lies behind them is below 4.5, and controls without a name.
FAILURES = """() => {
    const parse = (text) => {
        const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
        return text.startsWith("color(srgb") ? [r * 255, g * 255, b * 255, a] : [r, g, b, a];
    };
    const over = (front, back) => [0, 1, 2].map((i) => front[i] * front[3] + back[i] * (1 - front[3])).concat(1);
    const luminance = (colour) => {
        const [r, g, b] = colour.slice(0, 3).map((value) => value / 255)
            .map((value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ancestors = (element) => {
        const all = [];
        for (let next = element; next; next = next.parentElement) all.push(next);
        return all;
    };
    const background = (element) => ancestors(element)
        .map((each) => parse(getComputedStyle(each).backgroundColor))
        .reduceRight((below, colour) => over(colour, below), [255, 255, 255, 1]);
    const faint = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const text = texts.currentNode.data.trim(), element = texts.currentNode.parentElement;
        if (!text || element.closest("[aria-hidden=true]")) continue;
        if (!element.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
        const back = background(element);
        const opacity = ancestors(element).reduce((all, each) => all * getComputedStyle(each).opacity, 1);
        const [r, g, b, a] = parse(getComputedStyle(element).color);
        const [one, other] = [luminance(over([r, g, b, a * opacity], back)), luminance(back)];
        const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        if (contrast < 4.5) faint.push(`${contrast.toFixed(2)} ${element.className || element.tagName}: ${text}`);
    }
    const nameless = [...document.querySelectorAll("button, a, input, textarea, [role=button], [role=tab]")]
        .filter((each) => each.checkVisibility())
        .filter((each) => !(each.innerText.trim() || each.getAttribute("aria-label") || each.title
            || each.getAttribute("aria-labelledby") || each.labels?.length))
        .map((each) => each.outerHTML.slice(0, 120));
    return {faint, nameless, texts: document.body.innerText.length};
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_can_be_read_and_controls_have_names(page_session, ask, scheme):
    page = page_session(color_scheme=scheme)

    def check(place):
        page.wait_for_timeout(400)  # colours of a menu or a panel that has just opened are on their way
        measured = page.evaluate(FAILURES)
        assert measured["texts"] > 100
        assert (measured["faint"], measured["nameless"]) == ([], []), place

    check("welcome")
    ask(page, "I am vegetarian.")
    ask(page, "What does a day ticket cost?")
    page.get_by_text("Details", exact=True).last.click()
    check("why")
    for panel in ("Memory", "Documents"):
        page.get_by_role("tab", name=panel).click()
        check(panel)
    page.get_by_label("Search, memory and sources").click()
    check("controls")
    page.keyboard.press("Escape")
    page.get_by_label("Your message").fill("/")
    check("commands")
    page.get_by_label("Your message").fill("")
    page.get_by_label("New private chat").click()
    check("private chat")


def test_a_faint_text_and_a_nameless_control_are_noticed(page_session):
    page = page_session()
    page.evaluate("""() => {
        const markup = '<p style="color: #bbb; background: #fff">faint</p><button></button>';
        document.body.insertAdjacentHTML("beforeend", markup);
    }""")
    measured = page.evaluate(FAILURES)
    assert any("faint" in text for text in measured["faint"])
    assert measured["nameless"] == ["<button></button>"]
