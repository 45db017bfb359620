"""The visible part of a model's text: without thoughts (recognised by their marks), up to a stop sequence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase

from dragoman.text import lazy_re as re


@dataclass(frozen=True, slots=True)
class _Marks:
    """How one family of models marks its thoughts: they begin at `opening` and end at the first of `closings`."""

    opening: str
    closings: tuple[str, ...]


_CLOSINGS = ("<|end|>", "<|channel|>final<|message|>", "<|start|>assistant<|channel|>final<|message|>")
MARKS = (
    _Marks("<think>", ("</think>",)),  # DeepSeek R1, Qwen 3, QwQ, SmolLM 3
    _Marks("<thinking>", ("</thinking>",)),
    _Marks("<thought>", ("</thought>",)),
    _Marks("<reasoning>", ("</reasoning>",)),
    _Marks("<reason>", ("</reason>",)),
    _Marks("<seed:think>", ("</seed:think>",)),
    _Marks("[THINK]", ("[/THINK]",)),  # Magistral
    _Marks("◁think▷", ("◁/think▷",)),  # Kimi
    _Marks("<|channel|>analysis<|message|>", _CLOSINGS),  # gpt-oss
    _Marks("<|channel|>commentary<|message|>", _CLOSINGS),
    _Marks("<|channel>thought", ("<channel|>",)),  # Gemma 4
)
_DROPPED = (
    "<|start|>assistant<|channel|>final<|message|>",
    "<|channel|>final<|message|>",
    "<|start|>assistant",
    "<|return|>",
    "<|end|>",
    "<response>",
    "</response>",
)
"""Marks around the reply itself, which are no part of it."""
_OPENINGS = {marks.opening: marks.closings for marks in MARKS}
_STARTS = (*_OPENINGS, *_DROPPED)
_MARKS = {mark.lower(): _OPENINGS.get(mark, ()) for mark in _STARTS}
_BEGINNINGS = frozenset(mark[:size] for mark in _MARKS for size in range(1, len(mark) + 1))
_SIGN = re.compile("[" + "".join(sorted({re.escape(mark[0]) for mark in _STARTS})) + "]")
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
_LONE = tuple(marks.closings[0] for marks in MARKS[:8])
"""Closing marks whose opening mark may stand in the prompt, so that the text begins inside of thoughts."""


class ThoughtFilter:
    """Leaves thoughts out of a text that arrives in pieces.

    With `inside`, the text begins in thoughts that the prompt opened. Where no mark ends them, what came is the reply.
    """

    def __init__(self, *, inside: bool = False) -> None:
        self.thoughts = 0
        """Characters of thoughts so far."""
        self.was_unopened = False
        """Whether thoughts ended that no mark had opened."""
        self._rest = ""
        self._partial: list[str] = []  # unfinished marks before the rest, the innermost last
        self._closings: tuple[str, ...] = _LONE if inside else ()
        self._assumed = inside
        self._held = ""
        self._blanks: str | None = ""  # blanks before the first word; None after it

    def feed(self, piece: str) -> str:
        """The part of the text that can be shown now."""
        self._rest += piece
        visible: list[str] = []
        while self._rest:
            if not self._closings:
                self._enter(visible)
            elif not self._leave():
                break
        return "".join(visible)

    def close(self) -> str:
        """The rest of the text, once nothing more comes."""
        rest, self._rest = self._rest, ""
        partial, self._partial = "".join(self._partial), []
        if self._closings and self._assumed:
            # nothing ended the thoughts that were assumed: the text was a reply
            partial, self._held, self.thoughts = self._held + rest, "", 0
        else:
            self.thoughts += len(rest)
        shown = self._visible(partial)
        blanks, self._blanks = self._blanks or "", None
        return shown if self.thoughts else blanks + shown

    def _leave(self) -> bool:
        """Skip to the end of the thoughts; False where it has not come yet."""
        if self._assumed and not self._held.strip():
            # a template that opens no thoughts lets the model write the opening mark itself
            start = self._rest.lstrip()
            opening = next((mark for mark in _OPENINGS if _lower(start).startswith(_lower(mark))), None)
            if opening is not None:
                self._closings, self._assumed = _OPENINGS[opening], False
                self._rest = start[len(opening) :]
                return True
            if any(_lower(mark).startswith(_lower(start)) for mark in _OPENINGS):
                return False
        places = [(at, -len(mark), mark) for mark in self._closings if (at := _find(self._rest, mark)) >= 0]
        if not places:
            keep = _tail(self._rest, self._closings)
            cut = len(self._rest) - keep
            self.thoughts += cut
            if self._assumed:
                self._held += self._rest[:cut]
            self._rest = self._rest[cut:]
            return False
        at, length, _ = min(places)
        self.thoughts += at
        self._rest = self._rest[at - length :]
        if self._assumed:
            self.was_unopened, self._assumed, self._held = True, False, ""
        self._closings = ()
        return True

    def _enter(self, shown: list[str]) -> None:
        """Take text up to the end of the next mark, or all of it.

        Text before a mark that may itself begin one ("<th<|end|>ink>") waits: without the mark between its halves it
        would be shown as a mark.
        """
        at = 0
        while at < len(self._rest):
            if not self._partial:  # text without a sign that begins a mark is shown at once
                start = _SIGN.search(self._rest, at)
                end = start.start() if start else len(self._rest)
                shown.append(self._visible(self._rest[at:end]))
                at = end
                if not start:
                    break
            text = (self._partial.pop() if self._partial else "") + self._rest[at]
            at += 1
            keep = len(text) if _lower(text) in _BEGINNINGS else _tail(text, _STARTS)
            if not keep:
                shown.append(self._visible("".join(self._partial) + text))
                self._partial = []
                continue
            if keep < len(text):
                self._partial.append(text[:-keep])
            mark = _lower(text[-keep:])
            if mark not in _MARKS:
                self._partial.append(text[-keep:])
            elif closings := _MARKS[mark]:
                self._closings, self._rest = closings, self._rest[at:]
                return
        self._rest = ""

    def _visible(self, text: str) -> str:
        """The text without blanks before its first word where they stand between thoughts and reply."""
        if self._blanks is None:
            return text
        text, self._blanks = self._blanks + text, ""
        if not text.strip():
            self._blanks = text
            return ""
        self._blanks = None
        return text.lstrip() if self.thoughts else text


class VisibleText:
    """The part of a streamed reply that is shown: without thoughts, and up to a stop sequence."""

    def __init__(self, stop: Sequence[str], *, inside: bool) -> None:
        self._filter = ThoughtFilter(inside=inside)
        self._stop = tuple(stop)
        self._held = ""
        self._pieces: list[str] = []
        self.stopped = False

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    @property
    def thoughts(self) -> int:
        return self._filter.thoughts

    def trust(self) -> None:
        """Thoughts come in a field of their own, so that the text holds none."""
        if not self._pieces and not self._filter.thoughts:
            self._filter = ThoughtFilter()

    def feed(self, piece: str) -> str:
        return self._emit(self._filter.feed(piece), final=False) if piece and not self.stopped else ""

    def close(self) -> str:
        return "" if self.stopped else self._emit(self._filter.close(), final=True)

    def _emit(self, text: str, *, final: bool) -> str:
        text = self._held + text
        cut = until_stop(text, self._stop)
        if len(cut) < len(text):
            self.stopped = True
            text = cut
        keep = 0 if final or self.stopped else _overlap(text, self._stop)
        self._held = text[len(text) - keep :]
        visible = text[: len(text) - keep]
        if visible:
            self._pieces.append(visible)
        return visible


def without_thoughts(text: str) -> tuple[str, int]:
    """A whole text without its thoughts, and how many characters these had."""
    if not any(sign in text for sign in "<[◁"):
        return text, 0
    opening, mark = min(((at, mark) for mark in _LONE if (at := _find(text, mark)) >= 0), default=(-1, ""))
    unopened = opening >= 0 and _find(text[:opening], mark.replace("/", "", 1)) < 0
    thoughts = ThoughtFilter(inside=unopened)
    visible = thoughts.feed(text) + thoughts.close()
    return visible, thoughts.thoughts


def _lower(text: str) -> str:
    """The text with ASCII letters in lower case, so that it keeps its length whatever else it contains."""
    return text.lower() if text.isascii() else text.translate(_LOWER)


def _find(text: str, mark: str) -> int:
    return _lower(text).find(_lower(mark))


def _tail(text: str, marks: tuple[str, ...]) -> int:
    """How many characters at the end of a text may be the beginning of a mark."""
    longest = min(max(map(len, marks)) - 1, len(text))
    end = _lower(text[-longest:]) if longest else ""
    for size in range(longest, 0, -1):
        if any(_lower(mark).startswith(end[-size:]) for mark in marks):
            return size
    return 0


def until_stop(text: str, stop: Sequence[str]) -> str:
    """The text before the first stop sequence."""
    places = [place for mark in stop if (place := text.find(mark)) >= 0]
    return text[: min(places)] if places else text


def _overlap(text: str, stop: Sequence[str]) -> int:
    """How many characters at the end of a text may begin a stop sequence."""
    longest = max((len(mark) for mark in stop), default=1) - 1
    for size in range(min(longest, len(text)), 0, -1):
        if any(mark.startswith(text[-size:]) for mark in stop):
            return size
    return 0


def opens_thoughts(prompt: str) -> bool:
    """Whether a prompt ends inside of thoughts, so that the reply begins with them."""
    return prompt.rstrip().lower().endswith(tuple(marks.opening.lower() for marks in MARKS))
