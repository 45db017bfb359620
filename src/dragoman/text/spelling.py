"""How people type, in the spelling that the rules know: "wheres ur desk pls" is "where's your desk please"."""

from __future__ import annotations

from dragoman.core.caches import text_cache
from dragoman.text import lazy_re as re
from dragoman.text.patterns import words
from dragoman.text.typos import untyped

_WORD = re.compile(r"[A-Za-z0-9'’]+")
_FOR = re.compile(
    r"\b4(?= (?:a |the |my |our )?(?:kids?|child\w*|adults?|seniors?|students?|members?|me|us|you|dogs?)\b)",
    re.IGNORECASE,
)
_COUNTED = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?|years?|months?|weeks?|days?|nights?|hours?|minutes?|people|persons?|times|tickets"
)
"""What a 4 before it counts or dates: "my birthday is 4 July", "I stay 4 nights"."""
_FOR_SOMEBODY = re.compile(rf"(?<=[a-z] )4(?= (?!(?:{_COUNTED})\b)[a-z]{{3,}}\W*$)", re.IGNORECASE)
_TO = re.compile(r"(?:(?<=\bwant )|(?<=\bgoing )|(?<=\bneed ))2(?= [a-z]{3,}\b)", re.IGNORECASE)
_FINAL_ASKING = re.compile(r"(?<=[\u4e00-\u9fff])(?:不|(?<!还)没|(?<![什怎那这多要])么)(?=[啊呀哈]?[？?。!！]*$)")
"""Ends a Chinese question as 吗 does: "能进不", "有优惠没", "要押金么"."""


@text_cache(maxsize=4096)
def spelt(text: str) -> str:
    """The text with chat spellings written out; words that are none of them stay as they are."""
    spellings = words("spelling")
    plain = _FOR_SOMEBODY.sub("for", _FOR.sub("for", text)) if "4" in text else text
    plain = _TO.sub("to", plain) if "2" in plain else plain
    if not spellings.keys().isdisjoint(map(str.lower, _WORD.findall(plain))):  # most texts have no such word
        plain = _WORD.sub(lambda word: _meant(word[0], spellings), plain)
    plain = untyped(plain)
    for said, meant in words("sayings").items():
        plain = plain.replace(said, meant)
    return plain if plain.isascii() else _FINAL_ASKING.sub("吗", plain)


def _meant(said: str, known: dict[str, str]) -> str:
    if len(said) == 1 and said.isupper():  # an initial
        return said
    meant = known.get(said.lower(), said)
    return meant[0].upper() + meant[1:] if said[0].isupper() and meant else meant
