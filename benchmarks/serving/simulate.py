"""Turns a second and waiting times for any number of servers, from the times that one server was measured to take.

    python benchmarks/serving/simulate.py --replicas 1 2 3      servers on this machine, clients without a pause
    python benchmarks/serving/simulate.py --rate 200 400        turns that come at a rate
    python benchmarks/serving/simulate.py --replicas 8 --apart  servers, database and clients on machines of their own
    python benchmarks/serving/simulate.py --measure             take the times of this machine anew (a minute)
    python benchmarks/serving/simulate.py --check               measure servers too, beside what is simulated (minutes)

A turn is a line of stages: the client, a place at a server, and then by turns the server's own work, a connection and
the database's work, the wait for its disk, and once the model. Work takes a core of the machine it is on; that of a
server and of the clients besides takes their interpreter, which does one thing at a time. What is simulated is who
waits for whom: events in a heap, resources with a line each.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from typing import TypeAlias

MEASURED = Path(__file__).parent / "measured.json"
Process: TypeAlias = Generator["float | Resource", None, None]
"""Yields seconds to let pass, or a resource to wait for and hold until `free`."""


class Resource:
    """So many at once, the others in the order in which they came."""

    def __init__(self, capacity: int) -> None:
        self.free_places = capacity
        self.capacity = capacity
        self.waiting: deque[Process] = deque()
        self.busy_seconds = 0.0


class Clock:
    """Runs processes, the earliest event first."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Process]] = []
        self._number = count()

    def start(self, process: Process, at: float | None = None) -> None:
        heappush(self._events, (self.now if at is None else at, next(self._number), process))

    def free(self, resource: Resource) -> None:
        """Give a place back: who waits longest has it now."""
        if resource.waiting:
            self.start(resource.waiting.popleft())
        else:
            resource.free_places += 1

    def run(self, until: float) -> None:
        while self._events and self._events[0][0] <= until:
            self.now, _, process = heappop(self._events)
            self._go_on(process)
        self.now = until

    def _go_on(self, process: Process) -> None:
        for wanted in process:
            if not isinstance(wanted, Resource):
                self.start(process, self.now + wanted)
                return
            if not wanted.free_places:
                wanted.waiting.append(process)
                return
            wanted.free_places -= 1


@dataclass(frozen=True)
class Times:
    """What one turn takes, in seconds; `transactions` says in how many parts.

    `held` is how long a busy server's interpreter is taken beyond its work: threads that change, wake-ups. `handover`
    is what a dialogue waits where its next turn is another server's than its last.
    """

    client: float = 0.0
    server: float = 0.001
    database: float = 0.0
    disk: float = 0.0
    held: float = 0.0
    handover: float = 0.0
    transactions: int = 1


@dataclass(frozen=True)
class Setting:
    """What is there to serve, and who comes."""

    replicas: int = 1
    places: int = 8
    connections: int = 8
    cores: int = 2
    apart: bool = False
    clients: int = 48
    rate: float | None = None
    model: float = 0.0
    dialogues: int | None = None
    spread: str = "exponential"


