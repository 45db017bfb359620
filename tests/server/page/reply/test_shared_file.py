"""A chat as a file for others: readable without a server, and harmless whatever stands in it."""

from __future__ import annotations

import asyncio
import re
from html.parser import HTMLParser

import pytest

from dragoman.core.errors import AbsentError
from dragoman.server.access.caller import LOCAL
from dragoman.server.page.reply.shared_file import shared_html
from dragoman.server.page.texts import words

HOSTILE = '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 2">'
NAME = "20261118-120000-abcdef"


class Tags(HTMLParser):
    """Collects the tags of a file, and its attributes."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes = set(), set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.fixture
def file(make_house):
    """Asks something in a chat and gives the file of it."""

    def make(*questions, lang="en"):
        async def scene():
            service = make_house()
            seat = service.hosted("").seat(LOCAL)
            for question in questions:
                seat.assistant.ask(question, user=seat.user, dialogue=NAME)
            made = await service.do(LOCAL, "", shared_html, NAME, words("en"), lang=lang)
            await service.close()
            return made

        return asyncio.run(scene())

    return make


@pytest.mark.trust
def test_a_shared_chat_has_no_scripts_and_loads_nothing(file):
    made = file(f"What is this? {HOSTILE}")
    found = Tags()
    found.feed(made)
    assert not found.tags & {"script", "img", "iframe", "object", "embed", "form", "button", "input", "base"}
    assert not [name for name in found.attributes if name.startswith("on") or name == "src"]
    assert "default-src 'none'" in made.replace("&#x27;", "'")
    assert "&lt;script&gt;window.hacked = 1" in made


def test_a_shared_chat_has_its_title_turns_and_days(file):
    made = file("When does the boat leave?", "And the second one?")
    assert made.startswith("<!doctype html>") and '<html lang="en">' in made
    assert "<h1>When does the boat leave?</h1>" in made
    assert made.count('class="said"') == 2 and made.count('class="reply"') == 2
    assert re.search(r'<time datetime="20\d\d-', made)


def test_a_chat_that_is_not_there_cannot_be_shared(file):
    with pytest.raises(AbsentError):
        file()
