"""FoCus: questions about a landmark; which of the user's personas and which piece of knowledge ground the answer.

The test file differs: `knowledge_candidate`, a `dialogueN` that is the bare question, and no gold where fields are
missing. A `dialogueN` that is a list alternates from the user's first turn, so an even one ends with the reply.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import AliasChoices, ConfigDict, Field

from dragoman.core.examples import Example, Gold, Label, Problem
from dragoman.core.registry import datasets
from dragoman.core.values import Context, Passage, Scope, Source
from dragoman.datasets.reading import FileRow, OneFile, Record, parsed
from dragoman.datasets.streaming import json_records

PERSONA = Source("PERSONA", "what the user likes, owns, has done and wants to do", about="user", private=True)
KNOWLEDGE = Source("KNOWLEDGE", "encyclopaedia paragraphs about the landmark that is talked about", private=True)

_TURNS = re.compile(r"dialog(?:ue)?\d+")


class _Utterance(Record):
    model_config = ConfigDict(extra="allow")  # the turns stand under a key that carries their number

    personas: list[str] = Field(validation_alias=AliasChoices("persona_candidate", "persona_candidates"))
    knowledge: list[str] = Field(validation_alias=AliasChoices("knowledge_candidates", "knowledge_candidate"))
    grounding: list[bool] | None = Field(None, validation_alias="persona_grounding")
    answer: int | None = Field(
        None, validation_alias=AliasChoices("knowledge_answer_index", "knowledge_answer_idx"), ge=0
    )


class _FocusDialogue(Record):
    dialogue: str | int = Field(validation_alias=AliasChoices("dialogID", "dialogueID"))
    utterance: list[_Utterance]


@datasets.register("focus.v1")
class Focus(OneFile):
    """A split of FoCus. The candidates change with each turn, so each turn has a scope of its own."""

    name = "focus"
    language = "en"
    sources: tuple[Source, ...] = (PERSONA, KNOWLEDGE)

    def __init__(self, *, file: Path) -> None:
        super().__init__(file)

    @property
    def labels(self) -> frozenset[Label]:
        """Labels of the first turn; the released test file has none."""
        first = next((outcome for outcome in self.examples() if isinstance(outcome, Example)), None)
        gold = first.gold if first else Gold()
        every: tuple[Label, ...] = ("retrieve", "plan", "evidence", "reply")
        return frozenset(label for label in every if getattr(gold, label) is not None)

    def examples(self) -> Iterator[Example | Problem]:
        seen: dict[str, int] = {}
        rows = json_records(self._file, "data", int, holds="an object with a list 'data' of FoCus dialogues")
        for outcome in parsed(rows, _FocusDialogue):
            if isinstance(outcome, Problem):
                yield outcome
                continue
            row, dialogue = outcome
            first = seen.setdefault(str(dialogue.dialogue), row.number)
            if first != row.number:
                yield row.error(f"the dialogue {dialogue.dialogue} is also record {first}")
                continue
            for position, utterance in enumerate(dialogue.utterance):
                yield self._example(row, str(dialogue.dialogue), position, utterance)

    def _example(self, row: FileRow, dialogue: str, position: int, utterance: _Utterance) -> Example | Problem:
        texts = _turns(utterance)
        where = f"turn {position}"
        if not texts:
            return row.error(f"{where}: there is no 'dialogue{position + 1}' with text in it")
        reply = texts.pop() if len(texts) % 2 == 0 else None
        if not texts[-1].strip() or (reply is not None and not reply.strip()):
            return row.error(f"{where}: {'the reply' if texts[-1].strip() else 'the user turn'} is empty")
        fault = _fault(utterance)
        if fault:
            return row.error(f"{where}: {fault}")
        name = f"{dialogue}#{position}"
        candidates = (
            *(Passage(f"{name}/P{i}", "PERSONA", text, position=i) for i, text in enumerate(utterance.personas)),
            *(Passage(f"{name}/K{i}", "KNOWLEDGE", text, position=i) for i, text in enumerate(utterance.knowledge)),
        )
        context = Context.of(*texts, scope=Scope(self.name, name), dialogue=dialogue)
        return Example(name, context, self.sources, candidates, _gold(name, utterance, reply), position)


def _turns(utterance: _Utterance) -> list[str]:
    """Return the texts of the dialogue up to this turn, and its reply if the file has one."""
    for key, value in (utterance.model_extra or {}).items():
        if _TURNS.fullmatch(key):
            texts = [value] if isinstance(value, str) else value
            usable = isinstance(texts, list) and all(isinstance(text, str) for text in texts)
            return list(texts) if usable else []
    return []


def _fault(utterance: _Utterance) -> str:
    if not all(text.strip() for text in (*utterance.personas, *utterance.knowledge)):
        return "a candidate is empty"
    if utterance.grounding is not None and len(utterance.grounding) != len(utterance.personas):
        return f"{len(utterance.grounding)} persona labels for {len(utterance.personas)} persona candidates"
    if utterance.answer is not None and utterance.answer >= len(utterance.knowledge):
        return f"the gold evidence {utterance.answer} is not among the {len(utterance.knowledge)} knowledge candidates"
    return ""


def _gold(name: str, utterance: _Utterance, reply: str | None) -> Gold:
    """Return the gold: knowledge for every answer, personas if marked; None if either label is missing."""
    if utterance.grounding is None or utterance.answer is None:
        return Gold(reply=reply)
    personas = tuple(f"{name}/P{i}" for i, grounded in enumerate(utterance.grounding) if grounded)
    plan = ("PERSONA", "KNOWLEDGE") if personas else ("KNOWLEDGE",)
    return Gold(True, plan, (*personas, f"{name}/K{utterance.answer}"), reply)
