"""Registry of learners by the kind of part that they train, which a recipe's `kind` names."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import TypeVar

from dragoman.core.errors import UnknownNameError
from dragoman.core.registry import plugins
from dragoman.train.contract import Learner

L = TypeVar("L", bound=Callable[[], Learner])


class Learners:
    """Registry of learners; imports the files of `train/learners/` and the entry points `dragoman.learner` on first
    use."""

    def __init__(self) -> None:
        self._made: dict[str, Callable[[], Learner]] = {}
        self._loaded = False

    def register(self, kind: str) -> Callable[[L], L]:
        """Decorate a class: `@learners.register("gate.linear")`."""

        def add(factory: L) -> L:
            self._made[kind] = factory
            return factory

        return add

    def names(self) -> tuple[str, ...]:
        self._load()
        return tuple(sorted(self._made))

    def create(self, kind: str) -> Learner:
        """Create a learner by kind."""
        self._load()
        if kind not in self._made:
            raise UnknownNameError("learner", kind, self._made)
        return self._made[kind]()

    def _load(self) -> None:
        if self._loaded:
            return
        package = importlib.import_module("dragoman.train.learners")
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")
        for kind, factory in plugins("learner"):
            self.register(kind)(factory)
        self._loaded = True


learners = Learners()
