"""Quoted and pasted text inside a turn, which is not the speaker's own word.

Quoted are what stands in quotation marks, block quotes, code, rows of tables, transcripts and mails, and what a turn
introduces as a text ("Summarise this:") or as somebody else's words ("She said:").
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import TypeAlias

from dragoman.core.caches import text_cache
from dragoman.text import lazy_re as re
from dragoman.text.introductions import introduced_spans

Span: TypeAlias = tuple[int, int]

_PAIRS = {"“": "”", "„": "“", "«": "»", "「": "」", "『": "』", "《": "》", "‘": "’", '"': '"', "'": "'", "`": "`"}
_PAIRS |= {"‹": "›", "‚": "‘", "»": "«", "〈": "〉", "〝": "〞", "﹁": "﹂", "﹃": "﹄", "＂": "＂", "＇": "＇"}
_SINGLE = frozenset("'‘")
_TAGS = {"[quote": "[/quote]", "<blockquote": "</blockquote>", "&quot;": "&quot;"}
_FENCE = ("```", "~~~")
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_SPACES = re.compile(r"[ \t]{2,}")
_ITEM = re.compile(r"[-*+•](?=\s)|\d{1,3}[.)](?=\s)")
_SPEAKER = re.compile(
    r"(?P<name>[A-ZÀ-Þ][\w.'’-]{0,20}(?: [A-ZÀ-Þ][\w.'’-]{0,20})?|[\u4e00-\u9fff]{1,6})(?:：|:(?=\s))"
)
_ROLES = frozenset("user assistant system human ai bot agent customer support q a 用户 助手 系统 客服 问 答".split())
_ENDS = (".", "!", "?", "…", "。", "！", "？", '"', "”", ")")
_HEADER = re.compile(
    r"(?:from|to|cc|subject|date|sent|von|an|betreff|datum|de|objet|发件人|收件人|主题|日期)(?::(?=\s)|：)",
    re.IGNORECASE,
)


@text_cache(maxsize=256)
def own_words(text: str) -> str:
    """The text without what it quotes, pastes or introduces as somebody else's words."""
    kept, start = [], 0
    for begin, end in _merged(quoted_spans(text), _pasted(text), introduced_spans(text)):
        kept.append(text[start:begin])
        start = end
    return _SPACES.sub(" ", "".join((*kept, text[start:]))).strip()


def _merged(*groups: Iterable[Span]) -> list[Span]:
    """Spans in order, those that touch or overlap as one."""
    merged: list[Span] = []
    for begin, end in sorted(span for group in groups for span in group if span[0] < span[1]):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged


def _pasted(text: str) -> list[Span]:
    """Rows of tables, quotations in markup, transcripts with two speakers or more, mails from their first header on.

    A form is no transcript: "Name: Ana" ends without a mark.
    """
    spans: list[Span] = []
    spoken: dict[str, list[Span]] = {}
    is_form = False
    headers, place, header_start = 0, 0, -1
    for line in text.splitlines(keepends=True):
        bare, end = line.strip(), place + len(line)
        if bare.startswith("|") and bare.count("|") > 1:
            spans.append((place, end))
        if _HEADER.match(bare):
            headers, header_start = headers + 1, header_start if headers else place
        elif speaker := _SPEAKER.match(bare):
            name = speaker["name"].casefold()
            spoken.setdefault(name, []).append((place, end))
            is_form = is_form or (name not in _ROLES and not bare.endswith(_ENDS))
        place = end
    lowered = text.lower() if any(tag[0] in text for tag in _TAGS) else ""
    for opening, closing in _TAGS.items():
        begin = lowered.find(opening)
        while begin >= 0:
            close = lowered.find(closing, begin + len(opening))
            spans.append((begin, close + len(closing) if close >= 0 else len(text)))
            begin = lowered.find(opening, spans[-1][1])
    if headers > 1:
        spans.append((header_start, len(text)))
    if len(spoken) > 1 and (not is_form or _ROLES.intersection(spoken)):
        spans += [span for lines in spoken.values() for span in lines]
    return spans


def quoted_spans(text: str) -> tuple[Span, ...]:
    """Return the spans of quotations in a text, in order. An unclosed quotation ends with its paragraph."""
    spans: list[Span] = []
    start = 0
    for begin, end in _blocks(text):
        spans += _inline(text, start, begin)
        spans.append((begin, end))
        start = end
    return (*spans, *_inline(text, start, len(text)))


def _blocks(text: str) -> list[Span]:
    """Block quotes and fenced code, by lines; neighbouring lines are one block."""
    blocks: list[Span] = []
    fence, place = "", 0
    for line in text.splitlines(keepends=True):
        bare = line.lstrip()
        item = _ITEM.match(bare)
        bare = bare[item.end() :].lstrip() if item else bare
        is_quoted = bool(fence) or bare.startswith((">", "＞", *_FENCE))
        if fence:
            fence = "" if bare.startswith(fence) else fence
        else:
            fence = next((mark for mark in _FENCE if bare.startswith(mark)), "")
        end = place + len(line)
        if is_quoted:
            if blocks and blocks[-1][1] == place:
                blocks[-1] = (blocks[-1][0], end)
            else:
                blocks.append((place, end))
        place = end
    return blocks


def _inline(text: str, start: int, end: int) -> list[Span]:
    if start == end:
        return []
    breaks = [match.start() for match in _PARAGRAPH.finditer(text, start, end)]
    # An apostrophe inside a word opens and closes nothing, so only marks before a boundary can close.
    closing = [i for i in range(start, end) if text[i] in "'’" and not _is_word(text, i + 1)]
    spans: list[Span] = []
    place = start
    while place < end:
        mark = text[place]
        if mark not in _PAIRS or not _opens(text, place, end):
            place += 1
            continue
        later = bisect_left(breaks, place)
        limit = breaks[later] if later < len(breaks) else end
        if mark in _SINGLE:
            next_one = bisect_left(closing, place + 2)
            close = closing[next_one] if next_one < len(closing) and closing[next_one] < limit else -1
            if close < 0:  # an apostrophe, as in 'tis
                place += 1
                continue
        else:
            close = text.find(_PAIRS[mark], place + 1, limit)
        stop = close + 1 if close >= 0 else limit
        spans.append((place, stop))
        place = stop
    return spans


def _opens(text: str, place: int, end: int) -> bool:
    """Whether a mark begins a quotation: not after a letter or digit (5'11"), not before a space."""
    if text[place] not in "'\"`‘":
        return True
    return not _is_word(text, place - 1) and place + 1 < end and not text[place + 1].isspace()


def _is_word(text: str, place: int) -> bool:
    return 0 <= place < len(text) and text[place].isascii() and text[place].isalnum()
