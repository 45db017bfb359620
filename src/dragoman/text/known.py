"""Questions for everything that is remembered about the user: "What do you know about me?"."""

from __future__ import annotations

from dragoman.text import lazy_re as re

_EVERYTHING = re.compile(
    r"\babout me\b|\bwho am i\b|\bremember me\b|\bknow me\b|\bknow of me\b"
    r"|\bwhat (?:have|did) i (?:already )?(?:told|tell) you(?: so far| before| already| until now)?\W*$"
    r"|\b(?:what|everything|all) i(?:'ve| have)? (?:already )?(?:told|said to) you"
    r"(?: so far| before| already| until now)?\W*$"
    r"|\beverything (?:that )?(?:you (?:know|remember|noted|stored)|i(?:'ve| have)? told you)\b"
    r"|[你您](?:都|还)?(?:记住|记得|记了|知道|了解)(?:了)?我?(?:的)?(?:哪些|什么|啥|多少)(?:事|信息|情况)|记住我(?:些|的)?什么"
    r"|关于我|了解我|记得我(?:些|点|的)?什么|知道我(?:些|点|的)?什么|我(?:都)?告诉过你(?:些|了)?什么",
    re.IGNORECASE,
)
_NARROW = re.compile(r"\babout me (?:and|in) |\babout (?:my|me being)\b|\bremember me to\b", re.IGNORECASE)


def asks_for_everything(text: str) -> bool:
    """Whether a question wants all that is remembered about the user, and no single fact."""
    return bool(_EVERYTHING.search(text)) and not _NARROW.search(text)
