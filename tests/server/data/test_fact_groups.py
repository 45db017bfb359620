"""Facts about a user, grouped by whom they are about."""

from __future__ import annotations

from datetime import date

import pytest

from dragoman.core.values import Passage
from dragoman.server.access.caller import LOCAL
from dragoman.server.data import learned_facts
from dragoman.server.data.fact_groups import USER, grouped_facts


@pytest.fixture
def seat(make_house):
    return make_house().hosted("robin").seat(LOCAL)


def said(seat, text):
    return seat.assistant.ask(text, user=seat.user, dialogue="main")


def test_facts_are_grouped_by_whom_they_are_about(seat):
    said(seat, "I am vegetarian.")
    said(seat, "My dog Rex is afraid of boats.")
    groups = grouped_facts(seat)
    assert groups[0].subject == USER and groups[0].facts[0].said == "I am vegetarian."
    assert any("Rex" in group.title for group in groups[1:])


def test_a_corrected_fact_shows_what_it_replaced(seat):
    said(seat, "I live in Bern.")
    said(seat, "I live in Basel.")
    (group,) = grouped_facts(seat)
    assert [(fact.text, fact.earlier) for fact in group.facts] == [("I live in Basel.", ("I live in Bern.",))]


def test_a_retracted_fact_leaves_the_chat_and_brings_back_what_it_replaced(seat):
    said(seat, "I live in Bern.")
    reply = said(seat, "I live in Basel.")
    (note,) = reply.trace.of("memory")
    added, old = [row.id for row in note.value.added], [row.id for row in note.value.superseded]
    assert learned_facts.retract(seat, added, old) == 1
    assert [fact.text for fact in grouped_facts(seat)[0].facts] == ["I live in Bern."]
    assert "Basel" in seat.assistant.history(user=seat.user, dialogue="main")[2].text
    assert learned_facts.retract(seat, added, old) == 0  # twice does no harm
    assert [fact.text for fact in grouped_facts(seat)[0].facts] == ["I live in Bern."]


def test_a_fact_shows_the_day_it_was_told_where_it_is_known(seat):
    stamps = {"a": "2026-05-03T12:30:00Z", "b": "", "c": "soon"}
    meta = {"subject": USER, "slot": "hobby"}
    facts = [Passage(name, "MEMORY", f"I ski {name}.", meta={**meta, "said_at": at}) for name, at in stamps.items()]
    seat.assistant.store.put(seat.scope, facts)
    (group,) = grouped_facts(seat)
    assert [fact.said_on for fact in group.facts] == [date(2026, 5, 3), None, None]
