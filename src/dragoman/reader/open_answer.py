"""A language model answers where the rules found only the closest sentence.

The rules quote one sentence, so they are in doubt if an answer needs two sentences, needs a table row chosen by another
passage, or uses other words than the question. A model that writes well reads all evidence instead. Its answer is used
if all its numbers and names are supported, it adds something to the question, and the critic finds it consistent; if
the model says that it does not know, the doubtful reply stays. Yes and no are not answered here but by the judge
(`reader.judge_choice`). As a judge, the model must have passed the examination (`reader.judge_exam`): small models make
up an answer of the right words rather than say that they do not know.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dragoman import prompts
from dragoman.core.protocols import Critic
from dragoman.core.values import Draft, Evidence, Passage, Prompt, ReadTask
from dragoman.reader.phrases import NEAREST
from dragoman.text import lazy_re as re
from dragoman.text.claims import numbers, unsupported
from dragoman.text.question_kind import question_kind
from dragoman.text.sentences import sentences

_DECLINES = re.compile(
    r"\b(?:(?:do|does|did|is|are)(?: not|n['’]t)|cannot|can['’]t|no|not) "
    r"(?:\w+ ){0,3}(?:know|say|said|state|stated|mention|mentioned|specify|specified|provide|provided|include|clear"
    r"|given|information|details?|listed|sure|certain|determine|find|found)\b|\bunknown\b|\bunclear\b"
    r"|不知道|不清楚|没有(?:提到|说明|相关)|未(?:提及|提到|说明)|无法(?:确定|判断)",
    re.IGNORECASE,
)
_MOST_PASSAGES = 6
"""How many passages the model reads, best first: more confuse a small model, and take their time."""
_MOST_QUOTED = 2
_CONSISTENT = 0.5


def is_doubtful(composed: Draft) -> bool:
    """Whether the rules found only the closest sentence."""
    return composed.notes.items() >= NEAREST.items()


def may_answer(task: ReadTask) -> bool:
    """Whether a model may answer instead of a doubtful reply: not if the question asks for yes or no."""
    return question_kind(task.context.last) != "polar"


def open_prompt(task: ReadTask, facts: Sequence[Evidence], *, name: str, language: str) -> Prompt:
    """The prompt for an answer from all evidence, each passage under its headings."""
    passages = sorted((piece for piece in task.evidence if piece not in facts), key=lambda piece: -piece.relevance)
    return prompts.get("open.v1", language).format(
        name=name,
        facts="\n".join(f"- {' '.join(fact.text.split())}" for fact in facts) or "-",
        evidence="\n".join(f"- {' '.join(piece.passage.indexed.split())}" for piece in passages[:_MOST_PASSAGES])
        or "-",
        dialogue=prompts.dialogue(task.context, language, last=4),
    )


def open_fault(
    text: str, task: ReadTask, *, names: Sequence[str], analyse: Callable[[str], tuple[str, ...]], critic: Critic
) -> str:
    """Return why a model's answer must not be used; "" if it may."""
    if _DECLINES.search(text):
        return "the model does not know either"
    dialogue = [turn.text for turn in task.context.turns]
    pieces = [piece.passage.indexed for piece in task.evidence]
    for sentence in sentences(text):
        if strange := unsupported(sentence, [*pieces, *dialogue, *names]):
            return f"unsupported: {', '.join(strange[:3])}"
    if frozenset(analyse(text)) <= frozenset(analyse(task.context.last)):
        return "repeats the question"
    whole = Passage("evidence", task.evidence[0].source, "\n".join([*pieces, *dialogue[-3:]]))
    return (
        ""
        if max(critic.consistency([(Evidence(whole, 1.0), text)])) >= _CONSISTENT
        else "not consistent with the evidence"
    )


def supporting(text: str, evidence: Sequence[Evidence], analyse: Callable[[str], tuple[str, ...]]) -> tuple[str, ...]:
    """Return the ids of the one or two passages that support an answer, with its numbers and most of its words."""

    def claims(of: str) -> set[str]:
        return {*analyse(of), *numbers(of)}

    left = claims(text)
    ids: list[str] = []
    while left and len(ids) < _MOST_QUOTED:
        gained, best = max(
            ((left & claims(piece.passage.indexed), piece) for piece in evidence), key=lambda pair: len(pair[0])
        )
        if not gained or (ids and len(gained) == 1 and not gained & numbers(text)):
            break  # do not cite a passage for one more common word
        left -= gained
        ids.append(best.id)
    return tuple(ids)
