"""What a trained gate may read of a turn, in the papers' combinations, and how it becomes text: the same in training
and in use.

Named entities are RAGate's `ner`. No recogniser is shipped: the capitalised words inside sentences and the numbers of
the reply stand in for one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from dragoman import prompts
from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.core.protocols import LanguageModel, Reader
from dragoman.core.quick import quick
from dragoman.core.values import Context, Evidence, ReadTask, Source
from dragoman.text.claims import names, numbers
from dragoman.text.view import View

Field: TypeAlias = Literal["contx", "resp", "syn-resp", "ner", "know", "source"]
FIELDS: tuple[Field, ...] = get_args(Field)
DRAFT_TOKENS = 24
_REPLIES = ("resp", "syn-resp")
_VIEW = View()
_NAME, _TURNS = "Dragoman", 3
"""Whom a synthetic reply is said by, and how much of the dialogue its writer reads: alike in training and in use."""


@quick
@dataclass(frozen=True, slots=True)
class Given:
    """One turn with whatever else is there to decide by; `evidence` is best first."""

    context: Context
    reply: str = ""
    synthetic: str = ""
    evidence: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Inputs:
    """Which fields a gate reads, in this order, how the dialogue is cut, and how many evidence texts count.

    `contx` is the dialogue, `resp` a reply, `syn-resp` one that a language model drafted without evidence, `ner` the
    names and numbers of the drafted reply (of `resp` where none is drafted), `know` the best `k` evidence texts,
    `source` what the sources hold. A draft has at most `draft_tokens`.
    """

    fields: tuple[Field, ...] = ("contx",)
    view: View = _VIEW
    k: int = 3
    draft_tokens: int = DRAFT_TOKENS

    def __post_init__(self) -> None:
        for field in self.fields:
            if field not in FIELDS:
                raise UnknownNameError("input of a gate", field, FIELDS)
        if not self.fields or len(set(self.fields)) < len(self.fields):
            raise ConfigError(
                f"A gate's inputs {list(self.fields)} are none, or one is named twice.",
                remedy=f"Name some of {', '.join(FIELDS)}.",
            )
        if "ner" in self.fields and not set(_REPLIES) & set(self.fields):
            raise ConfigError(
                "A gate's input 'ner' names what a reply speaks of, and there is no reply among the inputs.",
                remedy='Add "syn-resp" or "resp" to the fields.',
            )
        if self.k < 1:
            raise ConfigError(f"A gate cannot read {self.k} evidence texts.", remedy="Set k to 1 or more.")

    @property
    def reads_evidence(self) -> bool:
        return "know" in self.fields

    @property
    def reads_reply(self) -> bool:
        """Whether somebody has to say something before the gate can decide."""
        return any(field in _REPLIES for field in self.fields)

    def texts(self, given: Given) -> dict[Field, str]:
        """Each field as one text, in the order of `fields`; empty where there is nothing."""
        return {field: self.text(field, given) for field in self.fields}

    def text(self, field: Field, given: Given) -> str:
        """One field as text; empty where there is nothing."""
        match field:
            case "contx":
                return self.view.text(given.context)
            case "resp":
                return _line(given.reply)
            case "syn-resp":
                return _line(given.synthetic)
            case "ner":
                return ", ".join(entities(given.synthetic if "syn-resp" in self.fields else given.reply))
            case "know":
                return "\n".join(_line(text) for text in given.evidence[: self.k])
            case "source":
                return prompts.sources(given.sources, self.view.language)

    def gather(
        self,
        turns: Sequence[Context],
        evidence: Sequence[Sequence[Evidence]] | None = None,
        *,
        reader: Reader | None = None,
        language_model: LanguageModel | None = None,
        sources: Sequence[Source] = (),
    ) -> list[Given]:
        """What is known of some turns in use. Replies are the reader's drafts without evidence; where there is no
        reader, a synthetic one is the language model's."""
        found = [Given(context, sources=tuple(sources)) for context in turns]
        if evidence is not None and self.reads_evidence:
            found = [replace(one, evidence=best(pieces, self.k)) for one, pieces in zip(found, evidence, strict=True)]
        if self.reads_reply and turns:
            said = self._replies(turns, reader, language_model)
            found = [replace(one, reply=text, synthetic=text) for one, text in zip(found, said, strict=True)]
        return found

    def _replies(
        self, turns: Sequence[Context], reader: Reader | None, language_model: LanguageModel | None
    ) -> list[str]:
        if reader is None and language_model is not None and "resp" not in self.fields:
            return drafted(language_model, turns, self.view.language, self.draft_tokens)
        return unaided(reader, turns)

    def to_json(self) -> dict[str, Any]:
        view = self.view.to_json()
        return {"fields": list(self.fields), "view": view, "k": self.k, "draft_tokens": self.draft_tokens}

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> Inputs:
        drafts = int(table.get("draft_tokens", DRAFT_TOKENS))  # which older parts do not say
        return cls(tuple(table["fields"]), View.from_json(table["view"]), int(table["k"]), drafts)


def unaided(reader: Reader | None, turns: Sequence[Context]) -> list[str]:
    """What a reader says to some turns without evidence: the `resp` of a live agent."""
    if reader is None:
        raise ConfigError(
            "A gate that was trained to read a reply has none: nobody says one before it decides.",
            remedy='Give it a reader: reader = "grounded" in its table.',
        )
    return [draft.text for draft in reader.read([ReadTask(context) for context in turns])]


def drafted(
    language_model: LanguageModel, turns: Sequence[Context], language: str, max_tokens: int = DRAFT_TOKENS
) -> list[str]:
    """What a language model would say to some turns without looking anything up: RAGate's synthetic responses."""
    template = prompts.get("chat.v1", language)
    asked = [
        template.format(name=_NAME, dialogue=prompts.dialogue(context, language, last=_TURNS)) for context in turns
    ]
    return [draft.text for draft in language_model.generate(asked, max_tokens=max_tokens, stop=("\n",))]


def best(evidence: Sequence[Evidence], k: int) -> tuple[str, ...]:
    """The texts of the k most relevant pieces; of equals the earlier one first."""
    return tuple(piece.text for piece in sorted(evidence, key=lambda piece: -piece.relevance)[:k])


def entities(text: str) -> tuple[str, ...]:
    """The names and numbers of a text, in the order in which they are first said, casefolded."""
    said = text.casefold()
    found = {*names(text), *numbers(text)}
    # a number that was spelt in words is not to be found as digits: such ones come last
    return tuple(sorted(found, key=lambda entity: (said.find(entity) % (len(said) + 1), entity)))


def _line(text: str) -> str:
    return " ".join(text.split())
