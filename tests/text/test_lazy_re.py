"""Patterns that compile at first use."""

from __future__ import annotations

import copy
import re

import pytest

from dragoman.text import lazy_re


def test_a_pattern_compiles_at_first_use(monkeypatch):
    compiled = []
    real = re.compile
    monkeypatch.setattr(re, "compile", lambda *given: compiled.append(given) or real(*given))
    pattern = lazy_re.compile(r"(?P<word>b+)", lazy_re.IGNORECASE)
    assert pattern.pattern == r"(?P<word>b+)" and not compiled
    assert pattern.search("aBBa")["word"] == "BB"
    assert pattern.sub("x", "abba") == "axa" and pattern.groups == 1 and pattern.flags & re.IGNORECASE
    assert compiled == [(r"(?P<word>b+)", re.IGNORECASE)] * len(compiled) and compiled


def test_a_wrong_pattern_is_refused_at_first_use():
    pattern = lazy_re.compile("(")
    with pytest.raises(re.error):
        pattern.search("a")


def test_a_pattern_can_be_copied_and_compared():
    pattern = lazy_re.compile("a")
    assert copy.copy(pattern).search("a") and pattern in {pattern}
