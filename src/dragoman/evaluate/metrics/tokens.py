"""How replies are cut into tokens before overlap is counted: by sacrebleu's rules, by jieba, or into plain words.

What a score means depends on this, and papers on Chinese seldom say which they used: report characters and jieba.

    13a      sacrebleu's default for English: words and punctuation, case kept
    lower    the same in lower case
    char     sacrebleu's `zh`: every Chinese character alone, the rest (names, numbers) as 13a cuts it
    letters  sacrebleu's `char`: every character alone, also those of English words and numbers
    jieba    Chinese words by jieba, punctuation included
    basic    runs of letters and digits in lower case; on ASCII text what rouge-score does without its stemmer
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import islice
from typing import Literal, TypeAlias, get_args

from dragoman.core.errors import UnknownNameError
from dragoman.evaluate.metrics.options import missing
from dragoman.text.cutting import jieba_module

Scheme: TypeAlias = Literal["13a", "lower", "char", "letters", "jieba", "basic"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)

_KEPT = 50_000
_READ = 1000
_WORD = re.compile(r"[^\W_]+")
_ASCII = re.compile("[!-~]")
_CHINESE = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


class _CachedTokenizer:
    """One tokenisation with a cache, since every system is compared with the same references."""

    def __init__(self, cut: Callable[[str], Iterable[str]]) -> None:
        self._cut = cut
        self._cache: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, text: str) -> tuple[str, ...]:
        cached = self._cache.get(text)
        if cached is not None:
            return cached
        tokens = tuple(self._cut(text))
        with self._lock:
            self._cache[text] = tokens
            if len(self._cache) > _KEPT:
                self._cache.popitem(last=False)
        return tokens


def tokenizer(scheme: str) -> Callable[[str], tuple[str, ...]]:
    """The function that cuts a text by a scheme. No token holds white space, and none is empty."""
    if scheme not in _MADE:
        raise UnknownNameError("tokens", scheme, _MADE, remedy="'auto' chooses by the language of the references.")
    return _tokenizer(scheme)


def tokenize(text: str, scheme: str) -> tuple[str, ...]:
    """The tokens of a text; those of the last texts are remembered."""
    return tokenizer(scheme)(text)


def is_chinese(texts: Iterable[str]) -> bool:
    """Whether at least half of what is written is Chinese: a word of another script counts as one character.

    The first texts decide.
    """
    chinese = others = 0
    for text in islice(texts, _READ):
        count = len(_CHINESE.findall(text))
        chinese += count
        others += len(_WORD.findall(_CHINESE.sub(" ", text) if count else text))
    return chinese > 0 and chinese >= others


def choose(scheme: str, references: Iterable[str], *, otherwise: Scheme, language: str = "") -> str:
    """The scheme itself, or for `auto` characters where the language is Chinese and `otherwise` elsewhere.

    A language that is not told is read from the references, not from replies: all systems are cut alike.
    """
    if scheme != "auto":
        return scheme
    chinese = is_chinese(references) if language in ("", "auto") else language == "zh"
    return "char" if chinese else otherwise


def check(scheme: str) -> str:
    """The scheme, or an error where there is none of that name."""
    if scheme != "auto" and scheme not in _MADE:
        raise UnknownNameError("tokens", scheme, {*_MADE, "auto"})
    return scheme


def clear_cache() -> None:
    """Clear the caches of all tokenisations."""
    _tokenizer.cache_clear()


@cache
def _tokenizer(scheme: str) -> _CachedTokenizer:
    return _CachedTokenizer(_MADE[scheme]())


def _by_13a() -> Callable[[str], list[str]]:
    try:
        from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
    except ImportError as error:
        raise missing("Cutting text as 13a does", error) from error
    whole = Tokenizer13a()  # type: ignore[no-untyped-call]  # the package annotates no constructors

    def cut(text: str) -> list[str]:
        if "\n" in text:  # a hyphen at the end of a line joins two words
            return str(whole(text.rstrip())).split()
        # its rules look no further than the white space around a word, and it remembers words that it has seen
        return [token for word in text.split() for token in whole(word).split()]

    return cut


def _by_lower() -> Callable[[str], list[str]]:
    cut = _by_13a()
    return lambda text: cut(text.lower())


def _by_char() -> Callable[[str], list[str]]:
    try:
        from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh
    except ImportError as error:
        raise missing("Cutting Chinese into characters", error) from error
    whole = TokenizerZh()  # type: ignore[no-untyped-call]  # the package annotates no constructors
    alone = _Alone(lambda char: f" {char} " if TokenizerZh._is_chinese_char(char) else char)

    def cut(text: str) -> list[str]:
        # the library's rules for words and punctuation, which take nearly all of its time, speak of ASCII alone
        if _ASCII.search(text):
            return str(whole(text.rstrip())).split()
        return text.translate(alone).split()

    return cut


class _Alone(dict[int, str]):
    """Table for `str.translate` that computes the spacing of a character on its first use."""

    def __init__(self, spaced: Callable[[str], str]) -> None:
        super().__init__()
        self._spaced = spaced

    def __missing__(self, code: int) -> str:
        self[code] = self._spaced(chr(code))
        return self[code]


def _by_letters() -> Callable[[str], list[str]]:
    return lambda text: list("".join(text.split()))


def _by_jieba() -> Callable[[str], list[str]]:
    jieba = jieba_module()
    return lambda text: [part for word in jieba.lcut(text) for part in word.split()]


def _by_basic() -> Callable[[str], list[str]]:
    return lambda text: _WORD.findall(text.lower())


_MADE: Mapping[str, Callable[[], Callable[[str], list[str]]]] = {
    "13a": _by_13a,
    "lower": _by_lower,
    "char": _by_char,
    "letters": _by_letters,
    "jieba": _by_jieba,
    "basic": _by_basic,
}
