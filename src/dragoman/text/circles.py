"""Texts that go round in circles: a small model that finds no end says the same again and again."""

from __future__ import annotations

from dragoman.text import lazy_re as re

_LONGEST = 160
"""Characters of a round."""
_LEAST = 30
"""Characters that all rounds have together; what is shorter, as laughter is, may be meant."""
_BETWEEN, _END = "，、；：,;:- \n", ".!?。！？…"
_WORD = re.compile(r"[^\W_]*", re.ASCII)
_CLAUSE = re.compile(f"[^{re.escape(_BETWEEN.strip() + _END)}\n]*[{_END}]*")


def unwound(text: str) -> str:
    """The text in which what is said three times and more in a row is said once; a round that broke off is dropped."""
    unwinding = Unwinding()
    return unwinding.take(text) + unwinding.rest()


def loops(text: str) -> bool:
    """Whether a text says the same run of words or characters again and again, in a row or not.

    It says yes sooner than `unwound` takes anything away: for who has something better to say.
    """
    words = text.casefold().split()
    for size in (3, 4, 6):
        grams = [tuple(words[i : i + size]) for i in range(len(words) - size + 1)]
        if grams and len(grams) - len(set(grams)) > max(2, len(grams) // 5):
            return True
    return bool(re.search(r"(.{4,40}?)\1{2,}", text))


class Unwinding:
    """A streamed text without its repetitions: the pieces that are let through make up the text unwound."""

    def __init__(self) -> None:
        self._text = ""
        self._sure = self._told = 0
        self._round = ""
        """What is said again and again, where the text goes round in a circle by now."""
        self._place = 0
        """How much of a round was said last."""

    def take(self, piece: str) -> str:
        """Return the text that is safe to send: none that may turn out to be a repetition."""
        for letter in piece:
            if self._round and letter == self._round[self._place]:
                self._place = (self._place + 1) % len(self._round)
            else:
                self._go_on(self._round[: self._place] + letter)
        return self._fresh()

    def rest(self) -> str:
        """Return the rest of the text at the end."""
        if self._round:
            text = (self._text + _clause_left(self._text, self._round)).rstrip(_BETWEEN)
            self._text = max(text, self._text[: self._sure], key=len)
        self._sure = len(self._text)
        return self._fresh()

    def _go_on(self, text: str) -> None:
        self._text, self._round, self._place = self._text + text, "", 0
        repeated, period = _repeated(self._text)
        overlap = self._sure - (len(self._text) - repeated)
        if period and overlap > 0:  # of what was told already nothing is taken back: the circle begins after it
            repeated -= -(-overlap // period) * period
            period = period if _is_circle(repeated, period) else 0
        first = len(self._text) - repeated
        if period and any(map(str.isalpha, self._text[first - period : first])):
            self._round, self._place = self._text[first - period : first], repeated % period
            self._text = self._text[:first]
        else:
            self._sure = max(self._sure, len(self._text[:first].rstrip(_BETWEEN)))

    def _fresh(self) -> str:
        piece = self._text[self._told : self._sure]
        self._told += len(piece)
        return piece


def _repeated(text: str) -> tuple[int, int]:
    """How many letters of the end were said right before in the same order, and the size of the round of a circle.

    Where it is one, the letters are those after its first round.
    """
    most, last = 0, len(text) - 1
    place = text.rfind(text[-1:], max(0, last - _LONGEST), last)
    while place >= 0:
        period, size = last - place, 1
        while size <= place and text[last - size] == text[place - size]:
            size += 1
        if _is_circle(size, period):
            return size, period
        most = max(most, size)
        place = text.rfind(text[-1], max(0, last - _LONGEST), place)
    return most, 0


def _is_circle(repeated: int, period: int) -> bool:
    """Whether so many letters after a first round make three rounds, and are enough."""
    return repeated >= max(2 * period, _LEAST - period)


def _clause_left(text: str, next_round: str) -> str:
    """Return the rest of the clause in which a text breaks off, since a repetition may begin inside a clause.

    Where the circle has no end of a clause, what is missing of the word.
    """
    if text.rstrip()[-1:] in (*_BETWEEN, *_END):
        return ""
    clause = _CLAUSE.match(next_round)
    if clause and clause.end() < len(next_round):
        return clause.group()
    word = _WORD.match(next_round)
    is_within = word and word.end() < len(next_round) and text[-1].isascii() and text[-1].isalnum()
    return word.group() if word and is_within else ""
