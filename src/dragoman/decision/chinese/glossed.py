"""A turn with its texts as English glosses, for models that read only English."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dragoman.core.values import Context, Evidence
from dragoman.decision.chinese.applies import is_exception
from dragoman.decision.chinese.gloss import gloss, gloss_lines
from dragoman.decision.joint import Option


@dataclass(frozen=True, slots=True)
class Glossed:
    """A turn, the facts and the options of it in English words; facts and options in their order."""

    context: Context
    facts: tuple[Evidence, ...]
    options: tuple[Option, ...]


def glossed(context: Context, facts: Sequence[Evidence], options: Sequence[Option]) -> Glossed:
    """Return the glosses of a turn, with the ids of the original texts."""
    glossed_facts = {fact.id: _fact(fact) for fact in facts}
    turns = tuple(replace(turn, text=gloss(turn.text)) for turn in context.turns)
    return Glossed(
        replace(context, turns=turns),
        tuple(glossed_facts.values()),
        tuple(_option(option, glossed_facts) for option in options),
    )


def whole(option: Option) -> str:
    """A sentence with the exception that stands behind it: "电动车不能进，坐轮椅的除外。"."""
    if not is_exception(option.following):
        return option.sentence
    return f"{option.sentence.rstrip('。')}，{option.following}"


def _fact(fact: Evidence) -> Evidence:
    return replace(fact, passage=replace(fact.passage, text=gloss(fact.text)))


def _option(option: Option, glossed_facts: Mapping[str, Evidence]) -> Option:
    passage = option.evidence.passage
    headings = tuple(gloss(heading) for heading in passage.headings)
    decision = option.decision
    return replace(
        option,
        sentence=gloss_lines(whole(option)),
        following="" if is_exception(option.following) else gloss_lines(option.following),
        evidence=replace(option.evidence, passage=replace(passage, title=gloss(passage.title), headings=headings)),
        fact=None if option.fact is None else glossed_facts.get(option.fact.id),
        decision=decision and replace(decision, fact=gloss(decision.fact)),
    )
