"""Schemas of request bodies and of responses in the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from dragoman.server.http.control_schemas import ControlFields

Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]
Said: TypeAlias = Annotated[str, Field(min_length=1, max_length=100_000)]


class Strict(BaseModel):
    """A request body of our own API: unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Lenient(BaseModel):
    """A request body of OpenAI's API: unknown fields are ignored."""

    model_config = ConfigDict(extra="allow", frozen=True)


# OpenAI's


class ContentPart(Lenient):
    """A part of a message; only text is supported."""

    type: str
    text: str | None = None


class ChatMessage(Lenient):
    """One message of the history."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[ContentPart] | None = None


class StreamOptions(Lenient):
    include_usage: bool = False


class ChatExtension(ControlFields):
    """Dragoman's extension of a chat request: the dialogue, and control of the turn."""

    dialogue: Name | None = None


StopText: TypeAlias = Annotated[str, Field(max_length=500)]
Metadata: TypeAlias = Annotated[
    dict[Annotated[str, Field(max_length=64)], Annotated[str, Field(max_length=512)]], Field(max_length=16)
]


class JsonSchema(Lenient):
    """A JSON schema for the reply; OpenAI's clients put it under `schema`."""

    name: Annotated[str, Field(max_length=200)] = "reply"
    schema_: Annotated[dict[str, Any], Field(alias="schema")] = {}
    strict: bool | None = None


class ResponseFormat(Lenient):
    """The form of a reply: text, or JSON by a schema."""

    type: Literal["text", "json_object", "json_schema"] = "text"
    json_schema: JsonSchema | None = None


class ChatRequest(Lenient):
    """A request of OpenAI's chat API; `model` is an agent's name."""

    model: Name
    messages: list[ChatMessage] = Field(min_length=1, max_length=2000)
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: Annotated[int, Field(ge=1, le=128)] | None = 1
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    stop: StopText | Annotated[list[StopText], Field(max_length=4)] | None = None
    response_format: ResponseFormat | None = None
    user: Annotated[str, Field(max_length=512)] | None = None
    metadata: Metadata | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    seed: int | None = None
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    dragoman: ChatExtension | None = None

    @property
    def most_tokens(self) -> int | None:
        """The smaller one of the two limits of a reply."""
        limits = [limit for limit in (self.max_tokens, self.max_completion_tokens) if limit is not None]
        return min(limits, default=None)

    @property
    def stops(self) -> tuple[str, ...]:
        return () if self.stop is None else (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)


class InputItem(Lenient):
    """One item of the input of a response: a message."""

    type: str = "message"
    role: Literal["system", "developer", "user", "assistant"] = "user"
    content: str | list[ContentPart] = ""


class TextConfig(Lenient):
    """The form of a response's text: `format` is `{"type": "text"}`, or `json_schema` with `name` and `schema`."""

    format: dict[str, Any] | None = None


class ResponsesRequest(Lenient):
    """A request of OpenAI's Responses API; `model` is an agent's name."""

    model: Name
    input: Said | Annotated[list[InputItem], Field(min_length=1, max_length=2000)]
    instructions: Annotated[str, Field(max_length=100_000)] | None = None
    previous_response_id: Annotated[str, Field(max_length=1000)] | None = None
    stream: bool | None = False
    max_output_tokens: Annotated[int, Field(ge=1)] | None = None
    text: TextConfig | None = None
    user: Annotated[str, Field(max_length=512)] | None = None
    metadata: Metadata | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None


class OllamaMessage(Lenient):
    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""


