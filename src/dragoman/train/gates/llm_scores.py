"""Gates decided by a language model: one cached number per turn, and its calibration."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field as Setting

from dragoman.core.errors import TrainingError
from dragoman.gate.llm_score import HEAD, LABEL, score
from dragoman.models.part import Part, write_part
from dragoman.train.contract import Job, Progress
from dragoman.train.labelled_turns import gate_labels, gate_side
from dragoman.train.loop.measures import cross_fitted
from dragoman.train.recipe_tables import RecipeTable

if TYPE_CHECKING:
    from dragoman.core.examples import Example
    from dragoman.core.protocols import LanguageModel
    from dragoman.core.values import Prompt

_BATCH = 8


class ScoredInput(RecipeTable):
    """The language of the prompts: the training set's where it is not given."""

    language: str | None = None

    def spoken(self, job: Job) -> str:
        return self.language or next((dataset.language for dataset in job.train.sets), "en")


class ScoredModelTable(RecipeTable):
    """The language model with its options.

    The calibration holds for this model only: the agent must use the same one.
    """

    kind: str = "llamacpp"
    options: dict[str, Any] = Setting(default_factory=dict)

    def extra(self) -> dict[str, Any]:
        """Options of the model that the gate requires."""
        return {}

    def open(self) -> LanguageModel:
        from dragoman.agent.create import Creator

        table = {**self.extra(), **self.options, "kind": self.kind}
        model: LanguageModel = Creator({}, {}, file="the recipe").create("model", table, where="model.options")
        return model

    @property
    def identity(self) -> str:
        """The settings, besides the prompt, that answers depend on."""
        options = sorted((key, repr(value)) for key, value in self.options.items())
        return f"{self.kind}/{options}"


class AskedOnce:
    """Cache of a training's numbers, one line each, without any text; a stopped training resumes from it.

    `ask` returns a row of figures for each prompt, of which `value` picks one.
    """

    def __init__(
        self,
        job: Job,
        table: ScoredModelTable,
        ask: Callable[[LanguageModel, Sequence[Prompt]], Sequence[Mapping[str, float]]],
        *,
        file: str,
        value: str,
        doing: str,
    ) -> None:
        self._job = job
        self._table = table
        self._ask = ask
        self._file = job.folder / file
        self._value = value
        self._doing = doing

    def of(self, prompts: Sequence[Prompt]) -> list[float]:
        """The number of each turn; the model is asked only for turns that are not cached."""
        keys = [self._key(prompt) for prompt in prompts]
        values = dict(self._cached())
        missing = {key: prompt for key, prompt in zip(keys, prompts, strict=True) if key not in values}
        done = len(set(keys)) - len(missing)
        self._job.report(Progress(self._doing, done, len(set(keys))))
        if missing:
            values |= self._compute(missing, done, len(set(keys)))
        return [values[key] for key in keys]

    def _compute(self, missing: dict[str, Prompt], done: int, total: int) -> dict[str, float]:
        model = self._table.open()
        values: dict[str, float] = {}
        waiting = list(missing.items())
        self._job.folder.mkdir(parents=True, exist_ok=True)
        try:
            with self._file.open("a", encoding="utf-8") as file:
                for start in range(0, len(waiting), _BATCH):
                    batch = waiting[start : start + _BATCH]
                    rows = self._ask(model, [prompt for _, prompt in batch])
                    for (key, _), row in zip(batch, rows, strict=True):
                        values[key] = row[self._value]
                        file.write(json.dumps({"of": key, **row}) + "\n")
                    file.flush()
                    self._job.report(Progress(self._doing, done + len(values), total))
        finally:
            close = getattr(model, "close", None)
            if close is not None:
                close()
        return values

    def _cached(self) -> Iterator[tuple[str, float]]:
        """The cached numbers; a line that a kill cut short is ignored."""
        try:
            lines = self._file.read_text(encoding="utf-8").splitlines(keepends=True)
        except FileNotFoundError:
            return
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
                yield str(row["of"]), float(row[self._value])
            except (ValueError, KeyError, TypeError) as error:
                if number == len(lines) and not line.endswith("\n"):
                    self._mend(lines[:-1])
                    return
                raise TrainingError(
                    f"{self._file}:{number} cannot be read: {error!r}.", remedy="Remove the file and run it again."
                ) from error

    def _mend(self, lines: Sequence[str]) -> None:
        partial = Path(f"{self._file}.part")
        partial.write_text("".join(lines), encoding="utf-8")
        partial.replace(self._file)

    def _key(self, prompt: Prompt) -> str:
        text = "\x00".join(f"{message.role}\x00{message.content}" for message in prompt.messages)
        return hashlib.sha256(f"{self._table.identity}\x00{text}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def fit_answers(
    job: Job,
    table: ScoredModelTable,
    answers: AskedOnce,
    question: Callable[[Example], Prompt],
    *,
    kind: str,
    options: Mapping[str, Any],
) -> Part:
    """Write a part that is only a calibration and a threshold on the log-odds of the model's answers."""
    from dragoman.train.calibration.cross_fitting import fold_of
    from dragoman.train.export.export_and_calibrate import Held, fit_head, head_metrics, made_from

    job = replace(job, train=gate_side(job.train, "training"), dev=gate_side(job.dev, "dev"))
    examples = (*job.train.examples, *job.dev.examples)
    scores = [score(answer) for answer in answers.of([question(example) for example in examples])]
    learned, dev = scores[: len(job.train.examples)], scores[len(job.train.examples) :]
    # only two numbers are fitted, on training turns, so dev's figures are of unseen turns
    truth = gate_labels(job.train.examples)
    head = fit_head(Held((LABEL,), (), truth), [[score] for score in learned], job.recipe.calibrate)
    held = Held((LABEL,), (), gate_labels(job.dev.examples))
    metrics = head_metrics(head, held, [[score] for score in dev])
    folds = min(job.recipe.calibrate.folds, len({example.context.dialogue for example in job.train.examples}))
    if folds > 1:
        places = fold_of(job.train.examples, folds, job.recipe.train.seed)
        honest = cross_fitted(learned, [value > 0.5 for value in truth], places, job.recipe.calibrate)
        metrics |= {f"folds/{name}": value for name, value in honest.items() if not isnan(value)}
    made = made_from(job, metrics) | {"base": str(table.options.get("weights", table.kind))}
    return write_part(Part(job.folder, kind, {HEAD: head}, dict(options), {}, made), ())
