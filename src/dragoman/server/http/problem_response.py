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
PLAIN_STYLE = """<style>
:root { color-scheme: light dark; --ground: #f7f7f5; --paper: #fff; --ink: #1d2125; --soft: #666d73; --line: #e4e4df;
  --accent: #0f766e; --accent-ink: #fff; --danger: #a83232 }
@media (prefers-color-scheme: dark) { :root { --ground: #131517; --paper: #1a1d20; --ink: #e7e8e6; --soft: #9ba2a8;
  --line: #2b2f34; --accent: #4fd1c0; --accent-ink: #0b1f1d; --danger: #f08a84 } }
body { font: 15px/1.6 system-ui, "Noto Sans CJK SC", sans-serif; margin: 0; min-height: 100vh; display: grid;
  place-items: center; padding: 20px; box-sizing: border-box; background: var(--ground); color: var(--ink) }
main { max-width: 430px; padding: 30px; border: 1px solid var(--line); border-radius: 12px; background: var(--paper) }
h1 { font-size: 1.3em; margin: 0 0 6px } p { margin: 0 0 14px; color: var(--soft) } p:last-child { margin: 0 }
a, button { font: inherit; display: inline-block; padding: 8px 16px; border: 0; border-radius: 9px; cursor: pointer;
  background: var(--accent); color: var(--accent-ink); text-decoration: none }
</style>"""
"""The look of pages without scripts."""
_PAGE = """<!doctype html><html lang="{language}"><head><meta charset="utf-8"><title>{title}</title>
<link rel="icon" href="data:,"><meta name="viewport" content="width=device-width, initial-scale=1">
{style}</head><body><main><h1>{title}</h1>{text}<p><a href="/">{link}</a></p></main></body></html>"""


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
    page = _PAGE.format(
        language=language,
        title=escape(title),
        text=f"<p>{escape(text)}</p>" if text else "",
        link=link,
        style=PLAIN_STYLE,
    )
    headers = {**problem.headers(), "content-security-policy": _POLICY}
    return Response(page, problem.status, headers, "text/html; charset=utf-8")
