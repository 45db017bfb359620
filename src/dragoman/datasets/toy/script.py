"""A dialogue before it is cut into turns, and the cutting: the same for generated and for written ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.core.examples import Example, Gold
from dragoman.core.values import Context, Passage, Scope, Source, Turn

USER, PERSONA, DOCUMENTS = "USER", "PERSONA", "DOCUMENTS"


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the user says, what the bot answers, and the ids of what the answer rests on."""

    user: str
    reply: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Script:
    """A whole dialogue with its candidates."""

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
    """The user's sayings, the bot's statements, and under each statement its documents, numbered from 1."""
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
    """One example for each of the bot's turns; the plan is what its evidence calls for, in the order of sources."""
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
