"""The spaces between Chinese words go; those between English words stay."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import ConfigError
from dragoman.datasets.loaders.kbp import Kbp
from dragoman.datasets.loaders.spacing import spaced, without_spaces

TEXTS = st.text(st.sampled_from(list("我你A9z ,.，。!(\u3000\xa0\t")), max_size=30)


@pytest.mark.parametrize(
    ("released", "read"),
    [
        ("我 喜欢 看 小说", "我喜欢看小说"),
        ("我 唱 My Way 吧", "我唱My Way吧"),
        ("The Slow Boats 是 乐队", "The Slow Boats是乐队"),
        ("（Wick and Glass）是 店", "（Wick and Glass）是店"),
        ("ok , you 好", "ok, you好"),
        ("10 月 3 日 。", "10月3日。"),
        (" 鹏城\xa0，是 市 ", "鹏城，是市"),
        ("A  B", "A B"),
        ("你好", "你好"),
        ("", ""),
    ],
)
def test_examples(released, read):
    assert without_spaces(released) == read


@given(TEXTS)
def test_nothing_but_space_is_lost(text):
    assert "".join(without_spaces(text).split()) == "".join(text.split())


@given(TEXTS)
def test_joining_twice_changes_nothing_more(text):
    assert without_spaces(without_spaces(text)) == without_spaces(text)


@given(TEXTS)
def test_no_space_is_left_beside_a_chinese_character(text):
    found = without_spaces(text)
    assert not any(f"{space}{mark}" in found or f"{mark}{space}" in found for mark in "我你，。" for space in " \t\xa0")


@given(st.lists(st.text("ABCxyz019", min_size=1), max_size=6))
def test_an_english_sentence_stays(words):
    assert without_spaces(" ".join(words)) == " ".join(words)


@given(TEXTS)
def test_keep_keeps_every_character(text):
    assert spaced(text, "keep") == text


def test_another_option_is_refused():
    with pytest.raises(ConfigError, match="spaces = 'drop'"):
        Kbp(file=Path("dev.json"), spaces="drop")
