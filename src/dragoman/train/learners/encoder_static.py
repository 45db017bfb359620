"""Learner of a static encoder, distilled from another encoder on the passages of a set, without labels."""

from __future__ import annotations

from pydantic import Field

from dragoman.core.protocols import by_about
from dragoman.models.part import Part
from dragoman.models.static_encoder import KIND
from dragoman.train.contract import Job
from dragoman.train.distil.defaults import LEAST, MOST, TEACHER
from dragoman.train.distil.static_encoder import distil
from dragoman.train.recipe_tables import RecipeTable, typed
from dragoman.train.registry import learners


class StaticInput(RecipeTable):
    """Most passages of the training side."""

    passages: int = Field(default=MOST, ge=LEAST)


class StaticModelTable(RecipeTable):
    """Encoder to distil: a catalogue name or a folder."""

    teacher: str = TEACHER


@learners.register(KIND)
class EncoderStatic:
    """Fits the table to the passages about the world of the training side."""

    def fit(self, job: Job) -> Part:
        passages = [*job.train.passages, *(row for example in job.train.examples for row in example.candidates)]
        sources = [source for dataset in job.train.sets for source in dataset.sources]
        # the table reads nothing else: statements about the user and the bot are read as questions are
        world = by_about(passages, sources).get("world", [])
        return distil(
            [passage.indexed for passage in world],
            job.folder,
            teacher=typed(StaticModelTable, job.recipe.model, "model").teacher,
            most=typed(StaticInput, job.recipe.input, "input").passages,
            seed=job.recipe.train.seed,
            files=job.train.origin,
            command=job.command,
            report=job.report,
        )
