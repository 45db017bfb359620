"""Chinese glossed in English: words of services, bounds, people with a relative clause, questions."""

from __future__ import annotations

import pytest

from dragoman.decision.chinese.gloss import cut, gloss, gloss_lines


@pytest.mark.parametrize(
    ("chinese", "english"),
    [
        ("我能带我的狗进去吗？", "Can I bring my dog go in?"),
        ("能带饼干吗？", "Can I bring biscuit?"),
        ("星期一开门吗", "Is Monday open?"),
        ("体重不超过10公斤的宠物", "weight at most 10 kg pet"),
        ("十四岁以下儿童", "under 14 years old child"),
        ("我女儿身高一米一。", "my daughter height 1.1 m."),
        ("有高血压的人不能下水。", "people who have high blood pressure cannot go in the water."),
        ("八折", "20% off"),
        ("晚上9点", "9 pm"),
    ],
)
def test_a_gloss_says_in_english_words_what_chinese_says(chinese: str, english: str) -> None:
    assert gloss(chinese) == english


def test_a_row_is_glossed_cell_by_cell() -> None:
    assert gloss_lines("票种: 成人票; 平日: 45元") == "ticket type: adult ticket; weekdays: 45 yuan"


def test_what_is_no_chinese_stays() -> None:
    assert gloss("Dragoman 3") == "Dragoman 3"
    assert gloss("") == ""


def test_a_run_is_cut_into_its_likeliest_words() -> None:
    assert cut("导盲犬可以进") == ["导盲犬", "可以", "进"]
