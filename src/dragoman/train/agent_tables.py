"""The tables of agent.toml that use a trained part."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dragoman.models.part import FILE, Part, open_part

SHARED = "shared"
UNIFIED = "unified"
_ORDER = ("gate", "reply", "relevance", "critic")


@dataclass(frozen=True, slots=True)
class Use:
    """Tables of agent.toml with a note; `state` is a folder for a new state, where the old one does not fit."""

    tables: Mapping[str, Mapping[str, str | bool]]
    note: str = ""
    state: str = ""

    @property
    def command(self) -> str:
        """The command for a chat that uses the part, with the sample agent or the one in this folder."""
        words = ["dragoman", "chat", *(("--state", self.state) if self.state else ())]
        for table, values in self.tables.items():
            for key, value in values.items():
                words += ["--set", f"{table}.{key}={value if isinstance(value, str) else json.dumps(value)}"]
        return shlex.join(words)

    @property
    def toml(self) -> str:
        """The tables as TOML."""
        blocks = [[f"[{table}]", *_lines(values)] for table, values in self.tables.items()]
        return "\n".join(line for block in blocks for line in block)

    @property
    def line(self) -> str:
        """The tables in one line, for messages."""
        return "; ".join(f"[{table}] {', '.join(_lines(values))}" for table, values in self.tables.items())


def uses(part: Part, path: str) -> tuple[Use, ...]:
    """The tables that use a part under the name `named`; for a model with several parts, those of each."""
    if part.kind == SHARED:
        inner = [place.parent for place in part.folder.glob(f"*/{FILE}") if place.parent.name in _ORDER]
        inner.sort(key=lambda place: _ORDER.index(place.name))
        return tuple(use for place in inner for use in uses(open_part(place), f"{path}/{place.name}"))
    if part.kind == UNIFIED:
        return (_unified(path, part.options),)
    role, _, kind = part.kind.partition(".")
    if role == "joint":
        return (
            Use({"reader": {"kind": "grounded", "joint": path}}, "It judges sentences together with the user's facts."),
        )
    if role == "encoder":
        return (_encoder(kind, path),)
    return (_retriever(kind, path) if role == "retriever" else _other(role, kind, path, part.options),)


def _retriever(kind: str, path: str) -> Use:
    if kind == "bi":
        return Use(
            {"models.encoder": {"weights": path}, "retriever": {"kind": "dense", "part": path}},
            "The agent's encoder is then this one, and vectors of another do not fit it: the state must be new. "
            'kind = "hybrid" finds by words too.',
            state=f"{path}-state",
        )
    if kind == "cross":
        table: Mapping[str, str | bool] = {"kind": "rerank", "inner": "hybrid", "part": path}
        return Use({"retriever": table}, "It puts in order what the inner retriever finds; any other may be that.")
    if kind == "joint":
        return Use(
            {"planner": {"kind": "all", "joint": True}, "retriever": {"kind": "joint", "part": path}},
            "It scores the personas. The pairs are scored by the agent's encoder, or by what `knowledge` names: a part "
            "of retriever-cross, or of retriever-bi where that is the agent's encoder.",
        )
    return Use({"retriever": {"kind": kind, "part": path}})


def _unified(path: str, options: Mapping[str, Any]) -> Use:
    shape = options.get("shape") or {}
    tables: dict[str, Mapping[str, str | bool]] = {"planner": {"kind": "acting", "part": path}}
    if shape.get("style") != "safari":  # SAFARI's model scores no evidence, so another retriever finds it
        tables["retriever"] = {"kind": "evaluating", "part": path}
    tables["reader"] = {"kind": "unified", "part": path}
    aware = "check" in (options.get("offsets") or {})  # the part learned to plan after reading
    note = "The roles share one model; each may also be used alone."
    return Use(tables, note + (" planner.aware = true plans after reading what there is." if aware else ""))


def _encoder(kind: str, path: str) -> Use:
    return Use(
        {"models.encoder": {"kind": kind, "part": path}},
        "Passages are then read by this encoder, and vectors of another do not fit it: the state must be new.",
        state=f"{path}-state",
    )


def _other(role: str, kind: str, path: str, options: Mapping[str, Any]) -> Use:
    table: dict[str, str | bool] = {"kind": kind, "part": path}
    if role == "critic":
        note = "A critic is heard where the refiner is on, and by the metrics of consistency."
        return Use({role: table, "refiner": {"mode": "within-step"}}, note)
    if role == "gate" and _reads_reply(options):
        note = "It was trained to read a reply: a reader drafts one, without evidence, before it decides."
        return Use({role: {**table, "reader": "grounded"}}, note)
    return Use({role: table})


def _lines(values: Mapping[str, str | bool]) -> list[str]:
    return [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]


def _reads_reply(options: Mapping[str, Any]) -> bool:
    """Whether a gate reads a reply, by its options or those of its features or inputs."""
    if options.get("reply") is True or "resp" in (options.get("fields") or ()):
        return True
    return any(_reads_reply(value) for value in options.values() if isinstance(value, Mapping))
