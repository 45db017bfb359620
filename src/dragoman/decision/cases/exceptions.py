"""Detect sentences that belong to the rule before them: exceptions and special prices."""

from __future__ import annotations

from dragoman.decision.groups import GENERAL, roots
from dragoman.decision.questions import stemmed
from dragoman.text import lazy_re as re
from dragoman.text.sentences import sentences

_EXCEPTION = re.compile(
    r"[^.,;]{3,60} (?:is|are) (?:excepted|exempt|exempted|an exception|the exception|not affected)\b"
    r"|the (?:one|only) exception\b"
    r"|(?:except|unless|but|however|only|exception|apart from|instead|otherwise)\b|除|但|不过|只有"
    r"|(?:after that|later|in that case|then|before that)\b"
    r"|(?:in|on|from|during|between|for|with|at)\b[^.,]{2,40}\b(?:this|that|it|they|these)\b "
    r"(?:is|are|may|must|can|cannot|do|does)\b",
    re.IGNORECASE,
)
"""Opens a sentence that takes something back from the rule before it, or says when another one holds."""
_OTHER_CASE = re.compile(
    r"(?:if|when)\b[^.]{3,80}\b(?:free|half|everything|nothing|full|no fee|not (?:allowed|permitted|possible))\b",
    re.IGNORECASE,
)
_AMOUNT = re.compile(r"[€£$¥] ?\d|\d ?(?:[€£$¥]|euros?|pounds?|dollars?|crowns?|francs?)", re.IGNORECASE)


def takes_back(sentence: str, following: str) -> bool:
    """Whether the sentence after a rule belongs to it: an exception, or a case in which another price holds."""
    if not following or _EXCEPTION.match(following):
        return bool(following)
    if not _OTHER_CASE.match(following):
        return False
    topic = (roots(stemmed(sentence)) & roots(stemmed(following))) - GENERAL
    return bool(topic) or bool(_AMOUNT.search(sentence) and not _AMOUNT.search(following))


def with_exception(sentence: str, passage: str) -> str:
    """Append the next sentence of a passage if it is an exception."""
    units = sentences(passage)
    place = units.index(sentence) + 1 if sentence in units else len(units)
    following = units[place] if place < len(units) else ""
    return f"{sentence} {following}" if takes_back(sentence, following) else sentence
