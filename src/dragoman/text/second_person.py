"""Rewrite a user's statements in the second person: "I am allergic to nuts." becomes "you are allergic to nuts"."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from dragoman.text import lazy_re as re

_FORMS = {
    "i": "you",
    "me": "you",
    "my": "your",
    "mine": "yours",
    "myself": "yourself",
    "we": "you",
    "us": "you",
    "our": "your",
    "ours": "yours",
    "ourselves": "yourselves",
    "i'm": "you're",
    "i've": "you've",
    "i'd": "you'd",
    "i'll": "you'll",
    "we're": "you're",
    "we've": "you've",
    "we'd": "you'd",
    "we'll": "you'll",
    "you": "me",
    "your": "my",
    "yours": "mine",
    "yourself": "myself",
}
_VERBS = {"am": "are", "was": "were"}
_WORD = re.compile(r"[A-Za-z]+(?:['’][a-z]+)?")
_AFTER_I = re.compile(
    r"(\b(?:I)\b(?:\s+(?:also|now|still|really|just|currently|actually|always|never))?\s+)(am|was)\b", re.IGNORECASE
)
_AM_I = re.compile(r"\b(am|was)(?=\s+I\b)", re.IGNORECASE)
_OPENERS = frozenset(
    "the a an this that there it he she they in on at since when one two three four five six seven eight nine "
    "ten no not both all some as been got just now neither never only every during before after until from "
    "for with by even about most because although last next either each if whenever where while".split()
)
_SAYS = re.compile(
    r"is|was|has|had|does|can|cannot|will|(?:live|work|use|need|like|love|hate|speak|eat|drink|walk|come)s"
)
"""The verb of a statement about somebody else."""
_CHINESE = re.compile(r"我们|咱们|我|你们|您|你")
_CHINESE_FORMS = {"我们": "你们", "咱们": "你们", "我": "你", "你们": "我们", "您": "我", "你": "我"}


def second_person(text: str) -> str:
    """A statement of the user's turned to the user, without its full stop: "your son Leo is five"."""
    bare = text.strip().rstrip(".!。！ ").replace("can not", "cannot")
    if any("\u4e00" <= char <= "\u9fff" for char in bare):
        return _CHINESE.sub(lambda word: _CHINESE_FORMS[word[0]], bare)
    bare = _AFTER_I.sub(lambda match: match[1] + _VERBS[match[2].lower()], bare)
    bare = _AM_I.sub(lambda match: _VERBS[match[1].lower()], bare)
    turned = _WORD.sub(_turned, bare)
    first = _WORD.match(bare)
    if first and (first[0].lower() in _FORMS or first[0].lower() in _OPENERS):
        return turned[:1].lower() + turned[1:]
    return turned


def said_back(texts: Sequence[str], language: str) -> str:
    """Several statements as one sentence: "you live in Porto, and Leo is seven"."""
    turned = list(dict.fromkeys(second_person(text) for text in texts))
    if language == "zh":
        return "，".join(turned)
    if len(turned) < 2:
        return "".join(turned)
    turned = [turned[0], *(_without_subject(each, before) for before, each in pairwise(turned))]
    return ", ".join(turned[:-1]) + f", and {turned[-1]}"


def _without_subject(text: str, before: str) -> str:
    """A statement without the subject of the one before it: "your son Leo is five, and is allergic to nuts"."""
    if not text.startswith("your "):
        return text
    shared = 0
    words, others = text.split(" "), before.split(" ")
    while (
        shared < min(len(words), len(others)) and words[shared] == others[shared] and not _SAYS.fullmatch(words[shared])
    ):
        shared += 1
    is_same = 2 <= shared < min(len(words), len(others)) and _SAYS.fullmatch(words[shared])
    return " ".join(words[shared:]) if is_same and _SAYS.fullmatch(others[shared]) else text


def _turned(word: re.Match[str]) -> str:
    spelling = word[0]
    return _FORMS.get(spelling.lower().replace("’", "'"), spelling)
