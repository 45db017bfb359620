"""Problem responses: JSON for programs, an HTML page for browsers."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from starlette.responses import Response

from dragoman.server.http.problems import CODES, MEDIA_TYPE, ApiProblem
from dragoman.server.http.request_limits import API_PATHS, OLLAMA_PATHS, OPENAI_PATHS

if TYPE_CHECKING:
    from starlette.requests import Request

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'"
_NOWHERE = {"en": ("There is no page at this address", "Open the chat"), "zh": ("此地址没有页面", "打开对话")}
_PAGE = """<!doctype html><html lang="{language}"><head><meta charset="utf-8"><title>{title}</title>
<link rel="icon" href="data:,"><meta name="viewport" content="width=device-width, initial-scale=1">
<style>:root {{ color-scheme: light dark }} body {{ font: 16px/1.6 system-ui, sans-serif; display: grid;
place-items: center; min-height: 90vh; margin: 0; padding: 20px }} main {{ max-width: 30em }} h1 {{ font-size: 1.4em }}
</style></head><body><main><h1>{title}</h1><p>{text}</p><p><a href="/">{link}</a></p></main></body></html>"""


def problem_response(request: Request, problem: ApiProblem) -> Response:
    """The response for a problem."""
    path = request.url.path
    if _is_for_people(request, path):
        return _page(request, problem)
    body = problem.body(openai=path.startswith(OPENAI_PATHS), ollama=path.startswith(OLLAMA_PATHS))
    return Response(body, problem.status, problem.headers(), MEDIA_TYPE)


def _is_for_people(request: Request, path: str) -> bool:
    """Whether a browser opens the address, rather than a program calling the API."""
    is_shown = request.method in ("GET", "HEAD") and "text/html" in request.headers.get("accept", "").lower()
    return is_shown and not path.startswith(API_PATHS)


def _page(request: Request, problem: ApiProblem) -> Response:
    language = "zh" if request.headers.get("accept-language", "").lower().startswith("zh") else "en"
    nowhere, link = _NOWHERE[language]
    title = nowhere if problem.code == "not-found" else CODES[problem.code][1]
    is_bare = problem.code == "not-found"
    text = "" if is_bare else " ".join(part for part in (problem.detail, problem.remedy) if part)
    page = _PAGE.format(language=language, title=escape(title), text=escape(text), link=link)
    headers = {**problem.headers(), "content-security-policy": _POLICY}
    return Response(page, problem.status, headers, "text/html; charset=utf-8")
