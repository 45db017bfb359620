"""How long the page keeps a browser busy at once: the longest task of each step in a chat of sixty replies.

    python benchmarks/speed/page_frames.py               sixty replies
    python benchmarks/speed/page_frames.py --replies 20  fewer

A frame is late where a task takes more than 50 ms. The processor time of the page's own thread is what the page asks
for; the time by the clock is longer where the machine does other things. Needs Playwright and Chromium (`CHROMIUM`).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

AGENT_NAME = "frames"
AGENT = """
[[sources]]
name = "MEMORY"
about = "user"
private = true
[[sources]]
name = "DOCUMENTS"
description = "prices and opening hours of a ferry"
path = "documents"
[models.language]
kind = "model.scripted.v1"
default = "I would not know."
[models.encoder]
kind = "encoder.hashing.v1"
[gate]
kind = "gate.always.v1"
[planner]
kind = "planner.all.v1"
[retriever]
kind = "retriever.sparse.v1"
[reader]
kind = "reader.extractive.v1"
[memory]
ask_model = false
"""
DOCUMENT = "# Prices\n\nA day ticket costs 6 francs. A dog needs a ticket of its own, which costs 2 francs.\n"
QUESTIONS = ("What does a day ticket cost?", "Which ticket does a dog need?", "What costs 2 francs?")
DIALOGUE = "frames-of-the-page"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
CATEGORIES = "toplevel,devtools.timeline,disabled-by-default-devtools.timeline,__metadata"
TASKS = ("RunTask", "ThreadControllerImpl::RunTask")
LATE = 50.0


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """A server of a small agent, without weights; its address."""
    (folder / AGENT_NAME / "documents").mkdir(parents=True)
    (folder / AGENT_NAME / "agent.toml").write_text(AGENT, encoding="utf-8")
    (folder / AGENT_NAME / "documents" / "prices.md").write_text(DOCUMENT, encoding="utf-8")
    command = [sys.executable, "-m", "dragoman", "serve", str(folder / AGENT_NAME), "--port", "0"]
    environment = {**os.environ, "DRAGOMAN_HOME": str(folder / "home")}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            words = (word for line in process.stdout for word in line.split())
            yield next(word for word in words if word.startswith("http://127.0.0.1")).rstrip("/")
        finally:
            process.terminate()


def converse(address: str, replies: int) -> None:
    """Fill a chat over the API."""
    with httpx.Client(base_url=address, timeout=60) as client:
        for number in range(replies):
            message = {"role": "user", "content": QUESTIONS[number % len(QUESTIONS)]}
            body = {"model": AGENT_NAME, "messages": [message], "dragoman": {"dialogue": DIALOGUE}}
            client.post("/v1/chat/completions", json=body).raise_for_status()


class Recorder:
    """Records the tasks of a page's own thread while something is done."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self._devtools = page.context.new_cdp_session(page)
        self._events: list[Mapping[str, Any]] = []
        self._is_done = False
        self._devtools.on("Tracing.dataCollected", lambda message: self._events.extend(message["value"]))
        self._devtools.on("Tracing.tracingComplete", lambda _: setattr(self, "_is_done", True))

    def longest(self, do: Callable[[], object]) -> tuple[float, float]:
        """Milliseconds of the longest task: by the thread's processor time, and by the clock."""
        self._events, self._is_done = [], False
        self._devtools.send("Tracing.start", {"categories": CATEGORIES, "transferMode": "ReportEvents"})
        do()
        self._page.wait_for_timeout(1200)
        self._devtools.send("Tracing.end")
        while not self._is_done:
            self._page.wait_for_timeout(50)
        threads = {
            (event["pid"], event["tid"])
            for event in self._events
            if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
        }
        tasks = [
            (event.get("tdur", 0) / 1000, event["dur"] / 1000)
            for event in self._events
            if event["name"] in TASKS and event.get("ph") == "X" and (event["pid"], event["tid"]) in threads
        ]
        return max(cpu for cpu, _ in tasks), max(clock for _, clock in tasks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replies", type=int, default=60, metavar="N", help="replies in the chat (60)")
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM)), None)
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as address, sync_playwright() as playwright:
        converse(address, options.replies)
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 860}, locale="en-GB")
        recorder = Recorder(page)
        print(f"{'':34}{'processor':>10}{'clock':>8}   longest task, ms ({LATE:.0f}: a late frame)")

        def step(name: str, do: Callable[[], object]) -> None:
            cpu, clock = recorder.longest(do)
            print(f"{name:34}{cpu:10.0f}{clock:8.0f}{'   late' if cpu > LATE else ''}", flush=True)

        def opened() -> None:
            page.goto(f"{address}/page/?agent={AGENT_NAME}&dialogue={DIALOGUE}")
            page.wait_for_selector(".turn")

        def shown() -> int:
            return int(page.locator(".turn.agent").count())

        step("load the page", lambda: page.goto(f"{address}/page/?agent={AGENT_NAME}"))
        step("load it with the chat", opened)
        while page.locator(".earlier").count():
            before = shown()
            step(f"show messages before the last {before}", lambda: page.locator(".earlier").click())
        print(f"{shown()} replies are shown.")
        field = page.get_by_label("Your message")
        page.mouse.move(500, 400)
        step("scroll", lambda: [page.mouse.wheel(0, -700) for _ in range(15)])
        step("type", lambda: field.press_sequentially("What does a dog cost?", delay=30))
        step("ask, and the reply", lambda: field.press("Enter"))
        step("select a reply", lambda: page.locator(".turn.agent .text").nth(5).click())
        step("open Memory", lambda: page.get_by_role("tab", name="Memory").click())
        browser.close()


if __name__ == "__main__":
    main()
