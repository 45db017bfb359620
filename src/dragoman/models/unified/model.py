"""The unified model, one language model that plans, judges evidence and answers: contract and inputs of its runtimes.

`TreeShape` says how a turn becomes tokens, the same when it is trained and when it runs; `TurnTokens` makes the tokens;
`Unified` is the protocol of a runtime, in torch (`torch_model.py`) or in llama.cpp (`llama_model.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeAlias

from dragoman.core.errors import InputError, WeightsError
from dragoman.core.tokens import CHECK, Grammar, Piece, Shown, WrittenSequence
from dragoman.core.values import Context, Draft, SourceName
from dragoman.models.unified.token_spelling import Spelling
from dragoman.text.view import View

KIND = "unified"
Order: TypeAlias = tuple[SourceName, ...]
LayoutName: TypeAlias = Literal["tree", "paper", "plain"]
LAYOUTS: tuple[LayoutName, ...] = ("tree", "paper", "plain")
TOP_P = 0.95
"""Nucleus of sampling: a response is drawn from the most probable tokens that together have this probability."""
_LONG_TOKEN = 20
"""Characters of a token that is long in any language."""


@dataclass(frozen=True, slots=True)
class TreeShape:
    """How a turn becomes a tree of tokens.

    tree:  the dialogue is the trunk; each candidate is a branch on it, or on the candidate that it depends on; the
           plan, the evidence that was taken and the response are one plain branch.
    paper: dialogue and plan are the trunk; each piece of evidence is a branch that sees no other; the response sees
           them all.
    plain: everything in one line, each sees all before it (SAFARI; UniMS-RAG without its mask).
    """

    grammar: Grammar
    layout: LayoutName = "tree"
    view: View = field(default_factory=lambda: View(turns=0, order="oldest"))
    window: int = 1024
    """The most tokens of a line from the dialogue's beginning to the response's end."""
    candidate: int = 96
    """The most tokens of a piece of evidence."""
    response: int = 128
    """The most tokens of a response."""

    def to_json(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in ("layout", "window", "candidate", "response")}
        return own | {
            "sources": list(self.grammar.sources),
            "style": self.grammar.style,
            "view": self.view.to_json(),
        }

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> TreeShape:
        try:
            rest = {name: value for name, value in table.items() if name not in ("sources", "style", "view")}
            grammar = Grammar(tuple(table["sources"]), table["style"])
            shape = cls(grammar, view=View.from_json(table["view"]), **rest)
            if shape.layout in LAYOUTS:
                return shape
        except (KeyError, TypeError) as error:
            raise WeightsError(f"A unified part cannot be read: {error!r}.", remedy="Train it again.") from error
        raise WeightsError(f"Unknown layout '{shape.layout}' of a unified part.", remedy="Train it again.")


@dataclass(frozen=True, slots=True)
class CandidatePassage:
    """A passage to judge; `parent` is the index in the same list of the passage that it depends on."""

    source: SourceName
    text: str
    parent: int | None = None


@dataclass(frozen=True, slots=True)
class Judging:
    """The candidates of one turn to judge; only the paper's layout reads `plan`."""

    context: Context
    candidates: tuple[CandidatePassage, ...]
    plan: Order = ()


@dataclass(frozen=True, slots=True)
class Writing:
    """A response to be written: after a plan and evidence with their similarities; `written.response` is empty.

    `ending` is added to the logit of the end: below 0 a response goes on for longer. A `temperature` of 0 writes the
    most probable token, more draws one by `seed` (from 0, below 2^31), whatever is written beside it. What comes twice
    is the same up to rounding, which depends on what of a prompt was read before and, in 16 bits, on the batch.
    """

    context: Context
    written: WrittenSequence
    ending: float = 0.0
    temperature: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < math.inf or not 0 <= self.seed < 2**31:
            raise InputError(
                f"A response cannot be drawn with temperature {self.temperature} and seed {self.seed}.",
                remedy="Give a temperature from 0, and a seed from 0 and below 2^31.",
            )


