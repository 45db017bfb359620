"""Build an assistant from an agent folder, its agent.toml, or the name of a shipped agent."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import tzinfo
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from dragoman.agent.agent import Agent
from dragoman.agent.assistant import Assistant
from dragoman.agent.create import Creator, parameters
from dragoman.agent.declared import read_declared
from dragoman.agent.design import design_of
from dragoman.agent.encoding import vector_space
from dragoman.agent.packing import is_packed, unpack
from dragoman.agent.reencoding import reencoding_of
from dragoman.agent.refine import Refiner
from dragoman.agent.warm import WarmUp
from dragoman.config import DEFAULT_KINDS, FILE_NAME, AgentConfig, Overrides, load_config
from dragoman.core.clock import zone_of
from dragoman.core.environment import home
from dragoman.core.errors import ConfigError, UnknownNameError
from dragoman.core.model_names import model_table
from dragoman.core.registry import REGISTRIES
from dragoman.core.values import Scope
from dragoman.presets import presets
from dragoman.retriever.allowed import AllowedRetriever
from dragoman.sources.upload_folders import UploadFolders
from dragoman.text.analyse import SNOWBALL, Analyser

if TYPE_CHECKING:
    from dragoman.core.protocols import Encoder, LanguageModel, Store
    from dragoman.core.values import Passage, Source
    from dragoman.sources.ingest import IngestProgress
    from dragoman.sources.tools import McpTool

    Models: TypeAlias = tuple[LanguageModel, Encoder]

_log = logging.getLogger("dragoman.agent")
STATE_FOLDER = ".dragoman"
DATABASE = "dragoman.db"
_PATIENCE = 10.0
"""Seconds that loading waits for passages to be encoded again; more of them go on in the background."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The shared parts of an agent that a component's constructor can request by parameter name.

    A component's options are its keyword-only parameters. The builder fills those named like a field here; every other
    one is an option that a config file may set. Models are lazy: asking for one loads nothing.
    """

    language_model: LanguageModel
    encoder: Encoder
    store: Store
    sources: tuple[Source, ...]
    analyse: Callable[[str], tuple[str, ...]]
    language: str = "en"
    name: str = "Dragoman"
    folder: Path | None = None


def load(
    agent: str | Path,
    *,
    overrides: Overrides = (),
    state: str | Path | None = None,
    progress: IngestProgress | None = None,
    warm: bool = False,
) -> Assistant:
    """Load an agent's assistant; `warm` starts loading its encoder at once instead of on the first turn."""
    file, default_state = locate(agent)
    config = load_config(file, overrides)
    warming = WarmUp()
    try:
        assistant = assemble(
            config,
            folder=file.parent,
            state=Path(state) if state else default_state,
            file=str(file),
            warming=warming if warm else None,
        )
    except BaseException:
        warming.wait()
        raise
    try:
        getattr(assistant.store, "require_whole", lambda: None)()  # half a copy of another store is not for use
        space = vector_space(assistant.encoder, config.table("encoder"))
        assistant.reencoding = reencoding_of(assistant.store, assistant.encoder, space, assistant.sources)
        if assistant.reencoding is not None:
            assistant.agent.notices = assistant.reencoding.notices
            assistant.reencoding.check(Scope(config.tenant).shared)
        assistant.unread = read_declared(config, file.parent, assistant, progress=progress)
        if assistant.reencoding is not None:
            done = assistant.reencoding.wait(_PATIENCE, progress)
            _log.log(logging.INFO if done else logging.WARNING, "%s", assistant.reencoding.message)
    except BaseException:
        assistant.close()
        raise
    return assistant


def shipped() -> dict[str, Path]:
    """The agents that come with the package, by name: the samples, and the presets without documents of their own."""
    folder = Path(str(files("dragoman") / "sample"))
    return {path.parent.name: path for path in sorted(folder.glob(f"*/{FILE_NAME}"))} | presets()


