from __future__ import annotations

import re

import pytest

from dragoman.memory.patterns import RELATIONS, RULES, VERBS


@pytest.mark.parametrize("language", sorted(RULES))
def test_every_rule_compiles_and_finds_a_value_or_says_which_slot(language):
    for rule in RULES[language]:
        assert isinstance(rule.pattern, re.Pattern)
        assert {"x", "y", "z"} & set(rule.pattern.groupindex), rule.expression


def test_every_relation_compiles_and_names_verbs_that_are_known():
    for verb, relations in RELATIONS.items():
        assert verb in VERBS
        for relation in relations:
            assert "x" in relation.pattern.groupindex, relation.expression
            assert relation.slot or relation.negated
