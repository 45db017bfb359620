"""Names of components: versions, plugins, and what was meant."""

from __future__ import annotations

import sys
import types

import pytest

from dragoman.core import registry as module
from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.core.registry import REGISTRIES, Registry


@pytest.fixture
def gates(monkeypatch):
    """A registry whose package is empty."""
    monkeypatch.setitem(sys.modules, "empty_room", types.ModuleType("empty_room"))
    return Registry("gate", "empty_room")


class One: ...


class Two: ...


def test_a_name_without_role_or_version_means_the_newest(gates):
    for name, factory in (("fixed.v2", One), ("fixed.v10", Two), ("fixed-not.v11", One)):
        gates.register(name)(factory)
    assert gates.resolve("fixed") == gates.resolve("gate.fixed") == "gate.fixed.v10"
    assert gates.resolve("fixed.v2") == "gate.fixed.v2"
    assert gates.factory("gate.fixed.v2") is One
    assert gates.names() == ("gate.fixed-not.v11", "gate.fixed.v10", "gate.fixed.v2")


@pytest.mark.parametrize("kind", ["prompt", "gate.prompt", "gate.prompt.v1", "promted.v1"])
def test_an_unknown_name_says_what_was_meant_and_what_there_is(gates, kind):
    gates.register("prompted.v1")(One)
    gates.register("always.v1")(Two)
    with pytest.raises(
        UnknownNameError, match=r"Unknown gate .* Did you mean 'prompted'\? Available: always, prompted"
    ):
        gates.resolve(kind)


def test_nothing_close_suggests_nothing(gates):
    gates.register("always.v1")(One)
    with pytest.raises(UnknownNameError) as caught:
        gates.resolve("zebra")
    assert caught.value.suggestion is None


def test_a_name_can_be_registered_once(gates):
    gates.register("fixed.v1")(One)
    gates.register("fixed.v1")(One)
    with pytest.raises(ConfigError, match=r"'gate\.fixed\.v1' is registered twice"):
        gates.register("fixed.v1")(Two)


@pytest.mark.parametrize("name", ["fixed", "fixed.1", "Fixed.v1", "fixed.v0", "fixed.v1 ", ".v1"])
def test_a_name_needs_a_version(gates, name):
    with pytest.raises(ConfigError, match="not a component name"):
        gates.register(name)


def test_plugins_are_found_by_entry_point_beside_the_built_ins(gates, monkeypatch):
    class Point:
        name = "strange.v1"

        @staticmethod
        def load():
            return Two

    asked = []

    class Points:
        @staticmethod
        def select(*, group):
            asked.append(group)
            return [Point]

    monkeypatch.setattr(module, "_plugins", Points)
    gates.register("fixed.v1")(One)
    assert gates.names() == ("gate.fixed.v1", "gate.strange.v1")
    assert gates.factory("strange") is Two
    assert asked == ["dragoman.gate"]


def test_a_plugin_that_cannot_be_loaded_is_named_every_time(gates, monkeypatch):
    class Point:
        name = "broken.v1"

        @staticmethod
        def load():
            raise ImportError("no module named 'wires'")

    class Points:
        @staticmethod
        def select(*, group):
            return [Point]

    monkeypatch.setattr(module, "_plugins", Points)
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"gate\.broken\.v1' cannot be loaded: no module named 'wires'"):
            gates.names()


def test_a_room_that_cannot_be_imported_fails_every_time():
    rooms = Registry("gate", "room_that_is_not_there")
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError):
            rooms.names()


def test_every_role_has_a_registry():
    assert set(REGISTRIES) == {
        *(
            "gate",
            "planner",
            "retriever",
            "reader",
            "critic",
            "memory",
            "model",
            "encoder",
            "store",
            "dataset",
            "metric",
        )
    }
