"""Builds the agent of each system in an experiment, with shared components.

Systems of a set share components with the same role, kind, options and models, and call them through the memo of the
batch; all sets share the models.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeAlias

from dragoman.agent.agent import Agent, Fallback
from dragoman.agent.build import locate
from dragoman.agent.create import Creator, parameters
from dragoman.agent.design import design_of
from dragoman.config import AgentConfig, RefinerConfig, Table, load_config
from dragoman.core.caches import clear_caches
from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.core.examples import Example
from dragoman.core.protocols import Encoder, LanguageModel, Store
from dragoman.core.registry import REGISTRIES
from dragoman.core.values import Source
from dragoman.evaluate.spec import SystemSpec
from dragoman.evaluate.systems import oracles
from dragoman.evaluate.systems.memo import BatchMeter, Memo, SharedRefiner, shared
from dragoman.evaluate.systems.meter import Metered, MeteredEncoder
from dragoman.evaluate.systems.oracles import GoldAnswers
from dragoman.evaluate.systems.vector_cache import kept_vectors
from dragoman.text.analyse import SNOWBALL, Analyser

ROLES = ("gate", "planner", "retriever", "reader")
DEFAULTS = {
    "gate": "gate.always.v1",
    "planner": "planner.all.v1",
    "retriever": "retriever.hybrid.v1",
    "reader": "reader.silent.v1",
}
_MODELS = ("model", "encoder")
_PARTS = frozenset("language_model encoder store sources analyse language name folder answers training seed".split())
Key: TypeAlias = str

__all__ = ["Bench", "Models", "SystemBuilder", "SystemDesign", "needs_encoder", "oracles", "system_design"]


@dataclass(frozen=True, slots=True)
class SystemDesign:
    """A system with full kinds and options by role, after defaults and the agent that it names."""

    system: str
    tables: Mapping[str, Table]
    refiner: RefinerConfig
    k: int
    fallback: Fallback
    name: str
    folder: Path | None

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that run; the critic only with refinement."""
        return ROLES if self.refiner.mode == "off" else (*ROLES, "critic")

    @property
    def used(self) -> frozenset[str]:
        """The roles that run and those that they depend on."""
        needed = frozenset[str]().union(*(self.dependencies(role) for role in self.roles))
        named = needed & {"critic", *_MODELS}
        return frozenset(self.roles) | named | ({"model"} if "language_model" in needed else frozenset())

    def dependencies(self, role: str) -> frozenset[str]:
        """The shared parts and roles that a component depends on, directly or through its own components."""
        return frozenset(_dependencies(role, self.tables[role], self.tables))

    def searches_vectors(self, role: str) -> bool:
        """Whether a component may search by vectors: it depends on the store and on an encoder."""
        return {"store", "encoder"} <= self.dependencies(role)


def system_design(system: SystemSpec) -> SystemDesign:
    """The complete design of a system; an unknown kind raises an error that names the system."""
    config, folder = AgentConfig(), None
    if system.agent is not None:
        try:
            file, _ = locate(Path(system.agent).expanduser())
        except ConfigError as error:
            raise ConfigError(f"System '{system.name}': {error.message}", remedy=error.remedy) from error
        config, folder = load_config(file), file.parent
    agent = design_of(config, file=f"system '{system.name}'")
    base: dict[str, Table] = {role: agent.tables[role] for role in (*ROLES, "critic", *_MODELS)}
    fallback = agent.fallback
    if system.agent is None:
        base |= {role: {"kind": kind} for role, kind in DEFAULTS.items()}
        fallback = "none"
    own_tables = {role: getattr(system, role) for role in base}
    own = "refiner" in system.model_fields_set
    design = SystemDesign(
        system.name,
        {role: _merged(role, base[role], own_tables[role], system.name) for role in base},
        system.refiner if own else config.refiner,
        agent.k if system.k is None else system.k,
        fallback if system.fallback is None else system.fallback,
        config.name,
        folder,
    )
    for role in design.roles:
        _refuse_own_encoder(role, design.tables[role], design.tables, system.name, role)
    return design


def _refuse_own_encoder(role: str, table: Table, tables: Mapping[str, Table], system: str, place: str) -> None:
    """Refuse an encoder inside a component: passages are indexed by the system's encoder alone."""
    kind = table.get("kind", tables.get(role, {}).get("kind"))
    if not isinstance(kind, str):
        return
    accepted = parameters(REGISTRIES[role].factory(kind))
    for name, parameter in accepted.items():
        inner = table.get(name)
        if not parameter.role or not isinstance(inner, str | Mapping):
            continue
        if parameter.role == "encoder" and parameter.required and "store" in accepted:
            raise ConfigError(
                f"System '{system}': '{place}.{name}' is an encoder of its own, and rows are not indexed by it.",
                remedy=f"Put it at the top of the row: encoder = {{...}} beside {role} = {{...}}.",
                system=system,
                key=f"{place}.{name}",
            )
        own = {"kind": inner} if isinstance(inner, str) else dict(inner)
        _refuse_own_encoder(parameter.role, own, tables, system, f"{place}.{name}")


