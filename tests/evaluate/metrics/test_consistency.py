from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import ConfigError, InputError, UnknownNameError
from dragoman.core.examples import Example, Gold
from dragoman.core.trace import Reply, Trace
from dragoman.core.values import Context, Passage, Plan, Source, Verdict
from dragoman.evaluate.contract import Judged
from dragoman.evaluate.metrics.consistency import Consistency, case, consistency, join_evidence

PERSONA = Passage("p1", "persona", "I live by the sea.")
SECOND = Passage("p2", "persona", "I have a dog.")
DOCUMENT = Passage("d1", "documents", "Dogs eat meat.")


class Rule:
    """Half sure, or as sure as the reply says."""

    def __init__(self):
        self.asked = []

    def consistency(self, pairs):
        self.asked.append([(evidence.text, text) for evidence, text in pairs])
        return [float(text) for _, text in pairs]


def judged(text, gold, plan, candidates=(PERSONA, SECOND, DOCUMENT)):
    reply = Reply(text, Verdict(bool(plan), 1.0), Plan(tuple((name,) for name in plan)), (), Trace())
    return Judged(Example("e", Context.of("hi"), (), candidates, Gold(evidence=gold)), reply)


def once(scores):
    return scores.values(np.ones((1, len(scores.counted))))[0]


def test_the_four_cases_of_equation_4_by_hand():
    turns = [
        judged("0.9", ("p1",), ("persona",)),  # both: NLI says 1
        judged("0.2", ("p1",), ("persona",)),  # both: NLI says 0
        judged("0.9", ("p1",), ()),  # only the gold uses it: 0
        judged("0.9", (), ("persona",)),  # only the plan does: 0
        judged("0.9", ("d1",), ("documents",)),  # neither, whatever other sources do: 1
    ]
    critic = Rule()
    scores = Consistency(source="persona", critic=critic).score(turns)
    assert scores.per_turn.tolist() == [1, 0, 0, 0, 1]
    assert once(scores) == 2 / 5  # P.C, Eq. 6
    assert scores.details == {"cases": {"both": 2, "only gold": 1, "only plan": 1, "neither": 1}}
    assert critic.asked == [[(PERSONA.text, "0.9"), (PERSONA.text, "0.2")]]  # one batch, the first case alone
    knowledge = Consistency(source="documents", critic=Rule()).score(turns)
    assert knowledge.per_turn.tolist() == [1, 1, 1, 1, 1]  # K.C, Eq. 7


def test_the_probability_itself_where_it_is_asked_for():
    turns = [judged("0.9", ("p1",), ("persona",)), judged("0.2", ("p1",), ("persona",))]
    assert once(Consistency(source="persona", critic=Rule(), hard=False).score(turns)) == pytest.approx(0.55)


def test_half_a_probability_is_taken_for_entailment():
    assert once(Consistency(source="persona", critic=Rule()).score([judged("0.5", ("p1",), ("persona",))])) == 1


def test_evidence_of_one_source_is_joined_and_that_of_others_left_out():
    critic = Rule()
    Consistency(source="persona", critic=critic).score([judged("1", ("p2", "d1", "p1"), ("persona", "documents"))])
    assert critic.asked == [[("I have a dog. I live by the sea.", "1")]]
    chinese = join_evidence([Passage("a", "persona", "我是天蝎座"), Passage("b", "persona", "我喜欢猫")])
    assert chinese.text == "我是天蝎座，我喜欢猫"
    assert chinese.source == "persona"


def test_a_plan_of_documents_alone_counts_as_null_where_asked():
    """SAFARI's release, footnote 14: documents need the persona, and a plan without it is taken for NULL."""
    sources = (Source("persona"), Source("documents", needs=("persona",)))
    orphan = replace(judged("1", ("d1", "p1"), ("documents",)).example, sources=sources)
    turns = [
        Judged(orphan, judged("1", (), ("documents",)).reply),  # gold uses it, the plan as good as not: 0
        Judged(replace(orphan, gold=Gold(evidence=())), judged("1", (), ("documents",)).reply),  # neither: 1
        Judged(orphan, judged("1", (), ("persona", "documents")).reply),  # both: NLI says 1
    ]
    as_it_stands = Consistency(source="documents", critic=Rule()).score(turns)
    as_null = Consistency(source="documents", critic=Rule(), orphans="null").score(turns)
    assert as_it_stands.per_turn.tolist() == [1, 0, 1]
    assert as_null.per_turn.tolist() == [0, 1, 1]
    with pytest.raises(UnknownNameError, match="orphans"):
        Consistency(source="documents", critic=Rule(), orphans="drop")


def test_several_sources_count_as_one():
    metric = Consistency(source=["persona", "documents"], critic=Rule(), title="grounding")
    assert metric.about.title == "grounding"
    assert once(metric.score([judged("1", ("p1",), ("documents",))])) == 1


def test_an_empty_reply_entails_nothing_and_is_not_asked_about():
    critic = Rule()
    assert once(Consistency(source="persona", critic=critic).score([judged(" ", ("p1",), ("persona",))])) == 0
    assert critic.asked == []


def test_turns_without_evidence_labels_do_not_count():
    scores = Consistency(source="persona", critic=Rule()).score([judged("1", None, ()), judged("1", (), ())])
    assert list(scores.counted) == [False, True]
    assert math.isnan(scores.per_turn[0])


def test_gold_evidence_may_lie_in_what_the_set_shares():
    turn = judged("1", ("p1",), ("persona",), candidates=())
    assert once(Consistency(source="persona", critic=Rule(), passages={"p1": PERSONA}).score([turn])) == 1
    with pytest.raises(InputError, match="'p1' of turn 'e'"):
        Consistency(source="persona", critic=Rule()).score([turn])


def test_a_metric_without_a_source_is_refused():
    with pytest.raises(ConfigError):
        Consistency(source=[], critic=Rule())


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.floats(0, 1)), max_size=600), st.booleans())
def test_values_follow_the_equation_whatever_the_batch(turns, hard):
    gold = [[PERSONA] if there else [] for there, _, _ in turns]
    values = consistency(gold, [used for _, used, _ in turns], [str(p) for *_, p in turns], critic=Rule(), hard=hard)
    for (there, used, probability), value in zip(turns, values, strict=True):
        asked = (1.0 if probability >= 0.5 else 0.0) if hard else probability
        assert value == {(True, True): asked, (False, False): 1.0}.get((there, used), 0.0)
        assert case(there, used) in ("both", "only gold", "only plan", "neither")
