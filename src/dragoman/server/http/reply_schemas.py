"""Schemas of replies in the OpenAPI document; `views` writes them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel


class GateView(BaseModel):
    retrieve: bool
    probability: float
    reason: str


class PlanView(BaseModel):
    steps: list[list[str]]
    probabilities: dict[str, float]
    reason: str
    since: str = ""
    until: str = ""
    latest: bool = False


class PassageView(BaseModel):
    id: str
    source: str
    title: str
    headings: list[str]
    text: str
    origin: str
    meta: dict[str, str]


class SourceEvidence(PassageView):
    relevance: float
    scores: dict[str, float]


class FactView(BaseModel):
    id: str
    text: str
    about: str
    value: str
    said: str
    origin: str
    said_at: str = ""
    valid_from: str = ""
    valid_until: str = ""


class ErasedView(BaseModel):
    """A line of a receipt: so many were erased from a file, and the SHA-256 of what they held."""

    place: str
    what: str
    count: int
    sha256: str


class ErasureView(BaseModel):
    facts: int
    chats: int
    files: int
    receipt: list[ErasedView] = []


class WishView(BaseModel):
    """A standing wish about the wording of replies."""

    id: str
    text: str
    kind: Literal["length", "language", "address", "style"]
    said: str


class LearnedView(BaseModel):
    added: list[FactView]
    superseded: list[FactView]
    joined: list[FactView]
    forgotten: list[str]
    restored: list[FactView] = []
    pending: ErasureView | None = None
    erased: ErasureView | None = None
    wishes: list[WishView] = []
    ended_wishes: list[str] = []
    dropped: list[FactView] = []


class NoteView(BaseModel):
    role: str
    component: str
    seconds: float
    kind: Literal["memory", "gate", "plan", "evidence", "draft", "refined"]
    value: dict[str, Any]


class CostView(BaseModel):
    """Model calls of every role; `price` is in US dollars, null where the model has no prices."""

    calls: int
    cached_tokens: int
    reasoning_tokens: int
    price: float | None


class Extension(BaseModel):
    """Explanation of a reply. In a stream, fields known before the text are sent before it, the others after it."""

    dialogue: str
    memory: LearnedView | None
    gate: GateView
    plan: PlanView
    sources: list[SourceEvidence]
    ignored: list[str] | None = None
    instructions: Literal["used", "unused"] | None = None
    sampling: Literal["used", "unused"] | None = None
    turn: int | None
    confidence: float
    method: str
    quoted: list[str]
    refined: list[dict[str, Any]]
    seconds: float
    cost: CostView
    trace: list[NoteView]
    replayed: bool = False


class UsageView(BaseModel):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class TurnView(Extension):
    """Data of the event `done`."""

    agent: str
    text: str
    usage: UsageView


class ChatChoiceMessage(BaseModel):
    role: Literal["assistant"]
    content: str | None
    refusal: str | None = None
    tool_calls: list[dict[str, Any]] | None = None


class ChatChoice(BaseModel):
    index: int
    message: ChatChoiceMessage
    logprobs: None
    finish_reason: Literal["stop", "length", "tool_calls"]


class ChatCompletion(BaseModel):
    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[ChatChoice]
    usage: UsageView
    dragoman: Extension


class ResponseObject(BaseModel):
    """An answer of the Responses API; `output` holds one message."""

    id: str
    object: Literal["response"]
    created_at: int
    status: Literal["completed", "incomplete", "in_progress", "failed"]
    model: str
    output: list[dict[str, Any]]
    usage: dict[str, Any] | None
    previous_response_id: str | None
    dragoman: Extension | None = None
