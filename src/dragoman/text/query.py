"""The standalone question: the user's last turn, with the topic of earlier turns if it depends on them.

The whole history is a poor query, and so is a bare "and what do they cost?". A turn that stands alone
is searched as it is; one that leans on earlier turns carries their topic: the nouns of the question
before it (resolved in its turn), and the names that the last reply brought up.
"""

from __future__ import annotations

from dataclasses import dataclass

from dragoman.core.values import Context, Turn
from dragoman.text import lazy_re as re
from dragoman.text.analyse import ZH_ALONE
from dragoman.text.ask_back import ACKNOWLEDGES
from dragoman.text.form import SOCIAL, form, mirrored, unwrapped
from dragoman.text.reference import (
    RELATIONAL,
    ZH_RELATIONAL,
    content_words,
    is_chinese,
    leaning,
    names_within,
    word_set,
    zh_content,
)
from dragoman.text.spelling import spelt

_PREDICATES = RELATIONAL | word_set("""
    find see visit stay live like love want need eat drink buy sell serve offer think look looking tell give show
    help make made bring use recommend suggest try please good nice great interested information info anything
    something heard read say said called name names ask question hope
    """)
_KINDS = {
    "day": word_set("""
        monday tuesday wednesday thursday friday saturday sunday today tomorrow tonight weekend weekday
        mon tue wed thu fri sat sun morning afternoon evening night
        """),
    "month": word_set("""
        january february march april may june july august september october november december
        spring summer autumn winter
        """),
}
_NAME = re.compile(r"(?:[A-Z][\w'’-]*)(?: (?:of |the |and |de |van )?[A-Z][\w'’-]*)*")
_ZH_NAME = re.compile("[《「“]([^》」”]{1,20})[》」”]")
_LEAVE = re.compile(
    r"(?:^|[.!;,] )(?P<who>I|we|he|she|they|my [a-z]+|(?-i:[A-Z][\w'’-]+))(?:['’]d|['’]ll| would| will| had)?"
    r"(?: was| were| am| is| are|['’]m|['’]s|['’]re)? ?"
    r"(?:wants?|wanted|like|likes|love|loves|plans?|planned|planning|intends?|intending|wish|wishes|hopes?|hoping|going"
    r"|needs?) to (?P<what>[^.?!;]{3,80}?)(?:[.,;!]| -) (?:and )?(?:is|would|will) (?:that|this|it)(?: be)? "
    r"(?:still |even )?(?:ok|okay|all right|alright|allowed|possible|permitted|fine|acceptable)(?: [a-z]+){0,3}\?$",
    re.IGNORECASE,
)
"""A wish and the question whether it is allowed: "We want to camp four nights. Is that ok?"."""
_OF_ONESELF = re.compile(r"(?:i|we|my|our)(?:['’](?:m|ve|re|ll|d))?\b", re.IGNORECASE)
_TOLD_BACK = re.compile(r"\bYou told me that [^.!?]*+[.!?]?|\byou told me that [^.!?]{0,300}?(?=[.!?])")
_ROW_SAID = re.compile(r"(?P<label>[^:.!?()]{2,60}+): (?=[^()]*\d)[^!?()]*+(?P<source>\([^()]*+\))?", re.DOTALL)
"""A reply that says a row of a table: "Eagles: 15 to 28 July, Ages 13 to 15, Price 610 (Sessions)"."""
_LEAST_TOLD = 3
"""Content words from which on a statement about oneself is understood without the turns before it."""
_FURTHEST = 4
_MOST_WORDS = 16
_MOST_MENTIONS = 8
_SPOKEN = 16
_DEEPEST = 40
"""How many turns may lean one on the other."""
_NEAR = 80
"""How many characters before a name are searched for the end of the sentence before it."""


@dataclass(frozen=True, slots=True)
class SearchText:
    """The text to search for: the turn itself, what it carries from the turns before, and both joined."""

    text: str
    carried: str = ""
    is_follow_up: bool = False
    turn: str = ""


def standalone(context: Context) -> SearchText:
    """The query of a dialogue's last turn, to be understood without the turns before it."""
    return _resolved(context, {}, _DEEPEST)


def plainly_asked(turn: str) -> str:
    """A wish and "is that ok?" as one question, "Can we camp four nights?"; other turns as they are."""
    wish = told_and_wished(turn)
    return wish[1] if wish is not None else turn


def told_and_wished(turn: str) -> tuple[str, str] | None:
    """What stands before a wish, and the wish and "is that ok?" as one question; None for every other turn."""
    wish = _LEAVE.search(turn)
    if wish is None:
        return None
    who = wish["who"] if wish["who"][0].isupper() and wish["who"] != "We" else wish["who"].lower()
    return turn[: wish.start()].strip(), f"Can {'I' if who == 'i' else who} {wish['what']}?"


