"""Rename the sources of a unified part to those of an agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dragoman.core.errors import ConfigError
from dragoman.models.part import Head, Part

BETWEEN = ">"
"""Separator of sources in an order as a JSON key; NULL is the empty string."""


def rename_part(part: Part, names: Mapping[str, str]) -> Part:
    """The part with renamed sources, {part's name: agent's name}, in tokens, offsets and calibrations."""
    if not names:
        return part
    own = list(part.options["shape"]["sources"])
    strange = sorted(names.keys() - set(own))
    new = [names.get(name, name) for name in own]
    if strange or len(set(new)) < len(new):
        wrong = f"it knows no {', '.join(strange)}" if strange else "two sources would have one name"
        raise ConfigError(
            f"The sources of the part '{part.folder}' cannot be named {dict(names)}: {wrong}.",
            remedy=f"Give names for some of {', '.join(own)}, each another.",
        )
    options = dict(part.options)
    options["shape"] = {**options["shape"], "sources": new}
    options["spelling"] = _spelling(options["spelling"], names)
    options["offsets"] = {
        way: {_order(order, names): value for order, value in table.items()}
        for way, table in options.get("offsets", {}).items()
    }
    return replace(part, options=options, heads={name: _head(head, names) for name, head in part.heads.items()})


def _spelling(table: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    ids = [
        [kind, names.get(name, name) if kind == "acting" else name, ids_of_token]
        for kind, name, ids_of_token in table["ids"]
    ]
    return {**table, "ids": ids}


def _order(order: str, names: Mapping[str, str]) -> str:
    return BETWEEN.join(names.get(name, name) for name in order.split(BETWEEN))


def _head(head: Head, names: Mapping[str, str]) -> Head:
    return replace(
        head, calibrations={names.get(name, name): calibration for name, calibration in head.calibrations.items()}
    )
