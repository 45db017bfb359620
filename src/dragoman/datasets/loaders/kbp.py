"""KBP (SAFARI, UniMS-RAG): Chinese dialogues of a bot with a persona, and documents that depend on each persona."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from dragoman.core.examples import Example, Gold, Problem
from dragoman.core.registry import datasets
from dragoman.core.values import Context, Passage, Scope, Source, Turn
from dragoman.datasets.loaders.spacing import SpacedFile, spaced
from dragoman.datasets.reading import FileRow, Record, parsed
from dragoman.datasets.streaming import json_records

PERSONA = Source("PERSONA", "系统自己的个人信息：喜好、职业、家乡、性格等", about="bot", private=True)
DOCUMENTS = Source(
    "DOCUMENTS", "与系统个人信息相关的知识：人物、地点、作品等的具体介绍", needs=("PERSONA",), private=True
)


class _KbpTurn(Record):
    user: str = Field(alias="U")
    reply: str = Field(alias="S")
    gold: list[list[str]] = Field(alias="P-K", max_length=2)


class _KbpDialogue(Record):
    persona: dict[str, str]
    persona_kg: dict[str, dict[str, str]]
    conversation: list[_KbpTurn]


@datasets.register("kbp.v1")
class Kbp(SpacedFile):
    """A split of KBP. A document's parent is its persona; `spaces = "keep"` leaves every text as it was released."""

    name = "kbp"
    sources: tuple[Source, ...] = (PERSONA, DOCUMENTS)

    def examples(self) -> Iterator[Example | Problem]:
        rows = json_records(self._file, int, holds="a list of KBP dialogues")
        for outcome in parsed(rows, _KbpDialogue):
            if isinstance(outcome, Problem):
                yield outcome
            else:
                yield from self._turns(*outcome)

    def _turns(self, row: FileRow, record: _KbpDialogue) -> Iterator[Example | Problem]:
        dialogue = f"{self._file.stem}-{row.number}"
        pool = self._pool(dialogue, record)
        candidates = tuple(pool.values())
        scope = Scope(self.name, dialogue)
        turns: tuple[Turn, ...] = ()
        yield from _oddities(row, record, pool)
        for position, turn in enumerate(record.conversation):
            reply = spaced(turn.reply, self._spaces)
            turns = (*turns, Turn("user", spaced(turn.user, self._spaces)))
            evidence, fault = _evidence(turn, pool)
            where = f"turn {position}"
            if not turn.user.strip() or not turn.reply.strip():
                yield row.error(f"{where}: {'the reply' if turn.user.strip() else 'the user turn'} is empty")
            elif fault:
                yield row.error(f"{where}: {fault}")
            else:
                yield from _stray(row, where, turn)
                gold = Gold(bool(evidence), _plan(turn), evidence, reply)
                context = Context(turns, scope, dialogue)
                yield Example(f"{dialogue}#{position}", context, self.sources, candidates, gold, position)
            turns = (*turns, Turn("agent", reply))

    def _pool(self, dialogue: str, record: _KbpDialogue) -> dict[str, Passage]:
        """Return the candidates by the names that the gold uses: `B0`, `B0-K1`; empty texts are left out."""
        pool: dict[str, Passage] = {}
        for place, (key, text) in enumerate(record.persona.items()):
            if text.strip():
                shown = spaced(text, self._spaces)
                pool[key] = Passage(f"{dialogue}/{key}", "PERSONA", shown, position=place)
        for persona, documents in record.persona_kg.items():
            for place, (key, text) in enumerate(documents.items()):
                if text.strip():
                    name = f"{persona}-{key}"
                    parent = f"{dialogue}/{persona}"
                    shown = spaced(text, self._spaces)
                    pool[name] = Passage(f"{dialogue}/{name}", "DOCUMENTS", shown, parent=parent, position=place)
        return pool


def _gold(turn: _KbpTurn) -> tuple[list[str], list[str]]:
    personas, documents = (*turn.gold, [], [])[:2]
    return personas, documents


def _plan(turn: _KbpTurn) -> tuple[str, ...]:
    """Return the plan: NULL, the persona, or both, since documents depend on the persona."""
    personas, documents = _gold(turn)
    if documents:
        return ("PERSONA", "DOCUMENTS")
    return ("PERSONA",) if personas else ()


def _evidence(turn: _KbpTurn, pool: dict[str, Passage]) -> tuple[tuple[str, ...], str]:
    """Return the ids of the gold evidence, or its fault."""
    personas, documents = _gold(turn)
    for names, source in ((personas, "PERSONA"), (documents, "DOCUMENTS")):
        for name in names:
            if name not in pool or pool[name].source != source:
                return (), f"the gold evidence '{name}' is not among the candidates of {source}"
    return tuple(dict.fromkeys(pool[name].id for name in (*personas, *documents))), ""


def _stray(row: FileRow, where: str, turn: _KbpTurn) -> Iterator[Problem]:
    """Detect the five turns of the release that name a document without its persona."""
    personas, documents = _gold(turn)
    for name in documents:
        persona = name.partition("-")[0]
        if persona not in personas:
            yield row.warning(f"{where}: the gold names the document {name} but not its persona {persona}")


def _oddities(row: FileRow, record: _KbpDialogue, pool: dict[str, Passage]) -> Iterator[Problem]:
    """Yield warnings about the candidates of a dialogue."""
    for key in record.persona_kg:
        if key not in record.persona:
            yield row.warning(f"there are documents of the persona {key}, which is not listed")
    names = [*record.persona, *(f"{persona}-{key}" for persona, keys in record.persona_kg.items() for key in keys)]
    for name in names:
        if name not in pool:
            yield row.warning(f"the text of {name} is empty: it is no candidate")
    if not record.conversation:
        yield row.warning("the dialogue has no turns")
