"""The suite for models behind an endpoint: everything that an agent asks of one, within a number of calls."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dragoman.core.values import Context, Draft, Evidence, Passage, Plan, Prompt, ReadTask, Source
from dragoman.testing.models import LanguageModelConformance
from dragoman.testing.stubs import StubCritic, StubRetriever

if TYPE_CHECKING:
    from collections.abc import Callable

    from dragoman.models.remote.model import RemoteModel

_SOURCE = Source("documents", "What the harbour's notices say.")
_PASSAGES = tuple(
    Passage(f"p{i}", "documents", text)
    for i, text in enumerate(("The ferry leaves at nine.", "The pier is closed on Mondays.", "Bicycles travel free."))
)
_CONTEXT = Context.of("Hello.", "Hello!", "When does the ferry leave?")
_SCORES = tuple(f"{tenth / 10:.1f}" for tenth in range(11))


class EndpointConformance(LanguageModelConformance):
    """Give fixtures `language_model` (a `RemoteModel`) and `calls` (how many requests its endpoint has had so far).

    `gate_calls` is the most that a gate costs once the endpoint is known: 1 with log-probabilities or schemas, else 3.
    """

    gate_calls = 3

    def test_a_gate_decides_within_its_calls(self, language_model: RemoteModel, calls: Callable[[], int]) -> None:
        from dragoman.gate.prompted import PromptedGate

        gate = PromptedGate(language_model=language_model)
        gate.decide([_CONTEXT])  # the first call finds out what the endpoint gives
        before = calls()
        verdict = gate.decide([_CONTEXT])[0]
        assert 0 < verdict.probability < 1, f"{verdict.probability} is no probability that a model gave"
        assert verdict.probability != 0.5, "nothing was decided"
        assert calls() - before <= self.gate_calls, f"{calls() - before} calls for one gate"

    def test_a_plan_is_one_call(self, language_model: RemoteModel, calls: Callable[[], int]) -> None:
        from dragoman.planner.prompted import PromptedPlanner

        planner = PromptedPlanner(language_model=language_model)
        planner.plan([_CONTEXT], [_SOURCE])
        before = calls()
        plan = planner.plan([_CONTEXT], [_SOURCE])[0]
        assert isinstance(plan, Plan), "a planner gives a plan, whatever the model wrote"
        assert calls() - before == 1, "a plan is one call"

    def test_eleven_scores_are_told_apart(self, language_model: RemoteModel, calls: Callable[[], int]) -> None:
        prompt = Prompt.user("How relevant is it? Give a score from 0.0 to 1.0, in tenths:")
        language_model.choose([prompt], _SCORES)
        before = calls()
        chosen = language_model.choose([prompt], _SCORES)[0]
        assert abs(sum(chosen.values()) - 1) < 1e-6, "probabilities sum to one"
        assert max(chosen.values()) > 1.5 / len(_SCORES), f"nothing was chosen: {dict(chosen)}"
        assert calls() - before <= self.gate_calls, f"{calls() - before} calls for one choice"

    def test_sentences_are_told_apart(self, language_model: RemoteModel) -> None:
        options = ("The ferry leaves at nine.", "The pier is closed on Mondays.")
        chosen = language_model.choose([Prompt.user("Which one answers the question?")], options)[0]
        assert set(chosen) == set(options), "a probability for every option and nothing else"
        assert chosen[options[0]] != chosen[options[1]], "nothing was chosen"

    def test_refines_a_draft(self, language_model: RemoteModel) -> None:
        from dragoman.agent.refine import Refiner
        from dragoman.reader.prompted import PromptedReader

        reader = PromptedReader(language_model=language_model)
        task = ReadTask(_CONTEXT, Plan((("documents",),)), (Evidence(_PASSAGES[0], 0.9),))
        refiner = Refiner(StubCritic(otherwise=0.1), StubRetriever(_PASSAGES), reader)
        rounds = refiner.refine([task], reader.read([task]), [_SOURCE])[0]
        assert rounds and rounds[-1].draft.text.strip(), "the refined draft has a text"

    def test_a_stream_can_be_cancelled(self, language_model: RemoteModel) -> None:
        stream = language_model.stream(Prompt.user("Say hello."), max_tokens=64)
        assert next(stream), "the first piece has text"
        began = time.perf_counter()
        stream.close()  # type: ignore[attr-defined]  # streams are generators
        assert time.perf_counter() - began < 2, "closing a stream ends it at once"
        assert language_model.generate([Prompt.user("Say hello.")], max_tokens=64)[0].text, "the next call works"

    def test_thoughts_are_never_part_of_a_text(self, language_model: RemoteModel) -> None:
        *pieces, draft = language_model.stream(Prompt.user("Say hello."), max_tokens=64)
        assert isinstance(draft, Draft)
        whole = language_model.generate([Prompt.user("Say hello.")], max_tokens=64)[0]
        for text in (draft.text, whole.text, "".join(map(str, pieces))):
            assert "think" not in text.lower() and "channel" not in text, f"thoughts are shown: {text!r}"
