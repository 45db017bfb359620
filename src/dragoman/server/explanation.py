"""Explanation of a reply: the user's fact, the rule of the documents, and what follows from both.

The page and the command line show it before scores and timings. It comes from the notes of the reader's draft.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dragoman.core.values import Draft, Evidence, Passage
from dragoman.decision.tables.cells import row_sentence

ShownOutcome: TypeAlias = Literal["yes", "no", "unknown", "value", ""]
"""What follows from rule and fact: yes, no, a fact is missing, a value such as a price, or no single conclusion."""

NOTES = frozenset({"rule", "fact", "decision", "reason", "missing", "value", "by"})
"""The notes of a draft that an explanation puts into words."""

EXPLANATION_WORDS: dict[str, tuple[str, str]] = {
    "why.fact": ("You told me", "您告诉过我"),
    "why.rule": ("The documents say", "文档中写道"),
    "why.place": ("{rule} ({place})", "{rule}（见“{place}”）"),
    "why.so": ("So", "所以"),
    "outcome.yes": ("Yes", "可以"),
    "outcome.no": ("No", "不行"),
    "outcome.unknown": ("I need to know {missing}.", "我还需要知道：{missing}。"),
    "outcome.unknown_other": ("I need to know more about this: {missing}.", "我还需要了解：{missing}。"),
    "outcome.because": ("{outcome} ({reason})", "{outcome}（因为：{reason}）"),
    "outcome.by_model": ("judged by the model", "由模型判断"),
    "missing.age": ("the age", "年龄"),
    "missing.height": ("the height", "身高"),
    "missing.weight": ("the weight", "重量"),
    "missing.length": ("the length", "长度"),
    "missing.date": ("the day", "日期"),
    "missing.time": ("the time", "时间"),
    "missing.duration": ("how long it takes", "时长"),
    "missing.since": ("how long ago it was", "是多久以前"),
    "missing.amount": ("the amount", "金额"),
    "missing.currency": ("the amount in that currency", "按该货币计的金额"),
    "missing.count": ("how many", "数量"),
    "missing.adult": ("whether an adult comes along", "是否有成人陪同"),
    "missing.student": ("whether you are a student", "您是否是学生"),
    "missing.pensioner": ("whether you are a pensioner", "您是否已退休"),
    "missing.membership": ("whether you are a member", "您是否是会员"),
    "missing.residence": ("whether you are a resident", "您是否是本地居民"),
    "missing.employment": ("whether you are an employee", "您是否是员工"),
    "missing.teacher": ("whether you are a teacher", "您是否是教师"),
    "missing.veteran": ("whether you are a veteran", "您是否是退伍军人"),
}
"""Labels of an explanation in English and Chinese."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The fact and the rule behind a reply. `place` is the rule's passage; `missing` names the fact to ask for."""

    rule: str
    place: str = ""
    fact: str = ""
    outcome: ShownOutcome = ""
    value: str = ""
    missing: str = ""
    reason: str = ""
    by_model: bool = False


def explanation(draft: Draft, evidence: Sequence[Evidence]) -> Explanation | None:
    """Explain a draft; None if its reader noted no rule, as for quotations and set phrases."""
    notes = {key: str(note) for key, note in draft.notes.items() if key in NOTES}
    if not notes.get("rule"):
        return None
    value = notes.get("value", "")
    outcome = _outcome(notes.get("decision", ""), value)
    # A comparison ("age 24 < 27") explains a verdict; a bare name of the rule's effect ("price") does not.
    reason = notes.get("reason", "")
    return Explanation(
        rule=row_sentence(notes["rule"]),
        place=_place(draft, evidence),
        fact=notes.get("fact", ""),
        outcome=outcome,
        value=value,
        missing=notes.get("missing", "") if outcome == "unknown" else "",
        reason=reason if outcome in ("yes", "no") and " " in reason else "",
        by_model=notes.get("by") == "model",
    )


def _outcome(verdict: str, value: str) -> ShownOutcome:
    match verdict:
        case "yes" | "no" | "unknown":
            return verdict
        case _:
            return "value" if value else ""


def _place(draft: Draft, evidence: Sequence[Evidence]) -> str:
    """Return the place of the rule: readers quote its passage first."""
    passages = {piece.id: piece.passage for piece in evidence}
    return next((heading_path(passages[name]) for name in draft.quoted if name in passages), "")


def heading_path(passage: Passage) -> str:
    """Title and headings of a passage, else its file, else its source."""
    path = dict.fromkeys(part for part in (passage.title, *passage.headings) if part)
    return " › ".join(path) or passage.origin.rpartition("/")[2] or passage.source


def explanation_lines(reason: Explanation, words: Mapping[str, str]) -> list[tuple[str, str]]:
    """An explanation as lines of (label, text): the user's fact, the rule with its place, the outcome.

    `words` holds the `EXPLANATION_WORDS` of one language.
    """
    rule = words["why.place"].format(rule=reason.rule, place=reason.place) if reason.place else reason.rule
    texts = {"why.fact": reason.fact, "why.rule": rule, "why.so": _outcome_text(reason, words)}
    return [(words[key], text) for key, text in texts.items() if text]


def _outcome_text(reason: Explanation, words: Mapping[str, str]) -> str:
    match reason.outcome:
        case "yes" | "no":
            outcome = words[f"outcome.{reason.outcome}"]
            because = words["outcome.by_model"] if reason.by_model else reason.reason
            return words["outcome.because"].format(outcome=outcome, reason=because) if because else outcome
        case "unknown":
            label = words.get(f"missing.{reason.missing}")
            key = "outcome.unknown" if label else "outcome.unknown_other"
            return words[key].format(missing=label or reason.missing) if reason.missing else ""
        case _:
            return reason.value
