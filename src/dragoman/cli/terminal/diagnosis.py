"""The checks of `dragoman doctor`: each runs even if others fail."""

from __future__ import annotations

import importlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Literal, Protocol, TypeGuard, runtime_checkable

from dragoman.core.errors import DragomanError
from dragoman.core.registry import REGISTRIES, Registry
from dragoman.core.values import Prompt, Scope

if TYPE_CHECKING:
    from dragoman.agent.assistant import Assistant
    from dragoman.config import AgentConfig
    from dragoman.core.protocols import Encoder, LanguageModel
    from dragoman.models.part import Part
    from dragoman.models.remote.model import RemoteModel
    from dragoman.stores.index.index_manager import IndexState
    from dragoman.stores.sql_store import Verification

_PARTS = ("apsw", "onnxruntime", "tokenizers", "xllamacpp", "tantivy", "usearch")
_EXTRAS = {
    "eval": ("sacrebleu", "measures agents with the papers' experiments"),
    "train": ("torch", "trains gates, retrievers, planners and critics"),
    "server": ("fastapi", "puts agents behind HTTP, with a page"),
    "zh": ("jieba", "cuts Chinese into words; without it into pairs of characters"),
    "postgres": ("psycopg", "keeps an agent's store on a PostgreSQL server, for many machines"),
}
_PYTHON = (3, 11)
_ROOM_WANTED = 1 << 30


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check: its subject, state and remedy."""

    what: str
    state: Literal["ok", "note", "broken"]
    found: str
    remedy: str = ""


@runtime_checkable
class Verifiable(Protocol):
    """A store that can verify its files."""

    def verify(self) -> Verification: ...

    def check_index(self, scope: Scope) -> Sequence[IndexState]: ...


def examine(agent: str, settings: Mapping[str, str] | None = None) -> list[Finding]:
    """Run all checks, from the interpreter to the agent with these settings instead of its own."""
    settings = settings or {}
    return [
        _python(),
        *(_tried(name, partial(_part, name), f"pip install --force-reinstall {name}") for name in _PARTS),
        _tried("home", _home, "Set DRAGOMAN_HOME to a folder that can be written."),
        *_components(),
        *_agent(agent, settings),
        *_shipped(agent, settings),
        *_extras(),
    ]


def _tried(what: str, try_it: Callable[[], Finding], remedy: str = "") -> Finding:
    """Run one check and turn its error into a finding."""
    try:
        return try_it()
    except DragomanError as error:
        return Finding(what, "broken", error.message, error.remedy or remedy)
    except Exception as error:  # noqa: BLE001 - whatever is broken here is exactly what is to be reported
        return Finding(what, "broken", f"{type(error).__name__}: {error}", remedy)


def _python() -> Finding:
    version = ".".join(str(part) for part in sys.version_info[:3])
    if tuple(sys.version_info) >= _PYTHON:
        return Finding("Python", "ok", version)
    return Finding("Python", "broken", version, "Install Python 3.11 or newer.")


def _part(name: str) -> Finding:
    module = importlib.import_module(name)
    version = metadata.version(name)
    if name == "apsw":
        version = f"{version}, SQLite {module.sqlite_lib_version()}"
    return Finding(name, "ok", version)


def _home() -> Finding:
    from dragoman.core.environment import home

    folder = home()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"dragoman")
    free = shutil.disk_usage(folder).free
    text = f"{folder}, {free / (1 << 30):.1f} GiB free"
    if free < _ROOM_WANTED:
        return Finding("home", "note", text, "Free some space, or set DRAGOMAN_HOME to a folder on a larger disk.")
    return Finding("home", "ok", text)


def _components() -> Iterator[Finding]:
    """One line for the roles whose components were all found, and one for each other role."""
    counts = []
    for role, registry in REGISTRIES.items():
        finding = _tried(role, partial(_names, registry))
        if finding.state != "ok":
            yield finding
        else:
            counts.append(f"{role} {finding.found}")
    yield Finding("components", "ok", ", ".join(counts))


def _names(registry: Registry) -> Finding:
    names = registry.names()
    return Finding(registry.role, "ok" if names else "note", str(len(names)) if names else "none registered")


def _extras() -> Iterator[Finding]:
    for extra, (package, what) in _EXTRAS.items():
        try:
            yield Finding(f"extra {extra}", "ok", f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            yield Finding(f"extra {extra}", "note", f"not installed: {what}", f"pip install 'dragoman[{extra}]'")


def _shipped(agent: str, settings: Mapping[str, str]) -> Iterator[Finding]:
    """Check the built-in trained components: file integrity, users and purpose."""
    from dragoman.models.part import open_part, shipped_parts

    owner, tables = _named_in(agent, settings)
    for name, place in shipped_parts().items():
        where = [table for table, parts in tables.items() if place in parts]
        had = f"{owner} has it in [{'], ['.join(where)}]" if where else ""
        yield _tried(f"part {name}", partial(_trained, name, open_part, had), "Install the package again.")


def _trained(name: str, opened: Callable[[str], Part], had: str) -> Finding:
    from dragoman.train.agent_tables import uses

    part = opened(name)
    if part.kind == "shared":
        return Finding(f"part {name}", "ok", f"one model of {', '.join(part.heads)}, from {part.made.get('base', '')}")
    use = uses(part, name)[0]
    return Finding(f"part {name}", "ok", f"{had}. {use.note}".rstrip(" ") if had else f"to use it: {use.line}")


def _named_in(agent: str, settings: Mapping[str, str]) -> tuple[str, dict[str, list[Path]]]:
    """An agent's name and the components named in its config; none if the config cannot be read."""
    from dragoman.agent.build import judge_part, locate
    from dragoman.config import load_config

    try:
        file, _ = locate(agent)
        config = load_config(file, settings)
    except DragomanError:
        return agent, {}
    whole = config.resolved()
    tables = {**whole, **{f"models.{name}": table for name, table in whole["models"].items()}}
    roles = {name: table for name, table in tables.items() if isinstance(table, Mapping) and name != "models"}
    named = {name: list(_parts_of(table, file.parent)) for name, table in roles.items()}
    judge = judge_part(config.language, whole["reader"])
    if judge:  # the reader's default names none
        named["reader"] += _parts_of({"part": judge}, file.parent)
    return f"{config.name} ({agent})", named


