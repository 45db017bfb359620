"""Ids of ASCII text as a BERT tokenizer gives them, in a tenth of its time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Any

_WORD = re.compile("[a-z0-9]+|[^a-z0-9 ]")
"""Words of lower-case printable ASCII; every other sign is a word of its own."""
_MARK = "["
_NONE = -1


@dataclass(frozen=True, slots=True)
class PlainWords:
    """The vocabulary and special tokens of a tokenizer; splits printable ASCII exactly as the tokenizer does."""

    numbers: Mapping[str, int]
    marks: Mapping[str, int]
    unknown: int
    prefix: str | None = None
    """The prefix of pieces inside a word ("##"); None for a vocabulary of whole words."""
    longest: int = 0
    """A word of more letters is unknown as a whole."""

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> PlainWords | None:
        """Read `tokenizer.json`; None where that tokenizer may split ASCII in another way than this class."""
        normalizer, cutter, model = (table.get(name) or {} for name in ("normalizer", "pre_tokenizer", "model"))
        marks = {mark["content"]: mark["id"] for mark in table.get("added_tokens") or ()}
        vocabulary, unknown = model.get("vocab") or {}, model.get("unk_token")
        if (
            (normalizer.get("type"), normalizer.get("lowercase")) != ("BertNormalizer", True)
            or cutter.get("type") != "BertPreTokenizer"
            or model.get("type") not in ("WordPiece", "WordLevel")
            or unknown not in vocabulary
            or not all(mark.startswith(_MARK) and " " not in mark for mark in marks)
        ):
            return None
        if model["type"] == "WordLevel":
            return cls(vocabulary, marks, vocabulary[unknown])
        longest, prefix = model["max_input_chars_per_word"], model["continuing_subword_prefix"]
        # a whole word that is too long is unknown, though the vocabulary may have it
        cut = {word: number for word, number in vocabulary.items() if len(word) <= longest or word.startswith(prefix)}
        return cls(cut, marks, vocabulary[unknown], prefix, longest)

    def ids(self, text: str, most: int) -> list[int] | None:
        """The first `most` ids of a text; None unless it is printable ASCII."""
        if not (text.isascii() and text.isprintable()):
            return None
        if _MARK in text:  # what is not marks alone may be both
            words = text.split(" ")
            return [self.marks[word] for word in words][:most] if self.marks.keys() >= set(words) else None
        words = _WORD.findall(text.lower())[:most]  # each is a token at least
        ids: list[int] = list(map(self.numbers.get, words, repeat(_NONE)))
        if _NONE in ids:
            for place in reversed([place for place, number in enumerate(ids) if number == _NONE]):
                ids[place : place + 1] = self._pieces(words[place])
        return ids[:most]

    def _pieces(self, word: str) -> list[int]:
        """Split a word greedily into its longest pieces; the unknown id where no piece fits."""
        if self.prefix is None or len(word) > self.longest:
            return [self.unknown]
        ids: list[int] = []
        rest = word
        while rest:
            for end in range(len(rest), 0, -1):
                number = self.numbers.get(self.prefix + rest[:end] if ids else rest[:end])
                if number is not None:
                    break
            else:
                return [self.unknown]
            ids.append(number)
            rest = rest[end:]
        return ids
