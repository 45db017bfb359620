"""Dependency graph of an agent's sources: validates `needs`, and orders sources by them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from dragoman.core.errors import PlanError, SourceError
from dragoman.core.values import NULL_PLAN, Plan, Source, SourceName
from dragoman.text import lazy_re as re

_NAME = re.compile(r"\w(?:[\w .-]*\w)?")


class SourceGraph:
    """Declared sources with their `needs`; building one checks names, needs and cycles."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources: dict[SourceName, Source] = {}
        for source in sources:
            _check_name(source.name)
            if source.name in self._sources:
                raise SourceError(
                    f"The source '{source.name}' is declared twice.", remedy="Rename one of them.", source=source.name
                )
            self._sources[source.name] = source
        for source in self._sources.values():
            for need in source.needs:
                if need not in self._sources:
                    raise SourceError(
                        f"The source '{source.name}' needs '{need}', which is not declared.{self._hint(need)}",
                        remedy="Declare it, or correct `needs`.",
                        source=source.name,
                    )
        self._order = self._sorted()

    def __iter__(self) -> Iterator[Source]:
        return iter(self._sources.values())

    def __len__(self) -> int:
        return len(self._sources)

    def __contains__(self, name: object) -> bool:
        return name in self._sources

    def __getitem__(self, name: SourceName) -> Source:
        if name not in self._sources:
            raise PlanError(f"The source '{name}' is not declared.{self._hint(name)}", source=name)
        return self._sources[name]

    @property
    def names(self) -> tuple[SourceName, ...]:
        """The names, as declared."""
        return tuple(self._sources)

    @property
    def order(self) -> tuple[Source, ...]:
        """All sources in topological order of `needs`, otherwise as declared."""
        return self._order

    def close(self, names: Iterable[SourceName]) -> tuple[Source, ...]:
        """The named sources and everything they need, in topological order."""
        wanted: set[SourceName] = set()
        waiting = [self[name] for name in names]
        while waiting:
            source = waiting.pop()
            if source.name not in wanted:
                wanted.add(source.name)
                waiting.extend(self._sources[need] for need in source.needs)
        return tuple(source for source in self._order if source.name in wanted)

    def plan(self, names: Iterable[SourceName]) -> Plan:
        """The plan with the named sources and what they need, one source per step."""
        steps = tuple((source.name,) for source in self.close(names))
        return Plan(steps) if steps else NULL_PLAN

    def check(self, plan: Plan) -> None:
        """Refuse a plan with an undeclared or repeated source, an empty step, or a need not met before or jointly."""
        asked: set[SourceName] = set()
        for number, step in enumerate(plan.steps, start=1):
            if not step:
                raise PlanError(f"Step {number} of the plan names no source.", remedy="Leave the step out.")
            for name in step:
                missing = [need for need in self[name].needs if need not in asked and need not in step]
                if missing:
                    raise PlanError(
                        f"The plan asks '{name}' in step {number} without '{missing[0]}' before or beside it.",
                        remedy=f"'{name}' needs {', '.join(self[name].needs)}.",
                        source=name,
                    )
            if asked.intersection(step) or len(set(step)) != len(step):
                raise PlanError(f"Step {number} of the plan asks a source again: {', '.join(step)}.")
            asked.update(step)

    def legal_orders(self) -> Iterator[tuple[SourceName, ...]]:
        """Every order of all sources that respects `needs`, one at a time, as declared first."""
        yield from self._extend((), frozenset(self._sources))

    def _extend(self, done: tuple[SourceName, ...], rest: frozenset[SourceName]) -> Iterator[tuple[SourceName, ...]]:
        if not rest:
            yield done
        for name in self._sources:
            if name in rest and rest.isdisjoint(self._sources[name].needs):
                yield from self._extend((*done, name), rest - {name})

    def _sorted(self) -> tuple[Source, ...]:
        """Iterative depth-first order, each source after its needs; a cycle is an error."""
        ordered: dict[SourceName, Source] = {}
        for start in self._sources:
            path = {start: None} if start not in ordered else {}  # a dict for its order and quick look-up
            waiting = [iter(self._sources[name].needs) for name in path]
            while waiting:
                need = next(waiting[-1], None)
                if need is None:
                    waiting.pop()
                    name, _ = path.popitem()
                    ordered[name] = self._sources[name]
                elif need in path:
                    raise _circle([*path, need])
                elif need not in ordered:
                    path[need] = None
                    waiting.append(iter(self._sources[need].needs))
        return tuple(ordered.values())

    def _hint(self, name: SourceName) -> str:
        folded = {source_name.casefold(): source_name for source_name in self._sources}
        close = get_close_matches(name.casefold(), list(folded), n=1, cutoff=0.5)
        suggestion = f" Did you mean '{folded[close[0]]}'?" if close else ""
        return f"{suggestion} Declared: {', '.join(self._sources) or 'none'}."


def _circle(path: list[SourceName]) -> SourceError:
    circle = path[path.index(path[-1]) :]
    return SourceError(
        f"The sources need each other in a circle: {' -> '.join(circle)}.",
        remedy="Remove one of these `needs`.",
        source=circle[0],
    )


def _check_name(name: SourceName) -> None:
    if not _NAME.fullmatch(name):
        raise SourceError(
            f"'{name}' cannot name a source.",
            remedy="Use letters, digits, '-', '_', '.' and single words.",
            source=name,
        )
    if name.upper() == "NULL":
        raise SourceError(
            f"A source cannot be called '{name}': planners say NULL for asking nothing.",
            remedy="Choose another name.",
            source=name,
        )
