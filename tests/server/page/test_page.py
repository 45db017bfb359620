"""The page in headless Chromium: ask, see why, correct, forget, upload, and stay unharmed."""

from __future__ import annotations

import io
import json
import sys

import pytest
from playwright.sync_api import expect
from pypdf import PdfReader

from dragoman.server.access.keys import create
from dragoman.server.access.sqlite_ledger import SqliteLedger

from .conftest import HOSTILE, started

pytestmark = pytest.mark.integration


def test_ask_by_a_chip_see_the_evidence_and_the_picture(page_session):
    page = page_session()
    expect(page.locator(".agent-name")).to_have_text("Robin")
    page.locator(".chip", has_text="What does a day ticket cost?").click()
    expect(page.locator(".turn.agent .text")).to_contain_text("A day ticket costs 6 francs.")
    expect(page.get_by_label("Your message")).to_be_focused()
    why = page.get_by_role("tabpanel", name="Why")
    expect(why.locator(".evidence.rests mark")).to_contain_text("A day ticket costs 6 francs.")
    expect(why.locator("svg.graph")).to_be_hidden()
    why.get_by_text("Details").click()
    expect(why.locator("svg.graph")).to_have_attribute(
        "aria-label", "decision 1.00 → Memory → Notes → Documents → reply"
    )
    expect(why.get_by_role("img", name="relevance").first).to_be_visible()
    expect(why.get_by_role("img", name="confidence")).to_be_visible()
    expect(why.get_by_role("img", name="consistency").first).to_be_visible()
    expect(why).to_contain_text("This agent does not take a second look.")
    assert why.locator(".waterfall .fall").count() >= 5
    page.reload()
    expect(page.locator(".turn.agent .text")).to_contain_text("A day ticket costs 6 francs.")


@pytest.mark.slow
def test_a_reply_that_does_not_know_looks_like_none_that_does(page_session, ask):
    page = page_session()
    assert "I don't know" in ask(page, "Who painted the ceiling of the chapel?")
    why = page.get_by_role("tabpanel", name="Why")
    expect(why.locator(".trust").first).to_contain_text("I couldn't find that in your documents.")
    expect(why.get_by_role("img", name="confidence")).to_have_count(0)
    expect(page.get_by_role("button", name="Why this reply: no answer found")).to_be_visible()


@pytest.mark.slow
def test_refinement_shows_what_was_replaced(page_session, ask):
    page = page_session("/page/?agent=wren")
    ask(page, "What does a day ticket cost for a dog?")
    why = page.get_by_role("tabpanel", name="Why")
    why.get_by_text("Details").click()
    expect(why.locator(".round")).to_contain_text("Round 1")
    expect(why.get_by_role("img", name="consistency").first).to_be_visible()


def test_memory_is_shown_corrected_and_forgotten(page_session, ask):
    page = page_session()
    ask(page, "I am allergic to nuts.")
    page.get_by_role("tab", name="Memory").click()
    fact = page.locator(".fact", has_text="nuts")
    expect(fact).to_be_visible()
    fact.get_by_role("button", name="Edit").click()
    field = page.locator(".fact").get_by_role("textbox", name="Edit")
    field.fill("I am allergic to fish.")
    field.press("Enter")
    expect(page.locator(".fact", has_text="fish")).to_be_visible()
    expect(page.locator(".fact", has_text="nuts")).to_have_count(0)
    ask(page, "What does a day ticket cost?")
    page.locator(".fact", has_text="fish").get_by_role("button", name="Delete").click()
    expect(page.locator(".fact", has_text="fish")).to_have_count(0)
    expect(page.locator(".turn.user .bubble").first).to_have_text("(deleted)")
    expect(page.locator(".bubble:empty, .turn.agent .text:empty")).to_have_count(0)
    rest = page.locator(".turn.agent").last  # its explanation may be gone with the fact
    expect(rest.get_by_role("button", name="Copy")).to_be_visible()
    expect(rest.get_by_role("button", name="Try again")).to_be_visible()


@pytest.mark.slow
def test_everything_is_exported_and_forgotten(page_session, ask):
    page = page_session("/page/?agent=wren")
    page.get_by_role("tab", name="Memory").click()
    add = page.get_by_role("textbox", name="Add a fact")
    add.fill("I live in Ellisund.")
    add.press("Enter")
    expect(page.locator(".fact", has_text="Ellisund")).to_be_visible()
    ask(page, "What does a dog cost?")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export everything").click()
    taken = json.loads(download.value.path().read_text(encoding="utf-8"))
    assert "I live in Ellisund." in [fact["text"] for fact in taken["facts"]]
    assert taken["dialogues"]
    page.get_by_role("button", name="Delete everything about me").click()
    page.get_by_role("button", name="Delete everything", exact=True).click()
    expect(page.locator(".facts")).to_contain_text("Nothing yet.")
    expect(page.locator(".welcome")).to_be_visible()
    expect(page.locator(".dialogues .item")).to_have_count(0)


