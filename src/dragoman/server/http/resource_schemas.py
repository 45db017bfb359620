"""Schemas of the other responses in the OpenAPI document: lists, files, facts, chats, and problems."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

from dragoman.server.http.reply_schemas import ErasedView, FactView, PassageView, SourceEvidence, TurnView, WishView


class ProblemDetails(BaseModel):
    """A problem as of RFC 9457; `code` is stable."""

    type: str
    title: str
    status: int
    code: str
    detail: str | None = None
    remedy: str | None = None
    errors: list[dict[str, Any]] | None = None
    error: dict[str, Any] | str | None = None


class ModelView(BaseModel):
    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class ModelList(BaseModel):
    object: Literal["list"]
    data: list[ModelView]


class EmbeddingView(BaseModel):
    object: Literal["embedding"]
    index: int
    embedding: list[float] | str


class EmbeddingList(BaseModel):
    object: Literal["list"]
    data: list[EmbeddingView]
    model: str
    usage: dict[str, int]


class SourceView(BaseModel):
    name: str
    description: str
    about: Literal["world", "user", "bot"]
    needs: list[str]
    private: bool
    passages: int
    writable: bool


class AgentView(BaseModel):
    name: str
    title: str
    greeting: str
    examples: list[str]
    language: str
    models: list[str]
    sources: list[SourceView]


class WhoView(BaseModel):
    tenant: str
    user: str
    admin: bool
    key: str


class AgentList(BaseModel):
    object: Literal["list"]
    data: list[AgentView]
    caller: WhoView


class SourceList(BaseModel):
    object: Literal["list"]
    data: list[SourceView]


class EvidenceList(BaseModel):
    object: Literal["list"]
    data: list[SourceEvidence]


class FileView(BaseModel):
    name: str
    bytes: int
    modified: int
    passages: int


class FileList(BaseModel):
    object: Literal["list"]
    data: list[FileView]


class FailureView(BaseModel):
    path: str
    reason: str


class IngestView(BaseModel):
    files: int
    added: int
    changed: int
    removed: int
    unchanged: int
    failed: list[FailureView]
    seconds: float


class RemovedView(BaseModel):
    removed: int


class EverythingRemoved(RemovedView):
    """Result of an erasure with its receipt: counts by kind and file, and a SHA-256. It is stored nowhere."""

    receipt: list[ErasedView]


class FactList(BaseModel):
    object: Literal["list"]
    data: list[FactView]


class ImportedFactView(BaseModel):
    """A fact of a file; `other` is the fact that it repeats, replaces or precedes."""

    text: str
    said_at: str
    fate: Literal["new", "known", "replaces", "past"]
    other: str


class ImportView(BaseModel):
    facts: list[ImportedFactView]
    wishes: list[str]
    chats: int
    messages: int
    left_out: int
    instructions: int


class WishList(BaseModel):
    object: Literal["list"]
    data: list[WishView]


class DialogueSummary(BaseModel):
    id: str
    turns: int
    begins: str
    title: str
    pinned: bool


class DialogueList(BaseModel):
    object: Literal["list"]
    data: list[DialogueSummary]
    more: bool


class DialogueTurn(BaseModel):
    speaker: Literal["user", "agent"]
    text: str
    reply: TurnView | None


class DialogueView(BaseModel):
    id: str
    turns: list[DialogueTurn]


class ChatExport(DialogueView):
    """A dialogue with its settings."""

    agent: str
    title: str
    origin: Literal["page", "api", "mcp", "terminal"]
    pinned: bool
    user: str
    metadata: dict[str, str]


class ExportView(BaseModel):
    agent: str
    user: str
    facts: list[FactView]
    wishes: list[WishView] = []
    superseded: list[FactView]
    passages: list[PassageView]
    dialogues: list[DialogueView]
    feedback: list[dict[str, Any]]


class RunSummary(BaseModel):
    id: str
    name: str
    ended: str | None
    systems: list[str]
    sets: list[str]


class RunList(BaseModel):
    object: Literal["list"]
    data: list[RunSummary]


class Alive(BaseModel):
    status: Literal["ok"]


class Ready(BaseModel):
    status: Literal["ready"]
    agents: list[str]
