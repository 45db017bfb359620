"""Dialogues before they are split into examples, and the splitting, for generated and written ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.core.examples import Example, Gold
from dragoman.core.values import Context, Passage, Scope, Source, Turn

USER, PERSONA, DOCUMENTS = "USER", "PERSONA", "DOCUMENTS"


@dataclass(frozen=True, slots=True)
class Exchange:
    """User turn, reply, and the ids of the reply's evidence."""

    user: str
    reply: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Script:
    """Whole dialogue with its candidates."""

    id: str
    domain: str
    candidates: tuple[Passage, ...]
    exchanges: tuple[Exchange, ...]


def persona_id(dialogue: str, number: int) -> str:
    return f"{dialogue}.P{number}"


def user_id(dialogue: str, number: int) -> str:
    return f"{dialogue}.U{number}"


def document_id(dialogue: str, persona: int, number: int) -> str:
    return f"{persona_id(dialogue, persona)}.D{number}"


def candidates_of(dialogue: str, facts: list[str], personas: list[tuple[str, list[str]]]) -> Iterator[Passage]:
    """Yield the user's facts, the bot's statements, and the documents under each statement, numbered from 1."""
    for number, text in enumerate(facts, 1):
        yield Passage(user_id(dialogue, number), USER, text, position=number - 1)
    for number, (text, _) in enumerate(personas, 1):
        yield Passage(persona_id(dialogue, number), PERSONA, text, position=number - 1)
    for parent, (_, documents) in enumerate(personas, 1):
        for number, text in enumerate(documents, 1):
            yield Passage(
                document_id(dialogue, parent, number),
                DOCUMENTS,
                text,
                parent=persona_id(dialogue, parent),
                position=number - 1,
            )


def cut(script: Script, *, tenant: str, sources: tuple[Source, ...], meta: dict[str, str]) -> Iterator[Example]:
    """Yield one example per bot turn; the plan is the sources of its evidence, in order."""
    place = {passage.id: passage.source for passage in script.candidates}
    turns: list[Turn] = []
    for position, exchange in enumerate(script.exchanges):
        turns.append(Turn("user", exchange.user))
        asked = {place[id_] for id_ in exchange.evidence}
        plan = tuple(source.name for source in sources if source.name in asked)
        yield Example(
            id=f"{script.id}.{position}",
            context=Context(tuple(turns), Scope(tenant, script.id), script.id),
            sources=sources,
            candidates=script.candidates,
            gold=Gold(bool(plan), plan, exchange.evidence, exchange.reply),
            position=position,
            domain=script.domain,
            meta=meta,
        )
        turns.append(Turn("agent", exchange.reply))