def test_a_folder_is_uploaded_searched_asked_and_removed(page_session, ask, tmp_path):
    (tmp_path / "boats" / "old").mkdir(parents=True)
    (tmp_path / "boats" / "old" / "heron.md").write_text("# Heron\n\nThe Heron carries 40 passengers.\n")
    (tmp_path / "boats" / "picture.zip").write_bytes(b"PK")
    (tmp_path / "boats" / ".hidden.md").write_text("secret")
    page = page_session()
    page.get_by_role("tab", name="Documents").click()
    expect(page.locator(".source", has_text="Documents")).to_contain_text("passages")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose a folder").click()
    chooser.value.set_files(tmp_path / "boats")
    expect(page.locator(".files:not(.report) .file")).to_have_count(1)
    expect(page.locator(".files:not(.report) .file")).to_contain_text("boats/old/heron.md")
    page.get_by_label("Search for").fill("passengers")
    page.get_by_label("Search for").press("Enter")
    expect(page.locator(".found .evidence")).to_contain_text("The Heron carries 40 passengers.")
    assert "40 passengers" in ask(page, "How many passengers does the Heron carry?")
    page.get_by_role("button", name="Delete boats/old/heron.md").click()
    expect(page.locator(".files:not(.report) .file")).to_have_count(0)
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.locator(".files:not(.report) .file")).to_contain_text("boats/old/heron.md")
    assert "40 passengers" in ask(page, "How many passengers has the Heron?")


@pytest.mark.slow
def test_a_folder_is_dropped(page_session, tmp_path):
    (tmp_path / "birds" / "sea").mkdir(parents=True)
    (tmp_path / "birds" / "sea" / "gulls.md").write_text("# Gulls\n\nGulls steal chips.\n")
    (tmp_path / "birds" / "notes.bin").write_bytes(b"x")
    page = page_session("/page/?agent=wren")
    box = page.locator(".talk").bounding_box()  # anywhere on the page
    data = {"items": [], "files": [str(tmp_path / "birds")], "dragOperationsMask": 1}
    devtools = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        place = {"x": box["x"] + 20, "y": box["y"] + 20}
        devtools.send("Input.dispatchDragEvent", {"type": kind, "data": data, **place})
    expect(page.locator(".files:not(.report) .file", has_text="birds/sea/gulls.md")).to_have_count(1)
    expect(page.locator(".report .failed")).to_contain_text("birds/notes.bin")
    expect(page.locator(".drop.over, .dropping")).to_have_count(0)


def test_files_that_come_the_moment_the_documents_are_drawn_are_sent(page_session):
    """The uploader learns its whole address a moment after it is drawn; files that came before went nowhere."""
    page = page_session("/page/?agent=wren")
    page.evaluate("""() => {
        const file = new File(["# Terns\\n\\nTerns dive for sand eels."], "terns.md");
        const watch = new MutationObserver(() => {
            const place = document.querySelector(".drop");
            if (!place) return;
            watch.disconnect();
            place.dispatchEvent(new CustomEvent("files", { detail: [file] }));
        });
        watch.observe(document.body, { childList: true, subtree: true });
    }""")
    page.get_by_role("tab", name="Documents").click()
    expect(page.locator(".files:not(.report) .file", has_text="terns.md")).to_have_count(1)


def test_a_file_that_does_not_arrive_is_named(page_session, tmp_path):
    (tmp_path / "puffins.md").write_text("# Puffins\n\nPuffins nest in burrows.\n")
    page = page_session("/page/?agent=wren", requests_fail=True)
    page.route("**/upload/*", lambda route: route.abort())
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Attach files").click()
    chooser.value.set_files([tmp_path / "puffins.md"])
    expect(page.locator(".report .failed")).to_contain_text("puffins.md")
    expect(page.locator(".report .failed")).to_contain_text("not sent")


