"""Short answers that a pending request waits for: "yes, delete everything" and "undo"."""

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


def is_those_too(text: str) -> bool:
    """Whether a turn asks to delete the turns as well that mention what was just deleted."""
    bare = text.strip(_EDGES)
    return 0 < len(bare) <= _MOST and bool(_THOSE_TOO.fullmatch(bare))


def is_undo(text: str) -> bool:
    """Whether a turn asks to take the last deletion back."""
    bare = text.strip(_EDGES)
    return 0 < len(bare) <= _MOST and bool(_UNDO.fullmatch(bare))
