"""Add to a price the reduction that applies to this user by one of their facts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from dragoman.core.values import Evidence
from dragoman.decision.applies import applies
from dragoman.decision.choose import Analyse
from dragoman.decision.groups import GENERAL, effect, roots
from dragoman.decision.joint import Option
from dragoman.decision.tables.cells import read_row
from dragoman.reader.compose import Answer, is_said

_ASKED = ("Do I get a discount?", "Is it cheaper for me?")
_PAID = re.compile(r"\b(?:costs?|prices?|pays?|paid|how much|fees?|charges?)\b", re.IGNORECASE)


def with_reduction(
    answer: Answer, options: Sequence[Option], facts: Sequence[Evidence], question: str, analyse: Analyse
) -> Answer:
    """Add the first sentence of the passage that reduces the price asked for by a fact of the user's."""
    if not facts or answer.decision is not None or not _PAID.search(question):
        return answer
    place, sentences = answer.options[0].evidence.id, " ".join(option.sentence for option in answer.options)
    asked = roots(analyse(question)) - GENERAL
    others = _columns(options, place, analyse) - roots(analyse(sentences)) - asked
    by_text = {fact.text: fact for fact in facts}
    for option in options:
        sentence = option.sentence
        if option.evidence.id != place or read_row(sentence) is not None or is_said(option, sentences):
            continue
        words = roots(analyse(sentence))
        if effect(sentence.lower()) not in ("reduce", "waive") or not asked & words or others & words:
            continue
        decisions = [applies(sentence, list(by_text), each) for each in _ASKED]
        fact = next((by_text[d.fact] for d in decisions if d.verdict == "yes" and d.fact in by_text), None)
        if fact is not None:
            used = {each.id: each for each in (*answer.facts, fact)}
            first = [replace(each, sentence=_ended(each.sentence)) for each in answer.options]
            return replace(answer, options=(*first, option), facts=tuple(used.values()))
    return answer


def _columns(options: Sequence[Option], place: str, analyse: Analyse) -> frozenset[str]:
    """The words that name the columns of the passage's table: a season ticket is no day ticket."""
    rows = [read_row(option.sentence) for option in options if option.evidence.id == place]
    return roots(analyse(" ".join(column for row in rows if row is not None for column, _ in row.cells)))


def _ended(sentence: str) -> str:
    """Add the full stop that a table cell lacks."""
    return sentence if sentence.rstrip().endswith((".", "!", "?")) else f"{sentence.rstrip()}."
