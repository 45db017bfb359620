"""Errors as RFC 9457 problems: a stable code, the detail and a remedy."""

from __future__ import annotations

import logging
import math
import re
from dataclasses import dataclass
from typing import Any

from dragoman.core.errors import (
    AbsentError,
    BusyError,
    ConfigError,
    DragomanError,
    InputError,
    LimitError,
    ModelError,
    ServiceError,
    SourceError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    StoreTwiceError,
)
from dragoman.core.values import Erasure
from dragoman.reader.phrases import erasure_text
from dragoman.server.http.views import View, dumps

_log = logging.getLogger("dragoman.server")

MEDIA_TYPE = "application/problem+json"
CODES: dict[str, tuple[int, str]] = {
    "bad-request": (400, "The request cannot be used"),
    "bad-json": (400, "The body is not JSON"),
    "bad-file-name": (400, "The file's name cannot be used"),
    "unauthorized": (401, "A valid API key is needed"),
    "forbidden": (403, "This is not allowed"),
    "gone-api": (404, "This API is not offered"),
    "not-found": (404, "There is nothing here"),
    "unknown-model": (404, "There is no such agent"),
    "method-not-allowed": (405, "This cannot be done here"),
    "slow-sender": (408, "The request came too slowly"),
    "quota": (409, "There is no room for more"),
    "unconfirmed": (409, "This needs a confirmation"),
    "request-answered": (409, "The request was answered meanwhile"),
    "forgotten": (410, "The answer has been forgotten"),
    "too-large": (413, "The request is too large"),
    "unsupported-parameter": (400, "A parameter cannot be honoured"),
    "unsupported-kind": (415, "This kind of content cannot be read"),
    "elsewhere": (421, "Another server has this"),
    "invalid": (422, "The request does not fit its description"),
    "request-reused": (422, "The request's id was used before"),
    "too-many-turns": (429, "Too many turns"),
    "too-many-tokens": (429, "Too many tokens"),
    "too-many-waiting": (429, "Too many requests at once"),
    "internal": (500, "Something unexpected happened"),
    "store": (500, "The store failed"),
    "model": (502, "A model failed"),
    "busy": (503, "The server is busy"),
    "closing": (503, "The server is closing"),
    "turn-timeout": (504, "The turn took too long"),
    "disk-full": (507, "There is no space left on the disk"),
}
"""Every code with its status and title; codes are never renamed."""
_ALTERNATIVE = re.compile(r"(str|constrained-\w+|(list|dict|tuple)\[.*)$")
"""How pydantic names, in the place of an error, one of several types that a field takes."""
MOST_ERRORS = 200
"""How many errors of a body are looked at."""
REQUEST = "Idempotency-Key"
"""The header that names a request, so that it can be sent again."""
_BUSY = "The agent's store is busy, or another turn went before this one; nothing of this one was kept."
_NO_OBJECT = "The body must be a JSON object, under `content-type: application/json`."
_FULL = "The server's disk is full. Nothing was changed, and what was acknowledged before is kept."
_OF_STATUS = {405: "method-not-allowed", 401: "unauthorized", 403: "forbidden", 413: "too-large"}


@dataclass(frozen=True, slots=True)
class ApiProblem:
    """An API error for programs and people."""

    code: str
    detail: str = ""
    remedy: str = ""
    seconds: float | None = None
    errors: tuple[View, ...] = ()
    param: str | None = None
    own_status: int | None = None
    """The status where it is not the code's."""

    @property
    def status(self) -> int:
        return self.own_status or CODES[self.code][0]

    def view(self, *, openai: bool = False, ollama: bool = False) -> View:
        """The problem as JSON; with `openai` or `ollama` also the `error` member of that API."""
        status, title = self.status, CODES[self.code][1]
        view: View = {"type": "about:blank", "title": title, "status": status, "code": self.code}
        if self.detail:
            view["detail"] = self.detail
        if self.remedy:
            view["remedy"] = self.remedy
        if self.errors:
            view["errors"] = list(self.errors)
        message = " ".join(part for part in (self.detail or title, self.remedy) if part)
        if ollama:
            view["error"] = message
        if openai:
            kind = "invalid_request_error" if status < 500 else "server_error"
            view["error"] = {"message": message, "type": kind, "param": self.param, "code": self.code}
        return view

    def headers(self) -> dict[str, str]:
        headers = {"cache-control": "no-store"}
        if self.seconds is not None:
            headers["retry-after"] = str(max(1, math.ceil(self.seconds)))
        if self.code == "unauthorized":
            headers["www-authenticate"] = "Bearer"
        if self.code in ("too-large", "slow-sender"):
            headers["connection"] = "close"  # the rest of the request will not be read
        return headers

    def body(self, *, openai: bool = False, ollama: bool = False) -> bytes:
        return dumps(self.view(openai=openai, ollama=ollama))

    def event(self) -> bytes:
        """The problem as an event of a running stream."""
        return b"event: error\ndata: " + self.body() + b"\n\n"


