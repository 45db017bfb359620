"""Errors of MCP tools and resources in words: a stable code, what happened, and what to do next."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, InputRequiredResult
from pydantic import ValidationError

from dragoman.core.errors import AbsentError, DragomanError
from dragoman.server.http.problems import ApiProblem, of_validation, problem_of

_log = logging.getLogger("dragoman.server")


class WordedServer(MCPServer[Any]):
    """An MCP server whose errors name no classes and no addresses of libraries."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                problem = of_validation([{**each, "loc": ("arguments", *each["loc"])} for each in cause.errors()])
                raise ToolError(_words(problem, "See the tool's input schema.")) from None
            if type(cause) is ToolError:  # ours, behind the library's prefix
                raise cause from None
            raise


@contextmanager
def tool_errors() -> Iterator[None]:
    """Convert errors of a tool for the client; unexpected ones show only their type: messages may hold user data."""
    try:
        yield
    except (ToolError, MCPError):
        raise
    except Exception as error:  # noqa: BLE001 - the client is told, and the server goes on
        raise ToolError(_logged(error)) from None


@contextmanager
def resource_errors() -> Iterator[None]:
    """Convert errors of a resource for the client."""
    try:
        yield
    except (ResourceError, MCPError):
        raise
    except AbsentError as error:
        raise ResourceNotFoundError(_logged(error)) from None
    except Exception as error:  # noqa: BLE001 - the client is told, and the server goes on
        raise ResourceError(_logged(error)) from None


def _logged(error: Exception) -> str:
    if not isinstance(error, DragomanError):
        _log.error("a tool failed: %s", type(error).__name__)
    return _words(problem_of(error))


def _words(problem: ApiProblem, remedy: str | None = None) -> str:
    shown = problem.view()
    hint = problem.remedy if remedy is None else remedy
    return f"{problem.code}: {shown.get('detail') or shown['title']} {hint}".rstrip()
