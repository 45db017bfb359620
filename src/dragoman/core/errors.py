"""Everything Dragoman raises on purpose.

DragomanError
├── ConfigError            a config file, key or value is wrong
│   └── UnknownNameError   a name is not registered or not declared; says what was meant
├── InputError             a turn, file or record from outside cannot be used
│   └── NoDataError        a labelled set's file is not there
├── SourceError            the declared sources do not fit together
│   └── PlanError          a plan names a source that is not declared, or breaks its order
├── ModelError             a model could not be loaded or did not answer
│   ├── WeightsError       weights are missing, damaged or cannot be fetched
│   └── EndpointError      a remote endpoint failed, timed out or answered nonsense
├── StoreError             the store cannot be opened, read or written
│   ├── StoreLockedError   another process holds the store
│   ├── StoreBusyError     the store cannot take a call now; the same call may succeed later
│   │   └── StoreErasedError   what a write rests on was erased meanwhile; nothing was added
│   ├── StoreTwiceError    the turns of this request are kept already; nothing was added
│   ├── StoreCorruptError  the file is not a store, or is damaged
│   └── StoreFullError     the disk is full; what was acknowledged before is kept
├── ServiceError           a server does not do what it was asked
│   ├── AccessError        a credential is missing, unknown, or not enough
│   ├── AbsentError        there is no such thing, or it is somebody else's
│   ├── LimitError         a caller has used up what it may use; says when to come back
│   └── BusyError          the server cannot take or finish a turn now; says when to come back
├── RunError               a system failed on a turn of an experiment
├── TrainingError          a training cannot begin, or stopped; what was saved is kept
├── WorkersError           the workers of a cluster cannot be reached, differ from here, or are gone
│   └── ShardError         a shard of some work failed in its worker; what was made before it is kept
└── MissingExtraError      an optional part of the package is not installed
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


class DragomanError(Exception):
    """The root of the tree: catch this to catch everything Dragoman raises on purpose.

    `remedy` says what to do next; fields such as `role` or `source` say where it happened.
    """

    def __init__(self, message: str, *, remedy: str = "", **fields: object) -> None:
        super().__init__(f"{message} {remedy}".rstrip())
        self.message = message
        self.remedy = remedy
        self.fields = fields

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle errors without calling their constructors, whose parameters differ."""
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[DragomanError], args: tuple[object, ...], state: dict[str, object]) -> DragomanError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


class ConfigError(DragomanError):
    """A config file, key or value is wrong."""


class UnknownNameError(ConfigError):
    """A name is not registered or not declared."""

    def __init__(self, what: str, name: str, choices: Iterable[str], *, remedy: str = "") -> None:
        available = sorted(choices)
        close = get_close_matches(name, available, n=1, cutoff=0.5)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        listing = ", ".join(available) or "none"
        super().__init__(f"Unknown {what} '{name}'.{hint} Available: {listing}.", remedy=remedy)
        self.name = name
        self.suggestion = close[0] if close else None


class InputError(DragomanError):
    """A turn, file or record from outside cannot be used."""


class NoDataError(InputError):
    """A labelled set's file is not there."""


class SourceError(DragomanError):
    """The declared sources do not fit together."""


class PlanError(SourceError):
    """A plan names a source that is not declared, or breaks its order."""


class ModelError(DragomanError):
    """A model could not be loaded or did not answer."""


class WeightsError(ModelError):
    """Weights are missing, damaged or cannot be fetched."""


class EndpointError(ModelError):
    """A remote endpoint failed, timed out or answered nonsense."""


class StoreError(DragomanError):
    """The store cannot be opened, read or written."""


class StoreLockedError(StoreError):
    """Another process holds the store."""


class StoreBusyError(StoreError):
    """The store cannot take a call now; the same call may succeed later."""


class StoreErasedError(StoreBusyError):
    """A write depends on rows that were erased meanwhile; nothing was added."""


class StoreTwiceError(StoreError):
    """The turns of this request are kept already; nothing was added."""


class StoreCorruptError(StoreError):
    """The file is not a store, or is damaged."""


class StoreFullError(StoreError):
    """The disk is full; what was acknowledged before is kept."""


class ServiceError(DragomanError):
    """A server does not do what it was asked; `code` is what programs may rely on."""

    code = "bad-request"

    def __init__(self, message: str, *, remedy: str = "", code: str = "", **fields: object) -> None:
        super().__init__(message, remedy=remedy, **fields)
        self.code = code or type(self).code


class AccessError(ServiceError):
    """A credential is missing, unknown, or not enough."""

    code = "forbidden"


class AbsentError(ServiceError):
    """The object does not exist or belongs to another user; the error does not say which."""

    code = "not-found"


class LimitError(ServiceError):
    """A caller has used up what it may use."""

    code = "too-many-turns"

    def __init__(self, message: str, *, seconds: float, remedy: str = "", code: str = "") -> None:
        super().__init__(message, remedy=remedy, code=code)
        self.seconds = seconds


class BusyError(ServiceError):
    """The server cannot take or finish a turn now."""

    code = "busy"

    def __init__(self, message: str, *, seconds: float, remedy: str = "", code: str = "") -> None:
        super().__init__(message, remedy=remedy, code=code)
        self.seconds = seconds


class RunError(DragomanError):
    """A system failed on a turn of an experiment; what it raised is the cause."""


class TrainingError(DragomanError):
    """A training cannot begin, or stopped; what was saved is kept."""


class WorkersError(DragomanError):
    """The workers of a cluster cannot be reached, differ from here, or are gone."""


class ShardError(WorkersError):
    """A shard of some work failed in its worker; what was made before it is kept."""


class MissingExtraError(DragomanError):
    """An optional part of the package is not installed."""
