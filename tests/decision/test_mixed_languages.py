"""Facts, rules and questions in different languages: a decision or none, never an error."""

from __future__ import annotations

from itertools import product

import pytest

from dragoman.decision.applies import applies

pytestmark = pytest.mark.trust
RULES = (
    "Children under 6 travel free. Dogs over 40 kg pay 5 francs.",
    "The vegan menu contains peanuts and costs 12 francs.",
    "Nobody under 1.40 m may use the slide; wheelchairs may not enter.",
    "六岁以下儿童免费，身高不足1.4米的不得使用滑梯。",
    "素食套餐含花生，价格12元。",
    "宠物犬体重超过40公斤收费5元，轮椅不得入内。",
)
FACTS = (
    *("I am vegan.", "I am allergic to peanuts.", "My son Sam is 9 and 130 cm tall.", "I use a wheelchair."),
    *("我吃素。", "我对花生过敏。", "我儿子小明9岁，身高1.3米。", "我坐轮椅。", "My dog Rex weighs 45 kg."),
)
QUESTIONS = (
    *("Can I eat the menu?", "May he use the slide?", "What does my dog pay?", "Am I allowed in?"),
    *("我能吃素食套餐吗？", "他可以玩滑梯吗？", "我的狗要付多少钱？", "我可以进去吗？"),
)


@pytest.mark.parametrize("rule", RULES)
def test_any_mixture_of_languages_is_decided_or_left_open(rule):
    for fact, question in product(FACTS, QUESTIONS):
        applies(rule, [fact, FACTS[0]], question)
