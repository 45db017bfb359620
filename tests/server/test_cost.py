"""What a turn cost, in words."""

from __future__ import annotations

import pytest

from dragoman.core.values import Usage
from dragoman.server.cost import COST_WORDS, cost_text, price_text

ENGLISH, CHINESE = ({key: words[which] for key, words in COST_WORDS.items()} for which in (0, 1))


@pytest.mark.parametrize(
    ("price", "text"),
    [
        (0.0, "$0"),
        (0.00001, "under $0.0001"),
        (0.00123, "$0.0012"),
        (0.25, "$0.25"),
        (1.304, "$1.30"),
        (1234, "$1,234.00"),
    ],
)
def test_a_price_has_two_figures_that_matter(price, text):
    assert price_text(price) == text


def test_a_cost_names_calls_tokens_and_price():
    usage = Usage(1200, 40, 2, cached_tokens=900, reasoning_tokens=60)
    text = cost_text(usage, 0.0012, ENGLISH)
    assert text == "2 calls of the model · 1,300 tokens · 900 of them cached · 60 of them thoughts · $0.0012"
    assert cost_text(Usage(10, 2, 1), None, ENGLISH) == "1 call of the model · 12 tokens"
    assert cost_text(Usage(), None, ENGLISH) == "", "no model was asked"
    assert "调用模型 2 次" in cost_text(usage, None, CHINESE)
