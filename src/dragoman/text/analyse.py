"""Text to search tokens: what the stores index and the retrievers ask for goes through one function.

English words are folded, freed of stop words and stemmed; Chinese, Japanese and Korean runs become
bigrams, cut at function words so that the particles of a question do not drown its subject.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from dragoman.core.caches import clear_caches, text_cache
from dragoman.core.errors import UnknownNameError
from dragoman.text import lazy_re as re
from dragoman.text.cutting import jieba_module

if TYPE_CHECKING:
    from collections.abc import Callable

SNOWBALL = {
    "auto": "english",
    "en": "english",
    "zh": "english",
    "da": "danish",
    "de": "german",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "tr": "turkish",
}
"""The stemmer of each language; Chinese agents meet English words too."""

# Negation goes with the other function words: a question and the passage that answers it often differ in polarity.
_STOP_WORDS = """
    a an the this that these those some any each every either neither both all such same other another
    i me my mine myself you your yours yourself he him his himself she her hers herself it its itself
    we us our ours ourselves they them their theirs themselves one ones
    am is are was were be been being do does did doing done have has had having
    can could may might must shall should will would ought
    not no nor never cannot dont doesnt didnt isnt arent cant im ive youre whats thats
    and or but if then else so than as because while though although whether until
    of in on at by for with from to into onto about between through during over under again
    up out off down there here very too also just only even still yet ever really quite maybe perhaps
    who whom whose what which when where why how much many more most
    please thanks thank hello hi hey ok okay yes yeah yep oh tell know wonder wondering let
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

ZH_STOP = re.compile(
    "为什么|怎么样|怎么办|有没有|是不是|能不能|会不会|可不可以|什么时候|什么|怎么|怎样|多少|哪里|哪儿|哪个|哪些|为何|如何|"
    "请问|告诉|知道|可以|我们|你们|您们|他们|她们|它们|咱们|这个|那个|这些|那些|这里|那里|这儿|那儿|因为|所以|但是|而且|"
    "或者|以及|还有|一下|一个|没有|不是|就是|"
    "[的了吗呢吧啊呀嘛哦噢么啦是我你您他她它咱这那哪谁也很就都还又才]"
)
"""Function words at which a run of Chinese is cut before its bigrams are taken."""
ZH_ALONE = frozenset("在有和与个会能要想去到对从把被让给请问说不没几些为以及或但而且则所其之地得着过来上下里中好")
"""Characters that mean too little to be a token where they stand alone."""

