"""The dialogues written by hand: a cast of bots with their documents, and what they talked about with whom.

In the file a turn is [user, reply, evidence]; the evidence is written U1 (the first thing the user told), P2 (the
bot's second statement) or D23 (the third document under the second statement; P2 goes with it by itself).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

from dragoman.datasets.toy.script import Exchange, Script, candidates_of, document_id, persona_id, user_id


def written_scripts(file: Path, prefix: str) -> Iterator[Script]:
    """The dialogues in the order of the file."""
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    cast = {bot["name"]: [(row["says"], row["documents"]) for row in bot["persona"]] for bot in table["bot"]}
    for number, dialogue in enumerate(table["dialogue"], 1):
        name = f"{prefix}{number:02d}"
        yield Script(
            name,
            dialogue["domain"],
            tuple(candidates_of(name, dialogue["user"], cast[dialogue["bot"]])),
            tuple(Exchange(user, reply, _evidence(name, marks)) for user, reply, marks in dialogue["turns"]),
        )


def _evidence(dialogue: str, marks: str) -> tuple[str, ...]:
    ids: list[str] = []
    for mark in marks.split():
        numbers = [int(digit) for digit in mark[1:]]
        if mark[0] == "U":
            ids.append(user_id(dialogue, numbers[0]))
        else:
            ids.append(persona_id(dialogue, numbers[0]))
        if mark[0] == "D":
            ids.append(document_id(dialogue, *numbers))
    return tuple(dict.fromkeys(ids))
