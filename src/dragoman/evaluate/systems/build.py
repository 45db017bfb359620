"""A system of an experiment file made into an agent: kinds by the registries, every component built once.

Components that are the same by role, kind, options and models are one object for all systems of a set, asked through
the memory of the batch; models are one object for all sets.
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
    """What a system consists of: full kinds and options by role, after defaults and the agent it names."""

    system: str
    tables: Mapping[str, Table]
    refiner: RefinerConfig
    k: int
    fallback: Fallback
    name: str
    folder: Path | None

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that run: a critic only where something is refined."""
        return ROLES if self.refiner.mode == "off" else (*ROLES, "critic")

    @property
    def used(self) -> frozenset[str]:
        """The roles that run, and those that they draw on."""
        drawn = frozenset[str]().union(*(self.drawn(role) for role in self.roles))
        named = drawn & {"critic", *_MODELS}
        return frozenset(self.roles) | named | ({"model"} if "language_model" in drawn else frozenset())

    def drawn(self, role: str) -> frozenset[str]:
        """The shared parts and the roles that a component draws on, those of its own components included."""
        return frozenset(_drawn(role, self.tables[role], self.tables))

    def searches_vectors(self, role: str) -> bool:
        """Whether a component may search rows by meaning: it reads the store and has an encoder."""
        return {"store", "encoder"} <= self.drawn(role)


def system_design(system: SystemSpec) -> SystemDesign:
    """A system with everything filled in; an unknown kind is an error that names the system."""
    config, folder = AgentConfig(), None
    if system.agent is not None:
        try:
            file, _ = locate(Path(system.agent).expanduser())
        except ConfigError as error:
            raise ConfigError(f"System '{system.name}': {error.message}", remedy=error.remedy) from error
        config, folder = load_config(file), file.parent
    design = design_of(config, file=f"system '{system.name}'")
    base: dict[str, Table] = {role: design.tables[role] for role in (*ROLES, "critic", *_MODELS)}
    fallback = design.fallback
    if system.agent is None:
        base |= {role: {"kind": kind} for role, kind in DEFAULTS.items()}
        fallback = "none"
    given = {role: getattr(system, role) for role in base}
    own = "refiner" in system.model_fields_set
    whole = SystemDesign(
        system.name,
        {role: _merged(role, base[role], given[role], system.name) for role in base},
        system.refiner if own else config.refiner,
        design.k if system.k is None else system.k,
        fallback if system.fallback is None else system.fallback,
        config.name,
        folder,
    )
    for role in whole.roles:
        _refuse_own_encoder(role, whole.tables[role], whole.tables, system.name, role)
    return whole


def _refuse_own_encoder(role: str, table: Table, tables: Mapping[str, Table], system: str, place: str) -> None:
    """Rows are searched by the vectors of the system's encoder: one of a component's own would find others."""
    kind = table.get("kind", tables.get(role, {}).get("kind"))
    if not isinstance(kind, str):
        return
    known = parameters(REGISTRIES[role].factory(kind))
    for name, parameter in known.items():
        inner = table.get(name)
        if not parameter.role or not isinstance(inner, str | Mapping):
            continue
        if parameter.role == "encoder" and parameter.required and "store" in known:
            raise ConfigError(
                f"System '{system}': '{place}.{name}' is an encoder of its own, and rows are not indexed by it.",
                remedy=f"Put it at the top of the row: encoder = {{...}} beside {role} = {{...}}.",
                system=system,
                key=f"{place}.{name}",
            )
        own = {"kind": inner} if isinstance(inner, str) else dict(inner)
        _refuse_own_encoder(parameter.role, own, tables, system, f"{place}.{name}")


def needs_encoder(system: SystemSpec) -> bool:
    """Whether anything that the system runs reads vectors."""
    whole = system_design(system)
    return any("encoder" in whole.drawn(role) for role in whole.roles)


def needs_training(system: SystemSpec) -> bool:
    """Whether anything that the system runs reads the training part."""
    whole = system_design(system)
    return any("training" in whole.drawn(role) for role in whole.roles)


def needs_answers(system: SystemSpec) -> bool:
    """Whether anything that the system runs knows the answers."""
    whole = system_design(system)
    return any("answers" in whole.drawn(role) for role in whole.roles)


def fetch_weights(systems: Iterable[SystemSpec]) -> None:
    """Fetch the weights that the models of some systems name in the catalogue; those that are here are checked once."""
    from dragoman.models import weights

    designs = [system_design(system) for system in systems]
    names = {str(design.tables[role].get("weights")) for design in designs for role in _MODELS if role in design.used}
    for name in sorted(names & weights.CATALOGUE.keys()):
        weights.path(name)