CJK = (
    "\u2e80-\u2eff\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
_CJK_RUN = re.compile(f"[{CJK}]")
# Letters of scripts whose vowel signs `\w` does not know (Hebrew, Arabic, the Indic scripts, Thai), and accents.
_LETTER = f"(?:(?![{CJK}])[^\\W\\d_]|[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0970-\u0e4e])"
_PIECE = re.compile(
    f"[{CJK}]+"
    r"|\d+(?:[.:,/]\d+)*(?:(?:st|nd|rd|th)\b)?"
    f"|{_LETTER}(?:{_LETTER}|\\d)*(?:['-](?:{_LETTER}|\\d)+)*"
)
# The same for plain text, which most is: three times as quick.
_PLAIN_PIECE = re.compile(r"[a-z][a-z0-9]*(?:['-][a-z0-9]+)*|\d+(?:[.:,/]\d+)*(?:(?:st|nd|rd|th)\b)?", re.ASCII)
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_CLOCK = re.compile(r"0\d:\d\d")
_ACCENT = re.compile("[\u0300-\u036f]")
_CONTRACTED = re.compile("(?:'s|'ll|'d|'ve|'re|'m)$")
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\u2010": "-", "\u2011": "-"})
_MOST_KNOWN = 100_000
_LONGEST_KNOWN = 40


class Analyser:
    """Text to a tuple of tokens; cheap to make, safe to share between threads."""

    def __init__(
        self, *, language: str = "auto", stem: bool = True, stop_words: bool = True, jieba: bool = False
    ) -> None:
        if language not in SNOWBALL:
            raise UnknownNameError("language", language, SNOWBALL, remedy="'auto' reads English and Chinese.")
        self.language = language
        self.stem = stem
        self.stop_words = stop_words
        self.jieba = jieba
        self._english = SNOWBALL[language] == "english"
        self._known = _TokenCache(self._fresh)
        self._lock = Lock()
        self._stemmer: Any = None
        self._cut: Callable[[str], list[str]] | None = None

    def __call__(self, text: str) -> tuple[str, ...]:
        return tuple(self.line(text).split())

    def line(self, text: str) -> str:
        """The tokens with a space between each two, as a store keeps them: no token holds white space."""
        if not text.isascii():
            text = unicodedata.normalize("NFKC", text).translate(_APOSTROPHES)
        # No piece goes over white space, so that each chunk between can be looked up whole, without a line of Python.
        return " ".join(filter(None, map(self._known.__getitem__, text.casefold().split())))

    def forget(self) -> None:
        """Empty the cache of tokens."""
        self._known.clear()

    def _fresh(self, chunk: str) -> str:
        """The tokens of a chunk that is not known yet; one that is short and no sentence of Chinese is from now on."""
        if chunk.isascii():
            if chunk.isalpha():  # a plain word, which most are
                return self._piece(chunk)
            pieces, mixed = _PLAIN_PIECE.findall(chunk), False
        else:
            pieces, mixed = _PIECE.findall(chunk), _CJK_RUN.search(chunk) is not None
        tokens = " ".join(filter(None, map(self._piece, pieces)))
        return tokens if mixed else self._know(chunk, tokens)

    def _piece(self, piece: str) -> str:
        """The tokens of one match; a chunk that is one piece has the same, so that both are known by one table."""
        if _CJK_RUN.match(piece):
            return " ".join(self._words(piece) if self.jieba else self._bigrams(piece))
        tokens = self._known.get(piece)
        if tokens is not None:
            return tokens
        return self._know(piece, _number(piece) if piece[0].isdecimal() else " ".join(self._stems(piece)))

    def _know(self, chunk: str, tokens: str) -> str:
        if tokens == chunk:
            tokens = chunk  # one text in memory, not two: with many words known, time goes into fetching them
        if len(chunk) <= _LONGEST_KNOWN:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[chunk] = tokens
        return tokens

    def _stems(self, word: str) -> tuple[str, ...]:
        """A hyphenated word gives its longer parts and the whole without hyphens: wi-fi is found as wifi."""
        if not word.isascii() and self._english:
            word = _ACCENT.sub("", unicodedata.normalize("NFKD", word))
        if word.isalpha() and word.isascii():
            return () if self._is_stop(word) else (self._stemmed(word),)
        parts = uncontracted(word).split("-")
        if len(parts) > 1:
            parts = [part for part in parts if len(part) > 2] + ["".join(parts)]
        return tuple(self._stemmed(part) for part in parts if part and not self._is_stop(part))

    def _is_stop(self, word: str) -> bool:
        return self.stop_words and self._english and (word in STOP_WORDS or len(word) == 1)

    def _stemmed(self, word: str) -> str:
        if not self.stem:
            return word
        with self._lock:  # the stemmer is not thread-safe
            if self._stemmer is None:
                import Stemmer

                self._stemmer = Stemmer.Stemmer(SNOWBALL[self.language], 0)  # words are kept here, not there too
            return str(self._stemmer.stemWord(word))

    def _bigrams(self, run: str) -> tuple[str, ...]:
        tokens: list[str] = []
        for part in ZH_STOP.split(run) if self.stop_words else (run,):
            if len(part) == 1 and not (self.stop_words and part in ZH_ALONE):
                tokens.append(part)
            tokens += [part[i : i + 2] for i in range(len(part) - 1)]
        return tuple(tokens)

    def _words(self, run: str) -> tuple[str, ...]:
        if self._cut is None:
            self._cut = jieba_module().lcut_for_search
        words = self._cut(run)
        if not self.stop_words:
            return tuple(words)
        return tuple(word for word in words if not (word in ZH_ALONE or ZH_STOP.fullmatch(word)))


class _TokenCache(dict[str, str]):
    """Tokens by chunk; what is not there is asked for, by the dictionary itself."""

    def __init__(self, fresh: Callable[[str], str]) -> None:
        super().__init__()
        self._fresh = fresh

    def __missing__(self, chunk: str) -> str:
        return self._fresh(chunk)


def uncontracted(word: str) -> str:
    """A word without its contraction: what's as what, Anna's as anna; don't and its like as not."""
    word = word.casefold().translate(_APOSTROPHES)
    if "'" not in word:
        return word
    return "not" if word.endswith("n't") else _CONTRACTED.sub("", word).replace("'", "")


def _number(piece: str) -> str:
    """1,000 as 1000, 09:30 as 9:30, 3rd as 3; other digits as they stand."""
    if piece[-1].isalpha():
        piece = piece[:-2]
    if _THOUSANDS.fullmatch(piece):
        return piece.replace(",", "")
    return piece[1:] if _CLOCK.fullmatch(piece) else piece


analyse = Analyser()
"""The analyser of an agent whose config says nothing else."""


@text_cache(maxsize=4096)
def words(text: str, language: str = "auto") -> tuple[str, ...]:
    """The stems of a text in order; Chinese text as pairs of characters. Cached, as a dialogue repeats its turns."""
    return _analyser(language if language in SNOWBALL else "auto")(text)


def forget_texts() -> None:
    """Empty every cache of this process that holds words of a user or a document."""
    clear_caches()
    _analyser.cache_clear()


@cache
def _analyser(language: str) -> Analyser:
    return Analyser(language=language, stop_words=False)
