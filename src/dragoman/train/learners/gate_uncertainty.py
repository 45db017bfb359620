"""Learner of the uncertainty gate: calibration and threshold of the doubt of drafts without retrieval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field as Setting

from dragoman.gate.uncertainty import KIND, Measure, doubt, question
from dragoman.models.part import Part
from dragoman.train.contract import Job
from dragoman.train.gates import llm_scores
from dragoman.train.recipe_tables import typed
from dragoman.train.registry import learners

if TYPE_CHECKING:
    from dragoman.core.protocols import LanguageModel
    from dragoman.core.values import Prompt

FILE = "drafts.jsonl"


class UncertaintyInput(llm_scores.ScoredInput):
    """Language and name in the prompt."""

    name: str = "Dragoman"


class UncertaintyModelTable(llm_scores.ScoredModelTable):
    """Language model, and the measure of a draft."""

    measure: Measure = "mean"
    max_tokens: int = Setting(default=24, ge=1)

    def extra(self) -> dict[str, Any]:
        return {"least": True} if self.measure == "least" and self.kind.partition(".")[0] == "llamacpp" else {}

    @property
    def identity(self) -> str:
        return f"{super().identity}/{self.max_tokens}/{self.measure}"


@learners.register(KIND)
class GateUncertainty:
    """Drafts one reply per turn and keeps its confidence, never its text."""

    def fit(self, job: Job) -> Part:
        table = typed(UncertaintyModelTable, job.recipe.model, "model")
        inputs = typed(UncertaintyInput, job.recipe.input, "input")
        language = inputs.spoken(job)

        def ask(model: LanguageModel, prompts: Sequence[Prompt]) -> list[dict[str, float]]:
            drafts = model.generate(prompts, max_tokens=table.max_tokens)
            return [{"doubt": doubt(draft, table.measure), "characters": len(draft.text)} for draft in drafts]

        return llm_scores.fit_answers(
            job,
            table,
            llm_scores.AskedOnce(job, table, ask, file=FILE, value="doubt", doing="Drafting"),
            lambda example: question(example.context, language, inputs.name),
            kind=KIND,
            options={
                "measure": table.measure,
                "max_tokens": table.max_tokens,
                "language": language,
                "name": inputs.name,
            },
        )
