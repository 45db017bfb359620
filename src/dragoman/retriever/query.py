"""What to search for: the user's last turn, with the topic of the turns before where it leans on them.

The whole history is a poor query, and so is a bare "and what do they cost?". A turn that stands alone
is searched as it is; one that leans on earlier turns carries their topic: the nouns of the question
before it (resolved in its turn), and the names that the last reply brought up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dragoman.core.values import Context, Turn
from dragoman.retriever.reference import (
    RELATIONAL,
    ZH_RELATIONAL,
    content_words,
    is_chinese,
    leaning,
    names_within,
    word_set,
    zh_content,
)
from dragoman.text.analyse import ZH_ALONE
from dragoman.text.form import SOCIAL, form

_PREDICATES = RELATIONAL | word_set("""
    find see visit stay live like love want need eat drink buy sell serve offer think look looking tell give show
    help make made bring use recommend suggest try please good nice great interested information info anything
    something heard read say said called name names ask question hope
    """)
_NAME = re.compile(r"(?:[A-Z][\w'’-]*)(?: (?:of |the |and |de |van )?[A-Z][\w'’-]*)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?]\s+|\n)\s*[\"“'(]*$")
_ZH_NAME = re.compile("[《「“]([^》」”]{1,20})[》」”]")
_FURTHEST = 4
_MOST_WORDS = 14


@dataclass(frozen=True, slots=True)
class SearchText:
    """The text to search for: the turn itself, what it carries from the turns before, and both joined."""

    text: str
    carried: str = ""
    is_follow_up: bool = False
    turn: str = ""


def standalone(context: Context) -> SearchText:
    """The query of a dialogue's last turn, to be understood without the turns before it."""
    turn = " ".join(context.last.split())
    lean = leaning(turn)
    alone = SearchText(turn, turn=turn)
    if lean is None or not context.history or form(turn).act in SOCIAL:
        return alone
    carried = _carried(context.history, whole=lean == "fragment", present=turn)
    return SearchText(f"{carried} {turn}", carried, True, turn) if carried else alone


def _carried(history: tuple[Turn, ...], *, whole: bool, present: str) -> str:
    """The topic of the turns before: of the nearest user turn that has one, and of the reply after it."""
    words: list[str] = []
    users = [i for i, turn in enumerate(history) if turn.speaker == "user"][-_FURTHEST:]
    for i in reversed(users):
        if form(history[i].text).act in SOCIAL:
            continue
        before = standalone(Context(history[: i + 1]))
        words = [*before.carried.split(), *_topic(before.turn, whole=whole)]
        if words:
            break
    if history[-1].speaker == "agent":
        words += _names(history[-1].text)
    seen = set(_keys(present))
    kept = [word for word in dict.fromkeys(words) if not seen.issuperset(_keys(word))]
    return " ".join(dict.fromkeys(kept[:_MOST_WORDS]))


def _keys(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _topic(turn: str, *, whole: bool) -> list[str]:
    """What a turn is about; with `whole`, what it asks as well."""
    if is_chinese(turn):
        runs = zh_content(turn)
        if whole:
            return runs
        bare = (ZH_RELATIONAL.sub("", run).strip("".join(ZH_ALONE)) for run in runs)
        return [run for run in bare if run]
    words = content_words(turn)
    if whole:
        return words
    names = set(names_within(turn))
    return [word for word in words if word in names or word.lower() not in _PREDICATES]


def _names(reply: str) -> list[str]:
    """Names in a reply: words with a capital inside a sentence, and several of them at its start."""
    if is_chinese(reply):
        return _ZH_NAME.findall(reply)[:2]
    found = []
    for match in _NAME.finditer(reply):
        words = content_words(match.group())
        starts = _SENTENCE_START.search(reply[: match.start()]) is not None
        if words and (len(words) > 1 or not starts):
            found += words
    return found[:6]
