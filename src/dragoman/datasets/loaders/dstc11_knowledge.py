"""The knowledge of DSTC11 track 5: reviews and questions with answers about hotels and restaurants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from dragoman.core.errors import InputError
from dragoman.core.examples import Problem
from dragoman.core.values import Passage
from dragoman.datasets.reading import Record, parsed
from dragoman.datasets.streaming import json_records


class _Review(Record):
    traveler_type: str = ""
    sentences: dict[str, str]


class _Faq(Record):
    question: str
    answer: str


class _Entity(Record):
    name: str
    reviews: dict[str, _Review] = Field(default_factory=dict)
    faqs: dict[str, _Faq] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entity:
    """A hotel or restaurant and all that is known about it. `key` is `domain/id`."""

    key: str
    domain: str
    name: str
    passages: tuple[Passage, ...]


def review_id(entity: str, review: object, sentence: object) -> str:
    return f"{entity}/review/{review}/{sentence}"


def faq_id(entity: str, faq: object) -> str:
    return f"{entity}/faq/{faq}"


def entities(file: Path) -> Iterator[Entity]:
    """One entity after the other. Everything rests on this file, so a fault in it is an error, not a problem."""
    keys: set[str] = set()
    for outcome in parsed(json_records(file, str, str, holds="the DSTC11 knowledge by domain and entity"), _Entity):
        if isinstance(outcome, Problem):
            raise InputError(f"The knowledge is damaged: {outcome}.", remedy="Take the file as it was released.")
        row, entity = outcome
        key = "/".join(row.keys)
        if key in keys:
            raise InputError(f"'{file}' has the entity '{key}' twice.", remedy="Take the file as it was released.")
        keys.add(key)
        yield Entity(key, row.keys[0], entity.name, tuple(_passages(key, entity)))


def _passages(key: str, entity: _Entity) -> Iterator[Passage]:
    position = 0
    for number, review in entity.reviews.items():
        meta = {"entity": key, "review": number, "traveler_type": review.traveler_type}
        for sentence, text in review.sentences.items():
            name = review_id(key, number, sentence)
            yield Passage(name, "REVIEWS", text, title=entity.name, position=position, meta=meta)
            position += 1
    for number, faq in entity.faqs.items():
        text = f"{faq.question} {faq.answer}"
        meta = {"entity": key}
        yield Passage(faq_id(key, number), "FAQ", text, title=entity.name, position=position, meta=meta)
        position += 1
