"""Kind of a turn and whom it is about, by rules over its words, English and Chinese.

Gate, planner, reader and memory read the same form, so that they agree on what a turn is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from dragoman.core.caches import text_cache
from dragoman.text import lazy_re as re
from dragoman.text.confirmations import is_those_too, is_undo
from dragoman.text.forget.requests import forget_request, means_everything
from dragoman.text.inferences import is_inference
from dragoman.text.patterns import tables
from dragoman.text.spelling import spelt

Act: TypeAlias = Literal[
    "greeting",
    "thanks",
    "farewell",
    "wellbeing",
    "acknowledgement",
    "pastime",
    "remember",
    "forget",
    "statement",
    "question",
]
About: TypeAlias = Literal["user", "bot", "you", "world"]
"""Whom a question is about; `you` where it addresses the bot but may mean the house it speaks for."""
SOCIAL: frozenset[Act] = frozenset({"greeting", "thanks", "farewell", "wellbeing", "acknowledgement"})
"""Acts that ask for nothing."""


@dataclass(frozen=True, slots=True)
class Form:
    """The act of a turn, the part of it that carries the matter, and whom a question is about.

    `about` is None for a turn that asks nothing; `personal` says that it mentions the
    user too ("can I bring my dog?").
    """

    act: Act
    core: str
    about: About | None = None
    personal: bool = False


_P = tables("form")
_EVERYTHING = re.compile(
    r"\babout me\b|\b(?:know|remember|recall|noted|stored|saved|have|keep|got)\b[a-z ]{0,14} about us\b"
    r"|\bwho am i\b|\bremember me\b|\bknow me\b|\bknow of me\b"
    r"|\bwhat (?:have|did) i (?:already )?(?:told|tell) you(?: so far| before| already| until now)?\W*$"
    r"|\b(?:what|everything|all) i(?:'ve| have)? (?:already )?(?:told|said to) you"
    r"(?: so far| before| already| until now)?\W*$"
    r"|\beverything (?:that )?(?:you (?:know|remember|noted|stored)|i(?:'ve| have)? told you)\b"
    r"|[你您](?:都|还)?(?:记住|记得|记了|知道|了解)(?:了)?我?(?:的)?(?:哪些|什么|啥|多少)(?:事|信息|情况)|记住我(?:些|的)?什么"
    r"|关于我|了解我|记得我(?:些|点|的)?什么|知道我(?:些|点|的)?什么|我(?:都)?告诉过你(?:些|了)?什么",
    re.IGNORECASE,
)
_NARROW = re.compile(r"\babout me (?:and|in) |\babout (?:my|me being)\b|\bremember me to\b", re.IGNORECASE)
_SOCIAL_ACTS: tuple[Act, ...] = ("thanks", "farewell", "wellbeing", "greeting", "acknowledgement")
_EDGES = " \t\n.,!?;:~…。，！？；：～-–—)(\"'“”‘’*"
_OWNED = re.compile(
    r"\b(?:my|our) (?:\w+ )??([a-z]+?)(?:['’]s|(?<!s)s)?"
    r"(?= (?:name|called|named|like|live|lives|is|are|was|do|again)\b"
    r"|(?: (?:now|currently|today|again|exactly|please|these days|at the moment))?\W*$)"
    r"|我(?:的|家的?)?(猫|狗|妹妹|姐姐|哥哥|弟弟|妈妈|爸爸|女儿|儿子|孩子|老婆|老公|丈夫|妻子)",
    re.IGNORECASE,
)
_TRAITS = frozenset(
    "name names job home address birthday age work profession occupation diet food favourite town city country "
    "hometown living life hobby hobbies language languages allergy allergies taste tastes colour color place "
    "interests".split()
)
_MIRROR = tuple(
    (re.compile(pattern, re.IGNORECASE), word)
    for pattern, word in (
        (r"\b(?:are|were) you\b", "am I"),
        (r"\byou(?: are|'re)\b", "I am"),
        (r"\byourself\b", "myself"),
        (r"\byours\b", "mine"),
        (r"\byour\b", "my"),
        (r"\byou\b", "I"),
        (r"你们?|您", "我"),
    )
)
_THANKS = re.compile(r"\b(?:thanks|thank (?:you|u)|thx|cheers)\b|太?谢谢|多谢|感谢", re.IGNORECASE)
_THANKS_LAST = re.compile(
    r"(?<![\s,.])[\s,.]*+(?:\b(?:thanks|thank you|thx|cheers)(?: a lot| so much| very much| again)?"
    r"|(?:谢谢|多谢)[你您啦了]?)[\s.!。！]*+$",
    re.IGNORECASE,
)
_EXCLAIMS = re.compile(
    r"what (?:an?\b|(?:i|we) (?:need|want|was|were))|how (?:very |really )?(?:kind|nice|sweet|lovely|helpful"
    r"|thoughtful|great|wonderful|good|cool|interesting|clever)\b",
    re.IGNORECASE,
)
_LEAST_WANTED = 3
"""The least characters before thanks that may want something: 几点开."""
_JOINED = re.compile(r"[,;] ?| and ")
_NAMED_ALONE = re.compile(
    r"(?:(?:my|our|your) [\w'’-]+|it|this|that|us|them|him|her)|[我你您]们?的\w{1,3}", re.IGNORECASE
)
"""What is named and not said: "my name", 我的生日."""
_END = 1000
"""Whom a question is about is read from so many characters of its beginning and of its end."""
_SPLIT = re.compile(
    r"(?<=[.!?。！？；;])\s+|(?<=[。！？；])|\n+"
    r"|(?<=[a-z]:)\s+(?=(?:can|could|may|is|are|do|does|what|which|how|where|when|would|should|am|will|must)\b)"
)


@text_cache(maxsize=4096)
def form(text: str) -> Form:
    """The form of a turn; a turn with several sentences is what its most demanding sentence is."""
    act, core = act_and_core(text)
    if act == "question":
        return _question(core)
    return Form(act, core, None, act == "statement" and _personal(core))


@text_cache(maxsize=4096)
def act_and_core(text: str) -> tuple[Act, str]:
    """The act of a turn and its core alone: whom a question is about takes longer to find out than all of this."""
    whole = spelt(text.strip())
    social = _social(whole)
    wants = social == "thanks" and _wants(whole)
    if social is not None and not wants:
        return social, whole
    request = forget_request(text)
    if request is not None:
        return "forget", request.what.strip(_EDGES)
    if is_undo(text) or is_those_too(text):
        return "forget", ""
    parts = [part for part in _SPLIT.split(whole) if part and part.strip(_EDGES)]
    remembered = _remember_request(whole if len(parts) < 2 else parts[-1])
    if remembered is not None:
        return "remember", remembered
    rest = [part for part in parts if part == whole or _social(part) is None] or [whole]
    question = next((part for part in reversed(rest) if _asks(part)), None)
    if question is not None:
        core = question.strip()
        pastime = _P["pastime"].search(core) and not _personal(core.replace("me", ""))
        return ("pastime" if pastime else "question"), core
    joined = " ".join(part.strip() for part in rest)
    return ("pastime" if _P["pastime"].search(joined) else "statement"), joined


_CONDITIONAL = re.compile(
    r"^(?:(?:and|but|so|ok) )?if\b.{3,120}? (?:do|does|can|could|may|is|are|am|will|would|must|should)"
    r" (?:i|we|he|she|it|they|you|my|our|the|a)\b",
    re.IGNORECASE,
)
"""A question behind a condition, without its mark: "if a dog is a member does it still cost"."""
_LISTING = re.compile(
    r"\b(?:what|everything|all|list|show) (?:.{0,30} )?(?:know|remember|got|have|noted|saved|told)\b", re.I
)


def unwrapped(text: str) -> str:
    """A question without its greeting and politeness: "Hi, could you tell me when it opens?" is "when it opens?"."""
    core = _P["asides"].sub("", text.strip()).strip(" ,") or text.strip()
    for _ in range(3):
        shorter = _P["asking"].sub("", _P["wrappers"].sub("", core, count=1).strip(), count=1).strip()
        if shorter == core or len(shorter.strip(_EDGES)) < 2:
            break
        core = shorter
    return core


def owned_thing(text: str) -> str:
    """The thing of the user's that a question asks about: "dog" in "what's my dog called?"; none for a trait."""
    match = _OWNED.search(spelt(text))
    thing = (match[1] or match[2]).lower() if match else ""
    return "" if thing in _TRAITS else thing


