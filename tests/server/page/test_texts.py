"""The page speaks both languages fully."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest

import dragoman.server.page
from dragoman.server.page.texts import language_of, words

EN, ZH = words("en"), words("zh")
CODE = "\n".join(file.read_text(encoding="utf-8") for file in Path(dragoman.server.page.__file__).parent.rglob("*.py"))


def test_every_phrase_is_there_in_both_languages_with_the_same_places():
    assert EN.keys() == ZH.keys()
    for key, phrase in EN.items():
        assert phrase and ZH[key], key
        places = [{name for _, name, _, _ in Formatter().parse(text) if name} for text in (phrase, ZH[key])]
        assert places[0] == places[1], key


def test_every_phrase_that_the_page_asks_for_is_there():
    asked = set(re.findall(r"(?:words|labels)\[\"([a-z_.]+)\"", CODE))
    assert len(asked) > 150
    assert asked <= EN.keys()


def test_chinese_phrases_are_chinese():
    assert all(re.search("[\u3001-\u9fff]", phrase) for phrase in ZH.values())


@pytest.mark.parametrize(
    ("accepted", "chosen", "language"),
    [
        ("", None, "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", None, "zh"),
        ("en-GB,zh;q=0.9", None, "en"),
        ("de,zh-TW;q=0.5,en;q=0.2", None, "zh"),
        ("fr;q=x, zh", None, "zh"),
        ("zh-CN", "en", "en"),
        ("en", "<script>", "en"),
    ],
)
def test_the_browser_s_language_is_spoken_unless_another_was_chosen(accepted, chosen, language):
    assert language_of(accepted, chosen) == language
