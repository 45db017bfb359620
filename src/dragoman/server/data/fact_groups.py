"""A user's facts grouped by whom they are about, each with its sentence and what it replaced."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from dragoman.core.values import Passage
from dragoman.server.hosted_agent import Seat

USER = "user"
_MOST_EARLIER = 3


@dataclass(frozen=True, slots=True)
class ListedFact:
    """A fact with the sentence it comes from and its day; `earlier` are the facts that it replaced, newest first."""

    id: str
    text: str
    said: str
    earlier: tuple[str, ...] = ()
    said_on: date | None = None


@dataclass(frozen=True, slots=True)
class FactGroup:
    """Facts about one person, animal or thing; `subject` is `user` for the user."""

    subject: str
    title: str
    facts: tuple[ListedFact, ...]


def grouped_facts(seat: Seat) -> list[FactGroup]:
    """The user's facts by subject: the user first, then others in the order in which they were mentioned."""
    rows = seat.assistant.recall(user=seat.user)
    replaced: dict[tuple[str, str], list[str]] = {}
    for source in seat.assistant.sources:
        if source.private and source.about == "user":
            for old in seat.assistant.store.passages(seat.scope, source.name, superseded=True):
                replaced.setdefault(_place(old), []).append(old.text)
    groups: dict[str, list[ListedFact]] = {USER: []}
    titles: dict[str, str] = {}
    for row in rows:
        subject = row.meta.get("subject") or USER
        earlier = tuple(reversed(replaced.get(_place(row), ())))[:_MOST_EARLIER]
        fact = ListedFact(row.id, row.text, row.meta.get("said", ""), earlier, _day(row.meta.get("said_at", "")))
        groups.setdefault(subject, []).append(fact)
        if row.meta.get("slot", "").rstrip("!").endswith("name") and row.meta.get("value"):
            titles[subject] = row.meta["value"]
    return [
        FactGroup(subject, _title(subject, titles.get(subject, "")), tuple(facts))
        for subject, facts in groups.items()
        if facts
    ]


def _place(row: Passage) -> tuple[str, str]:
    """Return the subject and slot of a fact: facts with the same ones replace each other."""
    return row.meta.get("subject", USER), row.meta.get("slot", "").rstrip("!")


def _day(stamp: str) -> date | None:
    """The day of a time stamp; None where there is none, as for facts of earlier versions."""
    try:
        return datetime.fromisoformat(stamp).date() if stamp else None
    except ValueError:
        return None


def _title(subject: str, name: str) -> str:
    """A subject for the eye: "Rex (dog)", or "Dog" without a name."""
    plain = subject.replace("_", " ").strip()
    plain = plain[:1].upper() + plain[1:]
    return f"{name} ({plain.lower()})" if name and name.casefold() != plain.casefold() else plain
