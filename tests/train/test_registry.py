"""Learners by kind, built in and strangers'."""

from __future__ import annotations

import pytest

import dragoman.core.registry as module
from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.train.registry import Learners


class Strange:
    def fit(self, job):
        return None


class Points:
    """What one installed package offers."""

    name = "gate.strange"

    @classmethod
    def select(cls, *, group):
        assert group == "dragoman.learner"
        return [cls]

    @staticmethod
    def load():
        return Strange


class Broken(Points):
    @staticmethod
    def load():
        raise ImportError("no module named 'wires'")


def test_a_strangers_learner_is_found_by_entry_point(monkeypatch):
    monkeypatch.setattr(module, "_plugins", lambda: Points)
    learners = Learners()
    assert isinstance(learners.create("gate.strange"), Strange)
    assert "gate.strange" in learners.names()


def test_one_that_cannot_be_loaded_is_named(monkeypatch):
    monkeypatch.setattr(module, "_plugins", lambda: Broken)
    with pytest.raises(ConfigError, match=r"learner\.gate\.strange' cannot be loaded: no module named 'wires'"):
        Learners().names()


def test_an_unknown_kind_is_told_what_was_meant(monkeypatch):
    monkeypatch.setattr(module, "_plugins", lambda: Points)
    with pytest.raises(UnknownNameError, match=r"Did you mean 'gate\.strange'"):
        Learners().create("gate.strnge")
