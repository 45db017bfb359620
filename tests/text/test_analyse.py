"""Search tokens: what is kept, what is folded, what is dropped."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.effort import lines_of

from dragoman.core.errors import MissingExtraError, UnknownNameError
from dragoman.text.analyse import _PIECE, _PLAIN_PIECE, Analyser, analyse
from dragoman.text.cutting import jieba_module


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The ferries were leaving", ("ferri", "leav")),
        ("at 9:30 for 3.50 francs", ("9:30", "3.50", "franc")),
        ("09:30", ("9:30",)),
        ("1,000 people, the 3rd", ("1000", "peopl", "3")),
        ("9am", ("9",)),
        ("platform B12", ("platform", "b12")),
        ("wi-fi", ("wifi",)),
        ("check-in", ("check", "checkin")),
        ("non-alcoholic", ("non", "alcohol", "nonalcohol")),
        ("What\u2019s Anna\u2019s job?", ("anna", "job")),
        ("we don't, they can't, I'll", ()),
        ("an ID for the shed", ("id", "shed")),
        ("Café CRÈME", ("cafe", "crème".replace("è", "e"))),
        ("ＦＥＲＲＹ ９：３０", ("ferri", "9:30")),
        ("", ()),
        ("?!… 🎉", ()),
        ("snake_case", ("snake", "case")),
        ("हिन्दी भाषा", ("हिन्दी", "भाषा")),
    ],
)
def test_tokens_of_latin_and_other_spaced_text(text, tokens):
    assert analyse(text) == tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("星球大战", ("星球", "球大", "大战")),
        ("那价格呢？", ("价格",)),
        ("你们的酒店是什么时候开门的吗", ("酒店", "开门")),
        ("家", ("家",)),
        ("在", ()),
        ("WiFi密码是多少", ("wifi", "密码")),
        ("7.754亿美元", ("7.754", "亿美", "美元")),
        ("東京タワー", ("東京", "京タ", "タワ", "ワー")),
    ],
)
def test_runs_without_spaces_become_bigrams_cut_at_function_words(text, tokens):
    assert analyse(text) == tokens


def test_a_question_and_its_answer_meet_in_their_tokens():
    assert set(analyse("Do you have Wi-Fi?")) & set(analyse("There is free wifi in every room."))
    assert set(analyse("When does it open on Sundays?")) & set(analyse("Sunday opening: 9:30"))


def test_stop_words_and_stems_can_be_kept():
    assert Analyser(stop_words=False, stem=False)("The ferries of a man") == ("the", "ferries", "of", "a", "man")
    assert Analyser(stop_words=False)("你的家") == ("你的", "的家")


def test_another_language_takes_its_own_stemmer_and_keeps_its_umlauts():
    assert Analyser(language="de")("Häuser Bücher") == ("haus", "buch")


def test_an_unknown_language_is_refused_with_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"Available: .*auto"):
        Analyser(language="klingon")


def test_jieba_cuts_words():
    tokens = Analyser(jieba=True)("你们的酒店有无线网络吗")
    assert {"酒店", "网络"} <= set(tokens)
    assert not {"你们", "的", "吗", "有"} & set(tokens)


def test_missing_jieba_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "jieba", None)
    jieba_module.cache_clear()
    with pytest.raises(MissingExtraError, match=r"pip install dragoman\[zh\]"):
        Analyser(jieba=True)("酒店")


@given(st.text())
def test_tokens_are_never_empty_nor_hold_white_space(text):
    for token in analyse(text):
        assert token
        assert token.split() == [token]


@given(st.text(alphabet=st.characters(max_codepoint=0x24F), max_size=80))
def test_analysis_does_not_look_at_case(text):
    assert analyse(text.casefold()) == analyse(text.casefold().casefold())
    assert analyse("Harbour " + text) == analyse("HARBOUR " + text)


@given(st.text(alphabet=st.characters(max_codepoint=0x7F), max_size=80))
def test_plain_text_is_cut_as_any_other(text):
    assert _PLAIN_PIECE.findall(text.casefold()) == _PIECE.findall(text.casefold())


def test_threads_agree():
    texts = [f"The {word}ing ferries of {i} harbours" for i in range(300) for word in ("sail", "row", "land")]
    expected = [Analyser()(text) for text in texts]
    shared = Analyser()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(shared, texts)) == expected


def test_short_texts_are_analysed_in_few_steps():
    texts = [f"When does the ferry number {i} to Gull Holm leave on Sundays?" for i in range(2000)]
    assert lines_of(lambda: [analyse(text) for text in texts]) < 30 * len(texts)


@given(st.lists(st.text(max_size=12), max_size=6))
def test_a_text_has_the_tokens_of_its_chunks_whether_they_are_known_or_not(chunks: list[str]) -> None:
    analyser = Analyser(language="en")
    apart = tuple(token for chunk in chunks for token in Analyser(language="en")(chunk))
    assert analyser(" ".join(chunks)) == apart == analyser("\n".join(chunks))


def test_words_are_known_and_sentences_of_chinese_and_endless_chunks_are_not() -> None:
    analyser = Analyser()
    analyser("Ferries leave, ferries")
    assert dict(analyser._known) == {"ferries": "ferri", "leave,": "leav", "leave": "leav"}
    analyser.forget()
    analyser(f"渡轮几点出发 {'x' * 1000}")
    assert not analyser._known
