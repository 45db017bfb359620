"""Protocols of the components. No inheritance is needed: any class with these methods conforms.

Batch is the primitive: every method takes a sequence and returns results in the same order and length.
Constructors are cheap and do no I/O; weights load on first use. Running leaves no state behind that
changes a later answer. `dragoman.testing` holds a conformance suite for each contract.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from dragoman.core.values import (
    About,
    Answered,
    Context,
    Draft,
    Evidence,
    Hit,
    Learned,
    Passage,
    Plan,
    Prompt,
    Query,
    ReadTask,
    Receipt,
    Request,
    Scope,
    Source,
    SourceName,
    Turn,
    Verdict,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dragoman.core.codec import Json

    FloatArray: TypeAlias = NDArray[np.float32]


@runtime_checkable
class Gate(Protocol):
    """Decides whether a turn needs retrieval: RAGate's f(c), or f(c, e) with evidence."""

    def decide(
        self, turns: Sequence[Context], evidence: Sequence[Sequence[Evidence]] | None = None
    ) -> Sequence[Verdict]: ...


@runtime_checkable
class Planner(Protocol):
    """Chooses the sources and their order. Plans respect `needs`; NULL if no source is needed."""

    def plan(self, turns: Sequence[Context], sources: Sequence[Source]) -> Sequence[Plan]: ...


@runtime_checkable
class Retriever(Protocol):
    """The best k passages for each request, best first, with calibrated relevance in [0, 1].

    It never returns an id in `without`, a row outside the request's scope, or more than k rows of a source.
    """

    def retrieve(self, requests: Sequence[Request]) -> Sequence[Sequence[Evidence]]: ...


@runtime_checkable
class Reader(Protocol):
    """Writes the answer; `stream` yields pieces whose concatenation is what `read` would give."""

    def read(self, tasks: Sequence[ReadTask]) -> Sequence[Draft]: ...

    def stream(self, task: ReadTask) -> Iterator[str | Draft]:
        """Text pieces, then, last, the whole `Draft`."""
        ...


@runtime_checkable
class Critic(Protocol):
    """Scores whether evidence supports a text: a probability in [0, 1] for each pair."""

    def consistency(self, pairs: Sequence[tuple[Evidence, str]]) -> Sequence[float]: ...


@runtime_checkable
class LanguageModel(Protocol):
    """Generates, and chooses among options with probabilities that sum to one."""

    def generate(self, prompts: Sequence[Prompt], *, max_tokens: int, stop: Sequence[str] = ()) -> Sequence[Draft]: ...

    def stream(self, prompt: Prompt, *, max_tokens: int, stop: Sequence[str] = ()) -> Iterator[str | Draft]:
        """Text pieces, then, last, the whole `Draft`."""
        ...

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str]) -> Sequence[Mapping[str, float]]: ...


