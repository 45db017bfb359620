"""Gates: whether to look anything up."""

import math

import pytest

from dragoman.core.errors import ConfigError, DragomanError
from dragoman.core.values import Context, Draft
from dragoman.gate import AlwaysGate, NeverGate, PromptedGate, RandomGate, SimilarityGate, UncertaintyGate
from dragoman.models.calibration import Logistic
from dragoman.models.part import Head, Part, write_part


class WordEncoder:
    """Unit vectors over a few words: enough to be near or far."""

    dimensions = 4

    def encode(self, texts):
        import numpy as np

        rows = np.array([[float("weather" in text.lower()), float("boat" in text.lower()), 0.0, 0.1] for text in texts])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


class ChoosingModel:
    def __init__(self, probability=0.9, confidence=0.9):
        self.probability, self.confidence, self.prompts = probability, confidence, []

    def choose(self, prompts, options):
        self.prompts += prompts
        return [{"True": self.probability, "False": 1 - self.probability} for _ in prompts]

    def generate(self, prompts, *, max_tokens, stop=()):
        return [Draft("x", self.confidence) for _ in prompts]


def similarity():
    return SimilarityGate(encoder=WordEncoder())


def test_likeness_to_small_talk_does_not_depend_on_the_turns_beside_it():
    class Dense:
        """Vectors as wide as a real encoder's, in which the order of a sum shows."""

        dimensions = 384

        def encode(self, texts):
            import numpy as np

            rows = np.stack([np.random.default_rng(list(text.encode())).normal(size=384) for text in texts])
            return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    gate = SimilarityGate(encoder=Dense())
    turns = [Context.of(f"My cousin bought {number} old maps.") for number in range(40)]
    assert gate.decide(turns) == [gate.decide([turn])[0] for turn in turns]


def test_the_baselines_always_and_never_look():
    turns = [Context.of("hi"), Context.of("when?")]
    assert [verdict.retrieve for verdict in AlwaysGate().decide(turns)] == [True, True]
    assert [verdict.retrieve for verdict in NeverGate().decide(turns)] == [False, False]


def test_the_random_gate_treats_the_same_turn_alike_and_opens_for_its_share():
    gate = RandomGate(probability=0.3, seed=7)
    turns = [Context.of(f"turn {i}") for i in range(2000)]
    first = [verdict.retrieve for verdict in gate.decide(turns)]
    assert first == [verdict.retrieve for verdict in gate.decide(turns)]
    assert abs(sum(first) / len(first) - 0.3) < 0.05
    assert first != [verdict.retrieve for verdict in RandomGate(probability=0.3, seed=8).decide(turns)]


def test_the_random_gate_refuses_a_share_outside_its_range():
    with pytest.raises(ConfigError, match=r"1\.5"):
        RandomGate(probability=1.5)


@pytest.mark.parametrize("text", ["Hello!", "thanks a lot", "bye", "你好", "I'm vegetarian.", "forget my name"])
def test_small_talk_and_telling_look_nothing_up(text):
    assert not similarity().decide([Context.of(text)])[0].retrieve


@pytest.mark.parametrize("text", ["When does the boat leave?", "Hi! How much is it?", "我住在哪里？", "boat timetable"])
def test_questions_and_doubtful_turns_look_something_up(text):
    assert similarity().decide([Context.of(text)])[0].retrieve


def test_an_unclear_turn_like_small_talk_stays_closed():
    verdict = similarity().decide([Context.of("such weather, such weather")])[0]
    assert not verdict.retrieve
    assert "likeness" in verdict.reason


def test_the_prompted_gate_uses_the_probability_of_true():
    model = ChoosingModel(probability=0.4)
    gate = PromptedGate(language_model=model, threshold=0.3)
    verdict = gate.decide([Context.of("When does the boat leave?")])[0]
    assert (verdict.retrieve, verdict.probability) == (True, 0.4)
    assert "When does the boat leave?" in model.prompts[0].messages[-1].content


def test_a_prompted_gate_with_a_part_is_calibrated_and_asks_as_the_part_says(tmp_path):
    head = Head(("retrieve",), {"retrieve": Logistic(0.5, -1.0)}, {"retrieve": 0.3})
    write_part(Part(tmp_path, "gate.prompted", {"gate": head}, {"style": "in-context"}), ())
    model = ChoosingModel(probability=0.8)
    gate = PromptedGate(language_model=model, part=str(tmp_path))
    (verdict,) = gate.decide([Context.of("When?")])
    # log-odds ln 4, x .5 - 1
    assert verdict.probability == pytest.approx(1 / (1 + math.exp(1 - math.log(4) / 2)))
    assert (verdict.retrieve, gate.threshold, verdict.reason) == (True, 0.3, "prompted in-context: 0.80")
    assert [message.role for message in model.prompts[0].messages].count("assistant") >= 2
    strict = PromptedGate(language_model=model, part=str(tmp_path), threshold=0.9)
    assert not strict.decide([Context.of("When?")])[0].retrieve


def test_a_prompted_gate_with_a_part_asks_in_the_language_it_was_fitted_with(tmp_path):
    options = {"style": "zero-shot", "language": "zh"}
    write_part(Part(tmp_path, "gate.prompted", {"gate": Head(("retrieve",), {})}, options), ())
    fitted, plain = ChoosingModel(), ChoosingModel()
    PromptedGate(language_model=fitted, part=str(tmp_path)).decide([Context.of("When?")])
    PromptedGate(language_model=plain, language="zh").decide([Context.of("When?")])
    assert fitted.prompts == plain.prompts


def test_a_part_of_another_gate_is_refused(tmp_path):
    write_part(Part(tmp_path, "gate.uncertainty", {"gate": Head(("retrieve",), {})}, {}), ())
    with pytest.raises(DragomanError, match=r"gate\.uncertainty"):
        PromptedGate(language_model=ChoosingModel(), part=str(tmp_path)).warm_up()


def test_the_prompted_gate_in_context_shows_examples_first():
    model = ChoosingModel()
    PromptedGate(language_model=model, style="in-context").decide([Context.of("hi")])
    assert [message.role for message in model.prompts[0].messages].count("assistant") >= 2


def test_the_uncertainty_gate_opens_where_the_unaided_draft_is_doubtful():
    turns = [Context.of("Who founded the town?")]
    assert UncertaintyGate(language_model=ChoosingModel(confidence=0.2)).decide(turns)[0].retrieve
    assert not UncertaintyGate(language_model=ChoosingModel(confidence=0.9)).decide(turns)[0].retrieve
