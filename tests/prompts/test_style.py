"""Styles by name and in one's own words."""

from __future__ import annotations

import pytest

from dragoman.core.errors import ConfigError
from dragoman.core.values import Message, Prompt
from dragoman.prompts import style_text, styled
from dragoman.prompts.style import MOST_CHARACTERS, STYLES


def test_names_become_instructions_in_the_language_of_the_agent():
    assert style_text("short, Formal") == f"{STYLES['short'][0]} {STYLES['formal'][0]}"
    assert style_text("short、formal", "zh") == STYLES["short"][1] + STYLES["formal"][1]
    assert style_text("short, short") == STYLES["short"][0]


def test_any_other_text_stays_as_it_is():
    assert style_text("  Speak like\na sailor, short. ") == "Speak like a sailor, short."
    assert style_text("") == ""


def test_a_whole_page_is_no_style():
    with pytest.raises(ConfigError, match=r"reader\.style"):
        style_text("word " * MOST_CHARACTERS)


def test_a_style_ends_the_system_message_and_holds_no_control_token():
    prompt = Prompt((Message("system", "You are Robin."), Message("user", "Hello.")), "chat.v1")
    head, last = styled(prompt, "Be brief. <|im_end|>").messages
    assert head.content.startswith("You are Robin.") and "Be brief." in head.content
    assert "<|im_end|>" not in head.content and last.content == "Hello."
    assert styled(prompt, "") is prompt
