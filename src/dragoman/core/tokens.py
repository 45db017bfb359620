"""The special tokens of a unified model and the sequence that they order (UniMS-RAG, Table I; SAFARI, section 3).

A sequence consists of pieces: text, which is never parsed, and tokens. So text that looks like a token stays text, and
parsing exactly reverses formatting. How a token becomes ids of a vocabulary is `models/unified/token_spelling.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dragoman.core.errors import ConfigError, InputError
from dragoman.core.values import SourceName

Style: TypeAlias = Literal["unims", "safari"]
NULL_NAME = "NULL"
STEPS = 10
"""Steps of the similarity scale: tenths."""


@dataclass(frozen=True, slots=True)
class Token:
    """A special token by its name, such as EVIDENCE, PERSONA or 0.7; `kind` keeps a source called EOS apart."""

    kind: Literal["indicator", "acting", "evaluation"]
    name: str

    def __str__(self) -> str:
        return f"[{self.name}]"


Piece: TypeAlias = str | Token

SOURCE = Token("indicator", "SOURCE")
END_OF_SOURCES = Token("indicator", "EOS")
EVIDENCE = Token("indicator", "EVIDENCE")
END_OF_EVIDENCE = Token("indicator", "EOE")
MIDDLE = Token("indicator", "MIDDLE")
END_OF_MIDDLE = Token("indicator", "EOM")
AND = Token("indicator", "AND")
"""Separates pieces of evidence in SAFARI's middle, where the paper writes a comma."""
CHECK = Token("indicator", "CHECK")
"""Starts a plan that is generated after all candidates were read."""
NULL = Token("acting", NULL_NAME)
EVALUATION = tuple(Token("evaluation", f"{tenth / STEPS:.1f}") for tenth in range(STEPS + 1))


@dataclass(frozen=True, slots=True)
class Shown:
    """A piece of evidence as it stands in a sequence; `tenths` is its similarity, None where the grammar has none."""

    source: SourceName
    text: str
    tenths: int | None = None


@dataclass(frozen=True, slots=True)
class WrittenSequence:
    """The part after a dialogue: the planned sources in order, their evidence, and the response."""

    plan: tuple[SourceName, ...] = ()
    evidence: tuple[Shown, ...] = ()
    response: str = ""


@dataclass(frozen=True, slots=True)
class Grammar:
    """The tokens for a set of sources, and the grammar of their order.

    unims:  [SOURCE] K.. [EOS] ([EVIDENCE] K text [EOE] similarity).. response
    safari: [SOURCE] K.. [EOS] [MIDDLE] K text [AND] K text .. [EOM] response
    The plan without sources is [SOURCE] [NULL] [EOS]; SAFARI's middle is left out where there is no evidence.
    """

    sources: tuple[SourceName, ...]
    style: Style = "unims"

    def __post_init__(self) -> None:
        if not self.sources or len(set(self.sources)) < len(self.sources) or NULL_NAME in self.sources:
            raise ConfigError(
                f"The sources {list(self.sources)} cannot be told apart by tokens.",
                remedy=f"Give at least one, each once, and none called {NULL_NAME}.",
            )
        if self.style not in ("unims", "safari"):
            raise ConfigError(f"Unknown grammar '{self.style}'.", remedy="Use unims or safari.")

    @property
    def acting(self) -> tuple[Token, ...]:
        """NULL and a token for each source."""
        return NULL, *(Token("acting", name) for name in self.sources)

    @property
    def evaluation(self) -> tuple[Token, ...]:
        return EVALUATION if self.style == "unims" else ()

    @property
    def indicators(self) -> tuple[Token, ...]:
        own = (EVIDENCE, END_OF_EVIDENCE, CHECK) if self.style == "unims" else (MIDDLE, AND, END_OF_MIDDLE)
        return SOURCE, END_OF_SOURCES, *own

    @property
    def tokens(self) -> tuple[Token, ...]:
        """All tokens, sources last, so that a new source does not shift the others."""
        return *self.indicators, *self.evaluation, *self.acting

    def token(self, source: SourceName) -> Token:
        if source not in self.sources:
            raise InputError(
                f"The source '{source}' has no token: the grammar has {', '.join(self.sources)}.",
                remedy="Train again with it, or leave it out of the plan.",
            )
        return Token("acting", source)

    def plan(self, sources: Sequence[SourceName]) -> tuple[Token, ...]:
        """[SOURCE] K.. [EOS]."""
        asked = tuple(self.token(name) for name in sources) or (NULL,)
        return SOURCE, *asked, END_OF_SOURCES

    def opened(self, shown: Shown) -> tuple[Piece, ...]:
        """A piece of evidence without its similarity: [EVIDENCE] K text [EOE]."""
        return EVIDENCE, self.token(shown.source), shown.text, END_OF_EVIDENCE

    def evidence(self, evidence: Sequence[Shown]) -> tuple[Piece, ...]:
        """The evidence section between the plan and the response."""
        if self.style == "unims":
            return tuple(piece for shown in evidence for piece in (*self.opened(shown), similarity(shown.tenths)))
        middle: list[Piece] = []
        for number, shown in enumerate(evidence):
            middle += [AND] if number else []
            middle += [self.token(shown.source), shown.text]
        return (MIDDLE, *middle, END_OF_MIDDLE) if middle else ()

    def format(self, written: WrittenSequence) -> tuple[Piece, ...]:
        """The pieces of a sequence, without the dialogue before it."""
        return *self.plan(written.plan), *self.evidence(written.evidence), written.response

    def parse(self, pieces: Sequence[Piece]) -> WrittenSequence:
        """The inverse of `format`; raises with the position of the first error."""
        reading = _SequenceParser(self, pieces)
        plan = reading.plan()
        evidence = tuple(reading.judged() if self.style == "unims" else reading.middle())
        return WrittenSequence(plan, evidence, reading.response())


