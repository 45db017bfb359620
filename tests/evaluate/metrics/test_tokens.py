from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score import tokenize as rouge_tokenize
from sacrebleu.metrics import BLEU

from dragoman.core.errors import MissingExtraError, UnknownNameError
from dragoman.evaluate.metrics import tokens
from dragoman.evaluate.metrics.tokens import SCHEMES, choose, is_chinese, tokenize

texts = st.text(max_size=40) | st.text("我是天蝎座，Emma 喜欢iPhone13。 ", max_size=40)
texts |= st.text("a0.,-&;'\"<>() \n\u00a0，", max_size=16) | st.lists(
    st.sampled_from("&amp; &quot; -\n <skipped> 1,000. a".split(" "))
).map("".join)


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        ("13a", "我喜欢iPhone 13 , 你呢 ?"),
        ("lower", "我喜欢iphone 13 , 你呢 ?"),
        ("char", "我 喜 欢 iPhone 13 , 你 呢 ?"),
        ("letters", "我 喜 欢 i P h o n e 1 3 , 你 呢 ?"),
        ("jieba", "我 喜欢 iPhone 13 , 你 呢 ?"),
        ("basic", "我喜欢iphone 13 你呢"),
    ],
)
def test_each_scheme_cuts_a_mixed_text(scheme, expected):
    assert " ".join(tokenize("我喜欢iPhone 13, 你呢?", scheme)) == expected


@given(texts)
def test_no_token_is_empty_or_holds_white_space(text):
    for scheme in SCHEMES:
        assert all(token.split() == [token] for token in tokenize(text, scheme))


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=5))
@pytest.mark.parametrize(("ours", "theirs"), [("13a", "13a"), ("char", "zh"), ("letters", "char")])
def test_sacrebleu_counts_the_same_as_with_its_own_tokenizer(ours, theirs, pairs):
    replies, references = zip(*pairs, strict=True)
    cut = [[" ".join(tokenize(text, ours)) for text in side] for side in (replies, references)]
    mine = BLEU(tokenize="none", force=True).corpus_score(cut[0], [cut[1]])
    assert mine.score == BLEU(tokenize=theirs, force=True).corpus_score(list(replies), [list(references)]).score


@given(st.text(st.characters(codec="ascii"), max_size=60))
def test_basic_is_what_rouge_score_does_on_ascii(text):
    assert list(tokenize(text, "basic")) == rouge_tokenize.tokenize(text, None)


@pytest.mark.parametrize(
    ("found", "expected"),
    [(["我是天蝎座"], True), (["I live in 北京 now, you know"], False), (["iPhone 很好用"], True), (["", "?"], False)],
)
def test_a_text_is_chinese_where_most_of_it_is(found, expected):
    assert is_chinese(found) is expected


def test_auto_goes_by_the_references():
    assert choose("auto", ["你好"], otherwise="13a") == "char"
    assert choose("auto", ["hello"], otherwise="13a") == "13a"
    assert choose("jieba", ["hello"], otherwise="13a") == "jieba"


def test_auto_goes_by_the_language_where_it_is_told():
    assert choose("auto", ["hello"], otherwise="13a", language="zh") == "char"
    assert choose("auto", ["你好"], otherwise="13a", language="en") == "13a"
    assert choose("auto", ["你好"], otherwise="13a", language="auto") == "char"


def test_an_unknown_scheme_is_named_with_what_is_meant():
    with pytest.raises(UnknownNameError, match="Did you mean 'jieba'"):
        tokenize("x", "jeiba")


def test_a_text_is_cut_once_and_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(tokens, "_KEPT", 2)
    seen = []
    cut = tokens._CachedTokenizer(lambda text: (seen.append(text), text.split())[1])
    assert cut("a b") == cut("a b") == ("a", "b")
    assert seen == ["a b"]
    cut("c")
    cut("d")
    assert len(cut._cache) == 2


def test_texts_are_let_go_of_on_demand():
    tokenize("a secret", "basic")
    assert "a secret" in tokens.tokenizer("basic")._cache
    tokens.clear_cache()
    assert "a secret" not in tokens.tokenizer("basic")._cache


def test_without_the_library_one_is_told_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu.tokenizers.tokenizer_13a", None)
    with pytest.raises(MissingExtraError, match=r"pip install dragoman\[eval\]"):
        tokens._MADE["13a"]()


@pytest.mark.skipif("DRAGOMAN_DATA" not in os.environ, reason="DRAGOMAN_DATA is not set")
def test_the_replies_of_kbp_are_taken_for_chinese():
    dialogues = json.loads((Path(os.environ["DRAGOMAN_DATA"]) / "kbp" / "dev.json").read_text(encoding="utf-8"))
    assert is_chinese(turn["S"] for dialogue in dialogues for turn in dialogue["conversation"])
