"""Every cached function of texts is emptied when something is forgotten."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from contextlib import suppress
from functools import _lru_cache_wrapper

import pytest

import dragoman
from dragoman.core.caches import clear_caches, text_cache
from dragoman.text.analyse import forget_texts

pytestmark = pytest.mark.trust
ROOMS = ("agent", "critic", "decision", "gate", "memory", "planner", "prompts", "reader", "retriever", "text")
FIXED = {
    "dragoman.agent.create.parameters",
    "dragoman.decision.categories.categories",
    "dragoman.decision.joint.trained_scorer",
    "dragoman.memory.linear.weights_of",
    "dragoman.memory.patterns._compiled",
    "dragoman.memory.patterns.words",
    "dragoman.prompts.get",
    "dragoman.prompts.names",
    "dragoman.text.patterns.read",
    "dragoman.text.patterns.words",
}
"""Cached functions of names, languages and expressions of the package: no user's words reach them."""


def cached_functions():
    for room in ROOMS:
        package = importlib.import_module(f"dragoman.{room}")
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(found.name)
            for function in vars(module).values():
                if isinstance(function, _lru_cache_wrapper) and function.__module__ == found.name:
                    yield function
        for function in vars(package).values():
            if isinstance(function, _lru_cache_wrapper) and function.__module__ == package.__name__:
                yield function


def name_of(function):
    return f"{function.__module__}.{function.__qualname__}"


def takes_text(function):
    kinds = [str(parameter.annotation) for parameter in inspect.signature(function).parameters.values()]
    return any("str" in kind or "Callable" in kind for kind in kinds)


def test_every_cached_function_of_a_text_is_emptied_by_forgetting():
    cleared = []
    functions = [function for function in cached_functions() if takes_text(function)]
    assert len(functions) > 15
    assert any(name_of(function) == "dragoman.text.typos.untyped" for function in functions)
    for function in functions:
        if name_of(function) in FIXED:
            continue
        texts = ["Zanzibarra"] * len(inspect.signature(function).parameters)
        with suppress(Exception):  # not every function takes any text; one that fails keeps nothing
            function(*texts)
            cleared.append(function)
    assert len(cleared) > 10
    forget_texts()
    assert [name_of(function) for function in cleared if function.cache_info().currsize] == []


def test_a_text_cache_works_as_a_cache_and_is_cleared():
    seen = []

    @text_cache(maxsize=4)
    def length(text):
        seen.append(text)
        return len(text)

    assert [length("ab"), length("ab")] == [2, 2] and seen == ["ab"]
    clear_caches()
    assert length("ab") == 2 and seen == ["ab", "ab"]


def test_a_request_to_forget_is_in_no_cache_after_its_turn(tmp_path):
    (tmp_path / "agent.toml").write_text(
        '[models.language]\nkind = "model.scripted.v1"\ndefault = "I would not know."\n'
        '[models.encoder]\nkind = "encoder.hashing.v1"\n[memory]\nask_model = false\n',
        encoding="utf-8",
    )
    with dragoman.load(tmp_path) as assistant:
        assistant.ask("My cat is called Zorbolin.")
        assistant.ask("Forget that my cat is called Zorbolin.")
        full = [
            name_of(f)
            for f in cached_functions()
            if takes_text(f) and name_of(f) not in FIXED and f.cache_info().currsize
        ]
    assert full == []
