"""Join evidence into the one text that a critic compares with a reply; the same in training and in use."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.core.values import Passage
from dragoman.text.language import language


def join_passages(passages: Sequence[Passage]) -> Passage:
    """Join several passages, as in SAFARI's code by a Chinese comma, in other languages by a space.

    A title or heading that all of them share is kept once; others are left out.
    """
    first = passages[0]
    if len(passages) == 1:
        return first
    mark = "，" if language(" ".join(passage.text for passage in passages)) == "zh" else " "
    title = first.title if all(passage.title == first.title for passage in passages) else ""
    headings = first.headings if all(passage.headings == first.headings for passage in passages) and title else ()
    text = mark.join(passage.text for passage in passages)
    return Passage("+".join(passage.id for passage in passages), first.source, text, title, headings)
