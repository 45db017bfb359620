"""From an agent folder to an assistant."""

from __future__ import annotations

from pathlib import Path

import pytest

import dragoman
from dragoman.agent.build import load, locate, shipped
from dragoman.core.errors import ConfigError, PlanError, SourceError, UnknownNameError
from dragoman.core.registry import REGISTRIES
from dragoman.core.values import NOTHING_LEARNED, Draft, Plan, Scope
from dragoman.stores.sqlite.store import SqliteStore
from dragoman.testing.stubs import StubCritic, StubEncoder, StubGate, StubMemory, StubPlanner, StubReader

AGENT = """
name = "Marlow"
greeting = "Ahoy."
examples = ["Who are you?"]
[models.language]
kind = "silent"
[models.encoder]
kind = "words"
[[sources]]
name = "PERSONA"
about = "bot"
path = "persona.md"
[[sources]]
name = "MEMORY"
about = "user"
private = true
path = "memory"
[[sources]]
name = "DOCUMENTS"
needs = ["PERSONA"]
path = "documents"
[gate]
kind = "open"
[planner]
kind = "given"
[retriever]
kind = "words"
k = 2
[reader]
kind = "listing"
[critic]
kind = "content"
[memory]
kind = "none"
learn = true
"""


class Silent:
    warm = 0

    def generate(self, prompts, *, max_tokens, stop=()):
        return [Draft("Hm.")] * len(prompts)

    def warm_up(self):
        Silent.warm += 1


class GivenPlanner(StubPlanner):
    def __init__(self, *, steps: tuple[tuple[str, ...], ...] = (("PERSONA",), ("DOCUMENTS",))):
        super().__init__(Plan(steps))


class WordRetriever:
    def __init__(self, *, store, analyse):
        self.store, self.analyse = store, analyse

    def retrieve(self, requests):
        from dragoman.core.values import Evidence, Query

        def one(request):
            for source in request.sources:
                query = Query(source.scope(request.context.scope), source.name, request.k, self.analyse("ferry desk"))
                yield from (Evidence(hit.passage, 0.5) for hit in self.store.lexical([query])[0])

        return [list(one(request)) for request in requests]


class OpenGate(StubGate):
    def __init__(self, *, threshold: float = 0.5):
        super().__init__()
        self.threshold = threshold


def plain(stub):
    def make():
        return stub()

    return make


KINDS = {
    "gate.open.v1": OpenGate,
    "planner.given.v1": GivenPlanner,
    "retriever.words.v1": WordRetriever,
    "reader.listing.v1": plain(StubReader),
    "critic.content.v1": plain(StubCritic),
    "memory.none.v1": plain(StubMemory),
    "model.silent.v1": Silent,
    "encoder.words.v1": StubEncoder,
    "store.sqlite.v1": SqliteStore,
}


@pytest.fixture(autouse=True)
def kinds(monkeypatch):
    for key, factory in KINDS.items():
        role = key.partition(".")[0]
        monkeypatch.setattr(REGISTRIES[role], "_loaded", True)
        monkeypatch.setattr(REGISTRIES[role], "_factories", {key: factory})


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "marlow"
    (folder / "documents").mkdir(parents=True)
    (folder / "memory").mkdir()
    (folder / "agent.toml").write_text(AGENT)
    (folder / "persona.md").write_text("- I keep the ferry desk. {#desk}\n")
    (folder / "documents" / "ferry.md").write_text("# Ferry\n\nA ferry ticket costs 34 francs.\n")
    (folder / "memory" / "ana.md").write_text("- I like tea.\n")
    return folder


def test_a_folder_becomes_an_assistant_that_knows_its_files(folder):
    with load(folder) as assistant:
        reply = assistant.ask("What does the ferry cost?", user="ana")
        assert [piece.source for piece in reply.evidence] == ["PERSONA", "DOCUMENTS"]
        assert [fact.text for fact in assistant.store.passages(Scope("local", "ana"), "MEMORY")] == ["I like tea."]
        assert (assistant.name, assistant.greeting, assistant.examples) == ("Marlow", "Ahoy.", ("Who are you?",))
        assert assistant.agent.k == 2
        assert reply.trace.of("gate")[0].component == "gate.open.v1"
        assert assistant.unread == ()
    assert (folder / ".dragoman" / "dragoman.db").is_file()


def test_the_file_itself_may_be_named_and_the_public_name_is_the_same(folder):
    with dragoman.load(str(folder / "agent.toml")) as assistant:
        assert assistant.name == "Marlow"


def test_documents_named_in_place_of_an_agent_are_answered_with_the_way_to_one(tmp_path):
    (tmp_path / "notes.pdf").write_bytes(b"%PDF-1.4")
    for given in (tmp_path, tmp_path / "notes.pdf"):
        with pytest.raises(ConfigError) as raised:
            load(given)
        assert f"dragoman init my-agent --documents {given}" in str(raised.value.remedy)


def test_state_may_lie_elsewhere_and_goes_on(folder, tmp_path):
    with load(folder, state=tmp_path / "elsewhere") as assistant:
        assistant.ask("hello")
    assert not (folder / ".dragoman").exists()
    with load(folder, state=tmp_path / "elsewhere") as assistant:
        assert len(assistant.history()) == 2


