"""Two tenants on one store of either engine, with the real encoder: no path that can be read shows another's words."""

from __future__ import annotations

import logging
from collections import deque
from types import FunctionType, ModuleType

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings

from dragoman.server.access.keys import create

from ...server.conftest import AGENT, served, services
from ...server.test_leaks import EVERYTHING, LIVES, SECRETS, check

pytestmark = [pytest.mark.slow, pytest.mark.integration, pytest.mark.trust]
HASHED = '[models.encoder]\nkind = "encoder.hashing.v1"\n'
STORES = {"sqlite": "", "postgres": '[store]\nkind = "store.postgres.v1"\nurl = "env:TRUST_STORE"\n'}


@pytest.fixture(scope="module", params=STORES)
def town(request, tmp_path_factory):
    """A server with keys of two tenants over one store; `of` gives somebody's client."""
    root = tmp_path_factory.mktemp("town")
    folder = root / "robin"
    (folder / "documents").mkdir(parents=True)
    assert HASHED in AGENT
    (folder / "agent.toml").write_text(AGENT.replace(HASHED, STORES[request.param]), encoding="utf-8")
    (folder / "documents" / "prices.md").write_text("# Prices\n\nA day ticket costs 6 francs.\n", encoding="utf-8")
    state = root / "state"
    state.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "postgres":
            schema = request.getfixturevalue("schema")
            schema.empty()
            patch.setenv("TRUST_STORE", schema.url())
        with services(folder, state) as make:
            service = make(keys=True)
            keys = {
                name: create(service.ledger, f"{name}'s", tenant=tenant, user=user, admin=name == "eve")[1]
                for name, tenant, user in (
                    ("ana", "local", "ana"),
                    ("ben", "local", "ben"),
                    ("nameless", "local", ""),
                    ("eve", "other", "ana"),
                )
            }
            with served(service, state / "socket") as started:
                started.of = lambda name, **headers: started.client(keys[name], **headers)
                yield started


@settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
@example(EVERYTHING)
@given(LIVES)
def test_no_read_path_shows_anothers_words_on_either_store(town, caplog, life):
    caplog.set_level(logging.DEBUG, "dragoman")
    check(town, life, caplog)


def test_what_one_forgets_is_in_no_answer_and_in_no_cache_of_the_server(town):
    ana, secret = town.of("ana"), SECRETS["ana"]
    ana.post("/v1/turns", json={"text": f"My dog is called {secret}.", "dialogue": "d"})
    ana.post("/v1/turns", json={"text": "What is my dog called?", "dialogue": "d"})
    assert secret in ana.get("/v1/memory/export").text
    ana.post("/v1/sources/MEMORY/search", json={"query": "dog"})
    kept = [text for text in texts_of([town.service, town.app.state]) if secret.casefold() in text.casefold()]
    assert kept, "the walk finds what a cache keeps"
    assert ana.delete("/v1/memory?everything=true&confirm=true").status_code == 200
    for path in ("/v1/memory", "/v1/memory/export", "/v1/dialogues", "/v1/dialogues/d", "/v1/feedback", "/metrics"):
        assert secret not in ana.get(path).text, path
    told = ana.post("/v1/sources/MEMORY/search", json={"query": "dog"})
    assert told.status_code == 200 and secret not in told.text
    assert not [text for text in texts_of([town.service, town.app.state]) if secret.casefold() in text.casefold()]


def texts_of(roots):
    """Every text that can be reached from some objects, whatever holds it."""
    found, seen, left = [], set(), list(roots)
    while left:
        value = left.pop()
        if id(value) in seen or isinstance(value, ModuleType | type | FunctionType | logging.Logger):
            continue
        seen.add(id(value))
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, bytes):
            found.append(value.decode("latin-1"))
        elif isinstance(value, dict):
            left += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple | set | frozenset | deque):
            left += value
        else:
            left += vars(value).values() if hasattr(value, "__dict__") else ()
            left += [
                getattr(value, name, None) for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())
            ]
    return found
