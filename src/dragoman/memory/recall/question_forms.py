# ruff: noqa: E501  # a pattern is easier to check in one piece
"""Forms of English questions about what a user has told: the plain question, whose age or name it asks for, its statement."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.memory.patterns import VERBS
from dragoman.text import lazy_re as re
from dragoman.text.form import asks_for_everything
from dragoman.text.language import language
from dragoman.text.spelling import spelt

LONGEST_QUESTION = 120
_OPENING = re.compile(
    r"(?:(?:so|and|hey|hi|hello|ok|okay|well|please|but|now|wait|um|er|btw|by the way)\b[,.!]? ?)+", re.I
)
_CLOSING = re.compile(
    r"(?:,? (?:now|currently|these days|again|at the moment|today|please|anyway|then|by now))+$", re.I
)
_WRAPPED = re.compile(
    r"(?:(?:do|can|could|would|will) you (?:still |even |actually |please |happen to )*"
    r"(?:know|remember|recall|tell me|remind me of|remind me)|tell me|remind me of|remind me)"
    r" (?P<rest>(?:what|whats|where|when|who|whos|how|if|whether|that|about|anything|everything|something|all|my|our)\b.*)",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"(?:what (?:else |all )?(?:do|can|could) you (?:still |already |actually )?"
    r"(?:know|remember|recall|tell me|say|have noted|have stored|have saved) (?:about|of|on)"
    r"|what (?:else )?(?:did|have) i (?:already |ever )?(?:say|said|tell|told|mention|mentioned)(?: to)?(?: you)? about"
    r"|(?:(?:(?:anything|everything|something|all)(?: that)?(?: you (?:know|remember)| i (?:told|said to) you)?"
    r"|what(?: you (?:know|remember)| i (?:told|said to) you)) )?about"
    r"|who(?: is|['’]?s| are)) (?P<who>.+)",
    re.IGNORECASE,
)
_TOLD = re.compile(
    r"(?:did|have) i (?:ever |already )?(?:tell|told|mention|mentioned|say|said)(?: to)?(?: you)? "
    r"(?:(?:anything |something )?(?:about |that )?)(?P<rest>.+)",
    re.IGNORECASE,
)
_BE = r"(?:['’]?s| is| are| was)"
_OF = r"(?P<who>my|our|.+?)(?:['’]s|s['’]|s)?"
_SLOTS = tuple(
    (slot, re.compile(pattern, re.IGNORECASE))
    for slot, pattern in (
        ("name", rf"what{_BE} {_OF} (?:first |full )?names?"),
        ("name", rf"what{_BE} the names? of (?P<who>.+)"),
        ("name", r"what(?:['’]?s| is| are| do you call) (?P<who>.+?)(?: called| named)"),
        ("name", r"what (?P<who>.+?) (?:is|are) (?:called|named)"),
        ("name", rf"{_OF} (?:first |full )?names?(?: is| are)?"),
        ("age", r"how old (?:is|are|am) (?P<who>.+)"),
        ("age", r"how old (?P<who>.+?) (?:is|are|am)"),
        ("age", rf"(?:what{_BE} )?{_OF} age"),
        ("home", r"(?:where|which (?:city|town|country|street)) (?:do|does) (?P<who>.+?) live(?: in)?"),
        ("home", r"where (?P<who>.+?) lives?"),
        (
            "job",
            r"(?:where (?:do|does) (?P<who>.+?) work|what (?:do|does) (?P<who2>.+?) (?:do(?: for (?:a living|work))?|work as))",
        ),
        ("job", r"(?:where (?P<who>.+?) works?|what (?P<who2>.+?) do(?:es)?(?: for (?:a living|work))?)"),
        ("job", rf"what {_OF} (?:job|profession|occupation) (?:is|was)"),
        ("job", rf"(?:what{_BE} )?{_OF} (?:job|profession|occupation)"),
        ("birthday", rf"(?:when{_BE} )?{_OF} birthday(?: is)?"),
        ("birthday", r"when (?:was|were) (?P<who>.+?) born"),
        ("allergy", r"what (?:am|is|are) (?P<who>.+?) allergic to"),
        ("allergy", r"what (?P<who>.+?) (?:am|is|are) allergic to"),
        ("allergy", rf"(?:what{_BE} )?{_OF} allerg(?:y|ies)"),
    )
)
_ASKS = re.compile(
    r"(?P<verb>am|are|is|do|does|did|have|has|was) (?P<who>i|we|(?:my|our) (?!\w+['’]s)[\w-]+(?: (?-i:[A-Z])[\w'’-]+)?|[A-Za-z][\w'’-]+)"
    r" (?:ever |still )?(?P<rest>.+)",
    re.IGNORECASE,
)
_NAMES = re.compile(
    r"(?:is|are) (?P<who>my|our|my [\w-]+?|our [\w-]+?)(?:['’]s|s['’])? (?:(?:first |full )?name|called|named) (?P<name>[\w'’ -]+)",
    re.IGNORECASE,
)
_HAS_SOMEBODY = re.compile(
    r"(?:(?:do|have) (?:i|we) (?:have|got) (?:an? |any )?(?P<role>[a-z-]+))"
    r"|am i (?P<state>married)",
    re.IGNORECASE,
)
MARRIED = "married"
_LISTED = re.compile(
    r"(?:what|which)(?: kinds? of| other)? (?P<role>[a-z-]+) (?:(?:do|did) (?:i|we) (?:have|own|keep)|have (?:i|we) got)",
    re.IGNORECASE,
)
_EARLIER = re.compile(r"(?:my|our) (?:previou|previous|former|old|last|first|current|new|next)", re.IGNORECASE)
"""Words between "my" and a slot that name nobody: "my previous job"."""
USER_WORDS = frozenset("i we me us my our myself".split())


def asks_for_own_fact(text: str) -> bool:
    """Whether a question asks for a fact about the user and nothing else: "Where do I live?"."""
    slot = slot_asked_for(plain_question(text) or "")
    return slot is not None and slot[1].casefold() in USER_WORDS


def slot_asked_for(question: str) -> tuple[str, str] | None:
    """The slot that a question asks for and the words for whose it is: "How old is Felix" asks for the age of "Felix"."""
    for slot, pattern in _SLOTS:
        match = pattern.fullmatch(question)
        if match is not None:
            groups = match.groupdict()
            who = groups.get("who") or groups.get("who2") or ""
            return slot, who.partition(" ")[0] if _EARLIER.fullmatch(who) else who
    return None


def person_asked_about(question: str) -> str | None:
    """The words for whom or what a question wants to know all about: "What do you know about Felix"."""
    match = _ABOUT.fullmatch(question)
    return None if match is None else match["who"]


def what_was_told(question: str) -> str | None:
    """What a question asks whether it was told: "Did I tell you where I work"."""
    match = _TOLD.fullmatch(question)
    return None if match is None else match["rest"]


def name_asked_for(question: str) -> tuple[str, str] | None:
    """Whose name a question guesses, and the name: "Is my son called Leo"."""
    match = _NAMES.fullmatch(question)
    return None if match is None else (match["who"], match["name"])


def role_asked_for(question: str) -> str | None:
    """The role of somebody whom the user may have: "dog" of "Do I have a dog", `MARRIED` of "Am I married"."""
    match = _HAS_SOMEBODY.fullmatch(question)
    return None if match is None else (match["state"] or match["role"]).lower()


def roles_listed(question: str) -> str | None:
    """The people or animals of which a question wants a list: "pets" of "What pets do we have"."""
    match = _LISTED.fullmatch(question)
    return None if match is None else match["role"].lower()


def plain_question(text: str) -> str | None:
    """A short English question without greeting, wrapping and question mark."""
    if len(text) > LONGEST_QUESTION or language(text) != "en" or asks_for_everything(text):
        return None
    question = spelt(text).strip()
    opening = _OPENING.match(question)
    if opening is not None and opening.end() < len(question):
        question = question[opening.end() :]
    question = question.rstrip(" ?!.")
    wrapped = _WRAPPED.fullmatch(question)
    asks = (
        text.rstrip().endswith("?")
        or wrapped
        or re.match(r"(?:what|where|who|how|when|am|is|do|does|did|have)", question, re.I)
    )
    if not asks or re.search(r"[.?!;]\s", question):
        return None
    return _CLOSING.sub("", wrapped["rest"] if wrapped else question).replace("’", "'")


def statement_asked_for(question: str, people: Mapping[str, str]) -> tuple[str, bool] | None:
    """The statement that a question for yes or no asks for, and whether of the past: "Am I vegan" asks for "I am vegan".

    The statement is empty where it is about nobody that is known; None stands for every other question.
    """
    asks = _ASKS.fullmatch(question)
    return None if asks is None else (_statement(asks, people), asks["verb"].lower() == "did")


def _statement(asks: re.Match[str], people: Mapping[str, str]) -> str:
    verb, who, rest = asks["verb"].lower(), asks["who"], asks["rest"]
    low = who.casefold()
    names = {name.casefold(): name for name in people}
    if low in ("i", "we"):
        subject = low
    elif low.startswith(("my ", "our ")):
        subject = who
    elif low in names:
        subject = names[low]
    else:
        return ""
    first, _, after = rest.partition(" ")
    if verb in ("am", "are", "is", "was"):
        return f"{subject} {'am' if subject == 'i' else 'are' if subject == 'we' else 'is'} {rest}"
    if verb in ("have", "has"):
        return f"{subject} {verb} {after}" if first.lower() == "got" else ""
    if first.lower() not in VERBS:
        return ""
    return f"{subject} {first if subject in ('i', 'we') else _third_person(first)} {after}".strip()


def _third_person(verb: str) -> str:
    irregular = {"have": "has", "do": "does", "go": "goes"}
    if verb in irregular:
        return irregular[verb]
    if verb.endswith(("s", "sh", "ch", "x", "z")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2:-1] not in "aeiou" else f"{verb}s"
