import pytest

from dragoman.text.language import cjk_count, is_cjk, language


@pytest.mark.parametrize("char", ["中", "〇", "々", "の", "カ", "한", "𠮷", "㐀"])
def test_characters_of_cjk_scripts_are_cjk(char):
    assert is_cjk(char)


@pytest.mark.parametrize("char", ["a", "é", "7", " ", "。", "，", "“", "🙂", "я", ""])
def test_other_characters_and_punctuation_are_not_cjk(char):
    assert not is_cjk(char)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("When does the ferry leave?", "en"),
        ("渡轮几点开？", "zh"),
        ("我用Python写FastAPI", "zh"),
        ("What does 你好 mean in English?", "en"),
        ("", "en"),
        ("3.50!", "en"),
        ("3.50元", "zh"),
    ],
)
def test_language_goes_by_the_share_of_cjk(text, expected):
    assert language(text) == expected


def test_cjk_count_leaves_other_characters_out():
    assert cjk_count("我有 3 只 cats。") == 3
