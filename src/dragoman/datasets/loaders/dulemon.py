"""DuLeMon (both): Chinese dialogues in which the bot may use the user's persona and its own.

Each `Bot:` line that follows a user's line is a turn to be answered. A bot line that opens a dialogue or follows
another bot line is no answer: it stays in the history of later turns, with a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.core.examples import Example, Gold, Problem
from dragoman.core.registry import datasets
from dragoman.core.values import Context, Passage, Scope, Source, Turn
from dragoman.datasets.loaders.spacing import SpacedFile, spaced
from dragoman.datasets.reading import FileRow, Record, json_lines, parsed, shorten

USER = Source("USER", "用户的个人信息：用户说过的或尚未说过的喜好、职业、经历等", about="user", private=True)
BOT = Source("BOT", "系统自己的个人信息：喜好、职业、经历等", about="bot", private=True)

_LINE = re.compile(r"\s*(usr|user|bot)\s*[:：] ?(.*)", re.IGNORECASE | re.DOTALL)
_PERSONA = re.compile(r"\s*([UB]\d+)\s*[:：] ?(.*)", re.DOTALL)
_SEPARATOR = re.compile(r"[,，\s]+")


class _DulemonDialogue(Record):
    bot_persona: list[str]
    user_said_persona: list[str]
    user_no_said_persona: list[str]
    conversation: list[str]


@datasets.register("dulemon.v1")
class Dulemon(SpacedFile):
    """A split of DuLeMon-both. What the user has not said yet is a candidate as well: `meta["said"]` tells."""

    name = "dulemon"
    sources: tuple[Source, ...] = (USER, BOT)

    def examples(self) -> Iterator[Example | Problem]:
        for outcome in parsed(json_lines(self._file), _DulemonDialogue):
            if isinstance(outcome, Problem):
                yield outcome
            else:
                yield from self._turns(*outcome)

    def _turns(self, row: FileRow, record: _DulemonDialogue) -> Iterator[Example | Problem]:
        dialogue = f"{self._file.stem}-{row.number}"
        pool: dict[str, Passage] = {}
        for oddity in self._fill(pool, row, dialogue, record):
            yield oddity
            if oddity.severity == "error":
                return
        candidates = tuple(pool.values())
        turns: tuple[Turn, ...] = ()
        position = 0
        for number, line in enumerate(record.conversation, start=1):
            match = _LINE.fullmatch(line)
            if match is None:
                yield row.error(
                    f"line {number} of the conversation is neither the user's nor the bot's: {shorten(line)}"
                )
                return  # what follows would have a hole in its history
            words, _, ids = match[2].partition("\t")
            text = spaced(words, self._spaces)
            if match[1].casefold() != "bot":
                turns = (*turns, Turn("user", text))
                continue
            gold, fault = _gold(text, ids, pool)
            if not turns or turns[-1].speaker == "agent":
                yield row.warning(f"line {number} of the conversation answers no user turn: it is history only")
            elif fault or not turns[-1].text.strip():
                yield row.error(f"line {number} of the conversation: {fault or 'the user turn before it is empty'}")
            else:
                context = Context(turns, Scope(self.name, dialogue), dialogue)
                yield Example(f"{dialogue}#{position}", context, self.sources, candidates, gold, position)
            position += 1
            turns = (*turns, Turn("agent", text))

    def _fill(
        self, pool: dict[str, Passage], row: FileRow, dialogue: str, record: _DulemonDialogue
    ) -> Iterator[Problem]:
        """Add the candidates to the pool under the names that the gold uses; yield their problems."""
        lists: tuple[tuple[str, list[str], dict[str, str]], ...] = (
            ("USER", record.user_said_persona, {"said": "yes"}),
            ("USER", record.user_no_said_persona, {"said": "no"}),
            ("BOT", record.bot_persona, {}),
        )
        for source, lines, meta in lists:
            for line in lines:
                match = _PERSONA.fullmatch(line)
                if match is None or not match[2].strip():
                    yield row.warning(f"this persona has no id or no text, so it is no candidate: {shorten(line)}")
                    continue
                key, text = match[1], spaced(match[2], self._spaces)
                if key in pool and pool[key].text != text:
                    yield row.error(f"two personas have the id {key}")
                    return
                position = pool[key].position if key in pool else len(pool)
                pool[key] = Passage(f"{dialogue}/{key}", source, text, position=position, meta=meta)


def _gold(text: str, ids: str, pool: dict[str, Passage]) -> tuple[Gold, str]:
    """Return the gold of a bot line, or its fault."""
    if not text.strip():
        return Gold(), "the reply is empty"
    names = [name for name in _SEPARATOR.split(ids) if name]
    for name in names:
        if name not in pool:
            return Gold(), f"the gold evidence '{name}' is not among the candidates"
    evidence = tuple(dict.fromkeys(pool[name].id for name in names))
    asked = {pool[name].source for name in names}
    plan = tuple(source.name for source in (USER, BOT) if source.name in asked)
    return Gold(bool(plan), plan, evidence, text), ""
