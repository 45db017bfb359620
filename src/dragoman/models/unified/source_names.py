"""A unified part whose sources have other names in an agent than where it was trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dragoman.core.errors import ConfigError
from dragoman.models.part import Head, Part

BETWEEN = ">"
"""Between the sources of an order where it is a key of JSON; NULL is the empty text."""


def renamed(part: Part, names: Mapping[str, str]) -> Part:
    """The part with its sources by an agent's names, {its own: the agent's}: tokens, offsets, calibrations."""
    if not names:
        return part
    own = list(part.options["shape"]["sources"])
    strange = sorted(names.keys() - set(own))
    given = [names.get(name, name) for name in own]
    if strange or len(set(given)) < len(given):
        wrong = f"it knows no {', '.join(strange)}" if strange else "two sources would have one name"
        raise ConfigError(
            f"The sources of the part '{part.folder}' cannot be named {dict(names)}: {wrong}.",
            remedy=f"Give names for some of {', '.join(own)}, each another.",
        )
    options = dict(part.options)
    options["shape"] = {**options["shape"], "sources": given}
    options["spelling"] = _spelling(options["spelling"], names)
    options["offsets"] = {
        way: {_order(order, names): value for order, value in table.items()}
        for way, table in options.get("offsets", {}).items()
    }
    return replace(part, options=options, heads={name: _head(head, names) for name, head in part.heads.items()})


def _spelling(table: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    ids = [[kind, names.get(name, name) if kind == "acting" else name, said] for kind, name, said in table["ids"]]
    return {**table, "ids": ids}


def _order(order: str, names: Mapping[str, str]) -> str:
    return BETWEEN.join(names.get(name, name) for name in order.split(BETWEEN))


def _head(head: Head, names: Mapping[str, str]) -> Head:
    return replace(head, calibrations={names.get(name, name): found for name, found in head.calibrations.items()})
