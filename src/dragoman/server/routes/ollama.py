"""Ollama's API: chat, and agents as its models."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from dragoman import __version__
from dragoman.server.data import source_search
from dragoman.server.http.ollama_chat import LATEST, OllamaTurn, agent_name, chat_request
from dragoman.server.http.ollama_schemas import (
    OllamaChatRequest,
    OllamaModel,
    OllamaModels,
    OllamaReply,
    OllamaShowRequest,
    OllamaVersion,
)
from dragoman.server.http.openai_chat import ChatTurn
from dragoman.server.http.streams import LINES
from dragoman.server.http.views import View
from dragoman.server.routes.chat_turns import begin_chat, reader_traits, route_options
from dragoman.server.routes.common import Swift, Who, answer, request_id, responds_with, service_of

router = APIRouter(tags=["Ollama"])
swift = APIRouter(tags=["Ollama"], route_class=Swift)
_EPOCH = "1970-01-01T00:00:00Z"
_DETAILS = {
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
    service = service_of(request)
    asked = chat_request(body)
    talk = ChatTurn(asked, caller, request_id(request), reader=reader_traits(service, asked.model))
    begun = await begin_chat(service, caller, asked, talk)
    return await begun.respond(request, OllamaTurn(body, talk), stream=body.stream is not False)


@router.get("/api/tags", operation_id="ollama_tags", **responds_with(OllamaModels))
async def tags(request: Request, caller: Who) -> Response:
    """The agents, as Ollama's models."""
    return answer({"models": [_listed(name) for name in service_of(request).agents]})


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
            "capabilities": ["completion"],
            "modified_at": _EPOCH,
        }
    )


@router.get("/api/version", operation_id="ollama_version", **responds_with(OllamaVersion))
async def version(request: Request, caller: Who) -> Response:
    """The version of the server, which Ollama's clients ask for first."""
    return answer({"version": __version__})


def _listed(name: str) -> View:
    full = f"{name}{LATEST}"
    return {"name": full, "model": full, "modified_at": _EPOCH, "size": 0, "digest": "", "details": _DETAILS}
