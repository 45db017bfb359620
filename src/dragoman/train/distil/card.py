"""The model card of a static encoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.models.part import Part

CARD = "README.md"
_TOLD = {
    "cosine/vocabulary": "cosine to the teacher's vectors: tokens read alone, weighted",
    "cosine/map": "the same after one map for all tokens",
    "cosine": "the same after the offsets: the table as it is",
    "neighbours": "of the teacher's ten nearest passages, the share that is found",
}


def card(part: Part, *, command: str = "") -> str:
    """README.md of a part of `encoder.static`."""
    made, options = part.made, part.options
    data = made["data"]
    lines = [
        f"# {part.folder.name}",
        "",
        "A static encoder for Dragoman: a table of token vectors, in the space of the encoder that it comes from.",
        "",
        f"- Kind: `{part.kind}`, {options['dimensions']} dimensions, texts of up to {options['max_tokens']} tokens",
        f"- Teacher: `{options['teacher']}`, SHA-256 of its model `{options['teacher_sha256']}`",
        f"- Fitted to {data['passages']:,} passages, SHA-256 `{data['sha256']}`, seed {data['seed']}",
        "- Licence: as the teacher's and the passages' own",
        "",
        *(f"- File: {file['name']}, SHA-256 `{file['sha256']}`{_licence(file)}" for file in data["files"]),
        "",
        "## On passages that were held out",
        "",
        "| measure | value |",
        "|---|---:|",
        *(f"| {_TOLD.get(name, name)} | {float(value):.4f} |" for name, value in made["metrics"].items()),
        "",
        "## Use",
        "",
        "```toml",
        "[models.encoder]",
        'kind = "encoder.static.v1"',
        f'part = "{part.folder.name}"',
        'queries = "teacher"',
        "```",
        "",
        "Vectors in a state folder are those of the encoder that read the files: give the agent a new one.",
        "",
        "## Limits",
        "",
        "- It does not read the order of words, and of a word with two meanings it knows the mean.",
        "- It was fitted to passages like those above: for others, distil it again.",
        "",
        *(["## Made by", "", "```sh", command, "```", ""] if command else []),
        "Versions: " + ", ".join(f"{name} {number}" for name, number in made["versions"].items()) + ".",
        "",
    ]
    return "\n".join(lines)


def _licence(file: Mapping[str, Any]) -> str:
    return f", licence {file['licence']}" if file.get("licence") else ""