def test_a_file_is_replaced_and_read_again(page_session, tmp_path):
    (tmp_path / "otters.md").write_text("# Otters\n\nOtters swim in the old dock.\n")
    (tmp_path / "otters-2.txt").write_text("Otters swim in the new dock.\n\nThey eat crabs.\n")
    page = page_session("/page/?agent=wren")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Attach files").click()
    chooser.value.set_files([tmp_path / "otters.md"])
    page.get_by_role("button", name="Show what I read in otters.md").click()
    expect(page.locator(".preview")).to_contain_text("old dock")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Replace").click()
    assert not chooser.value.is_multiple()
    chooser.value.set_files([tmp_path / "otters-2.txt"])
    expect(page.locator(".files .read", has_text="otters-2.txt")).to_contain_text("read · ")
    expect(page.locator(".files .file", has_text="otters.md")).to_have_count(0)
    page.get_by_role("button", name="Show what I read in otters-2.txt").click()
    expect(page.locator(".preview")).to_contain_text("new dock")
    page.get_by_role("button", name="Read again").click()
    expect(page.locator(".files .read", has_text="otters-2.txt")).to_contain_text("read again · ")


def test_a_citation_of_a_pdf_opens_its_page_with_the_quote_marked(page_session, ask, browser, address):
    """A PDF of two pages, as Chromium prints it."""
    printer = browser.new_page()
    printer.set_content(
        "<title>Herons</title><h1>Day</h1><p>By day the heron stands in the reeds.</p>"
        "<h1 style='page-break-before: always'>Night</h1><p>The night heron hunts at 23:40 below the long pier.</p>"
        "<p>It eats eels.</p>"
    )
    content = printer.pdf()
    printer.close()
    page = page_session("/page/?agent=wren")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Attach files").click()
    chooser.value.set_files([{"name": "herons.pdf", "mimeType": "application/pdf", "buffer": content}])
    expect(page.locator(".files .read", has_text="herons.pdf")).to_be_visible()
    assert "23:40" in ask(page, "When does the night heron hunt?")
    page.get_by_role("button", name="Source 1").first.click()
    expect(page.locator(".cited .where").first).to_have_text("herons.pdf, page 2")
    link = page.locator(".cited").get_by_role("link", name="Open page 2 of herons.pdf")
    target = link.get_attribute("href")
    assert target.endswith("#page=2")
    answer = page.request.get(f"{address}/page/{target}")
    assert answer.headers["content-type"] == "application/pdf"
    pages = PdfReader(io.BytesIO(answer.body())).pages
    assert "/Annots" not in pages[0]
    assert [note.get_object()["/Subtype"] for note in pages[1]["/Annots"]] == ["/Highlight"]
    assert page.request.get(f"{address}/page/document?agent=wren&source=NOTES&passage=other").status == 404


def test_what_follows_a_cited_passage_is_read_under_the_reply(page_session, ask, tmp_path):
    parts = [f"## Part {n}\n\nThe toad number {n} sings in pond {n}." for n in range(1, 7)]
    (tmp_path / "toads.md").write_text("# Toads\n\n" + "\n\n".join(parts))
    page = page_session("/page/?agent=wren")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Attach files").click()
    chooser.value.set_files([tmp_path / "toads.md"])
    expect(page.locator(".files .read", has_text="toads.md")).to_be_visible()
    ask(page, "Where does the toad number 2 sing?")
    page.get_by_role("button", name="Read more").first.click()
    part = page.locator(".read-on", has_text="pond 2").first
    expect(part.locator(".after")).to_contain_text("pond 5")
    expect(part.locator(".after")).not_to_contain_text("pond 6")
    part.get_by_role("button", name="Read on").click()
    expect(part.locator(".after")).to_contain_text("pond 6")
    expect(part.locator(".after")).to_contain_text("The document ends here.")


def test_ollama_s_own_program_finds_the_server(page_session, address):
    assert page_session().request.head(f"{address}/").status == 200


def test_files_are_attached_beside_the_message(page_session, tmp_path):
    (tmp_path / "seals.md").write_text("# Seals\n\nSeals sleep on the north mole.\n")
    page = page_session("/page/?agent=wren")
    page.get_by_label("Your message").fill("half a thought")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Attach files").click()
    assert chooser.value.is_multiple()
    chooser.value.set_files([tmp_path / "seals.md"])
    expect(page.locator(".files .read", has_text="seals.md")).to_contain_text("read · 1 passage")
    expect(page.get_by_label("Your message")).to_have_value("half a thought")


@pytest.mark.slow
def test_very_many_files_at_once_are_all_read(page_session, tmp_path):
    for number in range(130):
        (tmp_path / f"shell-{number:03}.md").write_text(f"# Shell {number}\n\nThis shell has {number} ribs.\n")
    page = page_session("/page/?agent=wren")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Attach files").click()
    chooser.value.set_files(sorted(tmp_path.glob("shell-*.md")))
    expect(page.locator(".state")).to_contain_text("Files read: 130")
    page.get_by_role("button", name="Show all").click()
    expect(page.locator(".files .file", has_text="shell-129.md")).to_be_visible()


