"""Prices of tokens, and budgets for a day and for a turn: a call that would pass one is refused before it is made."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields

from dragoman.core.errors import ConfigError, LimitError
from dragoman.core.values import Usage
from dragoman.models.metering import Meter, record, turn_meter

_DAY = 86_400.0
_PRICES = ("input", "output", "cached")
_ONE_CALL = Usage(calls=1)


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that may be spent in a day or a turn; 0 is no limit."""

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
    """Spending since the start of the day (UTC); `prices` are per million tokens of input, output and cached.

    `budget` holds for a day, `turn_budget` for a turn (`metering.turn_meter`).
    """

    def __init__(
        self,
        prices: Mapping[str, float],
        budget: Budget,
        turn_budget: Budget | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        for name, value in prices.items():
            if name not in _PRICES or value < 0:
                raise ConfigError(f"prices.{name} = {value:g} cannot be used.", remedy=f"Give {', '.join(_PRICES)}.")
        turn_budget = turn_budget or Budget()
        if (budget.price or turn_budget.price) and not prices:
            raise ConfigError(
                "A budget for the price needs prices.", remedy="Give prices per million tokens: input, output."
            )
        self._prices = dict(prices)
        self._budget = budget
        self._turn_budget = turn_budget
        self._clock = clock
        self._lock = threading.Lock()
        self._day = 0
        self._usage = Usage()
        self._running: list[tuple[Meter | None, Usage]] = []
        """Calls that were let through and have not ended, with their turns."""

    def price(self, usage: Usage, charged: float | None = None) -> float | None:
        """Return the cost of tokens: by the prices, else what the endpoint `charged`; None without either."""
        if not self._prices:
            return charged
        read, written = self._prices.get("input", 0.0), self._prices.get("output", 0.0)
        fresh = max(usage.prompt_tokens - usage.cached_tokens, 0)
        total = fresh * read + usage.cached_tokens * self._prices.get("cached", read)
        return (total + (usage.completion_tokens + usage.reasoning_tokens) * written) / 1e6

    def add(self, usage: Usage, charged: float | None = None) -> None:
        """Count a call, for the day and for the open meters."""
        with self._lock:
            self._turn_over()
            self._usage += usage
        record(usage, self.price(usage, charged))

    @contextmanager
    def reserved(self, expected: Usage = _ONE_CALL) -> Iterator[None]:
        """Hold the `expected` size of a call while it runs; an error where it would pass a budget with the others."""
        meter = turn_meter()
        entry = (meter, expected)
        with self._lock:
            self._turn_over()
            self._check(meter, expected)
            self._running.append(entry)
        try:
            yield
        finally:
            with self._lock:
                self._running = [other for other in self._running if other is not entry]

    def _check(self, meter: Meter | None, expected: Usage) -> None:
        running = sum((usage for _, usage in self._running), self._usage)
        if name := self._passed(self._budget, running + expected):
            raise LimitError(
                f"The next call would pass the model's budget of {getattr(self._budget, name):g} {name} a day.",
                seconds=_DAY - self._clock() % _DAY,
                remedy="Wait until tomorrow (UTC), or raise budget in [models.language].",
            )
        if meter is None:
            return
        running = sum((usage for turn, usage in self._running if turn is meter), meter.usage)
        if name := self._passed(self._turn_budget, running + expected, times=meter.turns):
            raise LimitError(
                f"The next call would pass the model's budget of {getattr(self._turn_budget, name):g} {name} a turn.",
                seconds=0.0,
                remedy="Raise turn_budget in [models.language].",
            )

    def _passed(self, budget: Budget, usage: Usage, *, times: int = 1) -> str:
        """The name of the first limit that the usage passes; "" where it passes none."""
        spent = {"calls": usage.calls, "tokens": usage.total_tokens, "price": self.price(usage) or 0.0}
        return next(
            (name for name, value in spent.items() if 0 < float(getattr(budget, name)) * times < value),
            "",
        )

    def _turn_over(self) -> None:
        day = int(self._clock() // _DAY)
        if day != self._day:
            self._day, self._usage = day, Usage()
