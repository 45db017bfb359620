"""The unified reader: what the model is shown, and what is said where it says nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dragoman.core.errors import ConfigError
from dragoman.core.tokens import Shown, Written
from dragoman.core.values import Context, Draft, Evidence, Passage, Plan, ReadTask, Source
from dragoman.reader import UnifiedReader
from dragoman.testing import ReaderConformance
from dragoman.testing.samples import CONTEXTS, EVIDENCE, SOURCES

TURN = CONTEXTS[1]
PLAN = Plan((("PERSONA",), ("DOCUMENTS",)))
TASK = ReadTask(TURN, PLAN, EVIDENCE)


class Writer:
    """A runtime that writes one text, and remembers what it was shown."""

    def __init__(self, shape, text="At nine."):
        self.shape = shape
        self.asked = []
        self._text = text

    def write(self, asked, *, max_tokens):
        self.asked += asked
        return [Draft(self._text, 0.5, notes={"finish": "stop"}) for _ in asked]

    def stream(self, asked, *, max_tokens):
        yield from self._text
        yield self.write([asked], max_tokens=max_tokens)[0]


@pytest.fixture(scope="module")
def shape(make_unified):
    return make_unified().shape


@pytest.fixture(scope="module", params=["tree", "paper", "plain"])
def runtime(request, make_unified):
    return make_unified(layout=request.param)


class TestConforms(ReaderConformance):
    @pytest.fixture
    def reader(self, runtime, lend_unified):
        lend_unified(runtime)
        return UnifiedReader(part="lent", sources=SOURCES, max_tokens=6)


def test_plan_and_evidence_are_shown_with_similarities_in_tenths(lend_unified, shape):
    writer = Writer(shape)
    lend_unified(writer)
    judged = replace(EVIDENCE[0], scores={"similarity": 0.34})
    draft = UnifiedReader(part="lent").read([ReadTask(TURN, PLAN, (judged, *EVIDENCE[1:]))])[0]
    assert writer.asked[0].written == Written(
        ("PERSONA", "DOCUMENTS"),
        (
            Shown("DOCUMENTS", "Ferry\nA ferry ticket costs 34 francs.", 3),
            Shown("DOCUMENTS", "Ferry\nThe ferry leaves from pier two.", 6),
            Shown("DOCUMENTS", "Ferry\nThe last ferry leaves at nine.", 2),
        ),
    )
    assert (draft.text, draft.quoted) == ("At nine.", tuple(piece.id for piece in EVIDENCE))


def test_grammar_of_safari_shows_no_similarities(make_unified, lend_unified):
    writer = Writer(make_unified(layout="plain", style="safari").shape)
    lend_unified(writer)
    UnifiedReader(part="lent").read([TASK])
    assert {shown.tenths for shown in writer.asked[0].written.evidence} == {None}


def test_null_plan_is_shown_as_such(lend_unified, shape):
    writer = Writer(shape)
    lend_unified(writer)
    UnifiedReader(part="lent").read([ReadTask(TURN)])
    assert writer.asked[0].written == Written()


def test_unknown_source_is_shown_as_the_one_about_the_same(lend_unified, shape):
    writer = Writer(shape)
    lend_unified(writer)
    sources = (*SOURCES, Source("DIARY", about="user"), Source("NEWS"))
    evidence = (Evidence(Passage("a", "DIARY", "I slept."), 0.5), Evidence(Passage("b", "NEWS", "Rain."), 0.5))
    plan = Plan((("DIARY",), ("NEWS",)))
    UnifiedReader(part="lent", sources=sources).read([ReadTask(TURN, plan, evidence)])
    written = writer.asked[0].written
    assert written.plan == ("MEMORY", "DOCUMENTS")
    assert [shown.source for shown in written.evidence] == ["MEMORY", "DOCUMENTS"]


@pytest.mark.parametrize("text", ["", " \n "])
def test_where_the_model_says_nothing_the_best_evidence_is_quoted(lend_unified, shape, text):
    lend_unified(Writer(shape, text))
    reader = UnifiedReader(part="lent")
    draft = reader.read([TASK])[0]
    assert (draft.text, draft.method, draft.quoted) == (EVIDENCE[0].text, "quoted", (EVIDENCE[0].id,))
    assert draft.notes["rejected"] == "empty"
    *pieces, streamed = reader.stream(TASK)
    assert "".join(pieces) == streamed.text == draft.text


def test_where_there_is_no_evidence_either_that_is_said(lend_unified, shape):
    lend_unified(Writer(shape, ""))
    english, chinese = UnifiedReader(part="lent").read([ReadTask(TURN), ReadTask(Context.of("多少钱？"))])
    assert english.text.startswith("I don't know")
    assert chinese.text.startswith("我不知道")


def test_blank_beginning_is_streamed_with_what_follows(lend_unified, shape):
    lend_unified(Writer(shape, "  Nine "))
    *pieces, draft = UnifiedReader(part="lent").stream(TASK)
    assert "".join(pieces) == draft.text == "  Nine "


def test_odd_options_are_refused():
    with pytest.raises(ConfigError):
        UnifiedReader(part="lent", max_tokens=0)
