"""The unified reader: what the model is shown, and what is said where it says nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dragoman.core.errors import ConfigError
from dragoman.core.tokens import Shown, WrittenSequence
from dragoman.core.values import Context, Draft, Evidence, Passage, Plan, ReadTask, Source, Usage
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


class Drafter(Writer):
    """A runtime that says one text after another, as often as it is asked."""

    def __init__(self, shape, *texts):
        super().__init__(shape)
        self._texts = texts

    def write(self, asked, *, max_tokens):
        self.asked += asked
        return [
            Draft(self._texts[i % len(self._texts)], usage=Usage(9, i + 1, 1), notes={"finish": "stop"})
            for i in range(len(asked))
        ]


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
    assert writer.asked[0].written == WrittenSequence(
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
    assert writer.asked[0].written == WrittenSequence()


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


def test_reply_is_the_draft_that_agrees_most_with_the_others(lend_unified, shape):
    """The second and the third share 2 of 3 and 2 tokens in order, 4 / 5, half of which is the mean."""
    drafter = Drafter(shape, "Tea grows here.", "At half nine.", "At nine.")
    lend_unified(drafter)
    reader = UnifiedReader(part="lent", drafts=3)
    draft = reader.read([TASK])[0]
    assert (draft.text, draft.quoted) == ("At half nine.", tuple(piece.id for piece in EVIDENCE))
    assert draft.notes == {"finish": "stop", "drafts": 3, "agreement": 0.4}
    assert draft.usage == Usage(9, 1 + 2 + 3, 3)
    assert [one.temperature for one in drafter.asked] == [0.0, 0.7, 0.7]
    assert list(reader.stream(TASK)) == [draft.text, draft]


def test_a_critic_may_choose_among_the_drafts(lend_unified, shape):
    """Agreements are 0, 0.4 and 0.4; the critic's means are 0.9, 0.2 and 0.3: half of each makes 0.45, 0.3 and 0.35."""

    class Holds:
        def consistency(self, pairs):
            return [{"Tea grows here.": 0.9, "At half nine.": 0.2, "At nine.": 0.3}[text] for _, text in pairs]

    lend_unified(Drafter(shape, "Tea grows here.", "At half nine.", "At nine."))
    draft = UnifiedReader(part="lent", drafts=3, critic=Holds()).read([TASK])[0]
    assert draft.text == "Tea grows here."
    assert (draft.notes["agreement"], draft.notes["holding"]) == (0.0, 0.9)
    lend_unified(Drafter(shape, "Tea grows here.", "At half nine.", "At nine."))
    without = UnifiedReader(part="lent", drafts=3, critic=Holds()).read([ReadTask(TURN)])[0]
    assert (without.text, "holding" in without.notes) == ("At half nine.", False)


@pytest.mark.parametrize("odd", [{"held": 1.5, "drafts": 3}, {"critic": object()}])
def test_a_critic_needs_drafts_and_a_share_bounds(odd):
    with pytest.raises(ConfigError, match=r"reader\.unified: held"):
        UnifiedReader(part="lent", **odd)


def test_a_part_that_never_learned_to_talk_says_a_phrase(lend_unified, shape):
    writer = Writer(shape)
    lend_unified(writer, talks=False)
    reader = UnifiedReader(part="lent", name="Ada")
    hello, answered = reader.read([ReadTask(Context.of("Hello!")), TASK])
    assert (hello.text, hello.method) == ("Hello! I am Ada. What would you like to know?", "said")
    assert [one.context for one in writer.asked] == [TASK.context]
    assert answered.quoted == tuple(piece.id for piece in EVIDENCE)
    assert list(reader.stream(ReadTask(Context.of("Hello!")))) == [hello.text, hello]


def test_one_draft_is_written_as_ever(lend_unified, shape):
    writer = Writer(shape)
    lend_unified(writer)
    draft = UnifiedReader(part="lent", temperature=0.9).read([TASK])[0]
    assert [one.temperature for one in writer.asked] == [0.0]
    assert draft.notes == {"finish": "stop"}


