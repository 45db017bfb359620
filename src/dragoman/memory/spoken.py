# ruff: noqa: E501  # a pattern is easier to check in one piece
"""Past chats as evidence: turns of the user and the agent, found by time, words and meaning.

Questions about chats ("What did we talk about last week?", "What did you recommend?") are answered with the turns and
their dates. So are questions about the user that no stored fact answers, where a turn of a past chat does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo

from dragoman.core.clock import stamp
from dragoman.core.values import Context, Evidence, Passage, Recollection, Speaker
from dragoman.decision.times import Period, find_periods, without_periods
from dragoman.memory.recall.history import EVER
from dragoman.stores.dialogue_search import DialogueQuery, DialogueSearch
from dragoman.text import lazy_re as re
from dragoman.text.form import form

_TALKED = re.compile(
    r"\bwhat (?:did|have) (?:we|i) (?:already )?(?:talk|talked|speak|spoken|chat|chatted|discuss|discussed|ask|asked)\b"
    r"|\bwhen did (?:we|i) (?:last |first )?(?:talk|speak|chat|discuss|ask)\b"
    r"|\b(?:did|have) (?:we|i) (?:ever )?(?:talk|talked|spoken|ask|asked|discussed?) (?:you )?about\b"
    r"|我们?.{0,8}(?:聊|谈|问)(?:了|过)?(?:你|您)?(?:些)?(?:什么|哪些|啥)"
    r"|我.{0,4}(?:什么时候|哪天).{0,4}(?:聊|谈|问)(?:到|起)?过?",
    re.IGNORECASE,
)
_AGENT_SAID = re.compile(
    r"\b(?:what|which|where|when|how much|how many)\b.{0,40}\b(?:did|have|had) you (?:just |already |ever )?"
    r"(?:say|said|tell|told|recommend(?:ed)?|suggest(?:ed)?|advise[d]?|answer(?:ed)?|mention(?:ed)?|reply|replied)\b"
    r"|\bwhat was your (?:answer|reply|advice|recommendation|suggestion)\b"
    r"|(?<![跟和对向给同])[你您].{0,8}(?:说|告诉我?|推荐|建议|回答)(?:过|了)?(?:我)?(?:些)?(?:什么|哪|啥|多少)",
    re.IGNORECASE,
)
_USER_SAID = re.compile(
    r"\b(?:did|have) i (?:ever |already )?(?:say|said|tell|told|mention(?:ed)?|bring up|brought up|write|wrote)\b"
    r"|\bi (?:mentioned|told you about|said something about|talked about)\b"
    r"|我.{0,8}(?:说|提|讲)(?:过|到过|起过)",
    re.IGNORECASE,
)
_OWN_PAST = re.compile(
    r"\b(?:did|had|was|were) (?:i|we|my|our)\b|\b(?:i|we) (?:[a-z]{2,14}ed|read|saw|bought|went|ate|drank|had|met|got"
    r"|took|put|left|found|made|gave|wrote|chose|lost|won|paid|said|told|heard|kept|spent|sold|hired|built|drove|flew)\b"
    r"|\b[a-z]{3,14}ed (?:my|our)\b|我.{0,12}(?:过|了)",
    re.IGNORECASE,
)
_OF_THIS_CHAT = re.compile(
    r"(?:(?:so|and|but|wait|hey|again)\b,? )?what(?: (?:did|have) i (?:(?:just|first|last) )?(?P<asks>ask|say|said|tell|write)(?:ed)?(?: you)?"
    r"(?: first| last| just now| a moment ago| before(?: that| this)?| at the (?:start|beginning)| to (?:start|begin) with)?"
    r"|(?:['’]s| was| is) (?:my|the) (?:very )?(?:first|last|previous) (?:question|message|thing i (?:ask|sai|tol|wrot)\w*(?: you)?))"
    r"\W*|我?(?:刚才|刚刚|最先|最早|一?开始|上一?[个次句])(?:我)?(?:问|说)(?:了|过)?你?(?:的(?:问题)?是)?(?:了)?(?:什么|啥|哪个问题)\W*"
    r"|我的?(?:第一|上一|最后一)个?(?:问题|句话)是(?:什么|啥)\W*",
    re.IGNORECASE,
)
"""Asks for the user's first or last turn of the dialogue."""
_FIRST = re.compile(r"\b(?:first|start|beginning|begin)\b|第一|最先|最早|一?开始", re.IGNORECASE)
_LAST = re.compile(r"\b(?:last|just|previous|before|moment)\b|刚|上一|最后", re.IGNORECASE)
_QUESTION = re.compile(r"\b(?:ask|asked|question)\b|问", re.IGNORECASE)
_AGENT_ACTS = re.compile(
    r"(?:(?:so|and|but|wait|hey)\b,? )?(?:have|did|do|are|were|will|would|can|could) you\b", re.IGNORECASE
)
"""Opens a question about what the agent does."""
_QUOTES = re.compile(
    r"In your chats|On \d{1,2} \w+ \d{4} at |[你我]在对话里说过|I found nothing about that in your chats"
)
"""Replies that repeat what was said in chats."""
_EMPTY = frozenset(
    "what when did have we i you ask asked talk talked speak spoken chat chatted discuss discussed about last first "
    "ever already the to with in on of a an my me is are was were do does how which who whom where say said tell told "
    "mention mentioned recommend recommended suggest suggested advise advised answer answered that this it your for "
    "name called again had has time something anything remember".split()
)
_CHINESE_EMPTY = re.compile(
    "我们?|你|您|什么时候|哪天|什么|哪些|哪|聊|谈|问|到|起|过|了|的|关于|些|说|告诉|推荐|建议|提"
)
_MOST = 8
_SHOWN = 3
_LONGEST = 200
_ENOUGH = 0.5
"""The least share of a question's words in a turn that is shown as its answer."""
_SURE = 0.6
"""The same where nobody asked for chats."""
_KNOWN = 0.5
"""From this share of a question's words in one fact on, facts answer it."""


