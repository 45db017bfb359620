"""ConvAI2 (PersonaChat) in its format of numbered lines: small talk of a bot with a persona.

A line numbered 1 opens a dialogue. `your persona:` lines are about the bot, `partner's persona:` lines about the
user; every other line is the user's turn, a TAB and the reply; later columns are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from dragoman.core.errors import ConfigError
from dragoman.core.examples import Example, Gold, Label, Problem
from dragoman.core.registry import datasets
from dragoman.core.values import Context, Passage, Scope, Source, Turn
from dragoman.datasets.reading import FileRow, OneFile, shorten, text_lines

Personas: TypeAlias = Literal["self", "other", "both"]

PERSONA = Source("PERSONA", "who the agent is: its hobbies, work, family and likes", about="bot", private=True)
PARTNER = Source("PARTNER", "who the user is: their hobbies, work, family and likes", about="user", private=True)

_LINE = re.compile(r"\s*(\d+) (?:(your|partner's) persona:)? *(.*)", re.DOTALL)
_SOURCES: dict[Personas, tuple[Source, ...]] = {"self": (PERSONA,), "other": (PARTNER,), "both": (PERSONA, PARTNER)}
_SILENCE = "__SILENCE__"


@datasets.register("convai2.v1")
class ConvAi2(OneFile):
    """A split of ConvAI2; `personas` says whose persona lines become candidates."""

    name = "convai2"
    language = "en"
    labels: frozenset[Label] = frozenset({"reply"})

    def __init__(self, *, file: Path, personas: Personas = "self") -> None:
        if personas not in get_args(Personas):
            raise ConfigError(
                f"dataset.convai2: personas = '{personas}' is not known.", remedy="Use 'self', 'other' or 'both'."
            )
        super().__init__(file)
        self.sources: tuple[Source, ...] = _SOURCES[personas]

    def examples(self) -> Iterator[Example | Problem]:
        lines: list[tuple[FileRow, re.Match[str]]] = []
        ignored: set[str] = set()
        dialogues = 0
        for row in text_lines(self._file):
            if isinstance(row, Problem):
                yield row
                continue
            match = _LINE.fullmatch(str(row.record))
            if match is None:
                yield row.error(f"this line has no number: {shorten(row.record)}")
                continue
            if int(match[1]) == 1 and lines:
                dialogues += 1
                yield from self._dialogue(dialogues, lines, ignored)
                lines = []
            expected = int(lines[-1][1][1]) + 1 if lines else 1
            if int(match[1]) != expected:
                yield row.warning(f"this line has the number {match[1]} where {expected} should follow")
            lines.append((row, match))
        yield from self._dialogue(dialogues + 1, lines, ignored)

    def _dialogue(
        self, number: int, lines: list[tuple[FileRow, re.Match[str]]], ignored: set[str]
    ) -> Iterator[Example | Problem]:
        dialogue = f"{self._file.stem}-{number}"
        utterances = [(row, match[3]) for row, match in lines if not match[2]]
        candidates: list[Passage] = []
        for row, match in lines:
            if match[2]:
                passage = self._persona(dialogue, row, match, len(candidates))
                if isinstance(passage, Passage):
                    candidates.append(passage)
                elif match[2] not in ignored:  # said once, not for each of thousands of lines
                    ignored.add(match[2])
                    yield passage
        turns: tuple[Turn, ...] = ()
        for position, (row, text) in enumerate(utterances):
            user, *rest = text.split("\t")
            reply = rest[0].strip() if rest else ""
            if user.strip() == _SILENCE and reply:
                yield row.warning("the agent speaks first here: its line is history only")
            elif not user.strip() or not reply:
                yield row.error("the user turn is empty" if not user.strip() else "the reply is empty or missing")
                turns = (*turns, Turn("user", user.strip()))
            else:
                turns = (*turns, Turn("user", user.strip()))
                context = Context(turns, Scope(self.name, dialogue), dialogue)
                name = f"{dialogue}#{position}"
                yield Example(name, context, self.sources, tuple(candidates), Gold(reply=reply), position)
            turns = (*turns, Turn("agent", reply))

    def _persona(self, dialogue: str, row: FileRow, match: re.Match[str], place: int) -> Passage | Problem:
        source = PERSONA if match[2] == "your" else PARTNER
        if source not in self.sources:
            return row.warning(f"'{match[2]} persona' lines are not read: personas = 'both' would read them")
        if not match[3].strip():
            return row.warning("this persona line is empty: it is no candidate")
        return Passage(f"{dialogue}/P{place}", source.name, match[3].strip(), position=place)
