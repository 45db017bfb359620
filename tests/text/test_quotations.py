"""What of a turn is quoted, and what is the speaker's own word."""

from __future__ import annotations

import itertools

import pytest
from tests.effort import assert_linear

from dragoman.text.quotations import own_words, quoted_spans


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("I live in Bern.", "I live in Bern."),
        ('He said "I live in Bern" to me.', "He said to me."),
        ("She wrote: “I am vegan.”", "She wrote:"),
        ("Er sagte: „Ich wohne in Bern“ und ging.", "Er sagte: und ging."),
        ("Il dit « j'habite à Berne ».".replace("« ", "«").replace(" »", "»"), "Il dit ."),
        ("他说：“我住在杭州。”我住在北京。", "他说：我住在北京。"),
        ('他说"我住在杭州"。', "他说。"),
        ("我在读《忘记一切》。", "我在读。"),
        ("「忘れて」と言った", "と言った"),
        ("My sister wrote: 'I am allergic to nuts' yesterday.", "My sister wrote: yesterday."),
        ("It's Ana's dog, and I don't mind.", "It's Ana's dog, and I don't mind."),
        ("'Tis the season, isn't it", "'Tis the season, isn't it"),
        ("I'm 5'11\" and my desk is 60\" wide.", "I'm 5'11\" and my desk is 60\" wide."),
        ("> I live in Paris.\n> So do I.\nI live in Bern.", "I live in Bern."),
        ("  > quoted\nmine", "mine"),
        ("Look:\n```\nmy name = 'Bob'\n```\nI am Ana.", "Look:\nI am Ana."),
        ("Look:\n~~~\nI am Bob.", "Look:"),
        ("Use `rm -rf` here", "Use here"),
        ('She said "I live in Bern.\n\nI live in Basel.', "She said \n\nI live in Basel."),
        ("“a “b” c”", "c”"),
        ('""', ""),
        ("", ""),
    ],
)
def test_quotations_are_dropped_and_own_words_stay(text, own):
    assert own_words(text) == own


def test_spans_are_in_order_apart_and_within_the_text():
    text = "> one\nmine 'two' \"three\" mine\n```\nfour\n```\n“five"
    spans = quoted_spans(text)
    assert [text[begin:end].strip() for begin, end in spans] == ["> one", "'two'", '"three"', "```\nfour\n```", "“five"]
    assert all(first[1] <= second[0] for first, second in itertools.pairwise(spans))


@pytest.mark.parametrize("piece", ["'a ", '"a ', "“", "> a\n", "``` a\n", "'a' ", '\n\n"a', "‘x "])
def test_a_long_text_is_read_in_linear_time(piece):
    assert_linear(lambda size: quoted_spans(piece * (size // len(piece))), 200_000)


PASTED = ["the a a a ", "she said ", "She said: a\n\n", "Ana: a.\n", "From: a\n", "[quote", "| a |\n", '" she ', "他说"]


@pytest.mark.parametrize("piece", PASTED)
def test_a_long_text_full_of_introductions_is_read_in_linear_time(piece):
    assert_linear(lambda size: own_words(piece * (size // len(piece))), 30_000)
