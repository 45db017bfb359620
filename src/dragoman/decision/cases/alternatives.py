"""Choose the user's value of a sentence with two: "at most eight on a full plot and four on a half plot".

If no fact says which group is the user's and both are kinds of one thing, return the question to ask back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.decision.choose import Analyse
from dragoman.decision.groups import roots
from dragoman.text import lazy_re as re

_NUMBER = (
    r"(?:[€£$¥] ?)?\d[\d.,]*(?: ?(?:%|[€£$¥]))?"
    r"|none|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|half"
)
_JOINT = r"on|for|in|with|per|as|at|if|after|before"
_GROUP = r"(?:an? |the |your )?[a-z][a-z'’-]*+(?: [a-z][a-z'’-]*+){0,3}?"
_PAIR = re.compile(
    rf"(?<!\w)(?P<first>(?:{_NUMBER})(?: [a-z-]+){{0,2}}?) (?P<joint>{_JOINT}) (?P<one>{_GROUP})"
    r"(?:,? (?:and|but|or) |[,;] )"
    rf"(?:(?:only|just|at most|up to) )?(?P<second>(?:{_NUMBER})(?: [a-z-]+){{0,2}}?) (?:{_JOINT}) (?P<other>{_GROUP})"
    r"(?=[.,;:!?()]|$)",
    re.IGNORECASE,
)
_SHARE = 0.5
"""How much of what a group has for itself must be told for it to be the user's."""
_NOT = re.compile(r"\b(?:not|no longer|never|don't|do not|haven't|isn't|without)\b", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:an?|the|your) ", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Alternative:
    """The value of the user's group with its words, and the fact that says so; or what to ask."""

    text: str = ""
    fact: str = ""
    ask: str = ""


def alternative(sentence: str, facts: Sequence[str], question: str, analyse: Analyse) -> Alternative | None:
    """Which of two values of a sentence is the user's; None for a sentence without two values for two groups.

    The newest fact that names one of the groups, and not the other, decides; so does the question.
    """
    pair = _PAIR.search(sentence)
    if pair is None:
        return None
    one, other = (roots(analyse(pair[name])) for name in ("one", "other"))
    if not one - other or not other - one:
        return None
    for text in (question, *reversed(facts)):
        words = roots(analyse(text))
        of_one, of_other = (len(own & words) / len(own) for own in (one - other, other - one))
        if of_one == of_other or max(of_one, of_other) < _SHARE or _NOT.search(text):
            continue
        value, group = (pair["first"], pair["one"]) if of_one > of_other else (pair["second"], pair["other"])
        statement = f"{value} {pair['joint']} {group}"
        return Alternative(f"{statement[:1].upper()}{statement[1:]}", "" if text == question else text)
    nouns = [_ARTICLE.sub("", pair[name]).split()[-1].lower() for name in ("one", "other")]
    if nouns[0] == nouns[1] and re.match(r"an? ", pair["one"], re.IGNORECASE):
        return Alternative(ask=f"Is yours {pair['one'].lower()} or {pair['other'].lower()}?")
    return None
