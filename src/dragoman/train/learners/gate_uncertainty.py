"""When the doubt of an unaided draft means that something should be looked up: a calibration and a threshold."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field as Given

from dragoman.core.errors import TrainingError
from dragoman.gate.uncertainty import HEAD, KIND, LABEL, Measure, doubt, log_odds, question
from dragoman.models.part import Part, write_part
from dragoman.train.contract import Job, Progress
from dragoman.train.measures import cross_fitted
from dragoman.train.registry import learners
from dragoman.train.tables import Table, typed
from dragoman.train.turns import gate_labels, gate_side

if TYPE_CHECKING:
    from dragoman.core.protocols import LanguageModel
    from dragoman.core.values import Prompt

FILE = "drafts.jsonl"
_BATCH = 8


class InputTable(Table):
    """What the model is asked: in which language (the training set's where it is not given), under which name."""

    language: str | None = None
    name: str = "Dragoman"


class ModelTable(Table):
    """The language model that drafts, with its options, and what of a draft is measured.

    The calibration holds for this model alone: give the agent the same one.
    """

    kind: str = "llamacpp"
    options: dict[str, Any] = Given(default_factory=dict)
    measure: Measure = "mean"
    max_tokens: int = Given(default=24, ge=1)

    def open(self) -> LanguageModel:
        from dragoman.agent.create import Creator

        least = {"least": True} if self.measure == "least" and self.kind.partition(".")[0] == "llamacpp" else {}
        table = {**least, **self.options, "kind": self.kind}
        model: LanguageModel = Creator({}, {}, file="the recipe").create("model", table, where="model.options")
        return model


@learners.register(KIND)
class GateUncertainty:
    """Asks a language model once a turn; what it answered is kept, so that a training that was stopped goes on."""

    def fit(self, job: Job) -> Part:
        from dragoman.train.finish import Held, fit_head, head_metrics, made_from
        from dragoman.train.folds import fold_of

        table = typed(ModelTable, job.recipe.model, "model")
        given = typed(InputTable, job.recipe.input, "input")
        job = replace(job, train=gate_side(job.train, "training"), dev=gate_side(job.dev, "dev"))
        language = given.language or next((found.language for found in job.train.sets), "en")
        examples = (*job.train.examples, *job.dev.examples)
        asked = [question(example.context, language, given.name) for example in examples]
        doubts = Drafts(job, table).doubts(asked)
        scores = [log_odds(found) for found in doubts]
        learned, dev = scores[: len(job.train.examples)], scores[len(job.train.examples) :]
        # nothing but two numbers is fitted, on the training turns; so dev's figures are of turns that it never saw
        truth = gate_labels(job.train.examples)
        head = fit_head(Held((LABEL,), (), truth), [[score] for score in learned], job.recipe.calibrate)
        held = Held((LABEL,), (), gate_labels(job.dev.examples))
        metrics = head_metrics(head, held, [[score] for score in dev])
        folds = min(job.recipe.calibrate.folds, len({example.context.dialogue for example in job.train.examples}))
        if folds > 1:
            places = fold_of(job.train.examples, folds, job.recipe.train.seed)
            honest = cross_fitted(learned, [value > 0.5 for value in truth], places, job.recipe.calibrate.method)
            metrics |= {f"folds/{name}": value for name, value in honest.items() if not isnan(value)}
        options = {"measure": table.measure, "max_tokens": table.max_tokens, "language": language}
        made = made_from(job, metrics) | {"base": str(table.options.get("weights", table.kind))}
        return write_part(Part(job.folder, KIND, {HEAD: head}, options, {}, made), ())


class Drafts:
    """The drafts of a training, a line each in its folder: how sure they were, never what they said."""

    def __init__(self, job: Job, table: ModelTable) -> None:
        self._job = job
        self._table = table
        self._file = job.folder / FILE
        options = sorted((key, repr(value)) for key, value in table.options.items())
        self._model = f"{table.kind}/{options}/{table.max_tokens}/{table.measure}"

    def doubts(self, asked: Sequence[Prompt]) -> list[float]:
        """The doubt of each turn's draft; turns that were asked before are not asked again."""
        keys = [self._key(prompt) for prompt in asked]
        known = dict(self._kept())
        missing = {key: prompt for key, prompt in zip(keys, asked, strict=True) if key not in known}
        done = len(set(keys)) - len(missing)
        self._job.report(Progress("Drafting", done, len(set(keys))))
        if missing:
            known |= self._made(missing, done, len(set(keys)))
        return [known[key] for key in keys]

    def _made(self, missing: dict[str, Prompt], done: int, total: int) -> dict[str, float]:
        model = self._table.open()
        found: dict[str, float] = {}
        waiting = list(missing.items())
        self._job.folder.mkdir(parents=True, exist_ok=True)
        try:
            with self._file.open("a", encoding="utf-8") as file:
                for start in range(0, len(waiting), _BATCH):
                    batch = waiting[start : start + _BATCH]
                    drafts = model.generate([prompt for _, prompt in batch], max_tokens=self._table.max_tokens)
                    for (key, _), draft in zip(batch, drafts, strict=True):
                        found[key] = doubt(draft, self._table.measure)
                        file.write(json.dumps({"of": key, "doubt": found[key], "characters": len(draft.text)}) + "\n")
                    file.flush()
                    self._job.report(Progress("Drafting", done + len(found), total))
        finally:
            close = getattr(model, "close", None)
            if close is not None:
                close()
        return found

    def _kept(self) -> Iterator[tuple[str, float]]:
        """What was drafted before; a line that was cut short by a kill is drafted again."""
        try:
            lines = self._file.read_text(encoding="utf-8").splitlines(keepends=True)
        except FileNotFoundError:
            return
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
                yield str(row["of"]), float(row["doubt"])
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
        said = "\x00".join(f"{message.role}\x00{message.content}" for message in prompt.messages)
        return hashlib.sha256(f"{self._model}\x00{said}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