def asks_for_chats(text: str) -> bool:
    """Whether a turn asks what past chats were about, or when something was said in them."""
    if len(text) > _LONGEST:
        return False
    return bool(_TALKED.search(text) or _AGENT_SAID.search(text) or _OF_THIS_CHAT.fullmatch(text.strip()))


@dataclass(frozen=True, slots=True)
class PastChats:
    """Answers questions from a user's past chats."""

    search: DialogueSearch
    analyse: Callable[[str], tuple[str, ...]]

    def recollection(  # noqa: PLR0911 - one return a kind of question
        self, context: Context, facts: Sequence[Passage], *, at: datetime, zone: tzinfo
    ) -> Recollection | None:
        """Return the turns that answer a question; None if it asks for something else or `facts` answer it."""
        text = context.last
        if len(text) > _LONGEST or form(text).act != "question":
            return None
        mine = self._of_this_chat(context)
        if mine is not None:
            return Recollection("spoken", mine, now=stamp(at), zone=getattr(zone, "key", ""), value="user")
        asked = asks_for_chats(text)
        if not asked and not self._may_be_in_chats(text):
            return None
        period = next((each for each in find_periods(text, at, zone) if each.start is None or each.start <= at), None)
        bare = without_periods(text, at, zone)
        wanted = self._topic(bare)
        if not wanted and (period is None or not asked):
            return None
        if not asked and self._is_known(wanted, facts):
            return None
        speaker: Speaker = "agent" if _AGENT_SAID.search(text) else "user"
        hits = self._hits(context, bare, wanted, speaker, period)
        if not asked:
            hits = [hit for hit in hits if hit.scores["covers"] >= _SURE and form(hit.text).act != "question"][:_SHOWN]
            if not hits:
                return None
        rows = sorted((hit.passage for hit in hits), key=lambda row: (row.meta["said_at"], row.position))
        zone_name = getattr(zone, "key", "")
        made = Recollection("spoken", tuple(rows[-_MOST:]), now=stamp(at), zone=zone_name, value=speaker)
        start, end = _bounds(period)
        return replace(made, start=start, end=end, grain=period.grain if period else "")

    def _of_this_chat(self, context: Context) -> tuple[Passage, ...] | None:
        """Return the user's first or last turn of this dialogue if the question asks for it, else None."""
        text = context.last
        if not _OF_THIS_CHAT.fullmatch(text.strip()) or not (_FIRST.search(text) or _LAST.search(text)):
            return None
        turns_of_chat = [row for row in self.search.turns(context.scope) if row.meta["dialogue"] == context.dialogue]
        if not turns_of_chat:  # a private dialogue is not stored
            turns_of_chat = [
                Passage(f"turn:{nth}", "", turn.text, meta={"speaker": turn.speaker, "said_at": turn.said_at})
                for nth, turn in enumerate(context.history)
            ]
        mine = [
            row
            for row in turns_of_chat
            if row.meta["speaker"] == "user" and not _OF_THIS_CHAT.fullmatch(row.text.strip())
        ]
        if _QUESTION.search(text):
            mine = [row for row in mine if form(row.text).act == "question"]
        chosen = mine[:1] if _FIRST.search(text) else mine[-1:]
        return tuple(row for row in chosen if row.meta.get("said_at"))

    def _may_be_in_chats(self, text: str) -> bool:
        shape = form(text)
        if _AGENT_ACTS.match(text):
            return bool(_USER_SAID.search(text))
        return shape.about == "user" or bool(_USER_SAID.search(text) or (shape.personal and _OWN_PAST.search(text)))

    def _is_known(self, wanted: frozenset[str], facts: Sequence[Passage]) -> bool:
        """Whether one fact has enough of the question's words."""
        return any(
            len(wanted & {*self.analyse(row.indexed), *self.analyse(row.meta.get("slot", ""))}) / len(wanted) >= _KNOWN
            for row in facts
        )

    def _hits(
        self, context: Context, bare: str, wanted: frozenset[str], speaker: Speaker, period: Period | None
    ) -> list[Evidence]:
        start, end = _bounds(period)
        scope = context.scope
        if not wanted:  # all turns of a period
            rows = [row for row in self.search.turns(scope) if start <= row.meta.get("said_at", "") < end]
            return [Evidence(row, 1.0) for row in rows if row.meta["speaker"] == speaker and self._is_matter(row)]
        topic = " ".join(word for word in _words(bare))
        query = DialogueQuery(topic, 4 * _MOST, start, end, speaker, frozenset((context.last,)))
        return [
            hit
            for hit in self.search.search(scope, query)
            if hit.scores["covers"] >= _ENOUGH and hit.passage.meta.get("said_at") and self._is_matter(hit.passage)
        ][:_MOST]

    def _is_matter(self, row: Passage) -> bool:
        """Whether a turn has content and is not itself a question about past chats."""
        text = row.text[:_LONGEST]
        return (
            not asks_for_chats(text)
            and not _QUOTES.match(text)
            and not _USER_SAID.search(text)
            and bool(self._topic(text))
        )

    def _topic(self, text: str) -> frozenset[str]:
        """Return the content words of a question, without times and common words."""
        return frozenset(self.analyse(" ".join(_words(text))))


def _words(text: str) -> list[str]:
    return [word for word in re.findall(r"[\w'-]+", _CHINESE_EMPTY.sub(" ", text)) if word.casefold() not in _EMPTY]


def _bounds(period: Period | None) -> tuple[str, str]:
    start = stamp(period.start) if period and period.start else ""
    return start, stamp(period.end) if period and period.end else EVER