def _resolved(context: Context, resolved: dict[int, SearchText], depth: int) -> SearchText:
    """`standalone`, with the queries of earlier turns in `resolved` by their number, so that each is resolved once."""
    text = plainly_asked(spelt(" ".join(context.last.split())))
    turn = _asked(text)
    lean = leaning(text)
    alone = SearchText(turn, turn=turn)
    if lean is None or not context.history or not depth or form(text).act in SOCIAL or _tells_by_itself(text):
        return alone
    carried = _carried(context.history, resolved, depth - 1, whole=lean == "fragment", present=turn)
    return SearchText(f"{carried} {turn}", carried, True, turn) if carried else alone


def _tells_by_itself(turn: str) -> bool:
    """Whether a turn tells something about the user that needs no turn before it: "I bring my board, it's 2 metres"."""
    told = form(turn).act == "statement" and _OF_ONESELF.match(turn) is not None
    return told and len(content_words(turn)) >= _LEAST_TOLD


def _asked(turn: str) -> str:
    """The question of a turn without greeting and politeness, where it can be understood without the rest of it.

    One that addresses the bot is turned into the bot's own words, since that is how its persona is written.
    """
    shape = form(turn)
    if shape.act != "question":
        return turn
    core = unwrapped(shape.core)
    words = zh_content(core) if is_chinese(core) else content_words(core)
    if (len(core) < len(turn) and leaning(core) is not None) or not words:
        core = unwrapped(turn)
    return mirrored(core) if shape.about == "bot" else core


def _carried(
    history: tuple[Turn, ...], resolved: dict[int, SearchText], depth: int, *, whole: bool, present: str
) -> str:
    """The topic of the turns before: of the nearest user turn that has one, and of the reply after it."""
    words: list[str] = []
    users = [i for i, turn in enumerate(history) if turn.speaker == "user"][-_FURTHEST:]
    for i in reversed(users):
        if form(history[i].text).act in SOCIAL or _is_noted(history, i):
            continue
        before = resolved.get(i)
        if before is None:
            before = resolved[i] = _resolved(Context(history[: i + 1]), resolved, depth)
        words = [*before.carried.split(), *_topic(before.turn, whole=whole)]
        if words:
            break
    if history[-1].speaker == "agent" and not history[-1].text.startswith(ACKNOWLEDGES):
        words += _mentions(history[-1].text)
    seen = set(_keys(present))
    replaced = {_kind(key) for key in seen} - {""}
    kept = [word for word in dict.fromkeys(words) if not seen.issuperset(_keys(word)) and _kind(word) not in replaced]
    return " ".join(dict.fromkeys(kept[:_MOST_WORDS]))


def _is_noted(history: tuple[Turn, ...], place: int) -> bool:
    """Whether a turn only told something about the user, which was noted: it is no topic of the turns after it."""
    reply = history[place + 1].text if place + 1 < len(history) else ""
    return reply.startswith(ACKNOWLEDGES) and form(history[place].text).act == "statement"


def _kind(word: str) -> str:
    """The kind of a word of which a question has one at a time: "and on Friday?" asks of Friday instead of Thursday."""
    word = word.lower()
    if word[:1].isdigit():
        return "number"
    return next((kind for kind, words in _KINDS.items() if word in words or word.removesuffix("s") in words), "")


def _keys(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _topic(turn: str, *, whole: bool) -> list[str]:
    """Return the topic of a turn; with `whole`, also its question."""
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


def _mentions(reply: str) -> list[str]:
    """Return the mentions of a reply: its names, and all its content words if it is short."""
    if is_chinese(reply):
        return _ZH_NAME.findall(reply)[:2]
    reply = _TOLD_BACK.sub("", reply).strip()
    row = _ROW_SAID.fullmatch(reply)
    if row is not None:  # the names of a table's columns are no topic
        reply = f"{row['label']} {row['source'] or ''}"
    mentions = []
    for match in _NAME.finditer(reply):
        words = content_words(match.group())
        if words and (len(words) > 1 or not _starts_sentence(reply, match.start())):
            mentions += words
    words = content_words(reply)
    if len(words) <= _SPOKEN:
        mentions += [word for word in words if word.lower() not in _PREDICATES]
    return list(dict.fromkeys(mentions))[:_MOST_MENTIONS]


def _starts_sentence(text: str, place: int) -> bool:
    """Whether a sentence starts at a place, opening quotes aside: after a mark and a space, on a new line, or first."""
    before = text[max(0, place - _NEAR) : place].rstrip("\"“'(")
    end = before.rstrip()
    if not end:
        return place <= _NEAR or "\n" in before
    return "\n" in before[len(end) :] or (end != before and end[-1] in ".!?")
