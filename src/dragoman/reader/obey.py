"""Apply standing wishes to a finished draft without a model: its length, and how the user is addressed.

Wishes that only a model can follow, such as another language, reach it as instructions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dragoman.core.values import Draft, Learned, Passage
from dragoman.text import lazy_re as re
from dragoman.text.form import SOCIAL, form
from dragoman.text.sentences import sentences
from dragoman.text.wishes import MOST_SENTENCES

_WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "promised": "Got it: {promises}.",
        "and": ", and ",
        "address": "I'll call you {value}",
        "short": "I'll keep my answers short",
        "promise": 'from now on "{text}"',
        "noted": 'Noted as a standing wish: "{text}". I quote documents as they are written, so only replies that a '
        "larger model words can follow it.",
        "ended": 'Dropped: "{text}".',
        "none": "I have no such wish noted.",
    },
    "zh": {
        "promised": "好的，{promises}。",
        "and": "，",
        "address": "我会叫你{value}",
        "short": "我会回答得简短些",
        "promise": "以后“{text}”",
        "noted": "已记下你的要求：“{text}”。我按原文引用资料，只有由更大的模型措辞的回复才能照办。",
        "ended": "已取消：“{text}”。",
        "none": "我没有记过这样的要求。",
    },
}
_REASON = re.compile(r"(?:(?<=[.!?]) |\n)You told me that [^.()]{1,200}\.|；你告诉过我[^。（）]{1,120}(?=。)")
_SOURCE = re.compile(r" ?[(（](?P<path>[^()（）\n]{1,300} › )(?P<last>[^()（）›\n]{1,120})[)）]")
_ANY_SOURCE = re.compile(r" ?[(（][^()（）\n]{1,400}[)）]\s*$")
_VERDICT = re.compile(r"(?:yes|no|可以|不行|不可以|能|不能|要|不用)[.。]", re.IGNORECASE)
_FIRST_STOP = re.compile(r"[,.!，。！]")


def shaped(draft: Draft, wishes: Sequence[Passage], question: str) -> Draft:
    """Apply wishes to a draft; it stays unchanged if none concerns it."""
    by_kind = {row.meta.get("kind", ""): row for row in wishes}
    text, obeyed = draft.text, []
    if (length := by_kind.get("length")) is not None and length.meta["value"] != "detailed":
        value = length.meta["value"]
        text = _short(text, int(value) if value.isdigit() else MOST_SENTENCES, social=_is_social(draft, question))
        obeyed += [length] if text != draft.text else []
    if (address := by_kind.get("address")) is not None and draft.method == "said" and form(question).act in SOCIAL:
        named = _addressed(text, address.meta["value"])
        obeyed += [address] if named != text else []
        text = named
    if text == draft.text:
        return draft
    return replace(draft, text=text, notes={**draft.notes, "wishes": " ".join(row.text for row in obeyed)})


def wish_reply(learned: Learned, language: str, model_words: bool) -> str:
    """Return the reply to a turn that states or ends standing wishes."""
    words = _WORDS["zh" if language == "zh" else "en"]
    sentences = [words["ended"].format(text=row.text.rstrip(".。")) for row in learned.ended_wishes]
    followed = [row for row in learned.wishes if model_words or _is_followed(row)]
    if followed:
        promises = words["and"].join(_promise(row, words) for row in followed)
        sentences.append(words["promised"].format(promises=promises))
    sentences += [words["noted"].format(text=row.text.rstrip(".。")) for row in learned.wishes if row not in followed]
    return ("" if language == "zh" else " ").join(sentences) or words["none"]


def _is_followed(row: Passage) -> bool:
    """Whether a wish can be followed without a model that words the reply."""
    return row.meta["kind"] == "address" or (row.meta["kind"] == "length" and row.meta["value"] != "detailed")


def _promise(row: Passage, words: Mapping[str, str]) -> str:
    kind, value = row.meta["kind"], row.meta["value"]
    if kind == "address":
        return words["address"].format(value=value)
    if kind == "length" and value != "detailed":
        return words["short"]
    return words["promise"].format(text=row.text.rstrip(".。"))


def _is_social(draft: Draft, question: str) -> bool:
    return draft.method in ("said", "drafted") and not draft.quoted and form(question).act in (*SOCIAL, "statement")


def _short(text: str, most: int, *, social: bool) -> str:
    """Shorten a text to `most` sentences, without the reason and the source's path; a question back is always kept."""
    if social:
        return next(iter(sentences(text)), text)
    text = _SOURCE.sub(lambda source: f" ({source['last']})" if "(" in source[0] else f"（{source['last']}）", text)
    text = _REASON.sub("", text)
    if "\n" in text:  # keep all lines of a list or table: their choice is the answer
        return text
    match = _ANY_SOURCE.search(text)
    source, body = (match[0], text[: match.start()]) if match else ("", text)
    parts = list(sentences(body))
    left = [part for part in parts if not _VERDICT.fullmatch(part)]
    if len(left) <= most:
        return text
    kept = set(left[:most]) | {part for part in parts if part not in left or part.rstrip().endswith(("?", "？"))}
    joined = ("" if not body.isascii() and "。" in body else " ").join(part for part in parts if part in kept)
    return joined + source


def _addressed(text: str, name: str) -> str:
    """A phrase with the user's name in it: "Hello, Sam! I am Marlow."."""
    stop = _FIRST_STOP.search(text)
    if stop is None or name in text:
        return text
    mark = "，" if stop[0] in "，。！" else ", "
    return f"{text[: stop.start()]}{mark}{name}{text[stop.start() :]}"
