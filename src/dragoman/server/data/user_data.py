"""A user's facts, dialogues and thumbs: list, change, export and delete. Functions for `Service.do`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import Literal, NamedTuple

from dragoman.agent.feedback import ratings
from dragoman.core.cancelling import WorkCancelled, cancellable
from dragoman.core.clock import zone_of
from dragoman.core.control import checked_date
from dragoman.core.errors import InputError, ServiceError
from dragoman.core.trace import Reply
from dragoman.core.values import ASIDE, Erased, Erasure, Learned, Passage, Source, Turn
from dragoman.server.access.quota import full
from dragoman.server.hosted_agent import Seat
from dragoman.server.http import views
from dragoman.server.http.problems import absent
from dragoman.server.http.views import View
from dragoman.server.turns.events import TurnDone, usage_of

_MOST = 200
_A_DAY = len("2026-05-03")
_IMPORT_SECONDS, _FILE_SECONDS = 60.0, 600.0
"""How long an import may take: of a text in a request, and of a file that is streamed."""
_CONTEXT_CHARACTERS = 20_000


class EverythingErased(NamedTuple):
    """How many rows were erased, and the receipt: what went from which file, with hashes."""

    removed: int
    receipt: tuple[Erased, ...] = ()


def facts(seat: Seat, query: str | None = None, *, at: str = "", since: str = "", until: str = "") -> list[View]:
    """Facts about the user: all, or those that match a query; known `at` a date, or told between two of them."""
    dates = {"at": at, "since": since, "until": until}
    zone = zone_of(time_zone(seat))
    when = {name: _moment(name, text, zone) for name, text in dates.items() if text}
    if at and len(at) == _A_DAY:  # a day means its end
        when["at"] += timedelta(days=1, seconds=-1)
    return [views.fact(row) for row in seat.assistant.recall(query, user=seat.user, **when)]


def _moment(name: str, text: str, zone: tzinfo) -> datetime:
    moment = datetime.fromisoformat(checked_date(name, text))
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def remember(seat: Seat, text: str) -> View:
    """Add a fact; returns what it changed."""
    return views.learned(_learned(seat, text)) or {}


def correct(seat: Seat, id: str, text: str) -> View:
    """Replace a fact; returns what it changed."""
    old = _fact(seat, id)
    learned = seat.assistant.remember(text, user=seat.user)
    if _found_no_room(seat, learned):  # delete the old fact first to make room
        seat.assistant.forget(old.id, user=seat.user)
        return views.learned(replace(_learned(seat, text), forgotten=(old,))) or {}
    live = {row.id for row in (*learned.added, *learned.joined)}
    # The user says that the facts contradict each other, even if the rules do not see it.
    if old.id not in live | {row.id for row in learned.superseded}:
        seat.assistant.forget(old.id, user=seat.user)
        learned = replace(learned, forgotten=(*learned.forgotten, old))
    return views.learned(learned) or {}


def import_memory(seat: Seat, content: str, *, chats: bool = False, dry_run: bool = False) -> View:
    """Take the facts of a text into memory, or say what would be taken."""
    with _import_bounds(seat, len(content), _IMPORT_SECONDS, chats=chats):
        plan = seat.assistant.import_memory(text=content, user=seat.user, chats=chats, dry_run=dry_run)
    return views.imported(plan)


def import_file(seat: Seat, path: Path, *, chats: bool = False, dry_run: bool = False) -> View:
    """Take the facts of a file on the disk into memory, piece by piece, or say what would be taken."""
    with _import_bounds(seat, path.stat().st_size, _FILE_SECONDS, chats=chats):
        plan = seat.assistant.import_memory(path, user=seat.user, chats=chats, dry_run=dry_run)
    return views.imported(plan)


@contextmanager
def _import_bounds(seat: Seat, size: int, seconds: float, *, chats: bool) -> Iterator[None]:
    """Refuse an import whose chats exceed the user's quota, and end one that takes too long."""
    if chats:
        check_chat_room(seat, size)
    until = monotonic() + seconds
    try:
        with cancellable(lambda: monotonic() > until):
            yield
    except WorkCancelled:
        raise ServiceError(
            f"Reading the file takes more than {seconds:g} s.",
            remedy="Give it in parts; what is remembered already is not taken twice.",
            code="too-large",
        ) from None


def check_chat_room(seat: Seat, more: int) -> None:
    """Raise an error if so many bytes more of chats exceed the user's quota."""
    most, count = seat.quota.user_chat_bytes, getattr(seat.assistant.store, "turn_bytes", None)
    if most is not None and count is not None and count(seat.scope) + more > most:
        raise full("user", "MB of chats", f"{most / 2**20:,.0f}")


def wishes(seat: Seat) -> list[View]:
    """The user's standing wishes about replies."""
    return [views.wish(row) for row in seat.assistant.wishes(user=seat.user)]


def time_zone(seat: Seat) -> str:
    """The user's own time zone; "" is the agent's."""
    memory = seat.assistant.memory
    return seat.assistant.time_zone(user=seat.user) if hasattr(memory, "time_zone") else ""


def set_time_zone(seat: Seat, name: str) -> None:
    """Set the user's time zone; "" goes back to the agent's."""
    seat.assistant.set_time_zone(name, user=seat.user)


def end_wish(seat: Seat, id: str) -> int:
    """Delete a standing wish."""
    if seat.assistant.end_wish(id, user=seat.user) is None:
        raise absent("wish")
    return 1


def forget(seat: Seat, id: str) -> int:
    """Delete one fact, and the text of turns that mention it."""
    _fact(seat, id)
    return seat.assistant.forget(id, user=seat.user)


def erasure(seat: Seat) -> Erasure:
    """Return what `forget_everything` would delete."""
    return seat.assistant.erasure(user=seat.user)


