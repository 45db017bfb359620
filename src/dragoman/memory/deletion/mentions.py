"""Find turns that mention a rare word of a deleted fact; the user decides whether to delete them too.

"I have a cat called Zorbolin" is deleted with every turn that states it. "what does zorbolin eat" states nothing, and
still names the cat. Names that are written as names go at once (`forgetting.py`); other rare words may be accidental.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from dragoman.core.values import Passage
from dragoman.text import lazy_re as re
from dragoman.text.sentences import sentences
from dragoman.text.typos import rank

_RARE = 12_000
"""Place in the list of English words, by how common they are, from which on a word is rare."""
_RARE_CHINESE = 60
"""Uses of a Chinese word in the corpus of its dictionary up to which it is rare."""
_SHORTEST, _SHORTEST_CHINESE = 4, 2
_WORD = re.compile(r"[^\W_]+")
_CHINESE = re.compile("[\u4e00-\u9fff]")
_OWN = re.compile(r"\b(?:i|i['’]m|i['’]ve|my|mine|we|our)\b|我", re.IGNORECASE)
_ENDINGS = ("s", "es", "ed", "ing", "d", "er", "ers", "ly", "n")


def rare_words(gone: Sequence[Passage], kept: Iterable[Passage]) -> frozenset[str]:
    """Return the rare words of deleted facts, in lower case, without words that a remaining fact has too."""
    others = {word for passage in kept for word in _words(f"{passage.text} {passage.meta.get('value', '')}")}
    words = {word for passage in gone for word in _words(f"{passage.text} {passage.meta.get('value', '')}")}
    return frozenset(word for word in words - others if _is_rare(word))


def told_sentences(text: str, what: str, analyse: Callable[[str], Sequence[str]]) -> tuple[str, ...]:
    """Return the sentences of a turn about the user that contain all words of `what`."""
    words = set(analyse(what))
    if not words:
        return ()
    own = (sentence for sentence in sentences(text) if _OWN.search(sentence) and not sentence.endswith(("?", "？")))
    return tuple(sentence for sentence in own if words <= set(analyse(sentence)))


def mentioning(turns: Iterable[str], words: frozenset[str]) -> tuple[str, ...]:
    """Return the turns that contain one of the words, each once."""
    chinese = tuple(word for word in words if _CHINESE.search(word))
    latin = words.difference(chinese)
    return tuple(
        dict.fromkeys(
            turn
            for turn in turns
            if any(word in turn for word in chinese)
            or any(
                word in latin or (word.endswith("s") and word[:-1] in latin)
                for word in map(str.casefold, _WORD.findall(turn))
            )
        )
    )


def _words(text: str) -> set[str]:
    words: set[str] = set()
    for run in _WORD.findall(text):
        words.update(_chinese_words(run) if _CHINESE.search(run) else (run.casefold(),))
    return words


def _chinese_words(text: str) -> Iterable[str]:
    from dragoman.text.cutting import cut

    return cut(text, "jieba")


def _is_rare(word: str) -> bool:
    if _CHINESE.search(word):
        from dragoman.text.cutting import jieba_module

        return len(word) >= _SHORTEST_CHINESE and jieba_module().dt.FREQ.get(word, 0) <= _RARE_CHINESE
    if len(word) < _SHORTEST:
        return False
    stems = (word, *(word.removesuffix(ending) for ending in _ENDINGS if word.endswith(ending)))
    places = [place for stem in stems for form in (stem, f"{stem}e") if (place := rank(form)) is not None]
    return min(places, default=_RARE) >= _RARE
