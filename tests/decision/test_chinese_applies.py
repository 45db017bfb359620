"""Chinese rules against a user's facts: groups of people, bounds, exceptions, and what a question asks for."""

from __future__ import annotations

import pytest

from dragoman.decision.chinese_applies import decide, eligible, target
from dragoman.decision.chinese_rules import matches, rule_clauses

CASES = [
    ("16岁以下的孩子、孕妇和有心脏病的人不能进桑拿房。", [], "我弟弟可以蒸桑拿吗？", "unknown"),
    ("16岁以下的孩子、孕妇和有心脏病的人不能进桑拿房。", ["我弟弟15岁。"], "我弟弟可以蒸桑拿吗？", "no"),
    ("16岁以下的孩子、孕妇和有心脏病的人不能进桑拿房。", ["我怀孕了。"], "我可以蒸桑拿吗？", "no"),
    (
        "年卡可以停卡两次，每次最多三十天，怀孕的会员可以停到产后六个月。",
        ["我是年卡会员。", "我查出来怀孕了。"],
        "我的卡最多能停多久？",
        "yes",
    ),
    ("60岁以上的学员打八五折。", ["我今年63岁。"], "请问我的学费有优惠吗？", "yes"),
    ("60岁以上的学员打八五折。", ["我今年33岁。"], "请问我的学费有优惠吗？", "none"),
    ("戴牙套的学员不能学萨克斯和小号，等牙套摘了再来。", ["我女儿戴牙套。"], "我女儿想学萨克斯，可以吗？", "no"),
    ("军人和消防员凭证件半价，春节期间也有效。", ["我是消防员。"], "那时候我的票有优惠吗？", "yes"),
    ("第一次滑雪的人只能在绿道上滑。", ["我从来没滑过雪。"], "长风道看着挺美的，我能去滑吗？", "no"),
    ("单板不能上小松鼠道，那里是孩子学双板的地方。", ["我现在改滑单板了。"], "那小松鼠道我能上吗？", "no"),
    (
        "黑道只对年满16岁、有两个雪季以上经验的人开放，不过跟着本雪场教练的学员可以例外。",
        ["我15岁。"],
        "我能滑黑道吗？",
        "no",
    ),
    ("身高1.2米以下或者6岁以下的儿童免门票。", ["我外孙女朵朵五岁。"], "朵朵要不要买门票？", "no"),
    ("身高1.4米以下的孩子只能在浅水池，要有大人陪。", ["我儿子小宇身高一米三。"], "小宇能去深水池游吗", "no"),
    ("身高1.4米以下的孩子只能在浅水池，要有大人陪。", ["我儿子小宇身高一米三。"], "小宇能去浅水池游吗", "yes"),
    ("14岁以下的孩子必须戴头盔，头盔租金对他们免收。", ["我女儿妞妞12岁。"], "妞妞的头盔租金要给多少？", "yes"),
    ("推婴儿车和坐轮椅的客人只能走溪边步道。", ["我父亲得坐轮椅。"], "我想带父亲走走，哪条步道适合他？", "yes"),
    (
        "三角钢琴房只给五级以上的学员用，参加演出的学员除外。",
        ["我的钢琴是三级。", "我不参加这次演出。"],
        "我能用三角钢琴房练琴吗？",
        "no",
    ),
    (
        "季卡成人2800元，儿童1600元，可以用一整个雪季，但春节七天除外。",
        ["我办了季卡。"],
        "我办了季卡，大年初二能用不？",
        "no",
    ),
    ("宠物不能进馆，导盲犬除外。", ["我有导盲犬。"], "导盲犬能跟我进馆吗？", "yes"),
    ("高血压和心脏病患者不要上鹰嘴峰。", ["我有高血压。"], "我能上鹰嘴峰吗？", "no"),
    ("血压高的会员不能上动感单车和搏击操。", ["我有高血压。"], "动感单车我能上不？", "no"),
    (
        "年卡会员每月可以免费带一位朋友来一次，季卡会员带朋友每次30元，月卡不能带人。",
        ["我办了年卡。"],
        "我带朋友来一次要花钱吗？",
        "no",
    ),
    (
        "年卡会员每月可以免费带一位朋友来一次，季卡会员带朋友每次30元，月卡不能带人。",
        ["我办的是季卡。"],
        "我带个朋友来要多少钱？",
        "yes",
    ),
    ("6岁到18岁的未成年人和全日制大学生半价，研究生不算。", ["我是在读研究生。"], "我的门票能不能半价？", "no"),
    ("60到69岁的老人半价，70岁以上免票。", ["我今年66岁。"], "请问我五月份来，门票要多少钱？", "yes"),
    (
        "本县居民凭身份证每年可以免费进三次，国庆节期间除外。",
        ["我是本县居民。"],
        "我是本县居民，国庆节来能免费进吗？",
        "no",
    ),
    ("十公斤以上的狗要戴嘴套。", ["我的金毛麦子三十公斤。"], "麦子进景区要戴嘴套吗？", "yes"),
    ("鹰岩步道怕高的人不要走，12岁以下的孩子不能走。", ["我儿子是十一岁。"], "他能走鹰岩步道吗？", "no"),
    ("在校学生凭学生证办年卡打七折。", ["我在读大三。"], "办年卡有优惠吗", "yes"),
    (
        "滑道只对10到55岁的客人开放，孕妇、心脏病人和做过腰椎手术的人不能玩。",
        ["我前年做过腰椎手术。", "我今年41岁。"],
        "看别人玩滑道挺开心的，我也可以玩吗？",
        "no",
    ),
    ("滑道只对10到55岁的客人开放，孕妇、心脏病人和做过腰椎手术的人不能玩。", [], "请问我妈妈能坐滑道吗？", "unknown"),
    (
        "滑道只对10到55岁的客人开放，孕妇、心脏病人和做过腰椎手术的人不能玩。",
        ["我妈妈58岁。"],
        "请问我妈妈能坐滑道吗？",
        "no",
    ),
    (
        "体重超过100公斤的不能用自动保护器，可以请教练手动保护。",
        ["我现在瘦到92公斤了。"],
        "攀岩的自动保护器我能用吗？",
        "yes",
    ),
    ("孕妇和有心脏病的人不能坐雪圈。", ["我有心脏病。"], "那个雪圈我可以玩不？", "no"),
    ("地形公园里有跳台，进去必须戴头盔，10岁以下的孩子不能进。", ["我孩子9岁。"], "我家孩子能进地形公园吗？", "no"),
    ("地形公园里有跳台，进去必须戴头盔，10岁以下的孩子不能进。", [], "我家孩子能进地形公园吗？", "unknown"),
    ("全日制学生凭学生证，平日全天票打七折；周末和春节不打折。", ["我毕业了。"], "我平日去，全天票多少钱？", "none"),
    ("戴牙套的学员不能学萨克斯和小号。", ["我女儿不戴牙套。"], "我女儿想学萨克斯，可以吗？", "none"),
    ("未满10岁的孩子用琴房要有大人陪。", ["我儿子八岁。"], "我儿子可以自己用琴房吗？", "no"),
    ("游船从12月到次年2月停航。", ["我们改到5月份去了。"], "我们去的时候游船开不开？", "yes"),
]