class Models:
    """The models of an experiment, each loaded once for all sets and systems; what they do is tallied.

    Rows are indexed by an encoder whose vectors are kept on the disk; components get one that works every time, since
    its seconds are measured.
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

    def key(self, role: Literal["model", "encoder"], whole: SystemDesign, language: str) -> Key:
        """What makes a model what it is."""
        given = self._given(whole, language)
        known = parameters(REGISTRIES[role].factory(whole.tables[role]["kind"]))
        return _json([role, whole.tables[role], {name: str(value) for name, value in given.items() if name in known}])

    def language_model(self, whole: SystemDesign, language: str) -> LanguageModel:
        return Metered(self._model("model", whole, language), self.tally)

    def encoder(self, whole: SystemDesign, language: str) -> Encoder:
        return MeteredEncoder(self._model("encoder", whole, language), self.tally)

    def indexer(self, whole: SystemDesign, language: str) -> Encoder:
        """The encoder for rows."""
        key = self.key("encoder", whole, language)
        if key not in self._indexers:
            encoder = self._model("encoder", whole, language)
            self._indexers[key] = kept_vectors(encoder, whole.tables["encoder"], agent=whole.folder)
        return self._indexers[key]

    def cool(self) -> None:
        """Let all models forget what they read, so that no system finds a turn read by the system before it.

        Those of parts too, a unified model's say, which the process shares and this does not hold.
        """
        clear_caches(*self._made.values())

    def close(self) -> None:
        """Let go of every model."""
        made, self._made, self._indexers = list(self._made.values()), {}, {}
        for model in made:
            close = getattr(model, "close", None)
            if close is not None:
                close()

    def _model(self, role: Literal["model", "encoder"], whole: SystemDesign, language: str) -> Any:
        key = self.key(role, whole, language)
        if key not in self._made:
            creator = Creator(self._given(whole, language), whole.tables, file=_file(whole))
            self._made[key] = creator.shared(role)
        return self._made[key]

    @staticmethod
    def _given(whole: SystemDesign, language: str) -> dict[str, object]:
        return {"name": whole.name, "language": language, "folder": whole.folder}


@dataclass(frozen=True, slots=True)
class Bench:
    """What the systems of one set are built around."""

    sources: tuple[Source, ...]
    language: str
    answers: GoldAnswers
    training: Callable[[], Iterator[Example]]
    seed: int
    models: Models
    sharing: Memo


class SystemBuilder:
    """Builds the agents of one set. `stores` has one store for each encoder by whose vectors rows are searched."""

    def __init__(self, bench: Bench, systems: Sequence[SystemSpec]) -> None:
        from dragoman.stores.in_memory import InMemoryStore

        self._bench = bench
        self._recipes = {system.name: system_design(system) for system in systems}
        known = bench.language if bench.language in SNOWBALL else "auto"
        self.analyse = Analyser(language=known)
        self.stores: dict[Key, tuple[Store, Encoder | None]] = {}
        for whole in self._recipes.values():
            if any(whole.searches_vectors(role) for role in whole.roles):
                key = bench.models.key("encoder", whole, bench.language)
                if key not in self.stores:
                    indexer = bench.models.indexer(whole, bench.language)
                    self.stores[key] = InMemoryStore(analyse=self.analyse), indexer
        if not self.stores:
            self.stores[""] = InMemoryStore(analyse=self.analyse), None
        self._made: dict[Key, Any] = {}
        self._shared: dict[Key, Any] = {}
        self._warm: set[int] = set()

    def build(self, system: SystemSpec) -> Agent:
        """The agent of a system, over parts that it shares with the others."""
        whole = self._recipes[system.name]
        made = {role: self._asked(role, whole) for role in whole.roles}
        names = {role: str(whole.tables[role]["kind"]) for role in whole.roles}
        refiner = None
        settings = whole.refiner
        if settings.mode != "off":
            names["refiner"] = f"refiner.{settings.mode}"
            parts = (made["critic"], made["retriever"], made["reader"])
            options: dict[str, Any] = settings.model_dump()
            refiner = SharedRefiner(self._bench.sharing, *parts, **options)
        return Agent(
            **made, sources=self._bench.sources, refiner=refiner, k=whole.k, fallback=whole.fallback, names=names
        )

    def warm_up(self) -> None:
        """Load what the agents need, so that no turn is billed for it."""
        for component in self._made.values():
            load = getattr(component, "warm_up", None)
            if load is not None and id(component) not in self._warm:
                self._warm.add(id(component))
                load()

    def _asked(self, role: str, whole: SystemDesign) -> Any:
        """A component behind the memory of the batch."""
        key = self._key(role, whole)
        if key not in self._shared:
            kind = str(whole.tables[role]["kind"])
            self._shared[key] = shared(role, self._component(role, whole), self._bench.sharing, kind)
        return self._shared[key]

    def _component(self, role: str, whole: SystemDesign) -> Any:
        """A component itself: what others draw on is not behind a memory, since its time is part of theirs."""
        key = self._key(role, whole)
        if key not in self._made:
            bench, drawn = self._bench, whole.drawn(role)
            creator = Creator(self._parts(role, whole, drawn), whole.tables, file=_file(whole))
            for other in drawn & set(whole.tables) - set(_MODELS) - {role}:
                creator.hold(**{other: self._component(other, whole)})
            if "model" in drawn or "language_model" in drawn:
                model = bench.models.language_model(whole, bench.language)
                creator.hold(model=model)
                creator.give(language_model=model)
                self._made[f"model of {key}"] = model
            if "encoder" in drawn:
                encoder = bench.models.encoder(whole, bench.language)
                creator.hold(encoder=encoder)
                creator.give(encoder=encoder)
                self._made[f"encoder of {key}"] = encoder
            self._made[key] = creator.shared(role)
        return self._made[key]

    def _parts(self, role: str, whole: SystemDesign, drawn: frozenset[str]) -> dict[str, object]:
        bench = self._bench
        parts: dict[str, object] = {
            "sources": bench.sources,
            "analyse": self.analyse,
            "language": bench.language,
            "name": whole.name,
            "folder": whole.folder,
            "training": bench.training,
            "seed": bench.seed,
        }
        if "store" in drawn:
            parts["store"] = self._store(role, whole)
        if "answers" in drawn:
            parts["answers"] = bench.answers
        return parts

    def _store(self, role: str, whole: SystemDesign) -> Store:
        """The store with the vectors of the component's encoder; any of them where only words are searched."""
        if whole.searches_vectors(role):
            return self.stores[self._bench.models.key("encoder", whole, self._bench.language)][0]
        return next(iter(self.stores.values()))[0]

    def _key(self, role: str, whole: SystemDesign) -> Key:
        """What makes a component what it is: its table, and those of everything it draws on."""
        drawn = whole.drawn(role)
        bench = self._bench
        tables: dict[str, object] = {other: whole.tables[other] for other in sorted(drawn & set(whole.tables))}
        if "encoder" in drawn:
            tables["encoder"] = bench.models.key("encoder", whole, bench.language)
        if "model" in drawn or "language_model" in drawn:
            tables["model"] = bench.models.key("model", whole, bench.language)
        own = {name: str(getattr(whole, name)) for name in ("name", "folder") if name in drawn}
        return _json([role, whole.tables[role], tables, own])


