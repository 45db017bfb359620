# ruff: noqa: E501  # a pattern is easier to check in one piece
"""Short answers that a pending request waits for: "yes, delete everything", "no", and "undo"."""

from __future__ import annotations

from dragoman.text import lazy_re as re

_EDGES = " \t\n.,!~…。，！～"
_YES = r"(?:yes|yeah|yep|yup|ok(?:ay)?|sure|confirm(?:ed)?|i confirm|go ahead|i am sure|i'm sure)"
_ERASE = r"(?:please )?(?:delete|erase|forget|remove) (?:everything|it all|all of it|all|it)(?: about me)?"
_ENGLISH = re.compile(
    rf"{_YES}(?:[\s,.!]+(?:please|do(?: it| that)?|i(?:'m| am) sure|go ahead|{_ERASE}))?(?:[\s,.!]+please)?"
    rf"|do it(?:[\s,.!]+please)?|(?:please )?delete everything",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    r"(?:是的?|好的?|对|确认|确定|可以|同意|没错)?[，,、]?(?:请)?(?:全部删除|全部删掉|都删除|都删掉|删除吧?|删吧|确认删除|确定删除)?"
)
_REFUSAL = re.compile(
    r"(?:(?:no|nope|nah|cancel|stop|wait|never ?mind|forget it)[\s,.!]*+){1,3}"
    r"(?:thanks|thank you|please|(?:please )?(?:do not|don['’]t)(?: (?:delete|erase|forget|do)(?: (?:it|that|anything|everything))?)?"
    r"|keep (?:it|them|that|everything)(?: all)?|i changed my mind|not now|cancel(?: (?:it|that))?)?(?:[\s,.!]+(?:please|thanks))?"
    r"|(?:please )?(?:do not|don['’]t)(?: (?:delete|erase|forget|do)(?: (?:it|that|anything|everything))?)?"
    r"|(?:please )?keep (?:it|them|that|everything)(?: all)?|i changed my mind|rather not|better not|not now"
    r"|(?:不(?:用|要|是|了|行|删)?|算了|取消|别(?:删)?|先不)(?:了|吧)?(?:[，,、]?(?:谢谢|算了|取消|不要删除?|别删|保留(?:吧)?))?",
    re.IGNORECASE,
)
_UNDO = re.compile(
    r"(?:please )?(?:undo|restore)(?: (?:that|it|this|the deletion))?(?:[\s,]+please)?|撤销|撤消|请撤销|恢复|请恢复",
    re.IGNORECASE,
)
_THOSE_TOO = re.compile(
    rf"(?:{_YES}[\s,.!]+)?(?:please )?(?:delete|erase|forget|remove) (?:those|them|these|that|it)(?: messages)?"
    r" (?:too|as well|also)(?:[\s,]+please)?"
    r"|(?:是的?|好的?|对)?[，,、]?(?:请)?(?:把)?(?:那些|这些|它们)(?:消息)?也(?:都)?(?:删除|删掉|删了)吧?",
    re.IGNORECASE,
)
_MOST = 60


def is_confirmation(text: str) -> bool:
    """Whether a turn says yes, and nothing else. It confirms only what the agent has just asked."""
    bare = text.strip(_EDGES)
    if not 0 < len(bare) <= _MOST:
        return False
    return bool(_ENGLISH.fullmatch(bare.replace("’", "'")) or _CHINESE.fullmatch(bare))


def is_refusal(text: str) -> bool:
    """Whether a turn says no, and nothing else. It refuses only what the agent has just asked."""
    bare = text.strip(_EDGES)
    return 0 < len(bare) <= _MOST and bool(_REFUSAL.fullmatch(bare))


def is_those_too(text: str) -> bool:
    """Whether a turn asks to delete the turns as well that mention what was just deleted."""
    bare = text.strip(_EDGES)
    return 0 < len(bare) <= _MOST and bool(_THOSE_TOO.fullmatch(bare))


def is_undo(text: str) -> bool:
    """Whether a turn asks to take the last deletion back."""
    bare = text.strip(_EDGES)
    return 0 < len(bare) <= _MOST and bool(_UNDO.fullmatch(bare))
