"""The columns of an experiment as metrics, checked against each set's labels before anything runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dragoman.agent.create import Creator, parameters
from dragoman.config import DEFAULT_KINDS, AgentConfig, Table
from dragoman.core.errors import ConfigError
from dragoman.core.examples import Label
from dragoman.core.registry import metrics
from dragoman.core.values import Source
from dragoman.evaluate.contract import Metric
from dragoman.evaluate.results import Column
from dragoman.evaluate.spec import ColumnSpec, Experiment
from dragoman.text.analyse import SNOWBALL, Analyser

_BUILT = ("critic", "encoder")
"""Options of a metric that are components, named by kind."""
_LABELS: dict[Label, str] = {
    "retrieve": "whether to look something up",
    "plan": "which sources to ask",
    "evidence": "which passages are right",
    "reply": "what to reply",
}


class LabelledSet(Protocol):
    """Properties of a set that building a metric needs."""

    @property
    def labels(self) -> frozenset[Label]: ...

    @property
    def language(self) -> str: ...

    @property
    def sources(self) -> tuple[Source, ...]: ...


@dataclass(frozen=True, slots=True)
class _NotHere:
    labels: frozenset[Label] = frozenset()
    language: str = "en"
    sources: tuple[Source, ...] = ()


_NOT_HERE = _NotHere()


@dataclass(frozen=True, slots=True)
class MeasuredColumn:
    """A column with the metric that fills it."""

    spec: ColumnSpec
    kind: str
    metric: Metric

    def column(self) -> Column:
        about = self.metric.about
        return Column(
            self.spec.title,
            self.kind,
            about.direction,
            about.bounds,
            about.cite,
            about.repeatable,
            self.spec.scale,
            self.spec.digits,
        )


def component_tables(experiment: Experiment) -> dict[str, Table]:
    """The default components of metrics: those of the experiment's `[defaults]`, else of the default agent."""
    agent = AgentConfig()
    tables = {role: agent.table(role) for role in DEFAULT_KINDS}
    return tables | {role: dict(experiment.defaults[role]) for role in _BUILT if role in experiment.defaults}


class Measures:
    """Builds the metrics of an experiment; metrics that name the same component share it."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._tables = component_tables(experiment)
        self._made: dict[str, object] = {}

    @property
    def components(self) -> tuple[object, ...]:
        """The critics and encoders of the metrics built so far."""
        return tuple(self._made.values())

    def of(self, name: str, block: LabelledSet) -> tuple[MeasuredColumn, ...]:
        """The columns of a set; raises where a name, an option or a label is wrong."""
        from dragoman.evaluate.metrics.select import select

        columns: list[MeasuredColumn] = []
        fitting: list[tuple[ColumnSpec, list[Label]]] = []
        lacking: list[tuple[ColumnSpec, list[Label]]] = []
        for spec in self._experiment.columns_of(name):
            metric = select(self._metric(spec, block), spec.where)
            columns.append(MeasuredColumn(spec, metrics.resolve(spec.metric), metric))
            missing = sorted(metric.about.needs - block.labels)
            (lacking if missing else fitting).append((spec, missing))
        if lacking:
            raise _without_labels(name, block.labels, lacking, [spec.title for spec, _ in fitting])
        return tuple(columns)

    def unchecked(self, name: str) -> tuple[MeasuredColumn, ...]:
        """The columns of a set whose file is missing, so that its labels are unknown."""
        return tuple(
            MeasuredColumn(spec, metrics.resolve(spec.metric), self._metric(spec, _NOT_HERE))
            for spec in self._experiment.columns_of(name)
        )

    def _metric(self, spec: ColumnSpec, block: LabelledSet) -> Metric:
        where = f"column '{spec.title}'"
        factory = metrics.factory(spec.metric)
        accepted, options = parameters(factory), dict(spec.options)
        parts: dict[str, object] = {"language": block.language, "sources": block.sources}
        parts["analyse"] = Analyser(language=block.language if block.language in SNOWBALL else "auto")
        creator = Creator(parts, self._tables, file=where)
        for role in _BUILT:
            if role in accepted:
                table = options.pop(role, None)
                # A column marked as missing is never scored, so its component need not exist.
                creator.give(**{role: None if spec.missing else self._component(creator, role, table, block.language)})
        made: Metric = creator.create("metric", {"kind": spec.metric, **options}, where=spec.metric)
        return made

    def _component(self, creator: Creator, role: str, entry: str | Mapping[str, Any] | None, language: str) -> object:
        table: Mapping[str, Any] = {"kind": entry} if isinstance(entry, str) else entry or self._tables[role]
        key = json.dumps([role, table, language], sort_keys=True, default=str)
        if key not in self._made:
            self._made[key] = creator.create(role, table, where=role)
        return self._made[key]


def _without_labels(
    name: str,
    labels: frozenset[Label],
    lacking: Sequence[tuple[ColumnSpec, Sequence[Label]]],
    fitting: Sequence[str],
) -> ConfigError:
    spec, missing = lacking[0]
    needs = " and ".join(f"'{label}' ({_LABELS[label]})" for label in missing)
    has = ", ".join(sorted(labels)) or "none"
    more = f" So do {', '.join(other.title for other, _ in lacking[1:])}." if len(lacking) > 1 else ""
    works = f" The columns that work there: {', '.join(fitting)}." if fitting else ""
    return ConfigError(
        f"The column '{spec.title}' needs the label {needs}, which the set '{name}' does not have. "
        f"It has: {has}.{more}",
        remedy=f"Label the turns of the set, leave the column out, or limit it with data = [...] to other sets.{works}",
        column=spec.title,
        data=name,
        labels=tuple(missing),
    )
