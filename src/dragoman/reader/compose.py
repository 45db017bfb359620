"""Compose a personal answer without a language model: first the verdict, then rule, user's fact and source."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from dragoman.core.values import Evidence
from dragoman.decision.applies import Decision
from dragoman.decision.joint import Option
from dragoman.decision.judge import SUPPOSED
from dragoman.decision.tables.cells import row_sentence
from dragoman.decision.tables.lists import whole_point, with_points
from dragoman.reader.phrases import phrase
from dragoman.text import lazy_re as re
from dragoman.text.second_person import second_person

_END = " .。!！"
_CERTAIN = 0.8
"""From which confidence on a model's verdict is said as it is; below, it is "Probably yes" or "Probably not"."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Content of a reply: the rules it quotes, the facts it rests on, and the decision, if there is one."""

    options: tuple[Option, ...]
    facts: tuple[Evidence, ...] = ()
    decision: Decision | None = None
    opening: str = ""
    """The first words: what the user pays, or yes or no where the question calls for others than the usual ones."""
    doubt: bool = False
    """Whether the sentences are only the closest that were found."""
    compared: bool = False
    """Whether code chose the rows of a table, or one of two values, by comparing them."""


def compose(answer: Answer, language: str, *, noted: Set[str] = frozenset()) -> str:
    """The reply to a question: verdict, rule, the user's fact, source. `noted` facts are not told back once more."""
    rule, source = _rules(answer.options, language)
    decision = answer.decision
    reason = told(
        [fact.text for fact in answer.facts if fact.text not in noted and SUPPOSED not in fact.scores], language
    )
    ask = asked_back(answer, language)
    if ask:
        return phrase("depends", language, rule=rule, source=source, ask=ask)
    if answer.doubt:
        return phrase("unsure", language, quote=rule + source)
    opening = answer.opening
    if not opening and decision is not None and decision.verdict in ("yes", "no"):
        certainty = "likely" if decision.by == "model" and decision.confidence < _CERTAIN else "verdict"
        verdict = phrase(f"{certainty}-{decision.verdict}", language)
        if reason:
            rule = rule.rstrip(_END) if language == "zh" else rule
            return phrase("verdict-by-fact", language, verdict=verdict, rule=rule, fact=reason) + source
        opening = phrase("verdict", language, verdict=verdict)
    if reason:
        rule, end = (rule, "\n") if "\n" in rule else (rule.rstrip(_END), ". ")
        return opening + phrase("rule-and-fact", language, rule=rule, end=end, fact=reason) + source
    return opening + rule + source


def asked_back(answer: Answer, language: str) -> str:
    """Return the question for a missing fact that ends the reply; empty if nothing is asked."""
    decision = answer.decision
    if decision is None or decision.verdict != "unknown":
        return ""
    return decision.ask or (phrase("ask-any", language) if decision.by == "model" else "")


def _rules(options: Sequence[Option], language: str) -> tuple[str, str]:
    """Return the quoted rules with their sources; rules from the same place share one source."""
    sources = [attribution(option.evidence, language) for option in options]
    texts = [_in_full(option, language) for option in options]
    if len(set(sources)) > 1:
        before = [text + source for text, source in zip(texts[:-1], sources[:-1], strict=True)]
        texts = [*before, texts[-1]]
    points = len(texts) > 1 and not any(text.rstrip().endswith((".", "!", "?", "。")) for text in texts)
    if points and len(set(sources)) == 1:
        joined = "\n".join(f"- {text}" for text in dict.fromkeys(texts))
    else:
        joined = quoted(texts, language)
    return joined, sources[-1] if sources else ""


def _in_full(option: Option, language: str) -> str:
    """Return a sentence as quoted: a table row in words, a list item with the lines that belong to it."""
    text = with_points(row_sentence(option.sentence), option.evidence.text)
    return text if language == "zh" else whole_point(text, option.evidence.text)


def is_said(option: Option, text: str) -> bool:
    """Whether a reply quotes a sentence; a row of a table is quoted in words."""
    return option.sentence.rstrip(_END) in text or row_sentence(option.sentence) in text


_FRAGMENT = re.compile(r"your [a-z-]+(?: [A-Z][\w'’-]*)?")
"""Part of a sentence that says nothing by itself: "your beagle Monty"."""


def told(facts: Sequence[str], language: str) -> str:
    """Facts in the second person, joined into one clause: "you are 24 and your son Leo is five"."""
    clauses = [second_person(fact).rstrip(_END) for fact in facts]
    clauses = [clause for clause in dict.fromkeys(clauses) if clause and not _FRAGMENT.fullmatch(clause)]
    return phrase("and", language).join(clauses)


def quoted(texts: Sequence[str], language: str) -> str:
    """Sentences of the evidence one after the other; a table row before a sentence ends with a full stop."""
    *before, last = dict.fromkeys(text.strip() for text in texts) or [""]
    end = "。" if language == "zh" else "."
    ended = [text if not text[-1:].isalnum() else text + end for text in before]
    return ("" if language == "zh" else " ").join([*ended, last])


def attribution(piece: Evidence, language: str) -> str:
    """Return the place of a quotation in brackets: title and headings."""
    path = list(dict.fromkeys(part for part in (piece.passage.title, *piece.passage.headings) if part))
    if not path:
        return ""
    return f"（{' › '.join(path)}）" if language == "zh" else f" ({' › '.join(path)})"