def locate(agent: str | Path) -> tuple[Path, Path]:
    """Find the agent.toml of a name or path, and the folder for its state."""
    path = Path(agent)
    if is_packed(path):
        folder = unpack(path)
        return folder / FILE_NAME, home() / "agents" / f"packed-{folder.name}"
    if path.is_file():
        if path.suffix.lower() != ".toml":
            raise ConfigError(f"{path} is no agent.", remedy=_from_documents(path))
        return path, path.parent / STATE_FOLDER
    if (path / FILE_NAME).is_file():
        return path / FILE_NAME, path / STATE_FOLDER
    agents = shipped()
    if str(agent) in agents:
        return agents[str(agent)], home() / "agents" / str(agent)
    if path.is_dir():
        remedy = _from_documents(path) if any(path.iterdir()) else f"'dragoman init {path}' makes one."
        raise ConfigError(f"There is no {FILE_NAME} in {path}.", remedy=remedy)
    raise UnknownNameError(
        "agent", str(agent), agents, remedy=f"Give one of these, or a folder that holds an {FILE_NAME}."
    )


def _from_documents(path: Path) -> str:
    return f"'dragoman init my-agent --documents {shlex.quote(str(path))}' makes an agent that answers from it."


def assemble(
    config: AgentConfig,
    *,
    folder: Path | None,
    state: Path,
    file: str = FILE_NAME,
    models: Models | None = None,
    warming: WarmUp | None = None,
    store: Store | None = None,
) -> Assistant:
    """The assistant that a config describes; reads nothing and, without `warming`, loads nothing yet.

    `models` and `store` replace those of the config; closing the assistant leaves them open.
    """
    design = design_of(config, file=file)
    tables = design.tables
    sources = config.declared()
    analyse = Analyser(language=config.language if config.language in SNOWBALL else "auto")
    base = {"name": config.name, "language": config.language, "analyse": analyse, "sources": sources}
    creator = Creator({**base, "folder": folder}, tables, file=file)
    if models is not None:
        creator.hold(model=models[0], encoder=models[1])
    model, encoder = creator.shared("model"), creator.shared("encoder")
    if warming is not None:
        warming.begin(encoder)  # loads while the roles below are imported and built
    learn = _own_option(tables, "memory", "learn", default=True)
    names = {role: REGISTRIES[role].resolve(tables[role]["kind"]) for role in DEFAULT_KINDS}
    names["refiner"] = f"refiner.{config.refiner.mode}"
    if store is None:
        store = Creator({**base, "folder": state, "path": state / DATABASE}, tables, file=file).shared("store")
    parts = Parts(model, encoder, store, sources, analyse, config.language, config.name, folder)
    creator.give(**{field.name: getattr(parts, field.name) for field in fields(parts)})
    tools = _tools(config, folder)
    if tools:
        from dragoman.retriever.tools import ToolRetriever

        creator.hold(retriever=ToolRetriever(creator.shared("retriever"), tools, encoder=encoder, analyse=analyse))
    chats = [entry.name for entry in config.sources if entry.dialogues]
    if chats:
        from dragoman.retriever.dialogues import DialogueRetriever
        from dragoman.stores.dialogue_search import DialogueSearch

        search = DialogueSearch(store, encoder, analyse)
        zone = str(tables["memory"].get("time_zone", ""))
        inner = creator.shared("retriever")
        past = DialogueRetriever(inner, chats, search=search, encoder=encoder, analyse=analyse, time_zone=zone)
        creator.hold(retriever=past)
    creator.hold(retriever=AllowedRetriever(creator.shared("retriever")))
    if design.personal and _has_user_and_world(sources):
        from dragoman.decision.bearing import Bearing
        from dragoman.decision.joint import JointRanker
        from dragoman.decision.judge import SentenceJudge
        from dragoman.retriever.personal import PersonalRetriever

        ranker = JointRanker(encoder=encoder, analyse=analyse)
        part = judge_part(config.language, tables["reader"])
        judge = SentenceJudge(part, Bearing(encoder=encoder, analyse=analyse)) if part else None
        inner = creator.shared("retriever")
        if warming is not None and judge is not None:
            warming.begin(judge)
        creator.hold(retriever=PersonalRetriever(inner, ranker=ranker, sources=sources, judge=judge))

    agent = Agent(
        language=config.language,
        gate=creator.shared("gate"),
        planner=creator.shared("planner"),
        retriever=creator.shared("retriever"),
        reader=creator.shared("reader"),
        critic=creator.shared("critic"),
        refiner=_refiner(config, creator),
        sources=sources,
        k=design.k,
        fallback=design.fallback,
        names=names,
        date_of=_dates(store),
        zone_of=_zones(store, str(tables["memory"].get("time_zone", ""))),
    )
    return Assistant(
        agent,
        store,
        creator.shared("memory"),
        sources,
        encoder,
        name=config.name,
        greeting=config.greeting,
        examples=config.examples,
        tenant=config.tenant,
        history=config.history,
        most_characters=config.max_turn_characters,
        folder=folder,
        learn=bool(learn),
        heavy=(*(() if models else (encoder, model)), *tools.values()),
        warming=warming,
        config=config.resolved(),
        model=model,
        files=UploadFolders(state, usage=getattr(store, "usage", None)),
    )