def test_what_changed_is_read_again_and_what_did_not_is_not(folder, monkeypatch):
    encoded = []
    encode = StubEncoder.encode
    monkeypatch.setattr(StubEncoder, "encode", lambda self, texts: encoded.extend(texts) or encode(self, texts))
    load(folder).close()
    assert len(encoded) == 3
    load(folder).close()
    assert len(encoded) == 3
    (folder / "documents" / "ferry.md").write_text("# Ferry\n\nA ferry ticket costs 40 francs.\n")
    with load(folder) as assistant:
        texts = [passage.text for passage in assistant.store.passages(Scope().shared, "DOCUMENTS")]
    assert texts == ["A ferry ticket costs 40 francs."]
    assert len(encoded) == 4


def test_a_forgotten_seed_does_not_come_back(folder):
    with load(folder) as assistant:
        assistant.store.forget(Scope("local", "ana"))
    with load(folder) as assistant:
        assert assistant.store.count(Scope("local", "ana"), "MEMORY") == 0


def test_files_that_fail_are_reported_and_the_others_go_in(folder):
    (folder / "documents" / "broken.pdf").write_bytes(b"not a pdf")
    with load(folder) as assistant:
        assert [failure.path for failure in assistant.unread] == ["documents/broken.pdf"]
        assert assistant.store.count(Scope().shared, "DOCUMENTS") == 1


def test_a_declared_path_that_is_not_there_is_an_error(folder):
    (folder / "persona.md").unlink()
    with pytest.raises(ConfigError, match=r"'PERSONA' is to be read from 'persona\.md'"):
        load(folder)


def test_overrides_reach_the_components_and_the_resolved_config(folder):
    with load(folder, overrides=["gate.threshold=0.9", "planner.fallback=error", "retriever.k=1"]) as assistant:
        assert assistant.agent.gate.threshold == 0.9
        assert assistant.agent.k == 1
        assert assistant.agent.fallback == "error"
        assert assistant.config["gate"] == {"kind": "gate.open.v1", "threshold": 0.9}
        assert assistant.config["retriever"]["k"] == 1
    with (
        load(folder, overrides=["planner.fallback=error", 'planner.steps=[["WEATHER"]]']) as assistant,
        pytest.raises(PlanError, match="WEATHER"),
    ):
        assistant.ask("hello")


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("gate.treshold=0.6", "Did you mean 'threshold'"),
        ("gate.threshold=high", r"gate\.threshold.*'high'"),
        ("retriever.k=many", r"retriever\.k.*whole number"),
        ("planner.fallback=some", "fallback 'some'"),
        ("gate.kind=opne", "Did you mean 'open'"),
    ],
)
def test_a_wrong_option_is_an_error_when_the_agent_is_loaded(folder, override, words):
    with pytest.raises(ConfigError, match=words):
        load(folder, overrides=[override])


def test_sources_that_do_not_fit_together_are_an_error(folder):
    with pytest.raises(SourceError, match="NOWHERE"):
        load(folder, overrides={"sources.DOCUMENTS.needs": '["NOWHERE"]'})


def test_learn_is_the_assistants_unless_the_memory_asks_for_it(folder, monkeypatch):
    class Learning(StubMemory):
        def __init__(self, *, learn: bool = True):
            super().__init__()
            self.does = learn

        def learn(self, turns):
            return [NOTHING_LEARNED for _ in turns]

    with load(folder, overrides=["memory.learn=false"]) as assistant:
        assert not assistant._learns
    monkeypatch.setattr(REGISTRIES["memory"], "_factories", {"memory.none.v1": Learning})
    with load(folder, overrides=["memory.learn=false"]) as assistant:
        assert assistant._learns
        assert assistant.memory.does is False


def test_refinement_is_built_when_asked_for(folder):
    with load(folder) as assistant:
        assert assistant.agent.refiner is None
    with load(folder, overrides=["refiner.mode=multi-step", "refiner.steps=3"]) as assistant:
        assert assistant.agent.refiner.steps == 3
        assert assistant.agent.names["refiner"] == "refiner.multi-step"


def test_the_encoder_loads_at_once_when_asked_and_the_language_model_does_not(folder, monkeypatch):
    class Heavy(StubEncoder):
        warm = 0

        def warm_up(self):
            Heavy.warm += 1

    monkeypatch.setattr(REGISTRIES["encoder"], "_factories", {"encoder.words.v1": Heavy})
    Silent.warm = 0
    load(folder).close()
    assert Heavy.warm == 0
    load(folder, warm=True).close()
    assert (Heavy.warm, Silent.warm) == (1, 0)


def test_shipped_agents_are_found_by_name_and_keep_their_state_at_home(monkeypatch, tmp_path):
    monkeypatch.setenv("DRAGOMAN_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name, file in shipped().items():
        assert locate(name) == (file, tmp_path / "agents" / name)
    assert "harbour" in shipped()


def test_an_agent_that_is_not_there_says_what_there_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownNameError, match="Did you mean 'harbour'"):
        load("harbor")
    Path("empty").mkdir()
    with pytest.raises(ConfigError, match=r"no agent\.toml in empty.*dragoman init empty"):
        load("empty")