def test_blank_drafts_are_no_replies_however_many(lend_unified, shape):
    lend_unified(Drafter(shape, "", "Tea.", " "))
    draft = UnifiedReader(part="lent", drafts=3).read([TASK])[0]
    assert draft.text == "Tea."
    assert draft.notes == {"finish": "stop", "drafts": 3, "agreement": 0.0}


def test_where_all_drafts_are_blank_the_best_evidence_is_quoted(lend_unified, shape):
    lend_unified(Drafter(shape, "", " ", ""))
    draft = UnifiedReader(part="lent", drafts=3).read([TASK])[0]
    assert (draft.text, draft.method) == (EVIDENCE[0].text, "quoted")
    assert draft.notes == {"finish": "stop", "drafts": 3, "agreement": 0.0, "rejected": "empty"}


def test_drafts_have_seeds_of_their_own_by_the_dialogue_alone(lend_unified, shape):
    drafter = Drafter(shape, "Yes.")
    lend_unified(drafter)
    same = replace(TURN, dialogue="another")
    UnifiedReader(part="lent", drafts=3).read([TASK, ReadTask(same), ReadTask(Context.of("Who?"))])
    seeds = [one.seed for one in drafter.asked if one.temperature]
    assert seeds[:2] == seeds[2:4]
    assert len(set(seeds)) == 4


def test_same_turn_has_the_same_reply_in_every_batch(runtime, lend_unified):
    lend_unified(runtime)
    reader = UnifiedReader(part="lent", sources=SOURCES, max_tokens=6, drafts=4, temperature=2.0)
    tasks = [TASK, ReadTask(CONTEXTS[0]), ReadTask(Context.of("Who are you?"), PLAN, EVIDENCE[:1])]
    together = reader.read(tasks)
    alone = [reader.read([task])[0] for task in tasks]
    turned = reader.read(tasks[::-1])[::-1]
    found = [[(draft.text, draft.notes["agreement"]) for draft in told] for told in (together, alone, turned)]
    assert found[0] == found[1] == found[2]
    *pieces, streamed = reader.stream(TASK)
    assert pieces == [streamed.text] == [together[0].text]


def test_near_zero_the_first_draft_is_said(make_unified, lend_unified):
    lend_unified(make_unified())
    cold = UnifiedReader(part="lent", max_tokens=6, drafts=3, temperature=1e-6).read([TASK])[0]
    assert cold.text == UnifiedReader(part="lent", max_tokens=6).read([TASK])[0].text
    assert cold.notes["agreement"] == 1.0


@pytest.mark.parametrize("odd", [{"max_tokens": 0}, {"drafts": 0}, {"temperature": 0.0}, {"temperature": float("nan")}])
def test_odd_options_are_refused(odd):
    with pytest.raises(ConfigError, match=next(iter(odd))):
        UnifiedReader(part="lent", **odd)


def test_what_goes_round_in_circles_is_said_once(lend_unified, shape):
    lend_unified(Writer(shape, "At nine" + ", and it leaves from pier two" * 9))
    reader = UnifiedReader(part="lent")
    draft = reader.read([TASK])[0]
    assert draft.text == "At nine, and it leaves from pier two" and draft.notes["finish"] == "circle"
    *pieces, streamed = reader.stream(TASK)
    assert "".join(pieces) == streamed.text == draft.text and len(pieces) > 3


def test_drafts_are_compared_without_their_circles(lend_unified, shape):
    lend_unified(Drafter(shape, "It is at nine. " * 20, "It is at nine.", "It is in the evening at ten, I think."))
    draft = UnifiedReader(part="lent", drafts=3).read([TASK])[0]
    assert draft.text == "It is at nine." and draft.notes["finish"] == "circle"
