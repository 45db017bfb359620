"""Components by the signature of their constructor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from dragoman.agent.create import Creator, options_of
from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.core.protocols import Critic, LanguageModel, Reader
from dragoman.core.registry import REGISTRIES

if TYPE_CHECKING:
    from dragoman.core.protocols import Retriever


class Recorded:
    def __init__(self, **given):
        self.given = given


class PlainGate(Recorded):
    def __init__(
        self,
        *,
        language_model: LanguageModel,
        language: str = "en",
        threshold: float = 0.5,
        style: Literal["zero-shot", "in-context"] = "zero-shot",
        words: tuple[str, ...] = (),
    ):
        super().__init__(
            language_model=language_model, language=language, threshold=threshold, style=style, words=words
        )


class GroundedReader(Recorded):
    def __init__(self, *, critic: Critic, draft: Reader | None = None, retriever: Retriever | None = None):
        super().__init__(critic=critic, draft=draft, retriever=retriever)


class QuotingReader(Recorded):
    def __init__(self, *, length: int = 3):
        super().__init__(length=length)


class PlainCritic(Recorded):
    def __init__(self, *, folder: Path | None = None):
        super().__init__(folder=folder)


class CircularCritic(Recorded):
    def __init__(self, *, reader: Reader):
        super().__init__(reader=reader)


class DemandingGate(Recorded):
    def __init__(self, *, labels: Path, extra: Unknowable = None):  # noqa: F821 - a name nobody imports
        super().__init__(labels=labels, extra=extra)


KINDS = {
    "gate": {"gate.plain.v1": PlainGate, "gate.demanding.v1": DemandingGate},
    "reader": {"reader.grounded.v1": GroundedReader, "reader.quoting.v1": QuotingReader},
    "critic": {"critic.plain.v1": PlainCritic, "critic.circular.v1": CircularCritic},
    "retriever": {"retriever.plain.v1": QuotingReader},
}
TABLES = {role: {"kind": next(iter(kinds))} for role, kinds in KINDS.items()}
MODEL = object()


@pytest.fixture(autouse=True)
def kinds(monkeypatch):
    for role, factories in KINDS.items():
        monkeypatch.setattr(REGISTRIES[role], "_loaded", True)
        monkeypatch.setattr(REGISTRIES[role], "_factories", factories)


@pytest.fixture
def creator():
    return Creator({"language_model": MODEL, "language": "zh", "folder": Path("here")}, TABLES, file="a.toml")


def test_parts_are_given_and_options_come_from_the_table(creator):
    gate = creator.create("gate", {"kind": "plain", "threshold": 1, "words": ["a", "b"]}, where="gate")
    assert gate.given == {
        "language_model": MODEL,
        "language": "zh",
        "threshold": 1.0,
        "style": "zero-shot",
        "words": ("a", "b"),
    }


def test_an_unknown_option_says_where_and_what_was_meant(creator):
    with pytest.raises(UnknownNameError, match=r"gate\.treshold.*a\.toml.*Did you mean 'threshold'\?") as caught:
        creator.create("gate", {"kind": "plain", "treshold": 0.6}, where="gate")
    assert "language_model" not in str(caught.value)


@pytest.mark.parametrize(("option", "value"), [("threshold", "high"), ("style", "three-shot"), ("words", 3)])
def test_an_option_is_checked_against_its_annotation(creator, option, value):
    with pytest.raises(ConfigError, match=rf"a\.toml: 'gate\.{option}' cannot be {value!r}"):
        creator.create("gate", {"kind": "plain", option: value}, where="gate")


def test_an_option_without_default_must_be_set(creator):
    with pytest.raises(ConfigError, match=r"gate\.labels"):
        creator.create("gate", {"kind": "demanding"}, where="gate")
    gate = creator.create("gate", {"kind": "demanding", "labels": "x.csv", "extra": 3}, where="gate")
    assert gate.given == {"labels": Path("x.csv"), "extra": 3}


def test_a_component_inside_a_component_is_a_table_or_a_kind(creator):
    tables = ({"kind": "quoting", "length": 5}, "quoting")
    readers = [creator.create("reader", {"kind": "grounded", "draft": table}, where="reader") for table in tables]
    assert [reader.given["draft"].given for reader in readers] == [{"length": 5}, {"length": 3}]
    with pytest.raises(UnknownNameError, match=r"reader\.draft\.size"):
        creator.create("reader", {"kind": "grounded", "draft": {"kind": "quoting", "size": 5}}, where="reader")


def test_a_component_that_another_needs_is_the_agents_own(creator):
    reader = creator.shared("reader")
    assert reader.given["critic"] is creator.shared("critic")
    assert reader.given["critic"].given == {"folder": Path("here")}
    assert reader.given["draft"] is None
    assert creator.shared("reader") is reader


def test_a_component_of_its_own_is_not_the_agents(creator):
    reader = creator.create("reader", {"kind": "grounded", "critic": "plain"}, where="reader")
    assert reader.given["critic"] is not creator.shared("critic")


def test_components_that_need_each_other_are_an_error():
    creator = Creator({}, TABLES | {"critic": {"kind": "circular"}}, file="a.toml")
    with pytest.raises(ConfigError, match=r"reader needs critic needs reader: a circle.*reader of its own"):
        creator.shared("reader")


def test_a_name_imported_for_the_type_checker_only_is_still_known(creator):
    reader = creator.create("reader", {"kind": "grounded", "retriever": {"kind": "plain", "length": 9}}, where="reader")
    assert reader.given["retriever"].given == {"length": 9}


def test_an_unknown_kind_says_what_was_meant(creator):
    with pytest.raises(UnknownNameError, match="Did you mean 'plain'"):
        creator.create("gate", {"kind": "plane"}, where="gate")


def test_options_of_a_kind_can_be_listed():
    assert options_of("gate", "plain", ("language_model", "language")) == ("threshold", "style", "words")