def _parts_of(table: Mapping[str, object], folder: Path) -> Iterator[Path]:
    from dragoman.models.part import find_part

    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _parts_of(value, folder)
        elif key == "part" and isinstance(value, str):
            with suppress(DragomanError):
                yield find_part(value, folder=folder)


def _agent(agent: str, settings: Mapping[str, str]) -> Iterator[Finding]:
    """Check the agent's config, models and store."""
    from dragoman.agent.build import locate, models_of
    from dragoman.config import load_config

    try:
        file, state = locate(agent)
        config = load_config(file, settings)
        language_model, encoder = models_of(config, folder=file.parent, file=str(file))
    except DragomanError as error:
        yield Finding("agent", "broken", error.message, error.remedy)
        return
    yield Finding("agent", "ok", f"{config.name} ({agent}): {', '.join(source.name for source in config.sources)}")
    tries = (
        (config.models.language, "generating", partial(_generates, language_model)),
        (config.models.encoder, "encoding", partial(_encodes, encoder)),
    )
    for table, what, try_it in tries:
        if what == "generating" and _is_remote(language_model):
            yield from of_endpoint(language_model)
            continue
        weights = _tried(f"weights for {what}", partial(_weights, table, f"weights for {what}"))
        yield weights
        if weights.state != "broken":
            yield _tried(what, try_it)
    yield _tried("store", lambda: _store(config, state), "Keep the file for rescue, and begin with another --state.")


def _weights(table: Mapping[str, object], what: str) -> Finding:
    """Check that weights are present and valid, without downloading them."""
    from dragoman.models.weights import CATALOGUE, verify

    name = str(table.get("weights", ""))
    if name not in CATALOGUE:
        return Finding(what, "ok", name or f"{table['kind']} needs none")
    if not CATALOGUE[name].is_present:
        return Finding(what, "broken", f"{name} is not here", f"dragoman models pull {name}")
    verify(name)
    return Finding(what, "ok", f"{name}, {CATALOGUE[name].bytes / 1e6:.0f} MB, its hash is right")


def _is_remote(language_model: object) -> TypeGuard[RemoteModel]:
    from dragoman.models.remote.model import RemoteModel

    return isinstance(language_model, RemoteModel)


def of_endpoint(model: RemoteModel) -> Iterator[Finding]:
    """Try an endpoint: what works, what is emulated, and what each step of a turn costs."""
    from dragoman.models.remote.probe import probe
    from dragoman.server.cost import price_text

    try:
        result = probe(model)
    except DragomanError as error:
        yield Finding("endpoint", "broken", error.message, error.remedy)
        return
    profile = result.profile
    listed = f", models listed: {len(result.models)}" if result.models else ""
    yield Finding("endpoint", "ok", f"{model.name} at {model.endpoint.url}, profile {profile.name}{listed}")
    yield Finding("endpoint works", "ok", f"{', '.join(result.works)}; window {profile.window} tokens")
    if result.emulated:
        yield Finding("endpoint emulated", "note", ", ".join(result.emulated))
    for cost in result.costs:
        how = f", by {result.method}" if cost.step == "gate" else ""
        calls = "1 call" if cost.calls == 1 else f"{cost.calls} calls"
        paid = "" if cost.price is None else f", {price_text(cost.price)}"
        summary = f"{calls}, {cost.tokens} tokens, {cost.seconds:.2f} s{paid}{how}"
        yield Finding(f"cost of a {cost.step}", "ok", summary)
    yield from _judges(model)
    if model.price_source:
        yield Finding("prices", "note", f"as listed at {model.price_source}; `prices` in agent.toml replaces them")