def _merged(role: str, base: Table, given: Table, system: str) -> Table:
    """A table over the one it changes; another kind does not take over the options of the one it replaces."""
    try:
        kinds = [REGISTRIES[role].resolve(str(table["kind"])) for table in (base, given) if "kind" in table]
    except UnknownNameError as error:
        raise ConfigError(f"System '{system}': {error.message}", remedy=error.remedy, system=system) from error
    table = {**base, **given} if len(set(kinds)) == 1 else dict(given)
    return {**table, "kind": kinds[-1]}


def _drawn(role: str, table: Table, tables: Mapping[str, Table]) -> Iterator[str]:
    kind = table.get("kind", tables.get(role, {}).get("kind"))
    if not isinstance(kind, str):
        return
    factory = REGISTRIES[role].factory(kind)
    spared = factory.spared(table) if hasattr(factory, "spared") else frozenset()
    for name, parameter in parameters(factory).items():
        if name in table:
            value = table[name]
            if parameter.role and isinstance(value, str | Mapping):
                yield from _drawn(parameter.role, {"kind": value} if isinstance(value, str) else dict(value), tables)
        elif name in spared:
            continue
        elif name in _PARTS and (name != "answers" or parameter.annotation is GoldAnswers):
            yield name  # the scripted model's answers are others
        elif parameter.required and parameter.role:
            yield parameter.role
            if parameter.role not in _MODELS and parameter.role in tables:
                yield from _drawn(parameter.role, tables[parameter.role], tables)


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str, ensure_ascii=False)


def _file(whole: SystemDesign) -> str:
    return f"system '{whole.system}'"
