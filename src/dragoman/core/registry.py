"""One registry per role: a decorator registers built-in components, entry points register those of plugins.

A component is named `role.name.version`, as in `gate.prompted.v1`; `prompted` alone means its newest version. Built-ins
are found by importing the role's package, plugins by the entry-point group `dragoman.<role>`; both end up in the same
table.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeVar

from dragoman.core.errors import ConfigError, UnknownNameError

C = TypeVar("C", bound=Callable[..., Any])
_NAME = re.compile(r"[a-z][a-z0-9_-]*\.v[1-9][0-9]*")


class Registry:
    """The components of one role by name and version."""

    def __init__(self, role: str, package: str) -> None:
        self.role = role
        self._package = package
        self._factories: dict[str, Callable[..., Any]] = {}
        self._loaded = False

    def register(self, name: str) -> Callable[[C], C]:
        """Decorate a class or function: `@gates.register("always.v1")`."""
        if not _NAME.fullmatch(name):
            raise ConfigError(f"'{name}' is not a component name.", remedy="Use name.version, as in 'prompted.v1'.")

        def add(factory: C) -> C:
            key = f"{self.role}.{name}"
            present = self._factories.get(key)
            if present is not None and present is not factory:
                raise ConfigError(f"'{key}' is registered twice.", remedy="Give the new one another name or version.")
            self._factories[key] = factory
            return factory

        return add

    def names(self) -> tuple[str, ...]:
        """Every registered component, as `role.name.version`."""
        self._load()
        return tuple(sorted(self._factories))

    def resolve(self, kind: str) -> str:
        """The full name of a kind that may lack its role, its version or both."""
        self._load()
        name = kind.removeprefix(f"{self.role}.")
        key = f"{self.role}.{name}"
        if key in self._factories:
            return key
        versions = [full_name for full_name in self._factories if full_name.rpartition(".v")[0] == key]
        if versions:
            return max(versions, key=lambda full_name: int(full_name.rpartition(".v")[2]))
        short = {full_name.removeprefix(f"{self.role}.").rpartition(".v")[0] for full_name in self._factories}
        raise UnknownNameError(self.role, name.rpartition(".v")[0] or name, short)

    def factory(self, kind: str) -> Callable[..., Any]:
        """The class or function behind a kind."""
        return self._factories[self.resolve(kind)]

    def _load(self) -> None:
        if self._loaded:
            return
        importlib.import_module(self._package)
        for name, factory in plugins(self.role):
            self.register(name)(factory)
        self._loaded = True


def plugins(role: str) -> Iterator[tuple[str, Any]]:
    """Entry points of installed packages in the group `dragoman.<role>`, by name."""
    for point in _plugins().select(group=f"dragoman.{role}"):
        try:
            yield point.name, point.load()
        except (ImportError, AttributeError) as error:
            raise ConfigError(
                f"The plugin '{role}.{point.name}' cannot be loaded: {error}.",
                remedy="Mend or uninstall the package that brings it.",
            ) from error


@cache
def _plugins() -> Any:  # its type differs between versions of Python
    """All entry points, read once, since each reading scans every installed package."""
    from importlib.metadata import entry_points

    return entry_points()


gates = Registry("gate", "dragoman.gate")
planners = Registry("planner", "dragoman.planner")
retrievers = Registry("retriever", "dragoman.retriever")
readers = Registry("reader", "dragoman.reader")
critics = Registry("critic", "dragoman.critic")
memories = Registry("memory", "dragoman.memory")
models = Registry("model", "dragoman.models")
encoders = Registry("encoder", "dragoman.models")
stores = Registry("store", "dragoman.stores")
datasets = Registry("dataset", "dragoman.datasets")
metrics = Registry("metric", "dragoman.evaluate.metrics")

REGISTRIES = {
    registry.role: registry
    for registry in (
        gates,
        planners,
        retrievers,
        readers,
        critics,
        memories,
        models,
        encoders,
        stores,
        datasets,
        metrics,
    )
}