def problem_of(error: BaseException) -> ApiProblem:  # noqa: PLR0911 - one branch a kind of error
    """The problem for an error, without internal details."""
    match error:
        case LimitError() | BusyError():
            return ApiProblem(error.code, error.message, error.remedy, error.seconds)
        case ServiceError():
            param = error.fields.get("param")
            return ApiProblem(error.code, error.message, error.remedy, param=None if param is None else str(param))
        case InputError() | SourceError() | ConfigError():
            return ApiProblem("bad-request", error.message, error.remedy)
        case ModelError():
            _log.error("a model failed: %s", type(error).__name__)
            return ApiProblem("model", "The agent's model did not answer.", "Try again; `dragoman doctor` says more.")
        case StoreTwiceError():
            return ApiProblem(
                "request-answered", error.message, f"Send it again with the same {REQUEST} for the answer."
            )
        case StoreBusyError() | StoreLockedError():
            _log.warning("a store is busy: %s", type(error).__name__)
            return ApiProblem("busy", _BUSY, "Try again in a moment.", seconds=1.0)
        case StoreFullError():
            _log.error("a disk is full")
            return ApiProblem("disk-full", _FULL, "Try again when whoever runs the server has made space.")
        case StoreError():
            _log.error("a store failed: %s", type(error).__name__)
            return ApiProblem("store", "The agent's store did not answer.", "Try again; `dragoman doctor` says more.")
        case DragomanError():
            return ApiProblem("internal", "The agent failed.", "Try again.")
    _log.error("a request failed: %s", type(error).__name__)
    return ApiProblem("internal", "", "Try again.")


def of_status(status: int, detail: str = "") -> ApiProblem:
    """The problem for a bare HTTP status raised by the framework."""
    if status == 404:
        return ApiProblem("not-found", "Nothing is offered at this address.", "/openapi.json lists what is.")
    if status in _OF_STATUS:
        return ApiProblem(_OF_STATUS[status])
    code = "bad-request" if status < 500 else "internal"
    return ApiProblem(code, detail if status < 500 else "")


def of_validation(errors: Any, *, status: int | None = None) -> ApiProblem:
    """The problem for invalid input: each field and its fault, without the submitted values.

    OpenAI's and Ollama's clients expect another `status` than ours.
    """
    places = []
    for error in _nearest(list(errors)[:MOST_ERRORS])[:20]:
        kind = str(error.get("type", ""))
        if kind == "json_invalid":
            return ApiProblem("bad-json", f"The body is not JSON: {error.get('ctx', {}).get('error', '')}.".strip())
        where = [str(part) for part in error.get("loc", ()) if not _ALTERNATIVE.match(str(part))]
        if where == ["body"] and kind in ("model_type", "model_attributes_type"):
            return ApiProblem("invalid", _NO_OBJECT, "See /openapi.json.", own_status=status)
        places.append(
            {"in": where[0] if where else "", "at": ".".join(where[1:]), "message": str(error.get("msg", ""))}
        )
    first = places[0] if places else {"at": "", "message": ""}
    at = f"{first['at'] or 'the ' + str(first.get('in', 'request'))}: " if places else ""
    param = str(first["at"]) or None
    return ApiProblem(
        "invalid",
        f"{at}{first['message']}.",
        "See /openapi.json.",
        errors=tuple(places),
        param=param,
        own_status=status,
    )


def _nearest(errors: Any) -> list[Any]:
    """The error of the type nearest to the value, for a field that takes one of several types."""
    by_location: dict[tuple[str, ...], Any] = {}
    for number, error in enumerate(errors):
        loc = [str(part) for part in error.get("loc", ())]
        fork = next((place for place, part in enumerate(loc) if _ALTERNATIVE.match(part)), None)
        field = (*loc[:fork], "") if fork is not None else (*loc, str(number))
        if field not in by_location or _distance(error) < _distance(by_location[field]):
            by_location[field] = error
    return list(by_location.values())


def _distance(error: Any) -> tuple[bool, int]:
    return str(error.get("type", "")).endswith("_type"), -len(error.get("loc", ()))


def unconfirmed(erasure: Erasure) -> ServiceError:
    """The problem for deleting everything without confirmation."""
    return ServiceError(
        f"This deletes {erasure_text(erasure)}. It cannot be undone.",
        remedy="Ask the user, then send it again with confirm=true.",
        code="unconfirmed",
    )


def absent(what: str) -> AbsentError:
    """The problem for an object that does not exist or belongs to somebody else."""
    return AbsentError(f"There is no such {what}.", remedy="See what there is with a GET on the list.")