@runtime_checkable
class Encoder(Protocol):
    """Texts to unit vectors: an array of shape (len(texts), dimensions), float32.

    An encoder that encodes passages differently from questions also has `encode_passages`: the same
    signature, the same space (`passage_vectors` calls the right one).

    An encoder whose vectors depend on more than its kind and options has a property `space`, the name of its vector
    space; stored vectors of another space are replaced.
    """

    @property
    def dimensions(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> FloatArray: ...


@runtime_checkable
class Memory(Protocol):
    """Learns facts from a user's last turn, and carries out requests to remember or forget."""

    def learn(self, turns: Sequence[Context]) -> Sequence[Learned]: ...


@runtime_checkable
class Store(Protocol):
    """The database of passages and dialogues. Every call takes a scope and touches rows of exactly that scope.

    Rows that a tenant shares lie under `scope.shared`; `Source.scope` says which one a source uses.
    A write is durable when its call returns.
    """

    def put(self, scope: Scope, passages: Sequence[Passage], vectors: FloatArray | None = None) -> int:
        """Write passages by id, all or none; return the number of new or changed ones (same content is a no-op)."""
        ...

    def get(self, scope: Scope, ids: Sequence[str]) -> Sequence[Passage | None]: ...

    def passages(
        self, scope: Scope, source: SourceName, *, origin: str | None = None, superseded: bool = False
    ) -> Iterator[Passage]:
        """Live rows of a source in order of insertion; with `superseded`, the replaced rows instead."""
        ...

    def count(self, scope: Scope, source: SourceName) -> int: ...

    def remove(self, scope: Scope, ids: Sequence[str]) -> int: ...

    def supersede(self, scope: Scope, id: str, by: str, *, meta: Mapping[str, str] | None = None) -> None:
        """Mark a row as replaced by another, and add to its meta; it stays in the store, but no search returns it."""
        ...

    def lexical(self, queries: Sequence[Query]) -> Sequence[Sequence[Hit]]:
        """BM25 over the rows of each query's scope and source."""
        ...

    def nearest(self, queries: Sequence[Query]) -> Sequence[Sequence[Hit]]:
        """Cosine over the rows of each query's scope and source that have vectors."""
        ...

    def frequencies(self, scope: Scope, source: SourceName, tokens: Sequence[str]) -> tuple[int, Mapping[str, int]]:
        """The number of rows of a source, and in how many of them each token occurs."""
        ...

    def append(
        self, scope: Scope, dialogue: str, turns: Sequence[Turn], trace: Json = None, *, under: Receipt | None = None
    ) -> None:
        """Add turns to a dialogue, with the trace of the agent's turn, all or none.

        `under` a receipt they are added once: a second time is a StoreTwiceError, and nothing is added. A turn without
        `said_at` gets the current time.
        """
        ...

    def answered(self, scope: Scope, request: str) -> Answered | None:
        """The turn that is stored under a request id."""
        ...

    def dialogue(self, scope: Scope, dialogue: str) -> Sequence[Turn]: ...

    def dialogues(self, scope: Scope) -> Sequence[str]: ...

    def trace(self, scope: Scope, dialogue: str) -> Json:
        """The trace of a dialogue's last agent turn."""
        ...

    def traces(self, scope: Scope, dialogue: str) -> Sequence[Json]:
        """The trace of each turn of a dialogue, in the order of `dialogue`; None where a turn has none."""
        ...

    def redact(self, scope: Scope, texts: Sequence[str]) -> int:
        """Blank a scope's turns, and delete its traces, that contain any of the texts; return the number of turns."""
        ...

    def erase_turns(self, scope: Scope, dialogue: str, places: Sequence[int] | None = None) -> int:
        """Delete a dialogue with its traces, or blank the turns at some positions; return the number of turns."""
        ...

    def keep(self, scope: Scope, key: str, value: str) -> None:
        """Store a small value under a key: ingest ledger, versions, settings."""
        ...

    def kept(self, scope: Scope, key: str) -> str | None: ...

    def forget(self, scope: Scope) -> int:
        """Erase a scope so that no byte of it stays in any file; return the number of rows erased."""
        ...

    def close(self) -> None: ...


def warm(*components: object) -> None:
    """Call `warm_up` of each component that has it, one after the other."""
    for component in components:
        load = getattr(component, "warm_up", None)
        if load is not None:
            load()


def passage_vectors(encoder: Encoder, texts: Sequence[str], *, about: About = "world") -> FloatArray:
    """Encode rows of a source: by `encode_passages` if the encoder has it, else by `encode`.

    Both share one vector space, so that they can be compared with questions, which `encode` always encodes. Statements
    about the user or the bot are encoded like questions, since decisions depend on their cosine.
    """
    if about != "world":
        return encoder.encode(texts)
    vectors: FloatArray = getattr(encoder, "encode_passages", encoder.encode)(texts)
    return vectors


def by_about(passages: Sequence[Passage], sources: Sequence[Source]) -> dict[About, list[Passage]]:
    """Group passages by what their source is about, in their order; an unknown source counts as `world`."""
    about = {source.name: source.about for source in sources}
    groups: dict[About, list[Passage]] = {}
    for passage in passages:
        groups.setdefault(about.get(passage.source, "world"), []).append(passage)
    return groups
