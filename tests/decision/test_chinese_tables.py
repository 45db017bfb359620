"""Rows of Chinese tables that a question, a fact or the user's age chooses, and the cell that is asked for."""

from __future__ import annotations

from dragoman.decision.chinese.tables import cell, fits, fitting_rows, inline_options, named_row
from dragoman.decision.chinese.words import canonical, shares, tokens
from dragoman.decision.tables.cells import read_row

FEES = [
    "级别: 一到三级; 报名费: 180元; 考试时间: 8分钟",
    "级别: 四到六级; 报名费: 260元; 考试时间: 12分钟",
    "级别: 七到九级; 报名费: 360元; 考试时间: 18分钟",
]
RENT = ["乐器: 小提琴; 每月租金: 60元; 押金: 500元", "乐器: 大提琴; 每月租金: 110元; 押金: 1500元"]
CLASSES = [
    "课程: 搏击操; 时间: 周六10:00; 适合: 16岁以上",
    "课程: 银发太极; 时间: 周一9:00; 适合: 55岁以上",
    "课程: 亲子操; 时间: 周日9:00; 适合: 3到6岁",
]


def test_a_grade_is_in_the_row_of_its_range():
    found = named_row("考八级的报名费是多少？", FEES, ())
    assert found is not None
    assert cell("考八级的报名费是多少？", found[0]) == "七到九级，报名费：360元"


def test_the_newest_fact_names_the_row_that_the_question_does_not():
    found = named_row("我租的琴每个月租金多少？", RENT, ["我租了小提琴。", "我现在改租大提琴。"])
    assert found is not None
    assert (found[0].label, found[1]) == ("大提琴", "我现在改租大提琴。")


def test_of_the_rows_that_fit_the_narrowest_comes_first():
    rows, _ = fitting_rows("有什么课适合我外婆？", CLASSES, ["我外婆72岁。"])
    assert [row.label for row, _ in rows] == ["银发太极", "搏击操"]


def test_a_least_age_is_a_bound():
    row = read_row("课程: 架子鼓; 最小年龄: 7岁; 说明: 无")
    assert row is not None
    decision = fits("他可以学架子鼓吗？", row, ["我儿子六岁。"])
    assert decision is not None
    assert decision.verdict == "no"


def test_options_within_a_sentence_are_chosen_by_age_or_asked_for():
    sentence = "分儿童组（12岁以下）、少年组（12到17岁）和成人组。"
    chosen, _ = inline_options("我孩子报哪个组？", sentence, ["我孩子14岁。"])
    assert chosen is not None
    assert chosen.text.startswith("少年组")
    nothing, missing = inline_options("我孩子报哪个组？", sentence, [])
    assert nothing is None
    assert missing is not None
    assert missing.missing == "age"


def test_words_for_the_same_thing_are_one_word():
    assert canonical("坐一个来回") == canonical("坐往返")
    assert "#优惠" in tokens("打八五折") & tokens("有优惠吗")
    first, second = shares("学费有优惠吗？", ["60岁以上的学员打八五折。", "家长休息室在二楼。"])
    assert first > second
