"""PK-ICR's persona model: whether a persona, with the question, fits the gold knowledge (Eq. 4-6).

Trained on pairs of "{persona} {question}" and the gold knowledge; in use the knowledge is the selected one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dragoman.core.errors import TrainingError
from dragoman.core.examples import Example
from dragoman.core.values import Passage
from dragoman.models.part import Part
from dragoman.retriever.joint import HEAD, KIND, Asking, pair_query
from dragoman.retriever.search import QueryKind, search_text
from dragoman.train.contract import Corpus, Job
from dragoman.train.recipe_tables import RecipeTable, TrunkTable, typed
from dragoman.train.registry import learners

if TYPE_CHECKING:
    from dragoman.models.torch.trunk import Text

LABEL = "grounded"


class PersonaInput(RecipeTable):
    """Query text, with the question or the persona alone; the paper uses the last turn."""

    query: QueryKind = "last"
    asking: Asking = "both"


@dataclass(frozen=True, slots=True)
class LabelledPairs:
    """Pairs with their labels, and the turn that each belongs to."""

    pairs: Sequence[Text]
    labels: Sequence[float]
    turns: Sequence[str]


def grounded(corpus: Corpus, query: QueryKind, side: str, asking: Asking = "both") -> LabelledPairs:
    """Pair every persona of turns that need knowledge with the gold knowledge; the label tells if it was used."""
    shared = {passage.id: passage for passage in corpus.passages}
    pairs: list[Text] = []
    labels: list[float] = []
    turns: list[str] = []
    for example in corpus.examples:
        right = _right(example, shared)
        personas = [passage for passage in example.candidates if _about(example, passage) != "world"]
        knowledge = [passage for passage in right if _about(example, passage) == "world"]
        if not knowledge or not personas:
            continue
        gold = {passage.id for passage in right}
        question = search_text(example.context, query).text
        for persona in personas:
            pairs.append((pair_query(persona.text, question, asking), knowledge[0].indexed))
            labels.append(float(persona.id in gold))
            turns.append(example.id)
    if not any(labels) or all(labels):
        raise TrainingError(
            f"The {side} data has no turn with right knowledge and with personas of which some are right.",
            remedy="PK-ICR learns from turns with candidates about a person (user or bot) and about the world, "
            "and evidence of both.",
        )
    return LabelledPairs(pairs, labels, turns)


@learners.register(KIND)
class RetrieverJoint:
    """Trains a cross-encoder that selects the persona for a question and its knowledge."""

    def fit(self, job: Job) -> Part:
        from dragoman.train.export.export_and_calibrate import Held, export_and_calibrate
        from dragoman.train.loop.text_task import TextTask
        from dragoman.train.loop.training_loop import fit

        inputs = typed(PersonaInput, job.recipe.input, "input")
        model = typed(TrunkTable, job.recipe.model, "model")
        train = grounded(job.train, inputs.query, "training", inputs.asking)
        dev = grounded(job.dev, inputs.query, "dev", inputs.asking)
        trunk, tokens = model.open({HEAD: 1}, seed=job.recipe.train.seed)
        task = TextTask(
            trunk,
            tokens,
            train.pairs,
            train.labels,
            head=HEAD,
            dev_texts=dev.pairs,
            dev_labels=dev.labels,
            recipe=job.recipe,
            device=job.device,
        )
        fit(task, job)
        return export_and_calibrate(
            trunk,
            tokens,
            job,
            kind=KIND,
            heads={HEAD: Held((LABEL,), dev.pairs, dev.labels)},
            options=inputs.model_dump(),
            max_tokens=model.max_tokens,
            base=model.base,
        )


def _right(example: Example, shared: dict[str, Passage]) -> list[Passage]:
    by_id = {passage.id: passage for passage in example.candidates}
    passages = [by_id.get(key) or shared.get(key) for key in example.gold.evidence or ()]
    return [passage for passage in passages if passage is not None]


def _about(example: Example, passage: Passage) -> str:
    return next((source.about for source in example.sources if source.name == passage.source), "world")
