"""DSTC11 track 5: task dialogues in which some turns can only be answered from reviews and FAQs.

The release does not say which logs were cut from one dialogue, so each log counts as a dialogue of its own; those
with the same `meta["opening"]` begin with the same words, and should stay together where a set is split.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import zip_longest
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from pydantic import Field, RootModel

from dragoman.core.errors import ConfigError, InputError
from dragoman.core.examples import Example, Gold, Label, Problem
from dragoman.core.registry import datasets
from dragoman.core.values import Context, Passage, Scope, Source, Turn
from dragoman.datasets.loaders.mentions import Mentions
from dragoman.datasets.reading import FileRow, Record, check_file, parsed
from dragoman.datasets.streaming import json_records

Pool: TypeAlias = Literal["corpus", "mentioned", "gold"]

REVIEWS = Source("REVIEWS", "what guests wrote about a hotel or restaurant: their experiences and opinions")
FAQ = Source("FAQ", "questions about a hotel or restaurant with their answers: services, policies, facilities")


class _LogLine(Record):
    speaker: Literal["U", "S"]
    text: str


class _Log(RootModel[list[_LogLine]]):
    pass


class _Snippet(Record):
    domain: str
    entity_id: int | str
    doc_type: Literal["review", "faq"]
    doc_id: int | str
    sent_id: int | str | None = None

    @property
    def entity(self) -> str:
        return f"{self.domain}/{self.entity_id}"

    @property
    def passage(self) -> str:
        if self.doc_type == "review":
            return review_id(self.entity, self.doc_id, self.sent_id)
        return faq_id(self.entity, self.doc_id)


class _Label(Record):
    target: bool
    knowledge: list[_Snippet] = Field(default_factory=list)
    response: str | None = None


@datasets.register("dstc11.v1")
class Dstc11:
    """A split of DSTC11 track 5: `file` is its folder or the logs in it, the labels lie beside the logs.

    `pool` selects the passages that are searched: the whole corpus, shared by all turns; those of the entities that the
    dialogue mentions; or those of the gold entities (of the mentioned ones if a turn has no gold). In the last two a
    turn's scope names the entities, and `mentioned` may lack the gold evidence.
    """

    name = "dstc11"
    language = "en"

    def __init__(self, *, file: Path, knowledge: Path | None = None, pool: Pool = "corpus") -> None:
        if pool not in get_args(Pool):
            choices = ", ".join(f"'{name}'" for name in get_args(Pool))
            raise ConfigError(f"dataset.dstc11: pool = '{pool}' is not known.", remedy=f"Use one of {choices}.")
        self._given = Path(file)
        self._knowledge = Path(knowledge) if knowledge else None
        self._pool = pool
        private = pool != "corpus"
        self.sources: tuple[Source, ...] = tuple(replace(source, private=private) for source in (REVIEWS, FAQ))

    @property
    def labels(self) -> frozenset[Label]:
        """Labels of the split; None for a blind test without a file of labels."""
        every: tuple[Label, ...] = ("retrieve", "plan", "evidence", "reply")
        return frozenset(every) if self._labels_file.exists() else frozenset()

    @property
    def files(self) -> tuple[Path, ...]:
        labels = (self._labels_file,) if self._labels_file.exists() else ()
        return (self._logs_file, *labels, self._knowledge_file)

    @property
    def _logs_file(self) -> Path:
        return self._given / "logs.json" if self._given.is_dir() else self._given

    @property
    def _labels_file(self) -> Path:
        return self._logs_file.with_name("labels.json")

    @property
    def _knowledge_file(self) -> Path:
        return self._knowledge or self._logs_file.absolute().parent.parent / "knowledge.json"

    def passages(self) -> Iterator[Passage]:
        if self._pool == "corpus":
            for entity in entities(self._knowledge_file):
                yield from entity.passages

    def examples(self) -> Iterator[Example | Problem]:
        check_file(self._logs_file)
        split = _SplitReader(
            self.name, self._logs_file.absolute().parent.name, self.sources, self._pool, self._knowledge_file
        )
        logs = parsed(json_records(self._logs_file, int, holds="a list of DSTC11 logs"), _Log)
        if not self._labels_file.exists():
            for log in logs:
                yield log if isinstance(log, Problem) else split.example(log[0], log[1].root, None)
            return
        labels = parsed(json_records(self._labels_file, int, holds="a list of DSTC11 labels"), _Label)
        for log, label in zip_longest(logs, labels):
            faults = [one for one in (log, label) if isinstance(one, Problem)]
            yield from faults
            if log is None or label is None:
                short, long = (self._logs_file, label) if log is None else (self._labels_file, log)
                if not faults and isinstance(long, tuple):
                    yield Problem(str(short), long[0].number, f"'{short.name}' ends before record {long[0].number}")
                return
            if isinstance(log, tuple) and isinstance(label, tuple):
                yield from split.labelled(log[0], log[1].root, label[1])


class _SplitReader:
    """State shared by the turns of one pass: the knowledge by entity."""

    def __init__(self, name: str, split: str, sources: tuple[Source, ...], pool: Pool, knowledge: Path) -> None:
        self._name = name
        self._split = split
        self._sources = sources
        self._pool = pool
        self._entities: dict[str, Entity] = {}
        self._known: set[str] = set()
        for entity in entities(knowledge):
            self._known.update(passage.id for passage in entity.passages)
            self._entities[entity.key] = entity if pool != "corpus" else replace(entity, passages=())
        self._mentions = Mentions({key: entity.name for key, entity in self._entities.items()})

    def labelled(self, row: FileRow, log: list[_LogLine], label: _Label) -> Iterator[Example | Problem]:
        fault = self._fault(label)
        if fault:
            yield row.error(fault)
            return
        outcome = self.example(row, log, label)
        if isinstance(outcome, Example) and self._pool == "mentioned":
            missing = {snippet.entity for snippet in label.knowledge} - set(outcome.context.scope.user.split("+"))
            if label.target and missing:
                yield row.warning(f"the dialogue does not name {', '.join(sorted(missing))}: its gold is no candidate")
        yield outcome

    def example(self, row: FileRow, log: list[_LogLine], label: _Label | None) -> Example | Problem:
        if not log or log[-1].speaker != "U" or not log[-1].text.strip():
            return row.error("the log does not end with a user turn that says something")
        turns = tuple(Turn("user" if line.speaker == "U" else "agent", line.text) for line in log)
        mentioned = self._mentions.find(turn.text for turn in turns)
        gold = tuple(dict.fromkeys(snippet.entity for snippet in label.knowledge)) if label and label.target else ()
        about = gold if self._pool == "gold" and gold else mentioned
        dialogue = f"{self._split}-{row.number}"
        user = dialogue
        candidates: tuple[Passage, ...] = ()
        if self._pool != "corpus":
            user = "+".join(sorted(about)) or "none"
            candidates = tuple(piece for key in sorted(about) for piece in self._entities[key].passages)
        first = next(iter(gold or mentioned), "")
        position = sum(turn.speaker == "agent" for turn in turns)
        return Example(
            f"{dialogue}#{position}",
            Context(turns, Scope(self._name, user), dialogue),
            self._sources,
            candidates,
            _gold(label),
            position,
            domain=self._entities[first].domain if first else "",
            meta={"opening": blake2b(turns[0].text.casefold().encode(), digest_size=6).hexdigest()},
        )

    def _fault(self, label: _Label) -> str:
        if not label.target:
            return ""
        if not label.knowledge:
            return "the label says that knowledge is needed but names none"
        for snippet in label.knowledge:
            if snippet.passage not in self._known:
                return f"the gold evidence '{snippet.passage}' is not in the knowledge"
        return "" if (label.response or "").strip() else "the reply is empty or missing"


def _gold(label: _Label | None) -> Gold:
    """A turn without a target has no reply in the release."""
    if label is None:
        return Gold()
    if not label.target:
        return Gold(False, (), (), label.response)
    kinds = {snippet.doc_type for snippet in label.knowledge}
    plan = tuple(name for name, kind in (("REVIEWS", "review"), ("FAQ", "faq")) if kind in kinds)
    evidence = tuple(dict.fromkeys(snippet.passage for snippet in label.knowledge))
    return Gold(True, plan, evidence, label.response)


class _Review(Record):
    traveler_type: str = ""
    sentences: dict[str, str]


class _Faq(Record):
    question: str
    answer: str


class _EntityRow(Record):
    name: str
    reviews: dict[str, _Review] = Field(default_factory=dict)
    faqs: dict[str, _Faq] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entity:
    """Hotel or restaurant with its passages; `key` is `domain/id`."""

    key: str
    domain: str
    name: str
    passages: tuple[Passage, ...]


def review_id(entity: str, review: object, sentence: object) -> str:
    return f"{entity}/review/{review}/{sentence}"


def faq_id(entity: str, faq: object) -> str:
    return f"{entity}/faq/{faq}"


def entities(file: Path) -> Iterator[Entity]:
    """Yield the entities. A fault in this file is an error, not a problem, since every turn depends on it."""
    keys: set[str] = set()
    for outcome in parsed(json_records(file, str, str, holds="the DSTC11 knowledge by domain and entity"), _EntityRow):
        if isinstance(outcome, Problem):
            raise InputError(f"The knowledge is damaged: {outcome}.", remedy="Take the file as it was released.")
        row, entity = outcome
        key = "/".join(row.keys)
        if key in keys:
            raise InputError(f"'{file}' has the entity '{key}' twice.", remedy="Take the file as it was released.")
        keys.add(key)
        yield Entity(key, row.keys[0], entity.name, tuple(_passages(key, entity)))


def _passages(key: str, entity: _EntityRow) -> Iterator[Passage]:
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
