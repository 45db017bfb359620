"""The English judge for Chinese: it reads glosses, and what it answers is in the words of the documents."""

from __future__ import annotations

import pytest

from dragoman.core.values import Context, Draft, Evidence, Passage
from dragoman.decision import judge as sentence_judge
from dragoman.decision.joint import Option, PairScore
from dragoman.reader.glossed_judge import GlossedJudge

RULE = "一楼可以带狗。"
DOG = Evidence(Passage("f", "MEMORY", "我有一只狗。"), 1.0)
DRAFT = Draft(RULE, 0.5, "quoted")


class Scorer:
    """Says yes, surely so with a fact, and keeps what it was given to read."""

    def __init__(self):
        self.texts = []

    def score(self, question, pairs):
        self.texts += [question, *(text for pair in pairs for text in pair)]
        return [
            PairScore(0.9, 0.9, {"yes": 0.9 if fact else 0.5, "no": 0.02, "unknown": 0.04, "none": 0.04})
            for fact, _ in pairs
        ]


@pytest.fixture
def scorer(monkeypatch):
    made = Scorer()
    monkeypatch.setattr(sentence_judge, "trained_scorer", lambda part: made)
    return made


def judged(question, draft=DRAFT):
    evidence = Evidence(Passage("d", "DOCUMENTS", RULE), 1.0)
    option = Option(RULE, "", evidence, None, 1.0, 0.5, 0.0)
    return GlossedJudge("a part").judge(Context.of(question), [option], [DOG], draft)


def test_glosses_are_read_and_never_said(scorer):
    answer = judged("我可以带狗吗？")
    assert scorer.texts and all(text.isascii() for text in scorer.texts)
    assert answer.decision.verdict == "yes" and answer.options[0].sentence == RULE
    assert answer.facts == (DOG,) and answer.decision.fact == DOG.text


def test_what_code_decided_by_a_fact_stays_where_the_judge_is_no_surer(scorer):
    by_code = Draft(RULE, 0.9, "composed", notes={"by": "code", "decision": "yes", "fact": DOG.text})
    assert judged("我可以带狗吗？", by_code) is None


def test_values_are_left_to_the_rules(scorer):
    assert judged("带狗要多少钱？") is None and scorer.texts == []
