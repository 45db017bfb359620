"""Shipped toy set: invented dialogues in English and Chinese, on which every recipe runs in seconds."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args

from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.core.examples import Example, Label
from dragoman.core.registry import datasets
from dragoman.core.values import Passage, Source
from dragoman.datasets.toy.compose import DialogueComposer
from dragoman.datasets.toy.grammar import descriptions, read_grammar
from dragoman.datasets.toy.script import (
    DOCUMENTS,
    PERSONA,
    USER,
    Exchange,
    Script,
    candidates_of,
    cut,
    document_id,
    persona_id,
    user_id,
)

__all__ = ["ToyDataset"]

ToyLanguage = Literal["en", "zh"]
ToyPart = Literal["all", "train", "dev", "test"]

_FOLDER = Path(__file__).parent
_LABELS: frozenset[Label] = frozenset(get_args(Label))
_PARTS = {"t": "train", "d": "dev", "s": "test"}
_PATTERN = "tttdtttstttdttsttdts"
"""Part of each dialogue in a block of twenty: 14 train, 3 dev, 3 test."""
_JOINT_EVERY = 4
"""Every fourth dialogue of a part has a turn that needs user facts and persona together, so that no part lacks them."""


@datasets.register("toy.v1")
class ToyDataset:
    """Three sources, every decision in every part, 20 dialogues by hand and the rest by a seeded generator.

    Dev and test speak partly of places that train never mentions. `dialogues` is the number of generated ones:
    more of them begin with the same ones.
    """

    def __init__(
        self, *, language: ToyLanguage = "en", part: ToyPart = "all", seed: int = 7, dialogues: int = 150
    ) -> None:
        if language not in get_args(ToyLanguage):
            raise UnknownNameError("language of the toy set", language, get_args(ToyLanguage))
        if part not in get_args(ToyPart):
            raise UnknownNameError("part of the toy set", part, get_args(ToyPart))
        if dialogues < 0:
            raise ConfigError(f"dataset.toy: dialogues = {dialogues} is negative.", remedy="Give 0 or more.")
        self._language = language
        self._part = part
        self._seed = seed
        self._dialogues = dialogues

    @property
    def name(self) -> str:
        return "toy" if self._language == "en" else f"toy-{self._language}"

    @property
    def language(self) -> str:
        return self._language

    @property
    def sources(self) -> tuple[Source, ...]:
        about = descriptions(self._folder)
        return (
            Source(USER, about[USER], about="user", private=True),
            Source(PERSONA, about[PERSONA], about="bot", private=True),
            Source(DOCUMENTS, about[DOCUMENTS], needs=(PERSONA,), private=True),
        )

    @property
    def labels(self) -> frozenset[Label]:
        return _LABELS

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that determine the set: sentences, and the modules of the generator."""
        return (*sorted(self._folder.glob("*.toml")), *sorted(_FOLDER.glob("*.py")))

    def examples(self) -> Iterator[Example]:
        sources = self.sources
        for origin, part, script in self._scripts():
            if self._part in ("all", part):
                meta = {"part": part, "origin": origin}
                yield from cut(script, tenant=self.name, sources=sources, meta=meta)

    def passages(self) -> Iterator[Passage]:
        return iter(())

    @property
    def _folder(self) -> Path:
        return _FOLDER / self._language

    def _scripts(self) -> Iterator[tuple[str, str, Script]]:
        """Yield every dialogue with its origin and part; written ones come first."""
        written = _written_scripts(self._folder / "written.toml", f"{self._language}-w")
        for number, script in enumerate(written):
            yield "written", _part(number), script
        composer = DialogueComposer(read_grammar(self._folder), language=self._language, seed=self._seed)
        seen = dict.fromkeys(_PARTS.values(), 0)
        for number in range(self._dialogues):
            part = _part(number)
            joint = seen[part] % _JOINT_EVERY == 1
            seen[part] += 1
            if self._part in ("all", part):
                name = f"{self._language}-g{number + 1:03d}"
                yield "generated", part, composer.script(name, number=number, part=part, joint=joint)


def _part(number: int) -> str:
    return _PARTS[_PATTERN[number % len(_PATTERN)]]


def _written_scripts(file: Path, prefix: str) -> Iterator[Script]:
    """Yield the dialogues written by hand, in the order of the file.

    A turn is [user, reply, evidence]; evidence is U1 (the user's first fact), P2 (the bot's second statement) or D23
    (the third document under the second statement, which implies P2).
    """
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    cast = {bot["name"]: [(row["says"], row["documents"]) for row in bot["persona"]] for bot in table["bot"]}
    for number, dialogue in enumerate(table["dialogue"], 1):
        name = f"{prefix}{number:02d}"
        yield Script(
            name,
            dialogue["domain"],
            tuple(candidates_of(name, dialogue["user"], cast[dialogue["bot"]])),
            tuple(Exchange(user, reply, _evidence_ids(name, marks)) for user, reply, marks in dialogue["turns"]),
        )


def _evidence_ids(dialogue: str, marks: str) -> tuple[str, ...]:
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
