"""SAFARI's unsupervised planner: the language model names the sources, zero-shot or with examples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from dragoman import prompts
from dragoman.core.protocols import LanguageModel
from dragoman.core.registry import planners
from dragoman.core.values import Context, Plan, Source

_NULL = "NULL"
_BEFORE, _AFTER = r"(?<![a-z0-9_-])", r"(?![a-z0-9_-])"
"""Where a name of such letters begins and ends; Chinese stands beside it without a space."""


@planners.register("prompted.v1")
class PromptedPlanner:
    """Planner that prompts a language model; undeclared names stay in the plan, for the agent's fallback to handle."""

    def __init__(
        self,
        *,
        language_model: LanguageModel,
        language: str = "en",
        style: Literal["zero-shot", "in-context"] = "in-context",
        max_tokens: int = 24,
    ) -> None:
        self._model = language_model
        self._language = language
        self._style = style
        self._max_tokens = max_tokens

    def plan(self, turns: Sequence[Context], sources: Sequence[Source]) -> Sequence[Plan]:
        template = prompts.get(f"plan-{self._style}.v1", self._language)
        asked = [
            template.format(
                sources=prompts.sources(sources, self._language),
                order=prompts.order(sources, self._language),
                dialogue=prompts.dialogue(context, self._language),
            )
            for context in turns
        ]
        drafts = self._model.generate(asked, max_tokens=self._max_tokens, stop=("\n",))
        return [parse(draft.text, sources, draft.confidence) for draft in drafts]


def parse(text: str, sources: Sequence[Source], confidence: float = 1.0) -> Plan:
    """Parse a model's plan: declared names in its order, NULL, or else the unknown word that it wrote."""
    declared = {source.name.casefold(): source.name for source in sources}
    said_names = _mentioned(text, [*declared, _NULL.casefold()])
    named = list(dict.fromkeys(declared[name] for name in said_names if name in declared))
    if named:
        return Plan(tuple((name,) for name in named), dict.fromkeys(named, confidence), "prompted")
    if said_names:
        return Plan(reason="prompted: NULL")
    answer = text.strip().splitlines()[0][:40] if text.strip() else "nothing"
    return Plan(((answer,),), reason=f"prompted: said {answer!r}")


def _mentioned(text: str, names: Sequence[str]) -> list[str]:
    """Return the names that a text mentions, in its order; of two at one place the longer."""
    longest = sorted(names, key=len, reverse=True)
    written = (re.escape(name) for name in longest)
    pattern = "|".join(f"{_BEFORE}{name}{_AFTER}" if name.isascii() else name for name in written)
    return re.findall(pattern, text.casefold())
