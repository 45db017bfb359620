"""The page in a real browser: one server for all tests, a Chromium a file, a fresh context for each."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from ...agent_files import ALL_SOURCES, MEMORY, NOTES, ROBIN, RULES_ALONE, WITHOUT_WEIGHTS
from ...agent_files import DOCUMENTS as OWN_DOCUMENTS

PAGE_SERVER = Path(__file__).with_name("page_server.py")
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run", "--mute-audio")
AGENT = (
    ROBIN
    + MEMORY
    + NOTES
    + OWN_DOCUMENTS
    + WITHOUT_WEIGHTS
    + ALL_SOURCES
    + RULES_ALONE
    + """
[retriever]
kind = "retriever.sparse.v1"
k = 2
[reader]
kind = "reader.extractive.v1"
[critic]
kind = "critic.overlap.v1"
[refiner]
mode = "{mode}"
"""
)
HOSTILE = '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2">'
DOCUMENTS = {
    "prices.md": "# Prices\n\nA day ticket costs 6 francs. Children under four travel free.\n",
    "dogs.md": "# Dogs\n\nA dog needs a ticket of its own, which costs 2 francs.\n",
    "lamps.txt": f"The lamp at Crane Point flashes {HOSTILE} every nine seconds.\n",
}


@pytest.fixture(scope="session")
def agents(tmp_path_factory):
    """A folder with two agents: `robin`, and `wren`, whose replies are refined."""
    folder = tmp_path_factory.mktemp("agents")
    for name, mode in (("robin", "off"), ("wren", "within-step")):
        (folder / name / "documents").mkdir(parents=True)
        (folder / name / "agent.toml").write_text(AGENT.replace("{mode}", mode), encoding="utf-8")
        for file, text in DOCUMENTS.items():
            (folder / name / "documents" / file).write_text(text, encoding="utf-8")
    return folder


@contextmanager
def started(command, home):
    """A server as a process; gives the address that it prints first, and stops it at the end."""
    environment = {**os.environ, "DRAGOMAN_HOME": str(home), "OMP_NUM_THREADS": "1"}
    environment.pop("PYTEST_CURRENT_TEST", None)  # NiceGUI compresses nothing where it stands
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, cwd=home
    )
    said = []
    try:
        for line in process.stdout:
            said.append(line)
            address = next((word for word in line.split() if word.startswith("http://127.0.0.1")), None)
            if address is not None:
                break
        else:
            pytest.fail(f"The server did not start:\n{''.join(said)}")
        drain = threading.Thread(target=lambda: said.extend(process.stdout), daemon=True)
        drain.start()
        yield address.rstrip("/"), said
    finally:
        process.terminate()
        process.wait(20)
        drain.join(5)
        process.stdout.close()
    assert process.returncode == 0, "".join(said)


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """The folder that the server without keys writes to."""
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="session")
def address(agents, home):
    """The address of a server without keys."""
    command = [sys.executable, str(PAGE_SERVER), str(agents), str(home / "state")]
    with started(command, home) as (url, said):
        yield url
    assert not [line for line in said if "Traceback" in line or "failed" in line], "".join(said)


@pytest.fixture(scope="module")  # an event loop drives it, and other tests need one of their own
def browser():
    """A headless Chromium: Debian's, which `make test` installs where it is missing."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=60_000)
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        pytest.fail("There is no Chromium. Install it: apt-get install chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, headless=True, args=list(FLAGS))
        yield launched
        launched.close()


@pytest.fixture
def page_session(browser, address):
    """Opens the page for a new visitor; nothing may go wrong in the browser meanwhile."""
    contexts, wrong = [], []

    def go(path="/", *, wait=".welcome, .turn", at=None, requests_fail=False, script="", **options):
        given = {"viewport": {"width": 1280, "height": 860}, "locale": "en-GB", **options}
        context = browser.new_context(**given)
        context.set_default_timeout(60_000)
        contexts.append(context)
        page = context.new_page()
        if script:
            page.add_init_script(script)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        if not requests_fail:
            page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.goto(f"{at or address}{path}")
        page.wait_for_selector(wait)
        return page

    yield go
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture
def ask():
    """Asks something and waits for the whole reply; its text."""

    def send(page, text):
        before = page.locator(".turn.agent .thumb").count()
        page.get_by_label("Your message").fill(text)
        page.get_by_label("Your message").press("Enter")  # wherever the focus has gone meanwhile
        page.wait_for_function("n => document.querySelectorAll('.turn.agent .thumb').length > n", arg=before)
        return page.locator(".turn.agent .text").last.inner_text()

    return send