def _judges(model: LanguageModel) -> Iterator[Finding]:
    """Examine a model as a judge, and keep the result for the agents of this machine."""
    from dragoman.reader.judge_exam import ITEMS, examine, keep

    try:
        result = examine(model)
    except DragomanError as error:
        yield Finding("judge", "note", f"could not be examined: {error.message}", error.remedy)
        return
    keep(model, result)
    does = "decides what the rules leave open" if result.passed else "only words what the rules decide"
    wrong = f", said yes to {result.turned_round} refusals" if result.turned_round else ""
    yield Finding(
        "judge",
        "ok" if result.passed else "note",
        f"{result.right} of {len(ITEMS)} known rules right{wrong}: the model {does}",
    )


def _generates(language_model: LanguageModel) -> Finding:
    began = perf_counter()
    draft = language_model.generate([Prompt.user("Say hello.")], max_tokens=8)[0]
    if not draft.text.strip():
        return Finding("generating", "broken", "the model wrote nothing", "Fetch the weights again, or choose others.")
    return Finding("generating", "ok", f"{draft.usage.completion_tokens} tokens in {_since(began)}, loading included")


def _encodes(encoder: Encoder) -> Finding:
    began = perf_counter()
    near, far = encoder.encode(["The ferry leaves at nine.", "When does the boat go?", "A recipe for soup."])[1:]
    first = encoder.encode(["The ferry leaves at nine."])[0]
    if float(first @ near) <= float(first @ far):
        return Finding("encoding", "broken", "the vectors make no sense", "Fetch the weights again, or choose others.")
    return Finding("encoding", "ok", f"{encoder.dimensions} dimensions, in {_since(began)}, loading included")


def _store(config: AgentConfig, state: Path) -> Finding:  # noqa: PLR0911 - one for each state
    """Verify the database and its index; does not create a missing state folder."""
    from dragoman.agent.build import DATABASE, assemble
    from dragoman.config import DEFAULT_KINDS

    in_state = REGISTRIES["store"].resolve(str(config.store["kind"])) == DEFAULT_KINDS["store"]
    if in_state and not (state / DATABASE).exists():
        return Finding("store", "ok", f"none in {state} yet; the first conversation makes it")
    with assemble(config, folder=None, state=state) as assistant:
        store = assistant.store
        if not isinstance(store, Verifiable):
            return Finding("store", "note", f"{config.store['kind']} cannot be verified")
        verified = store.verify()
        states = store.check_index(assistant.scope())
        outdated = _outdated(assistant, config)
    behind = [index.source for index in states if False in (index.words_current, index.vectors_current)]
    damaged = [f"{index.source}: {problem}" for index in states for problem in index.problems]
    if not verified.is_sound:
        return Finding("store", "broken", f"{verified.path}: {verified.problems[0]}", "Restore it from a copy.")
    if damaged:
        remedy = "Nothing is lost: the next search builds what is damaged anew from the store."
        return Finding("store", "note", f"in the index of {'; '.join(damaged)}", remedy)
    if outdated:
        remedy = "The next start encodes them again; until that is done they are found by their words."
        return Finding("store", "note", f"vectors of another encoder: {', '.join(outdated)}", remedy)
    if behind:
        return Finding("store", "note", f"the index of {', '.join(behind)} is behind", "The next search mends it.")
    return Finding("store", "ok", f"{verified.path}, {verified.bytes / (1 << 20):.1f} MiB, sound, index up to date")


def _outdated(assistant: Assistant, config: AgentConfig) -> list[str]:
    """The shared sources whose vectors are not, or not all, of the agent's encoder, with what is left to encode."""
    from dragoman.agent.encoding import vector_space

    use = getattr(assistant.store, "use_encoder", None)
    space = vector_space(assistant.encoder, config.table("encoder"))
    if use is None or not space:
        return []
    change, scope = use(space), assistant.scope().shared
    return [f"{source} ({change.left(scope, source):,} passages)" for source in change.waiting(scope)]


def _since(began: float) -> str:
    return f"{perf_counter() - began:.1f} s"