class OllamaOptions(Lenient):
    """Options of a generation: `num_predict` and `stop` limit the reply, the others have no meaning for an agent."""

    num_predict: int | None = None
    stop: StopText | Annotated[list[StopText], Field(max_length=4)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    seed: int | None = None


class OllamaChatRequest(Lenient):
    """A request of Ollama's chat API; `model` is an agent's name, with or without `:latest`."""

    model: Name
    messages: list[OllamaMessage] = Field(min_length=1, max_length=2000)
    stream: bool | None = True
    format: Literal["", "json"] | dict[str, Any] | None = None
    options: OllamaOptions | None = None


class OllamaShowRequest(Lenient):
    model: Annotated[str, Field(max_length=200)] = ""
    name: Annotated[str, Field(max_length=200)] = ""


class EmbeddingsRequest(Lenient):
    """A request of OpenAI's embeddings API; `model` is an agent's name, whose encoder is used."""

    model: Name
    input: Said | Annotated[list[Said], Field(min_length=1, max_length=256)]
    encoding_format: Literal["float", "base64"] | None = "float"
    dimensions: Annotated[int, Field(ge=1)] | None = None


# Ours


class TurnRequest(ControlFields):
    """A user turn. Without a dialogue, a new one is started."""

    text: Said
    agent: Annotated[str, Field(max_length=200)] = ""
    dialogue: Name | None = None


class SearchRequest(Strict):
    query: Said
    k: Annotated[int, Field(ge=1, le=50)] = 5


class FactRequest(Strict):
    """A fact, as the user would say it."""

    text: Said


class DialogueChange(Strict):
    """What to change of a dialogue; what is not given stays."""

    title: Annotated[str, Field(max_length=500)] | None = None
    pinned: bool | None = None


class FeedbackRequest(Strict):
    """A thumb for a reply, or whether it needed a search: the last one of a dialogue, or the one at `turn`."""

    dialogue: Name
    thumb: Literal["up", "down"] | None = None
    needed: bool | None = None
    turn: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    better: Said | None = None


# Answers. They are written by `views`; these say to the reader of the OpenAPI document what is in them.


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


class Gate(BaseModel):
    retrieve: bool
    probability: float
    reason: str


class Plan(BaseModel):
    steps: list[list[str]]
    probabilities: dict[str, float]
    reason: str


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


class ErasureView(BaseModel):
    facts: int
    chats: int
    files: int


class LearnedView(BaseModel):
    added: list[FactView]
    superseded: list[FactView]
    joined: list[FactView]
    forgotten: list[str]
    restored: list[FactView] = []
    pending: ErasureView | None = None
    erased: ErasureView | None = None


class NoteView(BaseModel):
    role: str
    component: str
    seconds: float
    kind: Literal["memory", "gate", "plan", "evidence", "draft", "refined"]
    value: dict[str, Any]


class Extension(BaseModel):
    """Explanation of a reply. In a stream, fields known before the text are sent before it, the others after it."""

    dialogue: str
    memory: LearnedView | None
    gate: Gate
    plan: Plan
    sources: list[SourceEvidence]
    ignored: list[str] | None = None
    instructions: Literal["used", "unused"] | None = None
    turn: int
    confidence: float
    method: str
    quoted: list[str]
    refined: list[dict[str, Any]]
    seconds: float
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


class ChatChoice(BaseModel):
    index: int
    message: ChatChoiceMessage
    logprobs: None
    finish_reason: Literal["stop", "length"]


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


class OllamaReply(BaseModel):
    """An answer of Ollama's chat API; streams send its text in pieces before it, one object a line."""

    model: str
    created_at: str
    message: dict[str, Any]
    done: bool
    done_reason: str | None = None
    total_duration: int | None = None
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    dragoman: Extension | None = None


class OllamaModels(BaseModel):
    models: list[dict[str, Any]]


class OllamaModel(BaseModel):
    details: dict[str, Any]
    model_info: dict[str, Any]
    capabilities: list[str]
    modelfile: str
    parameters: str
    template: str
    modified_at: str


class OllamaVersion(BaseModel):
    version: str


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


class FactList(BaseModel):
    object: Literal["list"]
    data: list[FactView]


class DialogueSummary(BaseModel):
    id: str
    turns: int
    begins: str


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
