"""The trained judge beside the rules: what it says, what it leaves, and what it never touches."""

from __future__ import annotations

import pytest

from dragoman.core.values import Context, Draft, Evidence, Passage
from dragoman.decision import judge as sentence_judge
from dragoman.decision.joint import Option, PairScore
from dragoman.decision.values import Decision
from dragoman.reader.phrases import NEAREST
from dragoman.reader.trained_judge import TrainedJudge

LACKING = None
RULE = "Children under six go free."
OTHER = "The shop sells postcards."
FACT = Evidence(Passage("f", "MEMORY", "My daughter Mia is four."), 1.0)
IDLE = Evidence(Passage("g", "MEMORY", "I grow tomatoes."), 1.0)


def option(text, score=1.0):
    evidence = Evidence(Passage(text[:5], "DOCUMENTS", text), 1.0)
    return Option(text, "", evidence, None, score, 0.5, 0.0, decision=LACKING)


def score(answers, yes=0.0, no=0.0, unknown=0.0):
    return PairScore(answers, 0.0, {"yes": yes, "no": no, "unknown": unknown, "none": 1.0 - yes - no - unknown})


class Scorer:
    """Gives the scores of a table by sentence; a fact that is not there makes every verdict unlikely."""

    def __init__(self, by_text, deciding=""):
        self.by_text, self.deciding = by_text, deciding

    def score(self, question, pairs):
        return [
            self.by_text[text] if self.deciding in fact else score(self.by_text[text].answers, unknown=0.6)
            for fact, text in ((fact, text.partition(" [")[0]) for fact, text in pairs)
        ]


@pytest.fixture
def judged(monkeypatch):
    def run(by_text, draft, *, question="Is Mia free?", deciding="Mia", facts=(FACT, IDLE)):
        monkeypatch.setattr(sentence_judge, "trained_scorer", lambda part: Scorer(by_text, deciding))
        options = [option(text, 1.0 - place / 10) for place, text in enumerate(by_text)]
        return TrainedJudge("a part").judge(Context.of(question), options, facts, draft)

    return run


QUOTED = Draft(OTHER, 0.5, "quoted")


def test_a_sure_verdict_is_said_with_the_fact_that_decides(judged):
    answer = judged({OTHER: score(0.1), RULE: score(0.9, yes=0.9)}, QUOTED)
    assert answer.decision.verdict == "yes" and answer.decision.by == "model"
    assert answer.options[0].sentence == RULE and answer.facts == (FACT,)


def test_an_unsure_verdict_is_not_said_but_the_better_sentence_is_quoted(judged):
    answer = judged({OTHER: score(0.1), RULE: score(0.9, yes=0.4, no=0.4)}, QUOTED)
    assert answer.decision is None and answer.options[0].sentence == RULE


def test_a_missing_fact_is_asked_for(judged):
    answer = judged({RULE: score(0.9, unknown=0.8)}, Draft(RULE, 0.5, "quoted"), deciding="")
    assert answer.decision.verdict == "unknown" and not answer.facts


def test_nobody_is_asked_about_their_body(judged, monkeypatch):
    lacking = Decision("unknown", missing="pregnancy", ask="Are you pregnant?")
    monkeypatch.setattr("tests.reader.test_trained_judge.LACKING", lacking)
    answer = judged({RULE: score(0.9, unknown=0.8)}, Draft(RULE, 0.5, "quoted"))
    assert answer.decision is None and answer.options[0].sentence == RULE


def test_nothing_that_speaks_to_the_question_is_only_the_closest(judged):
    assert judged({OTHER: score(0.05), RULE: score(0.08)}, QUOTED).doubt
    assert judged({OTHER: score(0.05)}, Draft("I could not find that.", 1.0, "said")) is None


def test_a_sentence_that_answers_is_quoted_where_the_rules_found_nothing(judged):
    nothing = Draft("I could not find that.", 1.0, "said")
    assert judged({RULE: score(0.8)}, nothing, question="What does Mia pay?").options[0].sentence == RULE


def test_a_value_keeps_the_sentence_of_the_rules_where_nothing_is_known_and_it_answers_nearly_as_well(judged):
    question = "What does the visit cost?"
    assert judged({OTHER: score(0.7), RULE: score(0.9)}, QUOTED, question=question, facts=()) is None
    answer = judged({OTHER: score(0.3), RULE: score(0.9)}, QUOTED, question=question, facts=())
    assert answer.options[0].sentence == RULE


def test_a_doubt_of_the_rules_goes_where_their_sentence_surely_answers(judged):
    doubted = Draft(f"The closest I found: {RULE}", 0.2, "quoted", notes=NEAREST)
    question = "What does Mia pay?"
    sure = judged({RULE: score(0.8), OTHER: score(0.1)}, doubted, question=question)
    assert sure.options[0].sentence == RULE and not sure.doubt
    assert judged({RULE: score(0.2), OTHER: score(0.1)}, doubted, question=question).doubt


def test_code_asks_for_nothing_that_the_model_does_not_miss(judged):
    draft = Draft(
        f"That depends: {RULE} How old are you?", 0.8, "composed", notes={"by": "code", "decision": "unknown"}
    )
    answer = judged({RULE: score(0.9, unknown=0.05)}, draft, question="When do children go in?", deciding="")
    assert answer.decision is None and answer.options[0].sentence == RULE
    assert judged({RULE: score(0.9, unknown=0.5)}, draft, question="When do children go in?", deciding="") is None


@pytest.mark.parametrize(
    ("yes", "no", "verdict"),
    [(0.4, 0.5, "stands"), (0.9, 0.05, "yes"), (0.5, 0.2, "stands")],
)
def test_what_code_decided_stands_unless_the_model_is_sure_of_the_opposite(judged, yes, no, verdict):
    draft = Draft(f"No. {RULE}", 0.9, "composed", notes={"by": "code", "decision": "no"})
    answer = judged({RULE: score(0.9, yes=yes, no=no)}, draft)
    said = "stands" if answer is None else answer.decision.verdict if answer.decision else "is quoted alone"
    assert said == verdict


def test_what_is_settled_is_not_weighed(judged, monkeypatch):
    monkeypatch.setattr(__name__ + ".LACKING", Decision("no", is_settled=True))
    draft = Draft(f"No. {RULE}", 0.9, "composed", notes={"by": "code", "decision": "no"})
    assert judged({RULE: score(0.9, yes=0.95)}, draft) is None