class Unified(Protocol):
    """Runtime of a unified model. Probabilities are over closed sets of options and sum to one."""

    @property
    def shape(self) -> TreeShape: ...

    def plan(self, contexts: Sequence[Context], orders: Sequence[Order]) -> list[dict[Order, float]]:
        """The probability of each order of sources, from the dialogue alone; orders are legal, () is NULL."""
        ...

    def judge(self, requests: Sequence[Judging]) -> list[list[float]]:
        """The expected similarity of each candidate, all of a turn in one packed pass."""
        ...

    def check(
        self, requests: Sequence[Judging], orders: Sequence[Order]
    ) -> list[tuple[dict[Order, float], list[float]]]:
        """The probability of each order after all candidates were read, and the candidates' similarities."""
        ...

    def write(self, requests: Sequence[Writing], *, max_tokens: int) -> list[Draft]:
        """A draft for each; common beginnings, as of several drafts of one response, are read once."""
        ...

    def stream(self, request: Writing, *, max_tokens: int) -> Iterator[str | Draft]: ...

    def warm_up(self) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class TurnTokens:
    """Converts turns to tokens, by a shape, a spelling, a tokenizer's `encode` for plain text, and the end token."""

    shape: TreeShape
    spelling: Spelling
    encode: Callable[[str], list[int]]
    end: int

    def trunk(self, context: Context, room: int) -> tuple[tuple[int, ...], int]:
        """The newest turns of the dialogue that fit into `room` tokens, and the number of turns left out."""
        if room < 1:
            raise InputError("There is no room for the dialogue.", remedy="Raise the window, or shorten the evidence.")
        turns = self._dialogue_tokens(context)
        if len(turns) <= room or len(context.turns) < 2:
            return tuple(turns[-room:]), 0
        left_out, most = 1, len(context.turns) - 1
        while left_out < most:  # the fewest turns without which the rest fits; the last one is cut rather than left out
            middle = (left_out + most) // 2
            fits = len(self._dialogue_tokens(replace(context, turns=context.turns[middle:]))) <= room
            left_out, most = (left_out, middle) if fits else (middle + 1, most)
        return tuple(self._dialogue_tokens(replace(context, turns=context.turns[left_out:]))[-room:]), left_out

    def is_cut(self, context: Context, room: int) -> bool:
        """Whether even the newest turn alone is longer than `room` tokens, so that its beginning is lost."""
        return len(self._dialogue_tokens(replace(context, turns=context.turns[-1:]))) > room

    def plan(self, order: Order) -> tuple[int, ...]:
        """[SOURCE] K.. [EOS]."""
        return self.ids(self.shape.grammar.plan(order))

    def check(self, order: Order) -> tuple[int, ...]:
        """[CHECK] [SOURCE] K.. [EOS]."""
        return self.ids((CHECK, *self.shape.grammar.plan(order)))

    def branch(self, source: SourceName, text: str) -> tuple[int, ...]:
        """[EVIDENCE] K text [EOE], the text cut to what a candidate may have."""
        opening = self.shape.grammar.opened(Shown(source, ""))
        text_ids = self._cut(text, self.shape.candidate)
        return (*self.ids(opening[:2]), *text_ids, *self.ids(opening[3:]))

    def evidence(self, evidence: Sequence[Shown]) -> tuple[int, ...]:
        """All evidence in a line, as it stands between plan and response, each cut to what a candidate may have."""
        return self.ids(self.shape.grammar.evidence(evidence), cut=self.shape.candidate)

    def response(self, text: str) -> tuple[int, ...]:
        """The response and its end."""
        return (*self.encode(text)[: self.shape.response - 1], self.end)

    def is_too_long(self, text: str) -> bool:
        """Whether a piece of evidence is longer than a candidate may be, so that its end is lost."""
        most = self.shape.candidate
        if len(text.encode("utf-8", "replace")) <= most:  # no token is shorter than a byte
            return False
        return len(self._cut(text, most + 1)) > most

    def ids(self, pieces: Sequence[Piece], *, cut: int | None = None) -> tuple[int, ...]:
        ids: list[int] = []
        for piece in pieces:
            ids += self._cut(piece, cut) if isinstance(piece, str) else self.spelling.ids[piece]
        return tuple(ids)

    def _cut(self, text: str, size: int | None) -> list[int]:
        """The first tokens of a text; text far beyond is cut before tokenising, since a megabyte takes seconds."""
        return self.encode(text if size is None else text[: size * _LONG_TOKEN])[:size]

    def _dialogue_tokens(self, context: Context) -> list[int]:
        return self.encode(self.shape.view.text(context)[-self.shape.window * _LONG_TOKEN :] + "\n")
