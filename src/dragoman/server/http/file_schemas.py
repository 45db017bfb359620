"""Schemas of OpenAI's files and vector stores."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, Field

from dragoman.server.http.schemas import Lenient, Name, Said

FileName: TypeAlias = Annotated[str, Field(max_length=2000)]


class StoreRequest(Lenient):
    """A request for a vector store; `name` is a source's name."""

    name: Name | None = None
    file_ids: Annotated[list[FileName], Field(max_length=200)] = Field(default_factory=list)


class StoreFileRequest(Lenient):
    file_id: FileName


class FileBatchRequest(Lenient):
    file_ids: Annotated[list[FileName], Field(min_length=1, max_length=200)]


class RankingOptions(Lenient):
    score_threshold: Annotated[float, Field(ge=0, le=1)] = 0.0


class StoreSearchRequest(Lenient):
    """A search in a vector store: one query or several."""

    query: Said | Annotated[list[Said], Field(min_length=1, max_length=8)]
    max_num_results: Annotated[int, Field(ge=1, le=50)] = 10
    ranking_options: RankingOptions | None = None


class FileObject(BaseModel):
    """An uploaded file."""

    id: str
    object: Literal["file"]
    bytes: int
    created_at: int
    filename: str
    purpose: Literal["assistants"]
    status: Literal["processed"]
    status_details: None
    expires_at: None


class FileCounts(BaseModel):
    in_progress: int
    completed: int
    failed: int
    cancelled: int
    total: int


class VectorStore(BaseModel):
    """A source of documents; its counts are those of uploaded files."""

    id: str
    object: Literal["vector_store"]
    created_at: int
    name: str
    description: str
    usage_bytes: int
    file_counts: FileCounts
    status: Literal["completed"]
    last_active_at: int | None
    metadata: dict[str, str]
    expires_at: None


class StoreFile(BaseModel):
    """An uploaded file of a source."""

    id: str
    object: Literal["vector_store.file"]
    created_at: int
    usage_bytes: int
    vector_store_id: str
    status: Literal["completed"]
    last_error: None
    attributes: dict[str, int]


class FileBatch(BaseModel):
    id: str
    object: Literal["vector_store.files_batch"]
    created_at: int
    status: Literal["completed"]
    vector_store_id: str
    file_counts: FileCounts


class _Page(BaseModel):
    object: Literal["list"]
    first_id: str | None
    last_id: str | None
    has_more: bool


class FileObjectList(_Page):
    data: list[FileObject]


class VectorStoreList(_Page):
    data: list[VectorStore]


class StoreFileList(_Page):
    data: list[StoreFile]


class TextPart(BaseModel):
    type: Literal["text"]
    text: str


class FileContent(BaseModel):
    """The passages of a file."""

    object: Literal["vector_store.file_content.page"]
    data: list[TextPart]
    has_more: bool
    next_page: None


class StoreHit(BaseModel):
    file_id: str
    filename: str
    score: float
    attributes: dict[str, Any]
    content: list[TextPart]


class StoreHits(BaseModel):
    """Passages that match a search, best first."""

    object: Literal["vector_store.search_results.page"]
    search_query: list[str]
    data: list[StoreHit]
    has_more: bool
    next_page: None


class DeletedObject(BaseModel):
    id: str
    object: str
    deleted: bool