@pytest.mark.trust
def test_markup_in_documents_replies_and_messages_stays_text(page_session, ask):
    page = page_session()
    reply = ask(page, f"How often does the lamp at Crane Point flash? {HOSTILE}")
    assert HOSTILE in reply
    expect(page.locator(".turn.user .bubble")).to_contain_text(HOSTILE)
    expect(page.locator(".evidence .passage").first).to_contain_text(HOSTILE)
    page.get_by_role("tab", name="Memory").click()
    add = page.get_by_role("textbox", name="Add a fact")
    add.fill(f"My name is {HOSTILE}")
    add.press("Enter")
    expect(page.locator(".fact", has_text="onerror")).to_be_visible()
    page.locator(".fact", has_text="onerror").get_by_role("button", name="Delete").click()
    expect(page.locator(".fact", has_text="onerror")).to_have_count(0)
    page.reload()
    page.wait_for_selector(".turn, .welcome")
    assert page.locator("img").count() == 0
    assert page.evaluate("window.hacked") is None


@pytest.mark.slow
def test_escape_stops_a_reply_of_which_nothing_is_kept(page_session, ask):
    page = page_session()
    page.get_by_label("Your message").fill("Tell me slowly")
    page.get_by_label("Your message").press("Enter")
    expect(page.locator(".turn.agent .text")).to_contain_text("word1")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".stopped")).to_be_visible()
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    expect(page.locator(".turn.agent .thumb")).to_have_count(0)
    assert "6 francs" in ask(page, "What does a day ticket cost?")


@pytest.mark.slow
def test_a_turn_that_is_refused_says_why_and_the_next_one_is_answered(page_session, ask):
    page = page_session()
    page.get_by_label("Your message").fill("far too long " * 3000)
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".failure")).to_contain_text("at most 32,000 are read. Shorten it")
    assert "2 francs" in ask(page, "What does a dog cost?")


@pytest.mark.slow
def test_thumbs_and_a_better_answer(page_session, ask, address):
    page = page_session()
    ask(page, "What does a dog cost?")
    page.get_by_role("button", name="Good reply").click()
    expect(page.get_by_role("button", name="Good reply")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Bad reply").click()
    expect(page.get_by_role("button", name="Bad reply")).to_have_attribute("aria-pressed", "true")
    page.get_by_label("What would be a better reply?").fill("Two francs.")
    page.locator(".better").get_by_role("button", name="Send").click()
    expect(page.locator(".better")).to_have_count(0)
    lines = page.request.get(f"{address}/v1/feedback?agent=robin").text().splitlines()
    assert "Two francs." in [json.loads(line).get("better") for line in lines]
    page.reload()
    expect(page.get_by_role("button", name="Bad reply")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("button", name="Good reply")).to_have_attribute("aria-pressed", "false")


@pytest.mark.slow
def test_dialogues_are_listed_and_gone_on_with(page_session, ask):
    page = page_session()
    ask(page, "What does a dog need?")
    page.get_by_role("button", name="New chat").click()
    expect(page.locator(".welcome")).to_be_visible()
    ask(page, "Do children pay?")
    page.locator(".dialogues .item", has_text="What does a dog need?").first.click()
    expect(page.locator(".turn.user .bubble")).to_have_text("What does a dog need?")
    expect(page.locator(".turn.agent.selected")).to_have_count(1)
    count = page.locator(".dialogues .item").count()
    page.locator(".dialogues .entry", has=page.locator("[aria-current=true]")).hover()
    page.get_by_role("button", name="Options for: What does a dog need?").first.click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(page.locator(".welcome")).to_be_visible()
    expect(page.locator(".dialogues .item")).to_have_count(count - 1)
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.locator(".dialogues .item")).to_have_count(count)


@pytest.mark.slow
def test_two_runs_stand_beside_each_other(page_session):
    page = page_session()
    page.get_by_role("tab", name="Runs").click()
    runs = page.get_by_role("tabpanel", name="Runs")
    expect(runs.locator(".result")).to_have_count(1)
    expect(runs.locator("td.best")).to_have_text("61.0 ±2.0")
    expect(runs.get_by_role("img", name="Are the probabilities true?")).to_be_visible()
    runs.get_by_role("combobox", name="Compare with").click()
    page.get_by_role("option", name="The gate, anew").click()
    expect(runs.locator(".result")).to_have_count(2)
    expect(runs.locator("td.best")).to_have_text(["61.0 ±2.0", "72.0 ±2.0"])


