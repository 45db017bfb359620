"""Input fields of trained gates in the papers' combinations, as text; the same in training and in use.

RAGate's `ner` is a list of named entities. No recogniser is shipped: capitalised words inside sentences and the
numbers of the reply replace it.
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
"""Speaker of synthetic replies and number of turns in their prompt; the same in training and in use."""


@quick
@dataclass(frozen=True, slots=True)
class GateInput:
    """One turn with the other texts that a gate may read; `evidence` is best first."""

    context: Context
    reply: str = ""
    synthetic: str = ""
    evidence: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Inputs:
    """Fields that a gate reads, in order, with the view of the dialogue and the number of evidence texts.

    `contx` is the dialogue, `resp` a reply, `syn-resp` a reply that a language model drafted without evidence, `ner`
    the names and numbers of the drafted reply (of `resp` if none is drafted), `know` the best `k` evidence texts,
    `source` the descriptions of the sources. A draft has at most `draft_tokens`.
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
        """Whether the gate needs a drafted reply to decide."""
        return any(field in _REPLIES for field in self.fields)

    def texts(self, gate_input: GateInput) -> dict[Field, str]:
        """Return the text of each field, in the order of `fields`; empty if the turn has none."""
        return {field: self.text(field, gate_input) for field in self.fields}

    def text(self, field: Field, gate_input: GateInput) -> str:
        """Return the text of one field; empty if the turn has none."""
        match field:
            case "contx":
                return self.view.text(gate_input.context)
            case "resp":
                return _line(gate_input.reply)
            case "syn-resp":
                return _line(gate_input.synthetic)
            case "ner":
                return ", ".join(entities(gate_input.synthetic if "syn-resp" in self.fields else gate_input.reply))
            case "know":
                return "\n".join(_line(text) for text in gate_input.evidence[: self.k])
            case "source":
                return prompts.sources(gate_input.sources, self.view.language)

    def gather(
        self,
        turns: Sequence[Context],
        evidence: Sequence[Sequence[Evidence]] | None = None,
        *,
        reader: Reader | None = None,
        language_model: LanguageModel | None = None,
        sources: Sequence[Source] = (),
    ) -> list[GateInput]:
        """Collect the inputs of turns in use.

        Replies are the reader's drafts without evidence; without a reader, the language model drafts `syn-resp`.
        """
        inputs = [GateInput(context, sources=tuple(sources)) for context in turns]
        if evidence is not None and self.reads_evidence:
            inputs = [replace(one, evidence=best(pieces, self.k)) for one, pieces in zip(inputs, evidence, strict=True)]
        if self.reads_reply and turns:
            replies = self._replies(turns, reader, language_model)
            inputs = [replace(one, reply=text, synthetic=text) for one, text in zip(inputs, replies, strict=True)]
        return inputs

    def _replies(
        self, turns: Sequence[Context], reader: Reader | None, language_model: LanguageModel | None
    ) -> list[str]:
        if reader is None and language_model is not None and "resp" not in self.fields:
            return synthetic_replies(language_model, turns, self.view.language, self.draft_tokens)
        return unaided_drafts(reader, turns)

    def to_json(self) -> dict[str, Any]:
        view = self.view.to_json()
        return {"fields": list(self.fields), "view": view, "k": self.k, "draft_tokens": self.draft_tokens}

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> Inputs:
        drafts = int(table.get("draft_tokens", DRAFT_TOKENS))  # absent in older parts
        return cls(tuple(table["fields"]), View.from_json(table["view"]), int(table["k"]), drafts)


def unaided_drafts(reader: Reader | None, turns: Sequence[Context]) -> list[str]:
    """Return the reader's drafts without evidence: the `resp` of a live agent."""
    if reader is None:
        raise ConfigError(
            "This gate was trained to read a drafted reply, and no reader drafts one.",
            remedy='Give it a reader: reader = "grounded" in its table.',
        )
    return [draft.text for draft in reader.read([ReadTask(context) for context in turns])]


def synthetic_replies(
    language_model: LanguageModel, turns: Sequence[Context], language: str, max_tokens: int = DRAFT_TOKENS
) -> list[str]:
    """Draft replies without retrieval by a language model: RAGate's synthetic responses."""
    template = prompts.get("chat.v1", language)
    dialogue_prompts = [
        template.format(name=_NAME, dialogue=prompts.dialogue(context, language, last=_TURNS)) for context in turns
    ]
    return [draft.text for draft in language_model.generate(dialogue_prompts, max_tokens=max_tokens, stop=("\n",))]


def best(evidence: Sequence[Evidence], k: int) -> tuple[str, ...]:
    """Return the texts of the k most relevant pieces; ties keep their order."""
    return tuple(piece.text for piece in sorted(evidence, key=lambda piece: -piece.relevance)[:k])


def entities(text: str) -> tuple[str, ...]:
    """Return the names and numbers of a text, casefolded, in order of first mention."""
    folded = text.casefold()
    mentions = {*names(text), *numbers(text)}
    # numbers spelt in words do not occur as digits in the text and come last
    return tuple(sorted(mentions, key=lambda entity: (folded.find(entity) % (len(folded) + 1), entity)))


def _line(text: str) -> str:
    return " ".join(text.split())