def needs_encoder(system: SystemSpec) -> bool:
    """Whether a component of the system uses an encoder."""
    design = system_design(system)
    return any("encoder" in design.dependencies(role) for role in design.roles)


def needs_training(system: SystemSpec) -> bool:
    """Whether a component of the system reads the training part of the set."""
    design = system_design(system)
    return any("training" in design.dependencies(role) for role in design.roles)


def needs_answers(system: SystemSpec) -> bool:
    """Whether a component of the system reads the gold labels."""
    design = system_design(system)
    return any("answers" in design.dependencies(role) for role in design.roles)


def fetch_weights(systems: Iterable[SystemSpec]) -> None:
    """Fetch the weights that the models of some systems name in the catalogue; those that are here are checked once."""
    from dragoman.models import weights

    designs = [system_design(system) for system in systems]
    names = {str(design.tables[role].get("weights")) for design in designs for role in _MODELS if role in design.used}
    for name in sorted(names & weights.CATALOGUE.keys()):
        weights.path(name)


class Models:
    """The models of an experiment, each loaded once for all sets and systems; their calls are metered.

    Passages are indexed by an encoder with a vector cache on disk; components get one without, since its seconds are
    measured.
    """

    def __init__(self, tally: BatchMeter | None = None) -> None:
        self.tally = tally or BatchMeter()
        self._made: dict[Key, Any] = {}
        self._indexers: dict[Key, Encoder] = {}

    def __enter__(self) -> Models:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def key(self, role: Literal["model", "encoder"], design: SystemDesign, language: str) -> Key:
        """Identity of a model: its table and the parameters that it takes."""
        arguments = self._design_values(design, language)
        accepted = parameters(REGISTRIES[role].factory(design.tables[role]["kind"]))
        return _json(
            [role, design.tables[role], {name: str(value) for name, value in arguments.items() if name in accepted}]
        )

    def language_model(self, design: SystemDesign, language: str) -> LanguageModel:
        return Metered(self._model("model", design, language), self.tally)

    def encoder(self, design: SystemDesign, language: str) -> Encoder:
        return MeteredEncoder(self._model("encoder", design, language), self.tally)

    def indexer(self, design: SystemDesign, language: str) -> Encoder:
        """The encoder that indexes passages, with the vector cache."""
        key = self.key("encoder", design, language)
        if key not in self._indexers:
            encoder = self._model("encoder", design, language)
            self._indexers[key] = kept_vectors(encoder, design.tables["encoder"], agent=design.folder)
        return self._indexers[key]

    def cool(self) -> None:
        """Clear the caches of all models, so that no system profits from the one before it.

        This includes models of parts, such as the unified model, which the whole process shares.
        """
        clear_caches(*self._made.values())

    def close(self) -> None:
        """Close every model."""
        made, self._made, self._indexers = list(self._made.values()), {}, {}
        for model in made:
            close = getattr(model, "close", None)
            if close is not None:
                close()

    def _model(self, role: Literal["model", "encoder"], design: SystemDesign, language: str) -> Any:
        key = self.key(role, design, language)
        if key not in self._made:
            creator = Creator(self._design_values(design, language), design.tables, file=_file(design))
            self._made[key] = creator.shared(role)
        return self._made[key]

    @staticmethod
    def _design_values(design: SystemDesign, language: str) -> dict[str, object]:
        return {"name": design.name, "language": language, "folder": design.folder}


@dataclass(frozen=True, slots=True)
class Bench:
    """Resources that all systems of one set share."""

    sources: tuple[Source, ...]
    language: str
    answers: GoldAnswers
    training: Callable[[], Iterator[Example]]
    seed: int
    models: Models
    sharing: Memo