@pytest.mark.slow
def test_the_look_follows_the_system_until_it_is_chosen_and_is_remembered(page_session):
    page = page_session(color_scheme="dark")
    expect(page.locator("body")).to_have_class(r_contains("body--dark"))
    page.get_by_role("button", name="Theme").click()
    expect(page.locator("body")).to_have_class(r_contains("body--light"))
    page.reload()
    page.wait_for_selector(".welcome")
    expect(page.locator("body")).to_have_class(r_contains("body--light"))


@pytest.mark.slow
def test_at_phone_width_the_panels_are_tabs(page_session, ask):
    page = page_session(viewport={"width": 375, "height": 740})
    ask(page, "What does a day ticket cost?")
    why = page.get_by_role("tabpanel", name="Why")
    expect(why).to_be_hidden()
    page.get_by_role("tab", name="Why").click()
    expect(why.locator(".evidence").first).to_be_visible()
    expect(page.get_by_label("Your message")).to_be_hidden()
    page.get_by_role("tab", name="Chat").click()
    expect(page.get_by_label("Your message")).to_be_visible()
    page.get_by_role("button", name="Why this reply").click()
    expect(why.locator(".evidence").first).to_be_visible()
    page.get_by_role("tab", name="Chat").click()
    page.get_by_role("button", name="Chats").click()
    expect(page.locator(".dialogues .item").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".dialogues .item").first).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


@pytest.mark.slow
def test_the_page_speaks_the_browser_s_language_until_another_is_chosen(page_session):
    page = page_session(locale="zh-CN")
    expect(page.get_by_role("tab", name="记忆")).to_be_visible()
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    page.get_by_role("button", name="English").click()
    expect(page.get_by_role("tab", name="Memory")).to_be_visible()


@pytest.mark.slow
def test_the_page_is_used_by_keyboard_alone(page_session):
    page = page_session()
    expect(page.get_by_label("Your message")).to_be_focused()
    assert page.evaluate("document.querySelector('a, button, input, textarea').className") == "skip"
    page.get_by_role("tab", name="Why").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Memory")).to_be_focused()
    expect(page.get_by_role("tab", name="Memory")).to_have_attribute("aria-selected", "true")
    nameless = page.evaluate(
        "[...document.querySelectorAll('button, input, textarea, a')].filter((e) => e.checkVisibility() && "
        "!(e.ariaLabel || e.innerText.trim() || e.labels?.length || e.placeholder || e.type === 'file'))"
        ".map((e) => e.outerHTML)"
    )
    assert nameless == []


@pytest.mark.slow
def test_a_server_with_keys_asks_for_one_once(page_session, agents, tmp_path_factory):
    home = tmp_path_factory.mktemp("keyed")
    ledger = SqliteLedger(home / "server.db")
    key, text = create(ledger, "ana's", user="ana")
    command = [sys.executable, "-m", "dragoman", "serve", str(agents / "robin"), "--port", "0"]
    with started([*command, "--keys", str(home / "server.db")], home) as (url, _):
        page = page_session(at=url, wait=".login")
        field = page.get_by_label("Key", exact=True)
        field.fill("dk_wrong")
        field.press("Enter")
        expect(page.get_by_role("alert")).to_have_text("This key is not valid.")
        planted = page.context.cookies()
        field.fill(text)
        field.press("Enter")
        expect(page.locator(".welcome")).to_be_visible()
        page_session(at=url, wait=".login", storage_state={"cookies": planted, "origins": []}).close()
        assert text not in page.content()
        assert all(text not in cookie["value"] for cookie in page.context.cookies())
        page.reload()
        expect(page.locator(".welcome")).to_be_visible()
        expect(page.get_by_role("tab", name="Runs")).to_have_count(0)
        ledger.revoke(key.id, 1.0)
        page.reload()
        expect(page.locator(".login")).to_be_visible()
        page.close()
    ledger.close()
    assert not [file for file in home.rglob("*") if file.is_file() and text.encode() in file.read_bytes()]


@pytest.mark.trust
def test_nothing_comes_from_elsewhere_and_no_frame_goes_around(page_session, address):
    page = page_session()
    response = page.request.get(f"{address}/page/")
    assert "frame-ancestors 'none'" in response.headers["content-security-policy"]
    asked = page.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert len(asked) > 5
    assert all(name.startswith(address) for name in asked)


def r_contains(name):
    import re

    return re.compile(rf"\b{name}\b")
