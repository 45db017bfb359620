"""Model card of a trained part: purpose, training data, figures, limits, use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dragoman.models.part import FILE, Part
from dragoman.train.agent_tables import SHARED, UNIFIED, uses
from dragoman.train.contract import Job

_USES = {
    "gate": "decides whether a turn of a dialogue needs something to be looked up",
    "planner": "decides which sources to ask for a turn, and in which order",
    "retriever": "ranks the passages of the sources for a turn",
    "critic": "judges whether a reply holds by the evidence it rests on",
    SHARED: "is one model under several parts of an agent",
    UNIFIED: "is one language model that plans which sources to ask, judges what they hold, and answers",
}
_SIZE, _AGAIN = "- Size: ", "- Exported again after training: "


def card(part: Part, job: Job, *, command: str = "") -> str:
    """Return the README.md of a training folder."""
    recipe = job.recipe
    role = part.kind.partition(".")[0]
    name = recipe.name or f"{part.kind} ({job.folder.name})"
    used = _USES.get(role, "is a trained part of an agent")
    lines = [f"# {name}", "", f"A trained part for Dragoman: it {used}.", ""]
    if recipe.about:
        lines += [recipe.about, ""]
    base = part.made.get("base")
    lines += [f"- Kind: `{part.kind}`" + (f", from the base `{base}`" if base else "")]
    lines += [_size_line(part)]
    lines += [f"- Licence: {recipe.licence or 'not stated in the recipe'}", ""]
    lines += ["## Learned from", "", *_data_table(job), ""]
    lines += [f"## On dev ({len(job.dev.examples)} turns)", "", *_metrics_table(part), "", *_heads(part)]
    lines += [
        "The calibration and the thresholds were fitted on turns that were not trained on; where those are dev's own, "
        "the figures at the threshold are a little too good.",
        "",
    ]
    lines += ["## Use", "", "In an agent.toml:", "", *_use(part, job.folder.name)]
    lines += [f"{_copied(part)} lies beside the agent.toml or in $DRAGOMAN_HOME/parts, or its whole path is given.", ""]
    lines += ["## Limits", "", *_limits(job), ""]
    lines += ["## Made by", ""]
    if command:
        lines += ["```sh", command, "```", ""]
    versions = part.made.get("versions") or {}
    listing = ", ".join(f"{library} {version}" for library, version in versions.items())
    lines += [f"Versions: {listing}." if listing else "Versions: not recorded."]
    lines += ["`recipe.toml` is the recipe, complete; `data.json` names the files and their SHA-256.", ""]
    return "\n".join(lines)


def exported_card(text: str, part: Part) -> str:
    """Update a card after another export: size, and the bits at which the figures were measured.

    A card without a size, such as one written by hand, stays unchanged.
    """
    lines = [line for line in text.split("\n") if not line.startswith(_AGAIN)]
    place = next((number for number, line in enumerate(lines) if line.startswith(_SIZE)), None)
    if place is None:
        return text
    lines[place : place + 1] = [_size_line(part), *_again(part)]
    return "\n".join(lines)


def size(part: Part) -> int:
    """Return the size of the files that run, in bytes."""
    return sum((part.place / name).stat().st_size for name in part.files if (part.place / name).is_file())


def _size_line(part: Part) -> str:
    bits = f", weights in {part.made['bits']} bits" if "bits" in part.made else ""
    return f"{_SIZE}{size(part) / 1e6:.1f} MB{bits}"


def _again(part: Part) -> list[str]:
    bits = part.made.get("fitted_bits")
    if bits is None or bits == part.made.get("bits"):
        return []
    return [f"{_AGAIN}calibration, thresholds and figures are those of the weights in {bits} bits"]


def _data_table(job: Job) -> list[str]:
    lines = ["| side | file | set | turns | licence | SHA-256 |", "|---|---|---|---:|---|---|"]
    is_cut = any("cut" in origin for origin in job.dev.origin)
    sides = {"train and dev": job.train} if is_cut else {"train": job.train, "dev": job.dev}
    for side, corpus in (sides | ({"aux": job.aux} if job.aux else {})).items():
        lines += [_data_row(side, origin) for origin in corpus.origin]
    turns = f"{len(job.train.examples)} turns were learned from, {len(job.dev.examples)} are dev"
    return [*lines, "", f"{turns}{', held out by dialogue' if is_cut else ''}."]


def _data_row(side: str, origin: Mapping[str, Any]) -> str:
    cells = (side, origin.get("name"), origin.get("set"), origin.get("rows"), origin.get("licence"))
    return f"| {' | '.join(str(cell or '') for cell in cells)} | `{origin.get('sha256', '')}` |"


def _metrics_table(part: Part) -> list[str]:
    metrics: Mapping[str, Any] = part.made.get("metrics") or {}
    if not metrics:
        return ["No figures were recorded."]
    return [
        "| measure | value |",
        "|---|---:|",
        *(f"| {name} | {float(value):.4f} |" for name, value in metrics.items()),
    ]


def _heads(part: Part) -> list[str]:
    lines = [
        f"- `{name}` / `{label}`: yes from {head.threshold(label):.4g} on"
        for name, head in part.heads.items()
        for label in head.labels
        if label in head.thresholds
    ]
    return ["Thresholds:", "", *lines, ""] if lines else []


def _limits(job: Job) -> Sequence[str]:
    languages = sorted({dataset.language for dataset in job.train.sets})
    sets = sorted({dataset.name for dataset in job.train.sets})
    cut = any("cut" in origin for origin in job.dev.origin)
    lines = [
        f"- It has seen {', '.join(sets) or 'no named set'} ({', '.join(languages) or 'language unknown'}) and speaks "
        "for such dialogues: on others, measure it first (`dragoman evaluate`), or train it on labels of your own.",
        "- It is not for decisions about people.",
    ]
    if cut:
        lines.append(
            "- Dev is a share of the training files' dialogues, held out: it says nothing of other sources. (*)"
        )
    return lines


def _use(part: Part, path: str) -> list[str]:
    lines: list[str] = []
    for use in uses(part, path):
        lines += ["```toml", use.toml, "```", ""]
        lines += [use.note, ""] if use.note else []
    return lines


def _copied(part: Part) -> str:
    if part.kind == SHARED:
        return "This folder, with those in it,"
    return f"This folder, or a copy of {', '.join(f'`{name}`' for name in (FILE, *part.files))},"
