from __future__ import annotations

import re

import pytest

from dragoman.text.patterns import Lazy, tables


def test_an_expression_is_compiled_when_it_is_first_used_and_once(monkeypatch):
    compiled = []
    real = re.compile
    monkeypatch.setattr(re, "compile", lambda *given: compiled.append(given) or real(*given))
    lazy = Lazy({"price": r"\bfrancs?\b", "name": r"[A-Z]\w+"}, lambda name: 0 if name == "name" else re.IGNORECASE)
    assert (list(lazy), len(lazy), compiled) == (["price", "name"], 2, [])
    assert lazy["price"].search("34 FRANCS")
    assert not lazy["name"].search("ellisund")
    assert lazy["price"] is lazy["price"]
    assert len(compiled) == 2
    with pytest.raises(KeyError):
        lazy["colour"]


@pytest.mark.parametrize("name", ["form", "wants", "offers"])
def test_every_expression_of_the_tables_compiles(name):
    assert len(dict(tables(name).items())) == len(tables(name)) > 3