@dataclass
class Figures:
    """What came out of it."""

    seconds: list[float] = field(default_factory=list)
    took: float = 0.0

    @property
    def turns(self) -> float:
        return len(self.seconds) / self.took

    def quantile(self, part: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else 0.0


class Town:
    """Servers, a database and clients, on one machine or each on its own."""

    def __init__(self, times: Times, setting: Setting, seed: int) -> None:
        self.clock, self.times, self.setting = Clock(), times, setting
        self._chance = random.Random(seed)
        shared = Resource(setting.cores)
        apart = setting.apart
        self._client_cores = Resource(1_000_000) if apart else shared
        self._database_cores = Resource(setting.cores) if apart else shared
        self._replica_cores = [Resource(setting.cores) if apart else shared for _ in range(setting.replicas)]
        self._clients = Resource(1_000_000 if apart else 1)
        self._interpreters = [Resource(1) for _ in range(setting.replicas)]
        self._places = [Resource(setting.places) for _ in range(setting.replicas)]
        self._pools = [Resource(setting.connections) for _ in range(setting.replicas)]
        self._lines = [Resource(1) for _ in range(setting.dialogues or 0)]
        self._last: dict[Resource, int] = {}
        self.figures = Figures()

    def turn(self, number: int, after: Callable[[], None] | None = None) -> Process:
        """One turn from the moment it is sent."""
        times, at, began = self.times, self._server(number), self.clock.now
        interpreter, cores = self._interpreters[at], self._replica_cores[at]
        yield from self._work(times.client / 2, self._clients, self._client_cores)
        line = self._lines[number % len(self._lines)] if self._lines else None
        held = [resource for resource in (line, self._places[at]) if resource is not None]
        for resource in held:
            yield resource
        if line is not None:
            if self._last.get(line, at) != at and times.handover:
                yield times.handover
            self._last[line] = at
        parts = max(1, times.transactions)
        for part in range(parts):
            yield from self._work(times.server / parts, interpreter, cores)
            yield from self._work(times.held / parts, interpreter)
            if part == parts // 2 and self.setting.model:
                yield self.setting.model
            if times.database or times.disk:
                yield self._pools[at]
                yield from self._work(times.database / parts, self._database_cores)
                if times.disk:
                    yield self._drawn(times.disk / parts)
                self.clock.free(self._pools[at])
        for resource in reversed(held):
            self.clock.free(resource)
        yield from self._work(times.client / 2, self._clients, self._client_cores)
        self.figures.seconds.append(self.clock.now - began)
        if after is not None:
            after()

    def _server(self, number: int) -> int:
        """One after the other; where dialogues are shared by chance, or each would keep to a server of its own."""
        replicas = self.setting.replicas
        return self._chance.randrange(replicas) if self._lines else number % replicas

    def _work(self, seconds: float, *resources: Resource) -> Iterator[float | Resource]:
        if not seconds:
            return
        for resource in resources:
            yield resource
        drawn = self._drawn(seconds)
        yield drawn
        for resource in reversed(resources):
            resource.busy_seconds += drawn
            self.clock.free(resource)

    def _drawn(self, seconds: float) -> float:
        return self._chance.expovariate(1 / seconds) if self.setting.spread == "exponential" else seconds

    def run(self, seconds: float, warm: float) -> Figures:
        """Let turns come for some seconds; those of the first ones are not counted."""
        numbers = count()

        def again() -> None:
            self.clock.start(self.turn(next(numbers), again))

        def come() -> Process:
            while True:
                yield self._chance.expovariate(self.setting.rate or 1.0)
                self.clock.start(self.turn(next(numbers)))

        if self.setting.rate is None:
            for _ in range(self.setting.clients):
                again()
        else:
            self.clock.start(come())
        self.clock.run(warm)
        self.figures.seconds.clear()
        self.clock.run(warm + seconds)
        self.figures.took = seconds
        return self.figures


def simulate(times: Times, setting: Setting, *, seconds: float = 20.0, warm: float = 2.0, seed: int = 1) -> Figures:
    """The figures of one setting."""
    return Town(times, setting, seed).run(seconds, warm)


def load(path: Path = MEASURED) -> dict:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def times_of(measured: dict, path: Path) -> Times:
    if "turn" not in measured:
        raise SystemExit(f"{path} holds no times of a turn: run with --measure.")
    return Times(**measured["turn"]["times"])


def measure(seconds: float) -> dict:
    """The times of a turn: work from one busy server on PostgreSQL, waits from one client alone with it."""
    from replicas import CASES, database, served

    quick = CASES["computing"]
    with database(None) as (url, pid):
        busy = served(1, quick, seconds, url, pid)
    with database(None) as (url, pid):
        alone = served(1, replace(quick, clients=1), seconds, url, pid)
    work = {name: busy["cores"][name] / busy["turns/s"] for name in ("servers", "database", "clients")}
    idle = (1 - sum(alone["cores"][name] for name in work)) / alone["turns/s"]  # nobody works: the disk, mostly
    together, turns = CASES["together"], []
    for replicas in (1, 2):
        with database(None) as (url, pid):
            turns.append(served(replicas, together, seconds, url, pid)["turns/s"])
    # Of two servers every other turn of a dialogue is the other one's.
    handover = 2 * (together.dialogues or 0) * (1 / turns[1] - 1 / turns[0])
    times = Times(
        client=work["clients"],
        server=work["servers"],
        database=work["database"],
        disk=max(0.0, idle),
        held=max(0.0, 1 / busy["turns/s"] - work["servers"]),
        handover=max(0.0, handover),
        transactions=max(1, round(busy["transactions"])),
    )
    kept = {"busy turns/s": busy["turns/s"], "alone p50": alone["p50"], "alone turns/s": alone["turns/s"]}
    return {"times": asdict(times), "from": kept | {"together turns/s": turns}}


class Others:
    """How many cores everybody else used meanwhile: the median of every second."""

    def __init__(self, pid: int | None) -> None:
        self._ours = [one for one in (os.getpid(), pid) if one is not None]
        self._over = threading.Event()
        self._seen: list[float] = []
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Others:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def cores(self) -> float:
        return max(0.0, sorted(self._seen)[len(self._seen) // 2]) if self._seen else 0.0

    def _look(self) -> None:
        import psutil
        from replicas import used

        def now() -> tuple[float, float, float]:
            spent = psutil.cpu_times()
            return time.perf_counter(), sum(spent) - spent.idle - spent.iowait, used(self._ours)

        before = now()
        while not self._over.wait(1.0):
            after = now()
            took, busy, ours = (late - early for late, early in zip(after, before, strict=True))
            if ours >= 0:  # a process of ours that ended takes its seconds along
                self._seen.append((busy - ours) / took)
            before = after


def settings(options: argparse.Namespace) -> Iterable[Setting]:
    base = Setting(cores=options.cores, apart=options.apart, clients=options.clients, model=options.model)
    base = replace(base, places=options.places, connections=options.connections, dialogues=options.dialogues)
    for replicas in options.replicas:
        for rate in options.rate or [None]:
            yield replace(base, replicas=replicas, rate=rate)


def show(times: Times, options: argparse.Namespace) -> None:
    work = ", ".join(f"{name} {value * 1000:.2f} ms" for name, value in asdict(times).items() if name != "transactions")
    print(f"A turn: {work}, in {times.transactions} transactions\n")
    print("| servers | cores | come | turns/s | p50 ms | p99 ms |\n| ---: | ---: | ---: | ---: | ---: | ---: |")
    for setting in settings(options):
        figures = simulate(times, setting, seconds=options.seconds)
        come = f"{setting.rate:g}/s" if setting.rate else f"{setting.clients} clients"
        cores = f"{setting.cores} each" if setting.apart else setting.cores
        waits = " | ".join(_ms(figures, part) for part in (0.5, 0.99))
        print(f"| {setting.replicas} | {cores} | {come} | {figures.turns:,.0f} | {waits} |")


def check(times: Times, options: argparse.Namespace) -> list[dict]:
    """Servers that run, beside servers that are simulated; what others took of the cores is shown, and not reckoned."""
    from replicas import CASES, database, served

    print("| case | servers | cores of others | turns/s | simulated | off | p50 ms | simulated | p99 ms | simulated |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    rows = []
    for name, case in CASES.items():
        for replicas in options.replicas:
            with database(None) as (url, pid), Others(pid) as others:
                found = served(replicas, case, options.seconds, url, pid)
            setting = Setting(replicas=replicas, cores=options.cores, clients=case.clients, model=case.seconds)
            setting = replace(setting, dialogues=case.dialogues)
            figures = simulate(times, setting, seconds=options.seconds)
            off = figures.turns / found["turns/s"] - 1
            row = {"case": name, "replicas": replicas, "measured": found["turns/s"], "simulated": figures.turns}
            row["others"] = others.cores
            row |= {"p50": [found["p50"], figures.quantile(0.5)], "p99": [found["p99"], figures.quantile(0.99)]}
            rows.append(row)
            waits = [f"{found[key] * 1000:.1f} | {_ms(figures, part)}" for key, part in (("p50", 0.5), ("p99", 0.99))]
            turns = f"{found['turns/s']:,.0f} | {figures.turns:,.0f} | {off:+.0%}"
            print(f"| {case.words} | {replicas} | {others.cores:.1f} | {turns} | {' | '.join(waits)} |", flush=True)
    return rows


def _ms(figures: Figures, part: float) -> str:
    return f"{figures.quantile(part) * 1000:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicas", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--rate", type=float, nargs="+", help="turns a second that come, instead of clients that wait")
    parser.add_argument("--clients", type=int, default=48)
    parser.add_argument("--cores", type=int, default=2, help="of the machine, or of each with --apart")
    parser.add_argument("--apart", action="store_true", help="servers, database and clients on machines of their own")
    parser.add_argument("--places", type=int, default=8, help="turns that a server runs at once")
    parser.add_argument("--connections", type=int, default=8, help="of each server to the database")
    parser.add_argument("--dialogues", type=int, help="so many that all clients share")
    parser.add_argument("--model", type=float, default=0.0, help="seconds that the model takes")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--times", type=Path, default=MEASURED)
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    measured = load(options.times)
    if options.measure:
        measured["turn"] = measure(options.seconds)
    times = times_of(measured, options.times)
    if options.check:
        measured["check"] = check(times, options)
    else:
        show(times, options)
    if options.measure or options.check:
        options.times.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