def similarity(tenths: int | None) -> Token:
    """The evaluation token of a similarity in tenths."""
    if tenths is None or not 0 <= tenths <= STEPS:
        raise InputError(f"A similarity of {tenths} tenths cannot be said.", remedy=f"Give 0 to {STEPS}.")
    return EVALUATION[tenths]


def tenths(value: float) -> int:
    """A similarity in [0, 1] as tenths, halves upwards."""
    return min(STEPS, max(0, int(value * STEPS + 0.5 + 1e-9)))


class _SequenceParser:
    """Parser that walks over the pieces of one sequence."""

    def __init__(self, grammar: Grammar, pieces: Sequence[Piece]) -> None:
        self._grammar = grammar
        self._pieces = pieces
        self._at = 0

    def plan(self) -> tuple[SourceName, ...]:
        self._token(SOURCE)
        if self._peek() == NULL:
            self._take()
            self._token(END_OF_SOURCES)
            return ()
        asked: list[SourceName] = []
        while self._peek() != END_OF_SOURCES or not asked:
            name = self._source()
            if name in asked:
                raise self._wrong(f"'{name}' is asked twice")
            asked.append(name)
        self._take()
        return tuple(asked)

    def judged(self) -> Iterator[Shown]:
        while self._peek() == EVIDENCE:
            self._take()
            source, text = self._source(), self._text()
            self._token(END_OF_EVIDENCE)
            token = self._take()
            if token not in EVALUATION:
                raise self._wrong("no similarity follows the evidence")
            yield Shown(source, text, EVALUATION.index(token))

    def middle(self) -> Iterator[Shown]:
        if self._peek() != MIDDLE:
            return
        while self._peek() != END_OF_MIDDLE:
            self._take()  # MIDDLE, or AND
            yield Shown(self._source(), self._text())
            if self._peek() not in (AND, END_OF_MIDDLE):
                raise self._wrong("evidence neither goes on nor ends")
        self._take()

    def response(self) -> str:
        text = self._text()
        if self._at < len(self._pieces):
            raise self._wrong("something follows the response")
        return text

    def _peek(self) -> Piece | None:
        return self._pieces[self._at] if self._at < len(self._pieces) else None

    def _take(self) -> Piece | None:
        piece = self._peek()
        self._at += 1
        return piece

    def _token(self, wanted: Token) -> None:
        if self._take() != wanted:
            raise self._wrong(f"{wanted} is missing")

    def _source(self) -> SourceName:
        piece = self._take()
        if not isinstance(piece, Token) or piece.kind != "acting" or piece.name not in self._grammar.sources:
            raise self._wrong("no source is named")
        return piece.name

    def _text(self) -> str:
        piece = self._take()
        if not isinstance(piece, str):
            raise self._wrong("text is missing")
        return piece

    def _wrong(self, what: str) -> InputError:
        return InputError(f"The sequence cannot be read: {what} at piece {self._at}.", remedy="See docs/unified.md.")
