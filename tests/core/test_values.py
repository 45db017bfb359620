"""The small properties of the values, and that they are values."""

from __future__ import annotations

import dataclasses
import inspect

import pytest

from dragoman.core import values
from dragoman.core.errors import DragomanError, InputError, UnknownNameError
from dragoman.core.values import (
    NOTHING_LEARNED,
    NULL_PLAN,
    Context,
    Evidence,
    Learned,
    Passage,
    Plan,
    Prompt,
    Scope,
    Source,
    Turn,
    Usage,
)


def test_every_value_is_frozen_and_slotted():
    classes = [cls for _, cls in inspect.getmembers(values, inspect.isclass) if dataclasses.is_dataclass(cls)]
    assert len(classes) > 15
    for cls in classes:
        assert cls.__dataclass_params__.frozen, cls
        assert "__slots__" in vars(cls), cls


def test_context_of_alternates_so_that_the_user_is_last():
    context = Context.of("a", "b", "c", dialogue="d")
    assert [turn.speaker for turn in context.turns] == ["user", "agent", "user"]
    assert (context.last, context.history) == ("c", context.turns[:-1])
    assert [turn.speaker for turn in Context.of("a", "b").turns] == ["agent", "user"]
    assert (Context(()).last, Context(()).history) == ("", ())
    assert context.learned == NOTHING_LEARNED


def test_a_private_source_lives_in_the_users_rows_and_another_in_the_shared_ones():
    scope = Scope("shop", "ana")
    assert Source("A", private=True).scope(scope) == scope
    assert Source("A").scope(scope) == Scope("shop", "") == scope.shared


@pytest.mark.parametrize("scope", [("", "ana"), (" ", "ana"), ("a\x00b", "x"), ("a", "x\x00")])
def test_a_scope_that_could_be_mistaken_for_another_is_refused(scope):
    with pytest.raises(InputError):
        Scope(*scope)


def test_search_reads_the_text_under_its_path():
    passage = Passage("a", "A", "It opens at ten.", title="Museum", headings=("Museum", "Hours"))
    assert passage.indexed == "Museum > Hours\nIt opens at ten."
    assert Passage("a", "A", "text").indexed == "text"


def test_evidence_shows_its_passage():
    evidence = Evidence(Passage("a", "A", "text"), 0.5)
    assert (evidence.id, evidence.source, evidence.text) == ("a", "A", "text")


def test_plan_lists_its_sources_in_order():
    plan = Plan((("B", "A"), ("C",)))
    assert plan.sources == ("B", "A", "C")
    assert not plan.is_null
    assert NULL_PLAN.is_null


def test_usage_adds_up():
    assert Usage(1, 2, 3) + Usage(10, 20, 30) == Usage(11, 22, 33)


def test_prompt_of_a_user_has_a_system_message_only_where_one_is_given():
    assert [message.role for message in Prompt.user("x", system="s").messages] == ["system", "user"]
    assert [message.role for message in Prompt.user("x").messages] == ["user"]


def test_learned_is_empty_unless_something_changed():
    assert NOTHING_LEARNED.is_empty
    assert not Learned(joined=(Passage("a", "A", "x"),)).is_empty
    assert Turn("user", "x") == Turn("user", "x")


def test_errors_carry_remedy_and_fields_and_say_both():
    error = DragomanError("It broke.", remedy="Mend it.", role="gate", turn=3)
    assert str(error) == "It broke. Mend it."
    assert (error.message, error.remedy, error.fields) == ("It broke.", "Mend it.", {"role": "gate", "turn": 3})
    assert str(UnknownNameError("gate", "x", [])) == "Unknown gate 'x'. Available: none."
