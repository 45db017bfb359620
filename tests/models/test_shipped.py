"""The parts that come with the package: small enough to come with it, whole, and of some use."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest

from dragoman.core.tokens import Shown, WrittenSequence
from dragoman.core.values import Context, Evidence, Passage
from dragoman.critic import NliCritic
from dragoman.gate.encoder import EncoderGate
from dragoman.models.onnx.scorer import Scorer
from dragoman.models.part import find_part, open_part, shipped_parts
from dragoman.models.unified.loading import open_unified
from dragoman.models.unified.model import CandidatePassage, Judging, Writing

MOST = 50 * 10**6
MOST_OF_AN_ADAPTER = 15_000_000
TURNS = (
    "Hello there!", "Thanks, that is all I need.", "Does the hotel have free wifi?", "What do guests say of breakfast?",
    "I need a table for two at six on Friday.", "Is the museum open on Mondays, and what does it cost to get in?",
)  # fmt: skip


def test_shipped_parts_are_small_enough_to_ship():
    root = Path(str(resources.files("dragoman.models"))) / "parts"
    sizes = {path: path.stat().st_size for path in root.rglob("*") if path.is_file()}
    adapter = sum(size for path, size in sizes.items() if "english-unified" in path.parts)
    assert 0 < adapter < MOST_OF_AN_ADAPTER
    assert 0 < sum(sizes.values()) - adapter < MOST


def test_shipped_parts_are_those_that_the_pages_name():
    shared = {"english", "english/critic", "english/gate", "english/relevance", "english/reply"}
    assert set(shipped_parts()) == shared | {"english-joint", "english-unified"}


def test_shipped_parts_cut_where_their_whole_and_its_card_say():
    whole = open_part("english")
    card = (whole.folder / "README.md").read_text(encoding="utf-8")
    for name, outer in {"gate": "gate", "reply": "reply", "relevance": "relevance", "critic": "consistent"}.items():
        (head,) = open_part(f"english/{name}").heads.values()
        assert head == whole.head(outer)
        assert f"- `{outer}` / `{head.labels[0]}`: yes from {head.threshold():.4g} on\n" in card


@pytest.mark.integration
@pytest.mark.parametrize("name", sorted(shipped_parts().keys() - {"english-unified"}))
def test_shipped_part_opens_and_its_heads_score(name):
    part = open_part(name)
    for head, told in part.heads.items():
        assert Scorer(part).scores([("The hotel has wifi.", "Is there wifi?")], head).shape == (1, len(told.labels))


@pytest.mark.integration
def test_shipped_gate_decides_a_batch_as_it_decides_one_by_one():
    gate = EncoderGate(part="english/gate")
    turns = [Context.of(text) for text in TURNS]
    together = [verdict.probability for verdict in gate.decide(turns)]
    assert together == pytest.approx([gate.decide([turn])[0].probability for turn in turns], abs=1e-4)
    assert max(together[:2]) < min(together[2], together[3], together[5])


@pytest.mark.integration
def test_shipped_relevance_puts_the_obvious_passage_first():
    passages = ("Yes, the hotel offers free wifi in all rooms.", "The restaurant serves Italian food.",
                "Dogs are not allowed in the guest house.", "The taxi will be a blue Ford.")  # fmt: skip
    scorer = Scorer(open_part("english/relevance", kind="retriever.cross"))
    scores = scorer.scores([("Does the hotel have free wifi?", text) for text in passages], "relevance")[:, 0].tolist()
    assert scores.index(max(scores)) == 0


@pytest.mark.integration
@pytest.mark.parametrize(
    ("fact", "reply", "edited"),
    [
        ("The museum opens at 9 and closes at 17.", "The museum opens at 9.", "The museum opens at 11."),
        ("A double room costs 80 pounds a night.", "A double room costs 80 pounds.", "A double room costs 95 pounds."),
        ("The ferry leaves from pier 4.", "It leaves from pier 4.", "It leaves from pier 7."),
    ],
)
def test_shipped_critic_prefers_the_number_that_the_evidence_has(fact, reply, edited):
    piece = Evidence(Passage("x", "DOCUMENTS", fact), 1.0)
    right, wrong = NliCritic(part="english/critic").consistency([(piece, reply), (piece, edited)])
    assert right > wrong


@pytest.mark.integration
@pytest.mark.slow
def test_shipped_adapter_plans_judges_and_writes_without_torch():
    opened = open_unified("english-unified", runtime="llamacpp")
    orders = [(), ("PERSONA",), ("MEMORY",), ("DOCUMENTS",), ("PERSONA", "DOCUMENTS")]
    asked, thanked = opened.runtime.plan([Context.of("When does the market open?"), Context.of("Thanks, bye!")], orders)
    assert asked["PERSONA", "DOCUMENTS"] > 0.5
    assert thanked[()] > 0.5
    turn = Context.of("Does the hotel have free wifi?")
    texts = ("The restaurant serves Italian food.", "All rooms have free wifi.", "The taxi will be a blue Ford.")
    (scores,) = opened.runtime.judge([Judging(turn, tuple(CandidatePassage("DOCUMENTS", text) for text in texts))])
    assert scores.index(max(scores)) == 1
    written = WrittenSequence(("DOCUMENTS",), (Shown("DOCUMENTS", texts[1], 10),))
    (draft,) = opened.runtime.write([Writing(turn, written, opened.ending)], max_tokens=48)
    assert "wifi" in draft.text.lower()


@pytest.mark.parametrize("name", ["english", "english-joint"])
def test_a_shipped_graph_names_no_path_of_the_machine_that_made_it(name):
    content = (find_part(name) / "model.onnx").read_bytes()
    assert not [path for path in (b"/root/", b"/tmp/", b"/home/", b"site-packages") if path in content]
