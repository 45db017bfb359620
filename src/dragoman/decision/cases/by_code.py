"""Decide a sentence of a passage by code: its numbers, waiting times, places and cells, in English and Chinese."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from dragoman.core.values import Passage
from dragoman.decision import hazards
from dragoman.decision.applies import applies
from dragoman.decision.cases.exceptions import takes_back
from dragoman.decision.cases.only_places import only_there
from dragoman.decision.chinese import applies as chinese_applies
from dragoman.decision.chinese import tables as chinese_tables
from dragoman.decision.choose import Analyse
from dragoman.decision.groups import split
from dragoman.decision.questions import question as read_question
from dragoman.decision.questions import stemmed
from dragoman.decision.tables.cells import cell_for, named_flag, read_row
from dragoman.decision.times.waiting import waited
from dragoman.decision.values import Decision
from dragoman.text import lazy_re as re
from dragoman.text.claims import negated
from dragoman.text.language import language
from dragoman.text.question_kind import question_kind

_PLAIN_QUESTIONS = {"pay": "Do I have to pay?", "permit": "Can I?", "price": "How much is it for me?"}


_BETWEEN_PARTS = re.compile(r";\s+")
_LEAST_PARTS = 2


@dataclass(frozen=True, slots=True)
class RuleSentence:
    """A sentence of a passage, and the sentence after it."""

    sentence: str
    following: str
    passage: Passage


def by_code(  # noqa: PLR0911 - one return a way to decide
    question: str, facts: Sequence[str], rule: RuleSentence, analyse: Analyse, today: date | None = None
) -> Decision:
    """Decide a sentence under its heading, or the user's cell of a table row, by code."""
    if language(question) == "zh":
        return _chinese(question, facts, rule)
    flagged = named_flag(rule.sentence, question) if question_kind(question) == "polar" else None
    if flagged is not None:
        return flagged
    time = by_waiting_time(question, facts, rule, analyse, today)
    if time is not None:
        return time
    there = only_there(rule.sentence, facts, question)
    if there is not None:
        return there
    cell = cell_for(question, rule.sentence, facts, analyse)
    if cell is not None and cell.decision is not None:
        return cell.decision
    text = rule.sentence
    if takes_back(rule.sentence, rule.following):
        text = f"{text} {rule.following}"
    headings = rule.passage.headings
    heading = headings[-1] if headings else rule.passage.title
    asked_part = part_asked_for(question, text)
    decision = applies(f"{heading}: {asked_part}" if heading else asked_part, facts, question, today=today)
    if decision.verdict == "none" and facts and takes_back(rule.sentence, rule.following):
        # The sentence before names the subject; the exception says only for whom it holds.
        other = applies(rule.following, facts, _PLAIN_QUESTIONS.get(read_question(question).target, ""))
        if other.verdict in ("yes", "no") and other.fact:
            return other
    parts = split(text) if asked_part == text and decision.verdict == "none" and facts else []
    if len(parts) > 1:  # one part may be decided even if another cannot be read
        each = [applies(f"{heading}: {part}" if heading else part, facts, question, today=today) for part in parts]
        decision = next((d for d in each if d.verdict in ("yes", "no") and d.fact), decision)
    if decision.verdict == "yes" and not decision.fact and negated(rule.sentence):
        return replace(decision, verdict="none")  # a negation permits only if a fact makes it so
    return decision


def part_asked_for(question: str, rule: str) -> str:
    """Return the part between semicolons that a question is about; the whole rule if no single part has its words.

    "The first course is for children of 7 to 12; the dinghy course for who is 13" says two things.
    """
    parts = [part for part in _BETWEEN_PARTS.split(rule) if part.strip()]
    if len(parts) < _LEAST_PARTS:
        return rule
    asked = frozenset(stemmed(question))
    words = [frozenset(stemmed(part)) & asked for part in parts]
    shared = frozenset.intersection(*words)
    own = [part for part, each in zip(parts, words, strict=True) if each - shared]
    return own[0] if len(own) == 1 else rule


def by_waiting_time(
    question: str, facts: Sequence[str], rule: RuleSentence, analyse: Analyse, today: date | None
) -> Decision | None:
    """Decide a sentence with a waiting time by how long ago the user's event was."""
    passage = rule.passage
    return waited(rule.sentence, facts, question, analyse, today, (passage.title, *passage.headings))


def _chinese(question: str, facts: Sequence[str], rule: RuleSentence) -> Decision:
    """Decide a Chinese sentence, or a table row that the question names, by code."""
    row, wanted = read_row(rule.sentence), chinese_applies.target(question)
    decision = None
    if row is None:
        passage = rule.passage
        path = " ".join((passage.title, *passage.headings))
        text = rule.sentence
        if chinese_applies.is_exception(rule.following):
            text = f"{text.rstrip('。')}，{rule.following}"
        decision = chinese_applies.decide(text, facts, question, path=path)
    elif wanted == "choice" or chinese_tables.named_row(question, [rule.sentence], ()) is not None:
        decision = chinese_tables.fits(question, row, facts)
    if decision is not None and decision.verdict != "none":
        return decision
    # Food and steps are decided by category in both languages.
    if wanted in ("permit", "choice"):
        user = chinese_applies.told(tuple(facts), question)
        decision = hazards.decide(rule.sentence, user.situation, 1.0)
    return decision or Decision("none", confidence=0.1)
