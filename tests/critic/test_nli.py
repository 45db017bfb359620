"""The trained critic over a scripted scorer: what it asks, and what it makes of the answers."""

from __future__ import annotations

import re

import pytest

from dragoman.agent.refine import Refiner
from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.core.values import Context, Draft, Evidence, Passage, Plan, ReadTask, Source
from dragoman.critic import NliCritic
from dragoman.critic import nli as module
from dragoman.testing import CriticConformance
from dragoman.testing.stubs import StubReader, StubRetriever


class Words:
    """Stands in for a trained part: the share of a text's words that the evidence holds; 0 for another number."""

    def __init__(self, part):
        self.asked = []

    def warm_up(self):
        pass

    def probabilities(self, texts, head):
        assert head == "consistent"
        self.asked += texts
        return [self._one(*pair) for pair in texts]

    def _one(self, grounding, reply):
        said, known = (set(re.findall(r"\w+", text.casefold())) for text in (reply, grounding))
        if {word for word in said if word.isdigit()} - known:
            return 0.0
        return len(said & known) / len(said) if said else 0.0


@pytest.fixture
def scorer(monkeypatch):
    made = Words(None)
    monkeypatch.setattr(module, "open_part", lambda part, *, kind, folder: (part, kind))
    monkeypatch.setattr(module, "Scorer", lambda part: made)
    return made


FERRY = Evidence(Passage("d", "DOCUMENTS", "A ticket costs 34 francs. It leaves at nine.", title="Ferry"), 0.9)


class TestConformance(CriticConformance):
    @pytest.fixture(params=[{}, {"by": "sentence"}])
    def critic(self, request, scorer):
        return NliCritic(part="any", **request.param)


def test_the_evidence_is_read_under_its_title(scorer):
    NliCritic(part="any").consistency([(FERRY, " It leaves at nine. ")])
    assert scorer.asked == [("Ferry\nA ticket costs 34 francs. It leaves at nine.", "It leaves at nine.")]


def test_nothing_is_consistent_with_an_empty_text_and_nothing_is_asked(scorer):
    empty = Evidence(Passage("e", "DOCUMENTS", "  "), 0.9)
    assert NliCritic(part="any").consistency([(FERRY, " "), (empty, "It leaves at nine.")]) == [0.0, 0.0]
    assert scorer.asked == []


def test_by_sentence_the_least_consistent_claim_decides_and_questions_claim_nothing(scorer):
    text = "A ticket costs 34 francs. Cows fly. Shall I book one?"
    whole, strict = (NliCritic(part="any", by=by).consistency([(FERRY, text)])[0] for by in ("text", "sentence"))
    assert strict == 0.0 < whole
    assert [claim for _, claim in scorer.asked[1:]] == ["A ticket costs 34 francs.", "Cows fly."]


def test_a_text_of_questions_alone_is_judged_whole(scorer):
    NliCritic(part="any", by="sentence").consistency([(FERRY, "Shall I book one?")])
    assert [claim for _, claim in scorer.asked] == ["Shall I book one?"]


def test_a_constructor_loads_nothing_and_an_unknown_part_is_named_on_first_use():
    critic = NliCritic(part="no-such-part")
    assert critic.consistency([]) == []
    with pytest.raises(UnknownNameError, match="no-such-part"):
        critic.consistency([(FERRY, "It leaves at nine.")])


def test_another_way_of_judging_is_refused():
    with pytest.raises(ConfigError, match="by = 'word'"):
        NliCritic(part="any", by="word")


def test_the_refiner_replaces_the_evidence_that_contradicts_the_draft(scorer):
    pool = [
        Passage("wrong", "DOCUMENTS", "A ticket costs 64 francs."),
        Passage("fine", "DOCUMENTS", "The boat leaves at nine, 34 on board."),
        Passage("right", "DOCUMENTS", "A ticket costs 34 francs."),
    ]
    source = Source("DOCUMENTS")
    task = ReadTask(Context.of("Price?"), Plan((("DOCUMENTS",),)), (Evidence(pool[0], 0.9), Evidence(pool[1], 0.8)))
    refiner = Refiner(NliCritic(part="any"), StubRetriever(pool), StubReader(), alpha=1)
    [[one]] = refiner.refine([task], [Draft("A ticket costs 34 francs; the boat leaves.")], [source])
    assert dict(one.scores)["wrong"] == 0.0 < dict(one.scores)["fine"]
    assert one.replaced == (("wrong", "right"),)
    assert [piece.id for piece in one.evidence] == ["right", "fine"]
