"""The row or column of a table that is named after a group, where a sentence says who belongs to it.

"Concession: £9" in a table and "Concessions are for people over 65" below it: who is 68 pays the concession.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dragoman.decision.applies import applies
from dragoman.decision.questions import stemmed
from dragoman.decision.tables.cells import read_row, whom
from dragoman.decision.values import Decision
from dragoman.text import lazy_re as re

_OF_PRICE = r"(?:prices?|rates?|fees?|fares?|tickets?|cards?|tariffs?|memberships?|charges?)"
_DEFINES = re.compile(
    rf"(?:the )?(?P<label>[a-z]+(?:[ -][a-z]+)?)(?: {_OF_PRICE})?"
    r"(?: (?:is|are|means?|covers?|appl(?:y|ies)|counts? as)(?: only)?(?: (?:for|to|available to|open to))?|:(?: for)?)"
    r" (?P<who>[^.;]{3,240})",
    re.IGNORECASE,
)
_GIVES = re.compile(
    r"(?P<who>[^.;:]{3,160}?) (?:pays?|gets?|(?:is|are) (?:charged|given)|qualif(?:y|ies) for|(?:is|are) entitled to)"
    rf"(?: only| also)? the (?P<label>[a-z]+)(?:['’]s|s['’]|['’])? {_OF_PRICE}\b",
    re.IGNORECASE,
)
"""The same said the other way round: "Students pay the members' price"."""
_LIMIT = re.compile(r"(?:under|over|from|up to|aged|between|below|above|\d)", re.IGNORECASE)
_SHORTEST = 4


@dataclass(frozen=True, slots=True)
class OwnGroup:
    """A group that the user belongs to by a fact: its name in the table, and the sentence that defines it."""

    label: str
    sentence: str
    decision: Decision


def own_group(rows: Sequence[str], sentences: Sequence[str], facts: Sequence[str], question: str) -> OwnGroup | None:
    """The one group of a table that the person asked about belongs to; None without exactly one.

    A group that the question names itself is looked up as any other word of it.
    """
    asked = set(stemmed(question))
    labels = {stem: label for label in _labels(rows) if (stem := _stem(label)) and stem not in asked}
    who = whom(facts, question)
    does = "Do I" if who == "me" else f"Does {who}"
    found: dict[str, OwnGroup] = {}
    for sentence in sentences:
        is_row = not labels or read_row(sentence) is not None
        match = None if is_row else _GIVES.match(sentence) or _DEFINES.match(sentence)
        label = labels.get(_stem(match["label"])) if match else None
        if match is None or label is None:
            continue
        group = f"people {match['who']}" if _LIMIT.match(match["who"]) else match["who"]
        rule = f"{group[:1].upper()}{group[1:]} get the reduced price."
        decision = applies(rule, facts, f"{does} get the reduced price?")
        if decision.verdict == "yes" and decision.fact:
            found.setdefault(label, OwnGroup(label, sentence, decision))
    return next(iter(found.values())) if len(found) == 1 else None


def _labels(rows: Sequence[str]) -> Iterator[str]:
    """The words that rows and columns are named after, without what stands in brackets."""
    for text in rows:
        row = read_row(text)
        for name in (row.label, *(column for column, _ in row.cells)) if row is not None else ():
            yield name.partition("(")[0].strip().lower()


def _stem(label: str) -> str:
    """The stem of a name of one word, or of the first of two where the second is "price" or the like."""
    words = [word for word in label.lower().split() if re.fullmatch(_OF_PRICE, word) is None]
    stems = stemmed(words[0]) if len(words) == 1 and len(words[0]) >= _SHORTEST else ()
    return next(iter(stems), "")