def mirrored(text: str) -> str:
    """A question to the bot in the bot's own words: "What do you like?" is "What do I like?"; who it is, its name."""
    if _P["identity"].search(text):
        return "My name is, who I am" if text.isascii() else "我叫"
    for pattern, word in _MIRROR:
        text = pattern.sub(word, text)
    return text


def _social(text: str) -> Act | None:
    bare = text.strip(_EDGES)
    if not any(char.isalnum() for char in bare):  # punctuation and emoji alone
        return "acknowledgement" if text.strip() and "?" not in text else None
    for act in _SOCIAL_ACTS:
        if _P[act].fullmatch(bare):
            return act
    clauses = [clause for clause in re.split(r"[,，.!！。;~]+\s*", bare) if clause.strip(_EDGES)]
    if len(clauses) > 1:
        acts = set()
        for clause in clauses:
            clause_act = _social(clause)
            if clause_act is None:  # one that asks for something is enough: the rest is not looked at
                return None
            acts.add(clause_act)
        ranked: tuple[Act, ...] = ("wellbeing", "thanks", "farewell", "greeting", "acknowledgement")
        return next(act for act in ranked if act in acts)
    return None


def _wants(text: str) -> bool:
    """Whether a turn that ends in thanks wants something first: "When does it leave, thanks"."""
    thanks = _THANKS.search(text)
    before = _P["wrappers"].sub("", text[: thanks.start()], count=1).strip(" ,.!，。！") if thanks else ""
    if len(before) < _LEAST_WANTED or _EXCLAIMS.match(before):
        return False
    if before[0].isascii():
        asks = _P["question_start"].match(before)
        return len(before.split()) > 2 and bool(asks or _remember_request(before) or forget_request(before))
    return _asks(before) or bool(_remember_request(before) or forget_request(before))


