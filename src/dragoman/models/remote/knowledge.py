"""Knowledge about an endpoint: its profile, detected once, adapted to refusals, and cached for a week."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, fields, replace
from types import MappingProxyType
from typing import Any

from dragoman.core.environment import home
from dragoman.core.errors import EndpointError
from dragoman.models.remote.answers import count, rows, table
from dragoman.models.remote.endpoint import Endpoint
from dragoman.models.remote.profiles import PROFILES, UNOPENED, Profile, by_address, by_owner

log = logging.getLogger(__name__)
_DAYS = 7
_SECONDS = 5.0
"""How long a question about the endpoint itself may take."""
_AGAIN = 30.0
"""Seconds after which an endpoint that did not say what it is, since it was down, say, is asked once more."""
_PASSING = frozenset({401, 403, 408, 425, 429})
"""Refusals that say nothing of what an endpoint has: the key or the moment was wrong."""
_WINDOWS = ("loaded_context_length", "max_model_len", "context_length", "context_window", "max_context_length")
UNKNOWN_WINDOW = 32_768
"""The context window that is assumed if none is stated."""


class Knowledge:
    """The profile of one model at one endpoint; thread-safe.

    `wanted` is the profile that the config names, `window` the context window that it states, 0 for none. What is
    assumed of an endpoint that could not be asked is used for the moment, and not cached.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        wanted: str,
        model: str,
        window: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._endpoint = endpoint
        self._wanted = wanted
        self._model = model
        self._window = window
        self._clock = clock
        self._lock = threading.Lock()
        self._profile: Profile | None = None
        self._is_assumed = False
        self._asked_at = 0.0

    @property
    def profile(self) -> Profile:
        """The profile; the first call reads it from the cache, or asks the endpoint for its list of models."""
        with self._lock:
            if self._profile is None:
                self._profile = self._read() or self._discover()
            elif self._is_assumed and self._clock() - self._asked_at >= _AGAIN:
                profile = self._discover()
                self._profile = self._profile if self._is_assumed else profile  # with what it has refused since
            return self._profile

    @property
    def known(self) -> Profile:
        """The profile as far as it is known without asking the endpoint."""
        return self._profile or PROFILES[self._name or "auto"]

    @property
    def _name(self) -> str:
        return self._wanted if self._wanted != "auto" else by_address(self._endpoint.url, self._model)

    def learn(self, profile: Profile) -> None:
        """Keep a profile that has just worked."""
        with self._lock:
            if profile == self._profile:
                return
            self._profile = profile
            log.info("the endpoint works with %s", _changes(profile))
            if not self._is_assumed:
                self._write(profile)

    def forget(self) -> None:
        """Find the profile out again at the next use."""
        with self._lock:
            self._profile, self._is_assumed = None, False
            with suppress(OSError):
                self._file.unlink()

    def models(self) -> list[dict[str, Any]]:
        """The endpoint's list of models; empty where it has none."""
        try:
            return _entries(self._endpoint.get("/models", seconds=_SECONDS))
        except EndpointError:
            return []

    def _discover(self) -> Profile:
        name = self._name
        self._is_assumed, self._asked_at = False, self._clock()
        listed: list[dict[str, Any]] = []
        if not name or (not PROFILES[name].window and not self._window and not PROFILES[name].key_env):
            listed = _entries(self._value("/models"))
            name = name or by_owner(listed)
        profile = PROFILES[name or "auto"]
        window = self._window or self._served_window(profile.name, listed) or profile.window or UNKNOWN_WINDOW
        profile = replace(profile, window=window, unopened=bool(UNOPENED.search(self._model)))
        if not self._is_assumed:
            self._write(profile)
        return profile

    def _served_window(self, name: str, listed: list[dict[str, Any]]) -> int:
        """The context window that the server reports for the model."""
        if name == "llamacpp":
            props = table(self._value("/props", root=True))
            return count(table(props.get("default_generation_settings")).get("n_ctx"))
        if name == "lmstudio":
            listed = [table(entry) for entry in rows(table(self._value("/api/v0/models", root=True)).get("data"))]
        if name == "ollama":
            listed = [table(entry) for entry in rows(table(self._value("/api/ps", root=True)).get("models"))]
        for entry in listed:
            if self._model in (entry.get("id"), entry.get("name"), entry.get("model")):
                return next((size for key in _WINDOWS if (size := count(entry.get(key)))), 0)
        if name == "ollama":  # it loads a model with its first request, and only then says with which window
            self._is_assumed = True
        return 0

    def _value(self, path: str, *, root: bool = False) -> Any:
        """The endpoint's answer at a path; None without one. The profile is assumed where that may change later."""
        try:
            return self._endpoint.get(path, seconds=_SECONDS, root=root)
        except EndpointError as error:
            status = error.fields.get("status")
            if not isinstance(status, int) or status >= 500 or status in _PASSING:
                self._is_assumed = True
            return None

    @property
    def _file(self) -> Any:
        key = f"{self._endpoint.url} {self._model} {self._wanted} {self._window}"
        return home() / "endpoints" / f"{hashlib.sha256(key.encode()).hexdigest()[:20]}.json"

    def _read(self) -> Profile | None:
        try:
            record = json.loads(self._file.read_text(encoding="utf-8"))
            if not 0 <= time.time() - float(record["at"]) < _DAYS * 86_400:
                return None
            values = {field.name: record["profile"][field.name] for field in fields(Profile)}
            return Profile(**(values | {"quiet": MappingProxyType(dict(values["quiet"]))}))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _write(self, profile: Profile) -> None:
        file = self._file
        record = {"at": time.time(), "profile": _table(profile)}
        with suppress(OSError):  # a home that cannot be written costs the discovery again
            file.parent.mkdir(parents=True, exist_ok=True)
            partial = file.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
            partial.write_text(json.dumps(record), encoding="utf-8")
            partial.replace(file)


def _entries(listed: Any) -> list[dict[str, Any]]:
    """The models of a list, whichever of its two forms it has."""
    listed = listed.get("data", listed.get("models")) if isinstance(listed, dict) else listed
    return [table(entry) for entry in rows(listed)]


def _table(profile: Profile) -> dict[str, Any]:
    return asdict(replace(profile, quiet={})) | {"quiet": dict(profile.quiet)}


def _changes(profile: Profile) -> Mapping[str, Any]:
    base = _table(PROFILES[profile.name])
    return {key: value for key, value in _table(profile).items() if value != base[key]}