@pytest.mark.parametrize(("rule", "facts", "question", "verdict"), CASES)
def test_a_rule_is_decided_by_the_facts_of_whom_the_question_is_about(rule, facts, question, verdict):
    assert decide(rule, facts, question).verdict == verdict


def test_a_decision_names_the_fact_and_the_clause():
    rule = "年卡可以停卡两次，每次最多三十天，怀孕的会员可以停到产后六个月。"
    decision = decide(rule, ["我是年卡会员。", "我怀孕了。"], "我的卡最多能停多久？")
    assert (decision.fact, decision.clause) == ("我怀孕了。", "怀孕的会员可以停到产后六个月")


def test_a_heading_that_names_the_user_makes_its_rules_the_users():
    decision = decide(
        "32到35周要有医生证明，满36周的不能乘机。", ["我怀孕34周了。"], "我还能坐飞机吗？", path="特殊乘客 孕妇"
    )
    assert (decision.verdict, decision.clause) == ("yes", "32到35周要有医生证明")


def test_the_groups_of_a_clause_are_alternatives():
    (clause,) = rule_clauses("16岁以下的孩子、孕妇和有心脏病的人不能进桑拿房。")
    assert clause.effect == "forbid"
    assert [group.text for group in clause.groups] == ["16岁以下的孩子", "孕妇", "有心脏病的人"]


def test_a_group_is_cut_from_the_adverbs_and_papers_behind_it():
    (clause,) = rule_clauses("如果有残疾证的老人凭身份证也都一律免费。")
    assert [group.text for group in clause.groups] == ["有残疾证的老人"]


def test_what_is_excepted_is_a_group_of_its_own():
    (clause,) = rule_clauses("三角钢琴房只给五级以上的学员用，参加演出的学员除外。")
    assert (clause.only, [group.description for group in clause.exceptions]) == ("who", ["参加演出"])


@pytest.mark.parametrize(
    ("description", "fact", "truth"),
    [
        ("戴牙套", "我女儿戴牙套。", True),
        ("戴牙套", "我女儿不戴牙套。", False),
        ("血压高", "我有高血压。", True),
        ("第一次滑雪", "我从来没滑过雪。", True),
        ("月卡", "我办的是季卡。", False),
        ("学生", "我毕业了。", False),
        ("有心脏病", "我喜欢拍照。", None),
    ],
)
def test_a_description_is_found_denied_or_not_spoken_of(description, fact, truth):
    assert matches(description, fact) is truth


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("全天票多少钱？", "price"),
        ("我的学费有优惠吗？", "discount"),
        ("我带朋友来要花钱吗？", "pay"),
        ("轻食吧里最便宜的是什么", "other"),
        ("哪条步道适合他？", "choice"),
        ("麦子要戴嘴套吗？", "require"),
        ("我能滑黑道吗？", "permit"),
    ],
)
def test_a_question_asks_for_one_thing(question, wanted):
    assert target(question) == wanted


@pytest.mark.parametrize(
    ("cell", "facts", "verdict"),
    [
        ("18岁以上，不考试", ["我40岁。"], "yes"),
        ("7到12岁", ["我40岁。"], "no"),
        ("7到12岁", [], "unknown"),
        ("糖尿病乘客", ["我有糖尿病。"], "yes"),
    ],
)
def test_a_cell_says_whom_its_row_is_for(cell, facts, verdict):
    assert eligible(cell, facts, "我可以参加哪个？").verdict == verdict