class SystemBuilder:
    """Builds the agents of one set. `stores` holds one store for each encoder that searches by vectors."""

    def __init__(self, bench: Bench, systems: Sequence[SystemSpec]) -> None:
        from dragoman.stores.in_memory import InMemoryStore

        self._bench = bench
        self._designs = {system.name: system_design(system) for system in systems}
        language = bench.language if bench.language in SNOWBALL else "auto"
        self.analyse = Analyser(language=language)
        self.stores: dict[Key, tuple[Store, Encoder | None]] = {}
        for design in self._designs.values():
            if any(design.searches_vectors(role) for role in design.roles):
                key = bench.models.key("encoder", design, bench.language)
                if key not in self.stores:
                    indexer = bench.models.indexer(design, bench.language)
                    self.stores[key] = InMemoryStore(analyse=self.analyse), indexer
        if not self.stores:
            self.stores[""] = InMemoryStore(analyse=self.analyse), None
        self._made: dict[Key, Any] = {}
        self._shared: dict[Key, Any] = {}
        self._warm: set[int] = set()

    def build(self, system: SystemSpec) -> Agent:
        """The agent of a system, on components shared with other systems."""
        design = self._designs[system.name]
        components = {role: self._memoised(role, design) for role in design.roles}
        names = {role: str(design.tables[role]["kind"]) for role in design.roles}
        refiner = None
        settings = design.refiner
        if settings.mode != "off":
            names["refiner"] = f"refiner.{settings.mode}"
            parts = (components["critic"], components["retriever"], components["reader"])
            options: dict[str, Any] = settings.model_dump()
            refiner = SharedRefiner(self._bench.sharing, *parts, **options)
        return Agent(
            **components,
            sources=self._bench.sources,
            refiner=refiner,
            k=design.k,
            fallback=design.fallback,
            names=names,
        )

    def warm_up(self) -> None:
        """Load the components' weights, so that no turn pays for it."""
        for component in self._made.values():
            load = getattr(component, "warm_up", None)
            if load is not None and id(component) not in self._warm:
                self._warm.add(id(component))
                load()

    def _memoised(self, role: str, design: SystemDesign) -> Any:
        """A component behind the memo of the batch."""
        key = self._key(role, design)
        if key not in self._shared:
            kind = str(design.tables[role]["kind"])
            self._shared[key] = shared(role, self._component(role, design), self._bench.sharing, kind)
        return self._shared[key]

    def _component(self, role: str, design: SystemDesign) -> Any:
        """A component without the memo: as a dependency, its time counts towards its user's."""
        key = self._key(role, design)
        if key not in self._made:
            bench, needed = self._bench, design.dependencies(role)
            creator = Creator(self._parts(role, design, needed), design.tables, file=_file(design))
            for other in needed & set(design.tables) - set(_MODELS) - {role}:
                creator.hold(**{other: self._component(other, design)})
            if "model" in needed or "language_model" in needed:
                model = bench.models.language_model(design, bench.language)
                creator.hold(model=model)
                creator.give(language_model=model)
                self._made[f"model of {key}"] = model
            if "encoder" in needed:
                encoder = bench.models.encoder(design, bench.language)
                creator.hold(encoder=encoder)
                creator.give(encoder=encoder)
                self._made[f"encoder of {key}"] = encoder
            self._made[key] = creator.shared(role)
        return self._made[key]

    def _parts(self, role: str, design: SystemDesign, needed: frozenset[str]) -> dict[str, object]:
        bench = self._bench
        parts: dict[str, object] = {
            "sources": bench.sources,
            "analyse": self.analyse,
            "language": bench.language,
            "name": design.name,
            "folder": design.folder,
            "training": bench.training,
            "seed": bench.seed,
        }
        if "store" in needed:
            parts["store"] = self._store(role, design)
        if "answers" in needed:
            parts["answers"] = bench.answers
        return parts

    def _store(self, role: str, design: SystemDesign) -> Store:
        """The store with the vectors of the component's encoder; any store for a search by words."""
        if design.searches_vectors(role):
            return self.stores[self._bench.models.key("encoder", design, self._bench.language)][0]
        return next(iter(self.stores.values()))[0]

    def _key(self, role: str, design: SystemDesign) -> Key:
        """Identity of a component: its table and those of all its dependencies."""
        needed = design.dependencies(role)
        bench = self._bench
        tables: dict[str, object] = {other: design.tables[other] for other in sorted(needed & set(design.tables))}
        if "encoder" in needed:
            tables["encoder"] = bench.models.key("encoder", design, bench.language)
        if "model" in needed or "language_model" in needed:
            tables["model"] = bench.models.key("model", design, bench.language)
        own = {name: str(getattr(design, name)) for name in ("name", "folder") if name in needed}
        return _json([role, design.tables[role], tables, own])


def _merged(role: str, base: Table, override: Table, system: str) -> Table:
    """A table merged over its base; with another kind, the base's options are dropped."""
    try:
        kinds = [REGISTRIES[role].resolve(str(table["kind"])) for table in (base, override) if "kind" in table]
    except UnknownNameError as error:
        raise ConfigError(f"System '{system}': {error.message}", remedy=error.remedy, system=system) from error
    table = {**base, **override} if len(set(kinds)) == 1 else dict(override)
    return {**table, "kind": kinds[-1]}


def _dependencies(role: str, table: Table, tables: Mapping[str, Table]) -> Iterator[str]:
    kind = table.get("kind", tables.get(role, {}).get("kind"))
    if not isinstance(kind, str):
        return
    factory = REGISTRIES[role].factory(kind)
    spared = factory.spared(table) if hasattr(factory, "spared") else frozenset()
    for name, parameter in parameters(factory).items():
        if name in table:
            value = table[name]
            if parameter.role and isinstance(value, str | Mapping):
                yield from _dependencies(
                    parameter.role, {"kind": value} if isinstance(value, str) else dict(value), tables
                )
        elif name in spared:
            continue
        elif name in _PARTS and (name != "answers" or parameter.annotation is GoldAnswers):
            yield name  # the scripted model's answers are others
        elif parameter.required and parameter.role:
            yield parameter.role
            if parameter.role not in _MODELS and parameter.role in tables:
                yield from _dependencies(parameter.role, tables[parameter.role], tables)


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str, ensure_ascii=False)


def _file(design: SystemDesign) -> str:
    return f"system '{design.system}'"
