"""Learner of the prompted gate: calibration and threshold of a language model's True."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dragoman.gate.prompted import KIND, Style, question, true_probabilities
from dragoman.models.part import Part
from dragoman.train.contract import Job
from dragoman.train.gates import llm_scores
from dragoman.train.gates.llm_scores import ScoredInput
from dragoman.train.recipe_tables import typed
from dragoman.train.registry import learners

if TYPE_CHECKING:
    from dragoman.core.protocols import LanguageModel
    from dragoman.core.values import Prompt

FILE = "answers.jsonl"


class PromptedModelTable(llm_scores.ScoredModelTable):
    """Language model and prompt style."""

    style: Style = "zero-shot"


@learners.register(KIND)
class GatePrompted:
    """Prompts a language model with the papers' question, once per turn."""

    def fit(self, job: Job) -> Part:
        table = typed(PromptedModelTable, job.recipe.model, "model")
        language = typed(ScoredInput, job.recipe.input, "input").spoken(job)

        def ask(model: LanguageModel, prompts: Sequence[Prompt]) -> list[dict[str, float]]:
            return [{"true": probability} for probability in true_probabilities(model, prompts)]

        return llm_scores.fit_answers(
            job,
            table,
            llm_scores.AskedOnce(job, table, ask, file=FILE, value="true", doing="Asking"),
            lambda example: question(example.context, table.style, language),
            kind=KIND,
            options={"style": table.style, "language": language},
        )