def forget_everything(seat: Seat) -> EverythingErased:
    """Delete everything of the user: facts, dialogues, traces, thumbs, private passages and uploaded files."""
    removed = seat.assistant.forget(user=seat.user)
    return EverythingErased(removed, seat.assistant.receipt(user=seat.user))


def export(seat: Seat) -> View:
    """Everything stored about the user; what may be much is read when it is iterated over."""
    assistant, scope = seat.assistant, seat.scope
    private = [source for source in assistant.sources if source.private]
    return {
        "agent": seat.agent,
        "user": seat.user,
        "facts": facts(seat),
        "wishes": wishes(seat),
        "superseded": (
            views.fact(row)
            for source in private
            if source.about == "user"
            for row in assistant.store.passages(scope, source.name, superseded=True)
        ),
        "passages": (
            views.passage(row)
            for source in private
            if source.about != "user"
            for row in assistant.store.passages(scope, source.name)
        ),
        "dialogues": ({"id": name, "turns": _turns(seat, name)} for name in assistant.dialogues(user=seat.user)),
        "feedback": (json.loads(line) for line in thumbs(seat)),
    }


def dialogue(seat: Seat, name: str) -> Iterator[View]:
    """The turns of a dialogue, the agent's with their traces; each is read when it is iterated over."""
    check_dialogue(name)
    turns = _turns(seat, name)
    first = next(turns, None)
    if first is None:
        raise absent("dialogue")
    return chain((first,), turns)


def _turns(seat: Seat, name: str) -> Iterator[View]:
    for place, (turn, reply) in enumerate(seat.assistant.exchanges(user=seat.user, dialogue=name)):
        yield views.turn(turn, None if reply is None else _turn_view(seat, name, place, reply))


def forget_dialogue(seat: Seat, name: str) -> int:
    """Delete a dialogue: its turns, traces and thumbs, from every file. Facts learned from it stay."""
    check_dialogue(name)
    erased = seat.assistant.forget_dialogue(name, user=seat.user)
    if not erased:
        raise absent("dialogue")
    return erased


def rate(
    seat: Seat,
    dialogue: str,
    thumb: Literal["up", "down"] | None,
    *,
    turn: int | None,
    better: str | None = None,
    needed: bool | None = None,
) -> None:
    """Store a thumb for a reply and a better answer, or whether the reply needed a search."""
    check_dialogue(dialogue)
    if thumb is None and needed is None:
        raise InputError("The feedback says nothing.", remedy="Give `thumb`, `needed`, or both.")
    if thumb is None and better is not None:
        raise InputError("A better answer needs a thumb.", remedy="Give `thumb` too.")
    assistant = seat.assistant
    replies = assistant.replies(user=seat.user, dialogue=dialogue)
    place = len(replies) - 1 if turn is None else turn
    if not 0 <= place < len(replies) or replies[place] is None:
        raise absent("reply")
    if thumb is not None:
        assistant.rate(thumb == "up", user=seat.user, dialogue=dialogue, turn=place, better=better)
    if needed is not None:
        assistant.label_search(needed, user=seat.user, dialogue=dialogue, turn=place)


def thumbs(seat: Seat) -> Iterator[str]:
    """The user's thumbs as lines that `dragoman label thumbs FILE` reads, with the end of what was said before."""
    for rating in ratings(seat.assistant.store, seat.scope):
        row: dict[str, object] = {
            "context": [{"speaker": turn.speaker, "text": turn.text} for turn in _end(rating.context.turns)],
            "retrieved": rating.retrieved,
            "dialogue": rating.context.dialogue,
        }
        if rating.good is not None:
            row["thumb"] = "up" if rating.good else "down"
        if rating.needed is not None:
            row["needed"] = rating.needed
        if rating.better:
            row["better"] = rating.better
        yield json.dumps(row, ensure_ascii=False)


def _end(turns: Sequence[Turn]) -> Sequence[Turn]:
    """Return the last turns only, since a dialogue with many thumbs would be written once for each of them."""
    size, start = 0, len(turns)
    while start and (start == len(turns) or size + len(turns[start - 1].text) <= _CONTEXT_CHARACTERS):
        start -= 1
        size += len(turns[start].text)
    return turns[start:]


def check_dialogue(name: str) -> None:
    """Raise an error for an invalid dialogue id."""
    if not name.strip() or len(name) > _MOST or not name.isprintable() or name.startswith(ASIDE):
        raise InputError(
            f"A dialogue's id has 1 to {_MOST} printable characters and does not begin with '{ASIDE}'.",
            remedy="Give another one, or none.",
        )


def _turn_view(seat: Seat, name: str, place: int, reply: Reply) -> View:
    return views.done(TurnDone(reply, seat.agent, name, place, usage_of(reply), reply.trace.seconds))


def _learned(seat: Seat, text: str) -> Learned:
    """Learn from a text; raises an error if the limit of facts is reached."""
    learned = seat.assistant.remember(text, user=seat.user)
    if _found_no_room(seat, learned):
        raise full("user", "facts", f"{seat.quota.facts or 0:,}")
    return learned


def _found_no_room(seat: Seat, learned: Learned) -> bool:
    """Whether a fact was not stored because the limit of facts is reached."""
    is_limited = getattr(seat.assistant.memory, "most_facts", None) is not None
    return learned.is_empty and is_limited and _source(seat) is not None


def _source(seat: Seat) -> Source | None:
    """The source of facts about the user."""
    return next((source for source in seat.assistant.sources if source.about == "user" and source.private), None)


def _fact(seat: Seat, id: str) -> Passage:
    source = _source(seat)
    (fact,) = seat.assistant.store.get(seat.scope, [id])
    if source is None or fact is None or fact.source != source.name:
        raise absent("fact")
    return fact
