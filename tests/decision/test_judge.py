"""Which of the facts about a user are read with a sentence: those that change what it answers."""

from __future__ import annotations

import pytest

from dragoman.core.values import Evidence, Passage
from dragoman.decision.joint import Option, PairScore
from dragoman.decision.judge import SentenceJudge, facts_about

RULE = "Children under six go free."
AGE, NAME, DIET = "My son Max is four.", "I am Ida.", "I eat no meat."


def evidence(text, source="MEMORY"):
    return Evidence(Passage(text, source, text), 1.0)


def option(text):
    return Option(text, "", evidence(text, "DOCUMENTS"), None, 1.0, 0.5, 0.0)


class BlurredScorer:
    """Says yes where it reads the age, the less surely the more other facts stand beside it."""

    def __init__(self):
        self.read = []

    def score(self, question, pairs):
        self.read += [facts for facts, _ in pairs]
        return [self._score(facts, text) for facts, text in pairs]

    def _score(self, facts, text):
        if RULE not in text:
            return PairScore(0.01, verdict={"yes": 0.0, "no": 0.0, "unknown": 0.0, "none": 1.0})
        others = sum(other in facts for other in (NAME, DIET))
        yes = (0.9 if AGE in facts else 0.05) - 0.3 * others
        return PairScore(0.9 - 0.3 * others, verdict={"yes": max(0.0, yes), "no": 0.0, "unknown": 0.0, "none": 0.1})


@pytest.fixture
def judge():
    made = SentenceJudge("english-joint")
    made._scorer = BlurredScorer()
    return made


def test_facts_of_other_matters_do_not_blur_a_reading(judge):
    facts = [evidence(text) for text in (NAME, AGE, DIET)]
    (reading,) = judge.read("Does Max pay?", [option(RULE)], facts)
    assert reading.score.verdict["yes"] == pytest.approx(0.9)


def test_a_sentence_on_which_no_fact_bears_is_read_without_any(judge):
    (reading,) = judge.read("Who goes free?", [option(RULE)], [evidence(NAME), evidence(DIET)])
    assert reading.score.answers == pytest.approx(0.9)


def test_facts_are_tried_alone_with_the_best_sentences_only(judge):
    rules = [RULE, "The café opens at ten.", "Dogs stay outside.", "Bring a towel."]
    judge.read("Do we pay?", [option(text) for text in rules], [evidence(AGE), evidence(NAME)])
    assert judge._scorer.read.count(AGE) == 2  # alone with the one that answers, then as the one that bears


HUSBAND, PREGNANT, MEMBER = "My husband Tom has epilepsy.", "I am five months pregnant.", "I am a member here."


def test_the_users_own_state_says_nothing_of_somebody_else():
    facts = [evidence(text) for text in (HUSBAND, PREGNANT, MEMBER, "We live in Lindwood.")]
    about_tom = [fact.text for fact in facts_about("Could Tom go to the sauna?", facts)]
    assert about_tom == [HUSBAND, MEMBER, "We live in Lindwood."]
    assert facts_about("Can I go to the sauna?", facts) == facts
    assert evidence(PREGNANT) not in facts_about("Could Vera?", facts)
    assert evidence(PREGNANT) in facts_about("Can I come on Monday or would Friday be better?", facts)


TIM, JONAS, ALLERGY = "My son Tim is 5.", "My son Jonas is 12.", "I have a nut allergy."
CLUB, COURSE = "My husband is in the Alpine Club.", "Tim is in the swimming course."


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("Which course would suit Jonas?", [JONAS, CLUB, COURSE]),
        ("Can Tim climb?", [TIM, CLUB, COURSE]),
        ("Can I climb?", [TIM, JONAS, ALLERGY, CLUB, COURSE]),
    ],
)
def test_the_state_of_others_decides_nothing_of_who_is_named(question, kept):
    facts = [evidence(text) for text in (TIM, JONAS, ALLERGY, CLUB, COURSE)]
    assert [fact.text for fact in facts_about(question, facts)] == kept
