"""Describe the cost of a turn: calls, tokens and price."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.core.values import Usage

COST_WORDS: dict[str, tuple[str, str]] = {
    "cost.call": ("1 call of the model", "调用模型 1 次"),
    "cost.calls": ("{count} calls of the model", "调用模型 {count} 次"),
    "cost.tokens": ("{count} tokens", "{count} 个词元"),
    "cost.cached": ("{count} of them cached", "其中 {count} 个来自缓存"),
    "cost.thoughts": ("{count} of them thoughts", "其中 {count} 个用于思考"),
}
"""Labels in English and Chinese."""


def price_text(price: float) -> str:
    """A price in US dollars with two figures that matter: $0.0012, $1.30."""
    if price >= 0.995:
        return f"${price:,.2f}"
    return f"${price:.2g}" if price >= 0.0001 or not price else "under $0.0001"


def cost_text(usage: Usage, price: float | None, words: Mapping[str, str]) -> str:
    """One line about the cost of a turn; "" where no model was asked. `words` holds `COST_WORDS` of one language."""
    if not usage.calls:
        return ""
    calls = words["cost.call"] if usage.calls == 1 else words["cost.calls"].format(count=usage.calls)
    tokens = {"tokens": usage.total_tokens, "cached": usage.cached_tokens, "thoughts": usage.reasoning_tokens}
    parts = [words[f"cost.{name}"].format(count=f"{count:,}") for name, count in tokens.items() if count]
    return " · ".join([calls, *parts, *([] if price is None else [price_text(price)])])
