"""The written cases of `data/rules.toml`, and how a decision on one is judged."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from dragoman.decision import Decision, applies

FILE = Path(__file__).parent / "data" / "rules.toml"


@dataclass(frozen=True, slots=True)
class Case:
    """A rule, what the user said, a question, and the verdict that is right."""

    kind: str
    rule: str
    facts: tuple[str, ...]
    question: str
    verdict: str
    missing: str = ""
    value: str = ""
    today: str = ""
    held: bool = False
    fails: bool = False
    """Whether code is known not to decide it yet."""

    def decide(self) -> Decision:
        """The decision by code alone."""
        today = date.fromisoformat(self.today) if self.today else None
        return applies(self.rule, self.facts, self.question, today=today)

    def is_right(self, decision: Decision) -> bool:
        """Whether the verdict is right, and what is missing or granted where the case says it."""
        return (
            decision.verdict == self.verdict
            and self.missing in ("", decision.missing)
            and self.value in ("", decision.value)
        )

    def is_harmful(self, decision: Decision) -> bool:
        """Whether a decision says yes or no where that is wrong."""
        return decision.verdict in ("yes", "no") and decision.verdict != self.verdict


def read() -> list[Case]:
    """Every case of the file."""
    table = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return [Case(**{**case, "facts": tuple(case["facts"])}) for case in table["cases"]]
