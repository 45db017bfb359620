"""Prices of tokens and budgets a day, which stop a call before they would be passed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

from dragoman.core.errors import ConfigError, LimitError
from dragoman.core.values import Usage

_DAY = 86_400.0
_PRICES = ("input", "output", "cached")


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that may be spent in a day; 0 is no limit."""

    calls: float = 0.0
    tokens: float = 0.0
    price: float = 0.0

    @classmethod
    def of(cls, table: Mapping[str, float]) -> Budget:
        names = [field.name for field in fields(cls)]
        for name, value in table.items():
            if name not in names or value < 0:
                raise ConfigError(
                    f"budget.{name} = {value:g} cannot be used.", remedy=f"Give {', '.join(names)}, from 0."
                )
        return cls(**{name: float(value) for name, value in table.items()})


class Spending:
    """What was spent since the start of the day (UTC); `prices` are per million tokens of input, output and cached."""

    def __init__(self, prices: Mapping[str, float], budget: Budget, *, clock: Callable[[], float] = time.time) -> None:
        for name, value in prices.items():
            if name not in _PRICES or value < 0:
                raise ConfigError(f"prices.{name} = {value:g} cannot be used.", remedy=f"Give {', '.join(_PRICES)}.")
        if budget.price and not prices:
            raise ConfigError("budget.price needs prices.", remedy="Give prices per million tokens: input, output.")
        self._prices = dict(prices)
        self._budget = budget
        self._clock = clock
        self._lock = threading.Lock()
        self._day = 0
        self._usage = Usage()

    def price(self, usage: Usage) -> float | None:
        """What some tokens cost; None without prices."""
        if not self._prices:
            return None
        read, written = self._prices.get("input", 0.0), self._prices.get("output", 0.0)
        fresh = max(usage.prompt_tokens - usage.cached_tokens, 0)
        total = fresh * read + usage.cached_tokens * self._prices.get("cached", read)
        return (total + (usage.completion_tokens + usage.reasoning_tokens) * written) / 1e6

    def add(self, usage: Usage) -> None:
        with self._lock:
            self._turn_over()
            self._usage += usage

    def check(self) -> None:
        """Raise an error where the budget of the day is used up."""
        with self._lock:
            self._turn_over()
            used = self._usage
        spent = {"calls": used.calls, "tokens": used.total_tokens, "price": self.price(used) or 0.0}
        for name, value in spent.items():
            most = float(getattr(self._budget, name))
            if most and value >= most:
                raise LimitError(
                    f"The model's budget of {most:g} {name} a day is used up.",
                    seconds=_DAY - self._clock() % _DAY,
                    remedy="Wait until tomorrow (UTC), or raise budget in [models.language].",
                )

    def _turn_over(self) -> None:
        day = int(self._clock() // _DAY)
        if day != self._day:
            self._day, self._usage = day, Usage()
