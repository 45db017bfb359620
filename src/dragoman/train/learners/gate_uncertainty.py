"""When the doubt of an unaided draft means that something should be looked up: a calibration and a threshold."""

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


class InputTable(llm_scores.InputTable):
    """What the model is asked: in which language, under which name."""

    name: str = "Dragoman"


class ModelTable(llm_scores.ModelTable):
    """The language model that drafts, and what of a draft is measured."""

    measure: Measure = "mean"
    max_tokens: int = Setting(default=24, ge=1)

    def extra(self) -> dict[str, Any]:
        return {"least": True} if self.measure == "least" and self.kind.partition(".")[0] == "llamacpp" else {}

    @property
    def identity(self) -> str:
        return f"{super().identity}/{self.max_tokens}/{self.measure}"


@learners.register(KIND)
class GateUncertainty:
    """Asks a language model for a draft a turn, once; what is kept is how sure it was, never what it said."""

    def fit(self, job: Job) -> Part:
        table = typed(ModelTable, job.recipe.model, "model")
        inputs = typed(InputTable, job.recipe.input, "input")
        language = inputs.spoken(job)

        def ask(model: LanguageModel, asked: Sequence[Prompt]) -> list[dict[str, float]]:
            drafts = model.generate(asked, max_tokens=table.max_tokens)
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
