"""Refusals of endpoints: what their error bodies say, and which field of the request they are about.

Bodies differ: OpenAI and most servers send `{"error": {"message", "param", "code"}}`, Gemini a list of one such object,
vLLM the inner object alone or FastAPI's `{"detail": [{"loc", "msg"}]}`, Ollama and LM Studio `{"error": "text"}`.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from dragoman.text import lazy_re as re

_MOST_CHARACTERS = 2000
_REMEDIES = {
    401: "Check the key in the environment variable that key_env names.",
    402: "Add credit to the account, or choose another model.",
    403: "Check the key in the environment variable that key_env names, and what it allows.",
    404: "Check url (it usually ends in /v1) and model.",
    413: "Send less text, or raise the endpoint's limit.",
    429: "Wait, lower concurrency, or raise the endpoint's limit.",
    529: "The vendor is overloaded: try again later, or choose another model.",
}
_NO_CREDIT = re.compile(r"insufficient_quota|insufficient (?:credit|balance|fund)|credit balance|billing", re.I)
_NO_MODEL = re.compile(
    r"model_not_found|no such model|not a valid model|unknown model|no models? loaded"
    r"|model\b.{0,80}\b(?:not found|does not exist|not exist|is not available)|not_found_error.{0,20}model",
    re.I | re.S,
)
_TOO_LONG = re.compile(
    r"context_length_exceeded|context (?:length|window|size)|maximum context|too many tokens|prompt is too long"
    r"|exceed_context_size|input is too long|exceeds the maximum number of tokens",
    re.I,
)
_WINDOW = re.compile(r"(?:context (?:length|window|size)|maximum|limit|n_ctx)\D{0,40}?(\d{3,8})", re.I)
_NO_TEMPLATE = re.compile(r"chat[ _]template", re.I)
_NO_SYSTEM = re.compile(
    r"system role not supported|system messages? (?:is|are) not supported|does not support system|role.{0,20}alternat"
    r"|developer instruction is not enabled",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An endpoint's refusal: its status and what its body says."""

    status: int
    phrase: str = ""
    message: str = ""
    param: str = ""
    code: str = ""

    @property
    def no_credit(self) -> bool:
        return self.status == 402 or bool(_NO_CREDIT.search(f"{self.code} {self.message}"))

    @property
    def no_model(self) -> bool:
        return bool(_NO_MODEL.search(f"{self.code} {self.message}"))

    @property
    def too_long(self) -> bool:
        return bool(_TOO_LONG.search(f"{self.code} {self.message}"))

    @property
    def no_system(self) -> bool:
        return bool(_NO_SYSTEM.search(self.message))

    @property
    def window(self) -> int:
        """The context window in tokens that a message about a long prompt names; 0 where it names none."""
        sizes = [int(size) for size in _WINDOW.findall(self.message)]
        return min(sizes, default=0) if self.too_long else 0

    @property
    def lasts(self) -> bool:
        """Whether the same request would be refused again however long one waits."""
        return self.no_credit or (self.status < 500 and self.no_model)

    @property
    def remedy(self) -> str:
        if self.no_credit:
            return _REMEDIES[402]
        if self.no_model:
            return "Set model to one that the endpoint has."
        if self.too_long:
            return "Set window to the model's context window, in tokens."
        if _NO_TEMPLATE.search(self.message):
            return "Choose an instruct model: this one has no chat template, or start the server with one."
        return _REMEDIES.get(
            self.status, "Try again later." if self.status >= 500 else "Check url, model and the request."
        )

    def field(self, sent: Collection[str]) -> str:
        """The field of the request that is refused, among those that were sent; "" where none is named.

        A field counts by `param`, or by its name as a word of the message. A message about too long a prompt may name
        `max_tokens` without refusing it.
        """
        if self.too_long:
            return ""
        head = re.split(r"[.\[]", self.param, maxsplit=1)[0]
        if head in sent:
            return head
        named = [
            (match.start(), -len(name), name)
            for name in sent
            if (match := re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", self.message))
        ]
        return min(named)[2] if named else ""


def read_refusal(status: int, phrase: str, text: str) -> Refusal:
    """The refusal that an error body describes; a body that is no JSON has no message."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return Refusal(status, phrase)
    if isinstance(value, list):
        value = value[0] if value else {}
    detail = value.get("error") or value.get("detail") or value if isinstance(value, dict) else value
    if isinstance(detail, list):  # FastAPI's validation errors
        detail = _validation(detail)
    if not isinstance(detail, dict):
        return Refusal(status, phrase, str(detail)[:_MOST_CHARACTERS])
    message = detail.get("message") or detail.get("msg") or ""
    code = f"{_text(detail.get('code'))} {_text(detail.get('type'))}".strip()
    return Refusal(status, phrase, str(message)[:_MOST_CHARACTERS], _text(detail.get("param"))[:_MOST_CHARACTERS], code)


def _validation(rows: list[Any]) -> dict[str, str]:
    row = rows[0] if rows and isinstance(rows[0], dict) else {}
    loc = row.get("loc")
    path = [str(step) for step in loc if step != "body"] if isinstance(loc, list) else []
    return {"message": f"{' '.join(path)}: {row.get('msg', '')}", "param": path[0] if path else ""}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
