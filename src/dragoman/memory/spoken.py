"""Past chats as evidence: what the user said or asked in them, found by time and by words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, tzinfo

from dragoman.core.clock import stamp
from dragoman.core.protocols import Store
from dragoman.core.values import ASIDE, Context, Passage, Recollection, SourceName
from dragoman.decision.times import find_periods, without_periods
from dragoman.memory.history import EVER

_TALKED = re.compile(
    r"\bwhat (?:did|have) (?:we|i) (?:already )?(?:talk|talked|speak|spoken|chat|chatted|discuss|discussed|ask|asked)\b"
    r"|\bwhen did (?:we|i) (?:last |first )?(?:talk|speak|chat|discuss|ask)\b"
    r"|\b(?:did|have) (?:we|i) (?:ever )?(?:talk|talked|spoken|ask|asked|discussed?) (?:you )?about\b"
    r"|我们?.{0,8}(?:聊|谈|问)(?:了|过)?(?:你|您)?(?:些)?(?:什么|哪些|啥)"
    r"|我.{0,4}(?:什么时候|哪天).{0,4}(?:聊|谈|问)(?:到|起)?过?",
    re.IGNORECASE,
)
_EMPTY = frozenset(
    "what when did have we i you ask asked talk talked speak spoken chat chatted discuss discussed about last first "
    "ever already the to with in on of a an my me is are was were do does how".split()
)
_CHINESE_EMPTY = re.compile("我们?|你|您|什么时候|哪天|什么|哪些|聊|谈|问|到|起|过|了|的|关于|些")
_MOST = 8
_LONGEST = 200


def asks_for_chats(text: str) -> bool:
    """Whether a turn asks what was spoken of in past chats, or when."""
    return len(text) <= _LONGEST and bool(_TALKED.search(text))


def spoken(
    store: Store,
    context: Context,
    source: SourceName,
    *,
    at: datetime,
    zone: tzinfo,
    analyse: Callable[[str], tuple[str, ...]],
) -> Recollection | None:
    """The user's own turns that a question about past chats means; None where it names neither time nor topic."""
    text = context.last
    period = next((each for each in find_periods(text, at, zone) if each.start is None or each.start <= at), None)
    wanted = _topic(without_periods(text, at, zone), analyse)
    if period is None and not wanted:
        return None
    start = stamp(period.start) if period and period.start else ""
    end = stamp(period.end) if period and period.end else EVER
    rows = []
    for row in _turns(store, context, source):
        words = set(analyse(row.text))
        if start <= row.meta["said_at"] < end and (not wanted or len(wanted & words) / len(wanted) >= 0.5):
            rows.append(row)
    rows.sort(key=lambda row: row.meta["said_at"])
    made = Recollection("spoken", tuple(rows[-_MOST:]), now=stamp(at), zone=getattr(zone, "key", ""))
    return replace(made, start=start, end=end, grain=period.grain if period else "")


def _turns(store: Store, context: Context, source: SourceName) -> Iterator[Passage]:
    """The dated turns of the user, without the one that asks and others that ask for chats."""
    for dialogue in store.dialogues(context.scope):
        if dialogue.startswith(ASIDE):
            continue
        for place, turn in enumerate(store.dialogue(context.scope, dialogue)):
            if turn.speaker == "user" and turn.text and turn.said_at and not _TALKED.search(turn.text[:_LONGEST]):
                meta = {"said_at": turn.said_at, "dialogue": dialogue, "speaker": "user"}
                yield Passage(f"turn:{dialogue}:{place}", source, turn.text, position=place, meta=meta)


def _topic(text: str, analyse: Callable[[str], tuple[str, ...]]) -> frozenset[str]:
    """The words of a question without its times that say what was spoken of."""
    words = [word for word in re.findall(r"[\w'-]+", _CHINESE_EMPTY.sub(" ", text)) if word not in _EMPTY]
    return frozenset(analyse(" ".join(words)))