def other_model(assistant: Assistant, name: str) -> Assistant:
    """The same assistant with another language model, named as after `--model`; it shares store, memory and encoder."""
    config = AgentConfig.model_validate(
        {**assistant.config, "models": {**assistant.config.get("models", {}), "language": model_table(name)}}
    )
    folder = assistant.folder
    model, _ = models_of(config, folder=folder)
    made = assemble(
        config, folder=folder, state=folder or Path(), models=(model, assistant.encoder), store=assistant.store
    )
    return assistant.with_agent(made.agent, model=model)


def models_of(config: AgentConfig, *, folder: Path | None = None, file: str = FILE_NAME) -> Models:
    """The language model and the encoder of a config, shared by several assistants."""
    parameters = {"name": config.name, "language": config.language, "folder": folder}
    creator = Creator(parameters, {role: config.table(role) for role in ("model", "encoder")}, file=file)
    return creator.shared("model"), creator.shared("encoder")


def _tools(config: AgentConfig, folder: Path | None) -> dict[str, McpTool]:
    """Return the tool sources by name; none is connected yet."""
    if not any(entry.mcp for entry in config.sources):
        return {}
    from dragoman.sources.session import ToolAddress
    from dragoman.sources.tools import McpTool, require_package

    require_package()
    tools = {}
    for entry in config.sources:
        if entry.mcp is not None and entry.tool is not None:
            mcp = entry.mcp
            where = ToolAddress(
                entry.tool, entry.argument, mcp.command, mcp.url or "", mcp.env, mcp.key_env, folder, mcp.seconds
            )
            tools[entry.name] = McpTool(entry.name, where)
    return tools


def _refiner(config: AgentConfig, creator: Creator) -> Refiner | None:
    settings = config.refiner
    if settings.mode == "off":
        return None
    parts = (creator.shared("critic"), creator.shared("retriever"), creator.shared("reader"))
    return Refiner(*parts, **settings.model_dump())


def _dates(store: Store) -> Callable[[Scope, Passage], str]:
    """The dates of passages; imported when a question asks for the latest."""

    def date_of(scope: Scope, passage: Passage) -> str:
        from dragoman.sources.dates import passage_date

        return passage_date(store, scope, passage)

    return date_of


def _zones(store: Store, default: str) -> Callable[[Scope], tzinfo]:
    """The time zones of users."""

    def zone_of_user(scope: Scope) -> tzinfo:
        from dragoman.memory.zones import UserZones

        return UserZones(store, zone_of(default)).of(scope)

    return zone_of_user


def judge_part(language: str, reader: Mapping[str, Any]) -> str:
    """Return the trained part with which a reader judges sentences; "" if it has none."""
    from dragoman.decision.judge import SHIPPED_JUDGE

    judged = language in ("en", "zh") and REGISTRIES["reader"].resolve(reader["kind"]) == "reader.grounded.v1"
    return str(reader.get("joint", SHIPPED_JUDGE)) if judged else ""


def _has_user_and_world(sources: tuple[Source, ...]) -> bool:
    """Whether there are both private facts about users and documents to combine them with."""
    return any(source.about == "user" and source.private for source in sources) and any(
        source.about == "world" for source in sources
    )


def _own_option(tables: dict[str, dict[str, Any]], role: str, name: str, *, default: object) -> object:
    """Take an option of the assistant out of a role's table, unless the component takes it itself."""
    table = tables[role]
    if name in parameters(REGISTRIES[role].factory(table["kind"])):
        return default
    return table.pop(name, default)
