# ruff: noqa: E501  # a case is easier to check in one line
"""Chinese self-descriptions: people and pets with names, activities, health, corrections, and what is no fact."""

from __future__ import annotations

import pytest

from dragoman.memory.correction import corrected
from dragoman.memory.facts import facts


def stated(text):
    return [(fact.subject, fact.relation, fact.value) for fact in facts(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我姓顾，大女儿在你们学校学钢琴，小儿子今年六岁。", [("user", "name", "顾"), ("大女儿", "学", "钢琴"), ("小儿子", "age", "六岁")]),
        ("我带外孙女来玩，她叫朵朵，今年刚五岁，我自己七十二了。", [("user", "companion", "外孙女"), ("外孙女", "名字", "朵朵"), ("朵朵", "age", "五岁"), ("user", "age", "七十二岁")]),
        ("一共四个人，还有一条金毛叫麦子，三十公斤。", [("user", "party", "四个人"), ("user", "pet", "一条金毛叫麦子"), ("麦子", "weight", "三十公斤")]),
        ("我从来没滑过雪。", [("user", "can", "从来没滑过雪")]),
        ("我叫阿凯，28岁，膝盖做过手术。", [("user", "name", "阿凯"), ("user", "age", "28岁"), ("user", "condition", "膝盖做过手术")]),
        ("刚办了年卡，开始健身！", [("user", "card", "年卡")]),
        ("计划有变，我们改到5月份去了。", [("user", "arrival", "5月份")]),
        ("我学古筝，已经考过三级，能进哪个乐团？", [("user", "学", "古筝"), ("user", "level", "考过三级")]),
    ],
)  # fmt: skip
def test_compound_sentences_give_each_fact_its_subject(text, expected):
    assert stated(text) == expected


@pytest.mark.parametrize(
    "text",
    ["我很累。", "我现在很忙。", "我想知道门票多少钱。", "我觉得这里挺不错的。", "我想带父亲走走，哪条步道适合他？"],
)
def test_moods_wishes_and_questions_are_no_facts(text):
    assert stated(text) == []


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        ("我办的是月卡。", "啊记错了，是季卡不是月卡。", "我办的是季卡。"),
        ("我儿子七岁了。", "不好意思，说的是虚岁，他其实才六岁。", "我儿子其实才六岁。"),
        ("我女儿十七岁。", "哎呀说错了，是十五岁。", "我女儿十五岁。"),
        ("我爸早上量的血压是190。", "看错啦，是150。", "我爸早上量的血压是150。"),
        ("我闺女一米一八。", "刚又量了一下，是一米二三。", "我闺女一米二三。"),
        ("我办的是年卡。", "不是年卡，是月卡。", "我办的是月卡。"),
    ],
)
def test_a_correction_changes_the_fact_that_it_belongs_to(before, text, after):
    assert stated(text) == []
    assert [fact.text for fact in corrected(text, facts(before))] == [after]


def test_the_newer_object_of_a_verb_has_the_same_slot_and_another_beside_it_does_not():
    rented, instead = facts("我租了小提琴。")[0], facts("我现在改租大提琴。")[0]
    assert rented.slot == instead.slot
    assert facts("我学钢琴。")[0].slot != facts("我还学声乐。")[0].slot


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "我和丈夫、七岁的女儿米米住在杭州。",
            [("米米's age", "七岁"), ("household", "丈夫、女儿米米"), ("home", "杭州")],
        ),
        ("我和我老婆住在上海。", [("household", "老婆"), ("home", "上海")]),
        ("我和妈妈住在哪里？", []),
    ],
)
def test_whom_somebody_lives_with_is_told_from_where(text, found):
    assert [(fact.slot, fact.value) for fact in facts(text)] == found


def test_a_pronoun_means_nobody_of_whom_only_english_was_spoken():
    text = "他永远忘不了那一天。"
    assert corrected(text, facts("My dog is called Rufus.")) == ()
    assert [fact.subject for fact in corrected("他其实才六岁。", facts("我儿子小明七岁。"))] == ["小明"]


def test_an_age_after_a_role_is_no_name():
    found = facts("我妈妈七十岁，她坐轮椅")
    assert [(fact.subject, fact.value) for fact in found] == [("妈妈", "七十岁"), ("妈妈", "轮椅")]


@pytest.mark.parametrize(
    ("text", "slot", "value"),
    [
        ("我在医院上夜班", "job", "医院上夜班"),
        ("我戒烟了", "smokes", "no"),
        ("我家狗没打疫苗", "狗's status", "没打疫苗"),
    ],
)
def test_shifts_habits_that_ended_and_vaccinations_are_facts(text, slot, value):
    assert [(fact.slot, fact.value) for fact in facts(text)] == [(slot, value)]