def _remember_request(text: str) -> str | None:
    bare = _P["wrappers"].sub("", text.strip(), count=1).strip()
    if "?" in bare and not bare.lower().startswith(("can you", "could you", "would you", "please")):
        return None
    thanks = _THANKS_LAST.search(bare)
    match = _P["remember"].match(bare[: thanks.start() if thanks else None].rstrip(" .!?。！？"))
    if match is None:
        return None
    what = next((group for group in match.groups() if group), "").strip(_EDGES)
    is_question = re.match(r"(?:what|when|where|who|how|which|me\b)", what, re.IGNORECASE)
    # "Don't forget everything" and "remember my name" state no fact.
    if means_everything(_JOINED.split(what, maxsplit=1)[0]) or _NAMED_ALONE.fullmatch(what):
        return None
    return None if is_question or what.endswith(("吗", "什么", "谁", "哪", "多少")) else what


def _asks(text: str) -> bool:
    if "?" in text:  # the mark asks by itself
        return True
    if _CONDITIONAL.search(text) or (asks_for_everything(text) and _LISTING.search(text)):
        return True
    bare = _P["wrappers"].sub("", text.strip(), count=1).strip()
    return bool(_P["question_start"].match(bare) or _P["question_any"].search(text)) or is_inference(text)


def _personal(text: str) -> bool:
    return bool(_P["self"].search(text))


def _question(core: str) -> Form:
    ends = core if len(core) <= 2 * _END else f"{core[:_END]} {core[-_END:]}"
    about = _about(ends, unwrapped(ends))
    return Form("question", core, about, bool(_P["self"].search(_P["asking"].sub("", ends))))


def _about(core: str, bare: str) -> About:
    if asks_for_everything(core):
        return "user"
    if _P["user_surely"].search(bare) or (_P["user"].search(core) and not _P["world_first_person"].search(bare)):
        return "user"
    if _P["identity"].search(bare) or _P["bot_surely"].search(bare):
        return "bot"
    return "you" if _P["bot"].search(bare) and not _P["bot_false"].search(bare) else "world"


def asks_for_everything(text: str) -> bool:
    """Whether a question wants all that is remembered about the user, and no single fact."""
    return bool(_EVERYTHING.search(text)) and not _NARROW.search(text)
