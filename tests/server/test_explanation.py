"""What decided a reply, in words."""

from __future__ import annotations

import pytest

from dragoman.core.values import Draft, Evidence, Passage
from dragoman.server.explanation import EXPLANATION_WORDS, explanation, explanation_lines

EN, ZH = ({key: words[place] for key, words in EXPLANATION_WORDS.items()} for place in (0, 1))
RULE = "Riders under 27 pay half."
FARES = Evidence(
    Passage("p", "DOCUMENTS", RULE, title="Ferries", headings=("Ferries", "Fares"), origin="a/ferry.md"), 0.9
)
FACT = Evidence(Passage("f", "MEMORY", "I am 24."), 0.5)


def lines(words=EN, **notes):
    draft = Draft("text", 0.9, "composed", ("p", "f"), notes={"rule": RULE, **notes})
    reason = explanation(draft, (FACT, FARES))
    assert reason is not None
    return explanation_lines(reason, words)


def test_fact_rule_with_its_place_and_verdict_stand_in_this_order():
    assert lines(fact="I am 24.", decision="yes", by="code", reason="age 24 < 27") == [
        ("You told me", "I am 24."),
        ("The documents say", "Riders under 27 pay half. (Ferries › Fares)"),
        ("So", "Yes (age 24 < 27)"),
    ]
    assert lines(ZH, fact="我24岁。", decision="no", by="code", reason="age 24 > 20")[1:] == [
        ("文档中写道", "Riders under 27 pay half.（见“Ferries › Fares”）"),
        ("所以", "不行（因为：age 24 > 20）"),
    ]


@pytest.mark.parametrize(
    ("notes", "outcome"),
    [
        ({"decision": "no", "by": "model", "reason": "entailment"}, "No (judged by the model)"),
        ({"decision": "yes", "by": "code", "reason": "permit"}, "Yes"),
        ({"decision": "unknown", "missing": "age", "reason": "age missing"}, "I need to know the age."),
        ({"decision": "unknown", "missing": "licence"}, "I need to know more about this: licence."),
        ({"decision": "none", "value": "26 francs"}, "26 francs"),
    ],
)
def test_outcome_is_a_verdict_the_missing_fact_or_a_value(notes, outcome):
    assert lines(**notes)[-1] == ("So", outcome)


def test_a_rule_without_a_decision_has_no_conclusion():
    assert [label for label, _ in lines(fact="I am 24.")] == ["You told me", "The documents say"]


def test_a_table_row_is_written_as_a_sentence():
    assert lines(rule="Ticket: over 65; Return fare: 26 francs")[0][1].startswith("over 65: Return fare 26 francs")


def test_quotations_and_set_phrases_have_no_explanation():
    assert explanation(Draft("Dogs travel free.", 0.9, "quoted", ("p",), notes={"score": 0.4}), (FARES,)) is None


def test_a_passage_without_title_is_placed_in_its_file_else_in_its_source():
    file = Evidence(Passage("p", "DOCUMENTS", RULE, origin="a/ferry.md"), 0.9)
    draft = Draft("text", quoted=("p",), notes={"rule": RULE})
    assert [explanation(draft, (piece,)).place for piece in (file, Evidence(Passage("p", "WEB", RULE), 0.9))] == [
        "ferry.md",
        "WEB",
    ]
