"""A house of agents without weights, and a real server of it on a socket of this machine's file system."""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

import dragoman
from dragoman.core.values import Draft
from dragoman.server.access.keys import create
from dragoman.server.access.sqlite_ledger import SqliteLedger
from dragoman.server.http.app import make_app, with_request_limits
from dragoman.server.http.uvicorn_server import server_of
from dragoman.server.service import Service, ServiceSettings
from dragoman.stores import PostgresStore
from dragoman.stores.in_memory import words

from ..agent_files import ALL_SOURCES, DOCUMENTS, MEMORY, NOTES, ROBIN, RULES_ALONE, WITHOUT_WEIGHTS
from ..stores.conftest import Server

AGENT = ROBIN + MEMORY + NOTES + DOCUMENTS + WITHOUT_WEIGHTS + ALL_SOURCES + RULES_ALONE


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An agent of one's own that needs no weights."""
    place = tmp_path_factory.mktemp("agents") / "robin"
    (place / "documents").mkdir(parents=True)
    (place / "agent.toml").write_text(AGENT, encoding="utf-8")
    (place / "documents" / "prices.md").write_text("# Prices\n\nA day ticket costs 6 francs.\n", encoding="utf-8")
    return place


_USERS = itertools.count()


class HeldReader:
    """Writes word by word, and waits for `go` after the first one where it is `held`."""

    def __init__(self):
        self.go = threading.Event()
        self.held = False
        self.begun = threading.Event()
        self.stopped = threading.Event()
        self.running = 0
        self.order = []

    def read(self, tasks):
        return [Draft(f"You said: {task.context.last}", 0.5, "said") for task in tasks]

    def stream(self, task):
        draft = self.read([task])[0]
        self.order.append(task.context.last)
        self.running += 1
        try:
            for word in draft.text.split(" "):
                self.begun.set()
                if self.held and not self.go.wait(60):
                    raise TimeoutError
                yield word if word == "You" else f" {word}"
            yield draft
        except GeneratorExit:
            self.stopped.set()
            raise
        finally:
            self.running -= 1


@contextmanager
def services(folder, root):
    """Makes houses of the agent, each with a state of its own; `reader` takes the place of the agent's."""
    with ExitStack() as opened:

        def make(*, reader=None, keys=False, names=("robin",), store=None, ledger=None, **settings):
            agents = {}
            for name in names:
                state = root / f"state-{name}-{len(list(root.iterdir()))}"
                assistant = dragoman.load(folder, state=state, overrides=store or {})
                opened.callback(assistant.close)
                if reader is not None:
                    assistant.agent.reader = reader
                agents[name] = (assistant, state)
            ledger = SqliteLedger(root / "server.db") if keys else ledger
            return Service(agents, ledger=ledger, settings=ServiceSettings(**settings))

        yield make


@pytest.fixture
def make_house(folder, tmp_path):
    with services(folder, tmp_path) as make:
        yield make


@contextmanager
def served(service, place, *, measure=None, runs_of=None, grace=5.0, origins=()):
    """A server of a house in a thread, on a socket at `place`; clients come from `client`."""
    app = make_app(service, measure=measure, runs_of=runs_of, warm=False)
    server = server_of(with_request_limits(app, service, origins=origins), grace=grace)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(place))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.005)
    with ExitStack() as opened:

        def client(key=None, **headers):
            given = {"authorization": f"Bearer {key}"} if key else {}
            transport = httpx.HTTPTransport(uds=str(place), verify=False)
            made = httpx.Client(transport=transport, base_url="http://localhost", headers=given | headers, timeout=60)
            return opened.enter_context(made)

        try:
            yield SimpleNamespace(
                client=client, server=server, app=app, service=service, thread=thread, path=str(place), events=events_of
            )
        finally:
            server.should_exit = True
            thread.join(60)
            listening.close()
    assert not thread.is_alive()


def events_of(text):
    """Server-sent events as name and data."""
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and not line.startswith(":"))
        if lines:
            found.append((lines.get("event", ""), json.loads(lines["data"]) if lines["data"] != "[DONE]" else None))
    return found


@pytest.fixture
def serve(tmp_path):
    """Serve a house for the length of a test."""
    with ExitStack() as opened:

        def start(service, **options):
            place = tmp_path / f"s{len(list(tmp_path.iterdir()))}"
            return opened.enter_context(served(service, place, **options))

        yield start


@pytest.fixture(scope="module")
def server(folder, tmp_path_factory):
    """The plain server without keys, for a whole file of tests."""
    root = tmp_path_factory.mktemp("plain")
    with services(folder, root) as make, served(make(), root / "socket") as started:
        started.root = root
        yield started


@pytest.fixture
def client(server):
    """A client of a user whom no other test knows."""
    return server.client(**{"x-dragoman-user": f"user-{next(_USERS)}"})


@pytest.fixture(scope="module")
def keyed(folder, tmp_path_factory):
    """A server with keys of two tenants: ana, ben, a nameless one and an admin of `local`, and eve of `other`."""
    root = tmp_path_factory.mktemp("keyed")
    with services(folder, root) as make:
        service = make(keys=True)
        made = {
            "ana": create(service.ledger, "ana's", user="ana"),
            "ben": create(service.ledger, "ben's", user="ben"),
            "nameless": create(service.ledger, "a program's"),
            "admin": create(service.ledger, "admin's", user="root", admin=True),
            "eve": create(service.ledger, "eve's", tenant="other", user="ana", admin=True),
        }
        with served(service, root / "socket") as started:
            started.root = root
            started.keys = {name: key for name, (key, _) in made.items()}
            started.texts = {name: text for name, (_, text) in made.items()}
            started.of = lambda name, **headers: started.client(started.texts[name], **headers)
            yield started


@pytest.fixture(autouse=True)
def nobody_known(request):
    """Users of the keyed server begin each test with nothing."""
    yield
    if "keyed" in request.fixturenames:
        keyed = request.getfixturevalue("keyed")
        for name in keyed.texts:
            keyed.of(name).delete("/v1/memory?everything=true&confirm=true")


def pytest_collection_modifyitems(items):
    """Whatever needs a database of its own takes seconds: `make trust` runs it."""
    for item in items:
        if "database" in getattr(item, "fixturenames", ()) and Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def database():
    """A real PostgreSQL server with a store's tables in it."""
    place = Path(tempfile.mkdtemp(prefix="dragoman-pg-"))  # short: the path of a socket may have 107 characters
    started = Server(place)
    started.run("ALTER SYSTEM SET fsync = off")
    started.run("SELECT pg_reload_conf()")
    store = PostgresStore(url=started.url(), analyse=words, folder=place / "state")
    store.open()
    store.close()
    yield started
    started.stop()


@pytest.fixture
def held_reader():
    return HeldReader()
