"""Plain text cut without the tokenizer: exactly as the tokenizer cuts it."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from dragoman.models.onnx.word_tokenizer import PlainWords

MARKS = ["[UNK]", "[turn-1]", "[asks]"]
WORDS = [
    "un",
    "##able",
    "##a",
    "##b",
    "a",
    "b",
    "the",
    "inn",
    "'",
    ".",
    "$",
    "4",
    "##2",
    "[",
    "]",
    "#",
    "café",
    "李",
    "x",
    "##abcde",
]


def made(model, *, lowercase=True):
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(MARKS)
    return tokenizer


NUMBERS = {word: i for i, word in enumerate([*MARKS, *WORDS])}
PIECES = made(models.WordPiece(NUMBERS, unk_token="[UNK]", max_input_chars_per_word=6))
WHOLE = made(models.WordLevel(NUMBERS, unk_token="[UNK]"))


def plain(tokenizer):
    return PlainWords.of(json.loads(tokenizer.to_str()))


def test_words_fall_into_their_longest_pieces_by_hand():
    found = plain(PIECES)
    assert found is not None
    spelt = {number: word for word, number in NUMBERS.items()}
    assert [spelt[number] for number in found.ids("The inn's unable. $42 unx", 99)] == (
        ["the", "inn", "'", "[UNK]", "un", "##able", ".", "$", "4", "##2", "[UNK]"]
    )
    assert found.ids("a b a b", 3) == [NUMBERS["a"], NUMBERS["b"], NUMBERS["a"]]


@pytest.mark.parametrize("tokenizer", [PIECES, WHOLE], ids=["pieces", "whole words"])
@given(
    st.lists(st.sampled_from([*MARKS, *WORDS, "UNABLE", "abababab", "##able", "a.b", " ", "\n", "\x07", "é"])).map(
        "".join
    )
    | st.lists(st.sampled_from([*MARKS, *WORDS, "Inn's", "unab"])).map(" ".join)
    | st.text(st.characters(min_codepoint=32, max_codepoint=126))
)
@example("[turn-1] [asks]")
@example("[turn-1][asks]")
@example("xabcde xabcdea")
def test_every_text_has_the_tokenizers_ids_or_none(tokenizer, text):
    found = plain(tokenizer)
    assert found is not None
    ids = found.ids(text, 1000)
    assert ids is None or ids == tokenizer.encode(text, add_special_tokens=False).ids
    assert ids is not None or "[" in text or not (text.isascii() and text.isprintable())


def test_a_tokenizer_that_may_cut_otherwise_is_not_stood_in_for():
    assert plain(made(models.WordLevel(NUMBERS, unk_token="[UNK]"), lowercase=False)) is None
    assert plain(Tokenizer(models.WordLevel(NUMBERS, unk_token="[UNK]"))) is None
    other = made(models.WordLevel(NUMBERS, unk_token="[UNK]"))
    other.add_special_tokens(["inn"])
    assert plain(other) is None
    spaced = made(models.WordLevel(NUMBERS, unk_token="[UNK]"))
    spaced.add_special_tokens(["[b] [c]"])
    assert plain(spaced) is None
