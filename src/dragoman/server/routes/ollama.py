"""Ollama's API: chat, and agents as its models."""

from __future__ import annotations

import hashlib
import time

from fastapi import APIRouter, Request
from starlette.responses import Response

from dragoman import __version__
from dragoman.server.access.caller import Caller
from dragoman.server.data import source_search
from dragoman.server.http.chat_parameters import named_as
from dragoman.server.http.ollama_chat import CHAT_NAMES, LATEST, OllamaTurn, agent_name, chat_request, reply_line
from dragoman.server.http.ollama_schemas import (
    OllamaChatRequest,
    OllamaEmbeddings,
    OllamaEmbedRequest,
    OllamaGenerated,
    OllamaGenerateRequest,
    OllamaModel,
    OllamaModels,
    OllamaReply,
    OllamaShowRequest,
    OllamaVersion,
)
from dragoman.server.http.openai_chat import ChatTurn
from dragoman.server.http.reply_limits import count_tokens
from dragoman.server.http.streams import LINES
from dragoman.server.http.views import View
from dragoman.server.routes.chat_turns import begin_chat, reader_traits, route_options
from dragoman.server.routes.common import Swift, Who, answer, embedded, request_id, responds_with, service_of
from dragoman.server.turns.tool_reader import why_no_tools

router = APIRouter(tags=["Ollama"])
swift = APIRouter(tags=["Ollama"], route_class=Swift)
_EPOCH = "1970-01-01T00:00:00Z"
_NEVER = "9999-12-31T00:00:00Z"
_DETAILS = {
    "parent_model": "",
    "format": "agent",
    "family": "dragoman",
    "families": ["dragoman"],
    "parameter_size": "",
    "quantization_level": "",
}


@swift.post(
    "/api/chat",
    operation_id="ollama_chat",
    **route_options(OllamaReply, "The reply, whole or as lines", LINES),
)
async def chat(body: OllamaChatRequest, request: Request, caller: Who) -> Response:
    """Answer the last message, as lines unless `stream` is false. The last line has the field `dragoman`."""
    return await _respond(body, request, caller, is_empty=not body.messages)


@swift.post(
    "/api/generate",
    operation_id="ollama_generate",
    **route_options(OllamaGenerated, "The reply, whole or as lines", LINES),
)
async def generate(body: OllamaGenerateRequest, request: Request, caller: Who) -> Response:
    """Answer one message in a chat of its own, as lines unless `stream` is false."""
    return await _respond(body, request, caller, is_empty=not body.prompt)


async def _respond(
    body: OllamaChatRequest | OllamaGenerateRequest, request: Request, caller: Caller, *, is_empty: bool
) -> Response:
    service = service_of(request)
    if is_empty:  # Ollama's way to load a model, or with `keep_alive` 0 to unload it
        service.hosted(agent_name(body.model))
        leaves = (body.model_extra or {}).get("keep_alive") in (0, "0")
        is_chat = isinstance(body, OllamaChatRequest)
        loaded = reply_line(body.model, "", is_chat=is_chat, done=True)
        return answer({**loaded, "done_reason": "unload" if leaves else "load"})
    with named_as(CHAT_NAMES):
        chat = chat_request(body)
        talk = ChatTurn(chat, caller, request_id(request), reader=reader_traits(service, chat))
    begun = await begin_chat(service, caller, chat, talk)
    return await begun.respond(request, OllamaTurn(body, talk), stream=body.stream is not False)


@router.post("/api/embed", operation_id="ollama_embed", **responds_with(OllamaEmbeddings))
async def embed(body: OllamaEmbedRequest, request: Request, caller: Who) -> Response:
    """Encode texts as unit vectors with an agent's encoder. Counts as a turn."""
    began = time.perf_counter()
    service = service_of(request)
    texts = [body.input] if isinstance(body.input, str) else list(body.input)

    def view(vectors: list[list[float]]) -> View:
        return {
            "model": body.model,
            "embeddings": vectors,
            "total_duration": int((time.perf_counter() - began) * 1e9),
            "load_duration": 0,
            "prompt_eval_count": sum(count_tokens(text) for text in texts),
        }

    return await embedded(service, caller, agent_name(body.model), texts, dimensions=body.dimensions, view=view)


@router.get("/api/tags", operation_id="ollama_tags", **responds_with(OllamaModels))
async def tags(request: Request, caller: Who) -> Response:
    """The agents, as Ollama's models."""
    return answer({"models": [_listed(name) for name in service_of(request).agents]})


@router.get("/api/ps", operation_id="ollama_running", **responds_with(OllamaModels))
async def running(request: Request, caller: Who) -> Response:
    """The agents, all of which are loaded."""
    rows = [_listed(name) for name in service_of(request).agents]
    return answer({"models": [{**row, "size_vram": 0, "expires_at": _NEVER} for row in rows]})


@router.post("/api/show", operation_id="ollama_show", **responds_with(OllamaModel))
async def show(body: OllamaShowRequest, request: Request, caller: Who) -> Response:
    """One agent, as Ollama describes a model; `model_info` holds its title and sources."""
    service = service_of(request)
    name = service.hosted(agent_name(body.model or body.name)).name
    described = await service.do(caller, name, source_search.describe)
    info = {
        "general.architecture": "dragoman",
        "general.name": described["title"],
        "dragoman.sources": [source["name"] for source in described["sources"]],
    }
    return answer(
        {
            "modelfile": "",
            "parameters": "",
            "template": "",
            "details": _DETAILS,
            "model_info": info,
            "capabilities": ["completion"] if why_no_tools(service.hosted(name).assistant) else ["completion", "tools"],
            "modified_at": _EPOCH,
        }
    )


@router.get("/api/version", operation_id="ollama_version", **responds_with(OllamaVersion))
async def version(request: Request, caller: Who) -> Response:
    """The version of the server, which Ollama's clients ask for first."""
    return answer({"version": __version__})


def _listed(name: str) -> View:
    full = f"{name}{LATEST}"
    # Ollama's own client shows the first twelve characters, and fails where there are fewer.
    digest = hashlib.sha256(full.encode()).hexdigest()
    return {"name": full, "model": full, "modified_at": _EPOCH, "size": 0, "digest": digest, "details": _DETAILS}
