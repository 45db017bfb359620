"""Tools of OpenAI's Responses API: functions of the caller, and `file_search`, a search in an agent's sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dragoman.core.trace import Retrieval
from dragoman.core.values import Evidence
from dragoman.server.data import file_objects
from dragoman.server.http import views
from dragoman.server.http.chat_parameters import refused
from dragoman.server.http.views import View

_RESULTS = "file_search_call.results"
_OWN_ITEMS = ("file_search_call",)
"""Items of our own output, which clients send back: the reply after them says what was found."""
_NO_TOOL = "An agent has `file_search`, and the functions of the caller; its own sources are declared in agent.toml."


class _FileSearchTool(BaseModel):
    """The tool `file_search`. What it does not list is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Literal["file_search"]
    vector_store_ids: Annotated[list[Annotated[str, Field(max_length=1000)]], Field(min_length=1, max_length=50)]
    max_num_results: Annotated[int, Field(ge=1, le=50)] | None = None


@dataclass(frozen=True, slots=True)
class FileSearch:
    """A search in some vector stores: the most results to list, and whether to list any."""

    stores: tuple[str, ...]
    most: int = 20
    lists_results: bool = False


@dataclass(frozen=True, slots=True)
class ResponseTools:
    """The tools of a request: functions in the form of the chat API, and the search."""

    functions: tuple[View, ...] = ()
    choice: Any = None
    search: FileSearch | None = None
    retrieve: Literal["always", "never"] | None = None

    @property
    def fields(self) -> View:
        """Fields of the chat request."""
        view: View = {"tools": list(self.functions)} if self.functions else {}
        return view if self.choice is None else {**view, "tool_choice": self.choice}


def response_tools(fields: dict[str, Any]) -> ResponseTools:
    """Take `tools`, `tool_choice` and `include` out of a request's fields; raises an error for what is not done."""
    tools, chosen, include = fields.pop("tools", None), fields.pop("tool_choice", None), fields.pop("include", None)
    if not isinstance(tools, list | None):
        raise refused("tools", "It must be a list.")
    search: FileSearch | None = None
    functions: list[View] = []
    for place, tool in enumerate(tools or []):
        kind = tool.get("type") if isinstance(tool, dict) else None
        if kind == "function":
            functions.append({"type": "function", "function": {key: tool[key] for key in tool if key != "type"}})
        elif kind == "file_search" and search is None:
            search = _search(place, tool)
        elif kind == "file_search":
            raise refused("tools", "Give one `file_search`, with all of its vector stores.")
        else:
            raise refused("tools", f"Tools of the type '{str(kind)[:40]}' are not supported. {_NO_TOOL}")
    for name in include or []:
        if name != _RESULTS:
            raise refused("include", "The field `dragoman` says everything about a reply.")
    if search is not None:
        search = FileSearch(search.stores, search.most, _RESULTS in (include or []))
    return _by_choice(tuple(functions), search, chosen)


def _search(place: int, tool: Mapping[str, Any]) -> FileSearch:
    try:
        parsed = _FileSearchTool.model_validate(tool)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        reason = "It is not supported." if first["type"] == "extra_forbidden" else f"{first['msg']}."
        raise refused(f"tools.{place}.{where}", reason) from None
    return FileSearch(tuple(parsed.vector_store_ids), parsed.max_num_results or 20)


def _by_choice(functions: tuple[View, ...], search: FileSearch | None, chosen: Any) -> ResponseTools:
    """Which tool is to be used: a search by the control of the turn, a function by the model."""
    if chosen in (None, "auto"):
        return ResponseTools(functions, None, search)
    if chosen == "none":
        return ResponseTools(functions, "none" if functions else None, search, "never" if search else None)
    if chosen == "required":
        is_search = search is not None and not functions
        return ResponseTools(functions, None if is_search else chosen, search, "always" if is_search else None)
    kind = chosen.get("type") if isinstance(chosen, dict) else None
    if kind == "file_search" and search is not None:
        return ResponseTools(functions, "none" if functions else None, search, "always")
    if kind == "function":
        name = {"name": chosen.get("name")}
        return ResponseTools(functions, {"type": "function", "function": name}, search)
    raise refused("tool_choice", "Give `none`, `auto`, `required`, or a tool of `tools`.")


def message_of(place: int, item: Mapping[str, Any], messages: list[View]) -> None:
    """Add an item of the input to the messages of the chat; calls that follow each other are one message."""
    kind = item.get("type", "message")
    if kind == "message":
        messages.append({"role": item.get("role", "user"), "content": item.get("content", "")})
    elif kind == "function_call":
        function = {"name": item.get("name"), "arguments": item.get("arguments") or "{}"}
        call = {"id": item.get("call_id"), "type": "function", "function": function}
        if messages and messages[-1].get("tool_calls"):
            messages[-1]["tool_calls"].append(call)
        else:
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
    elif kind == "function_call_output":
        messages.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": _output(place, item)})
    elif kind not in _OWN_ITEMS:
        raise refused(f"input.{place}", f"Items of the type '{str(kind)[:40]}' are not understood; send messages.")


def _output(place: int, item: Mapping[str, Any]) -> Any:
    output = item.get("output", "")
    if not isinstance(output, list):
        return output
    if any(not isinstance(part, dict) or part.get("type") != "input_text" for part in output):
        raise refused(f"input.{place}.output", "Results are text only.")
    return output


def call_items(calls: Sequence[Any], prefix: str) -> list[View]:
    """Calls of functions as items of a response."""
    return [
        {
            "type": "function_call",
            "id": f"fc_{prefix}_{place}",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments,
            "status": "completed",
        }
        for place, call in enumerate(calls)
    ]


def search_item(
    id: str,
    agent: str,
    search: FileSearch,
    retrievals: Sequence[Retrieval],
    *,
    question: str,
    documents: frozenset[str],
) -> View:
    """The item of a finished search: its queries and, where they are asked for, its results."""
    document_retrievals = [each for each in retrievals if documents & set(each.sources)]
    results = None
    if search.lists_results:
        pieces = [piece for each in document_retrievals for piece in each.evidence if piece.source in documents]
        rows = sorted(pieces, key=lambda piece: -piece.relevance)[: search.most]
        results = [_result(agent, piece) for piece in rows]
    queries = list(dict.fromkeys(each.query or question for each in document_retrievals))
    return {"type": "file_search_call", "id": id, "status": "completed", "queries": queries, "results": results}


def _result(agent: str, piece: Evidence) -> View:
    return {
        **_file(agent, piece),
        "score": piece.relevance,
        "attributes": {"passage": piece.id[:512], "source": piece.source[:512]},
        "text": piece.text,
    }


def citations(agent: str, text: str, pieces: Sequence[Evidence], documents: frozenset[str]) -> list[View]:
    """Annotations of a reply: the files that it rests on, each once."""
    files = {
        str(file["file_id"]): file for piece in pieces if piece.source in documents for file in [_file(agent, piece)]
    }
    return [{"type": "file_citation", "index": len(text), **file} for file in files.values()]


def _file(agent: str, piece: Evidence) -> View:
    return file_objects.citation(agent, piece.source, views.origin(piece.passage))
