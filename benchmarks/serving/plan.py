"""What it takes to serve so many users: arithmetic on the measured times, every line with the numbers it rests on.

    python benchmarks/serving/plan.py                                  100 million users
    python benchmarks/serving/plan.py --users 1e6 --active 0.3 --keep-days 90

Reads `measured.json` (stages.py, curves.py). The model that writes is not in it: it comes on top.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from simulate import MEASURED, load

DAY = 86_400
PARTITIONS = 16


@dataclass(frozen=True)
class Asked:
    """Assumptions."""

    users: float = 100e6
    active: float = 0.10
    turns: float = 10.0
    peak: float = 3.0
    facts: float = 30.0
    keep_days: float = 365.0
    busy: float = 0.6
    server_cores: int = 8
    database_cores: int = 32
    database_terabytes: float = 8.0


@dataclass(frozen=True)
class Costs:
    """Of one turn and of one row, as measured on PostgreSQL."""

    core_seconds: float
    database_seconds: float
    turn_seconds: float
    turn_bytes: float
    log_bytes: float
    row_bytes: float
    transactions: float


def costs_of(measured: dict) -> Costs:
    stages = measured["stages"]["postgres"]
    return Costs(
        stages["core milliseconds"] / 1000,
        stages["database core milliseconds"] / 1000,
        stages["turn milliseconds"] / 1000,
        stages["bytes"],
        stages["log bytes"],
        measured["curves"]["rows"]["postgres"]["growth"][-1]["bytes each"],
        stages["transactions"],
    )


def plan(asked: Asked, costs: Costs) -> list[tuple[str, str, str]]:
    """What, how it is reckoned, how much."""
    day = asked.users * asked.active * asked.turns
    peak = day / DAY * asked.peak
    servers = peak * costs.core_seconds / asked.busy
    replicas = ceil(servers)
    machines = ceil(replicas / asked.server_cores)
    database = peak * costs.database_seconds / asked.busy
    facts = asked.users * asked.facts * costs.row_bytes / 1e12
    turns = day * asked.keep_days * costs.turn_bytes / 1e12
    stored = facts + turns
    shards = max(ceil(database / asked.database_cores), ceil(stored / asked.database_terabytes))
    rows = asked.users * asked.facts / shards
    held = peak * costs.turn_seconds
    return [
        ("turns a day", f"{asked.users:,.0f} users x {asked.active:.0%} x {asked.turns:g}", f"{day:,.0f}"),
        ("turns a second at the peak", f"a day's / {DAY:,} x {asked.peak:g}", f"{peak:,.0f}"),
        (
            "cores for servers",
            f"peak x {costs.core_seconds * 1000:.1f} ms / {asked.busy:.0%} busy",
            f"{servers:,.0f}: {replicas:,} servers on {machines:,} machines of {asked.server_cores}",
        ),
        (
            "cores for databases",
            f"peak x {costs.database_seconds * 1000:.1f} ms / {asked.busy:.0%} busy",
            f"{database:,.0f}",
        ),
        (
            "facts",
            f"{asked.facts:g} a user x {costs.row_bytes:,.0f} bytes, vectors and indexes included",
            f"{facts:,.1f} TB",
        ),
        (
            "turns kept",
            f"{asked.keep_days:g} days x {costs.turn_bytes:,.0f} bytes, traces included",
            f"{turns:,.1f} TB",
        ),
        (
            "databases",
            f"the more of cores / {asked.database_cores} and {stored:,.0f} TB / {asked.database_terabytes:g} TB",
            f"{shards:,}, each with {asked.users / shards / 1e6:,.1f} million users",
        ),
        ("rows a partition", f"facts of a database / {PARTITIONS}", f"{rows / PARTITIONS / 1e6:,.1f} million"),
        (
            "turns a second and database at the peak",
            f"peak / databases; {costs.transactions:.0f} transactions each",
            f"{peak / shards:,.0f} turns, {peak / shards * costs.transactions:,.0f} transactions",
        ),
        (
            "connections in use and database",
            f"at most peak x {costs.turn_seconds * 1000:.0f} ms (Little) / databases",
            f"{held / shards:,.0f}; {ceil(replicas / shards):,} servers could hold {8 * ceil(replicas / shards):,}",
        ),
        (
            "write-ahead log and database",
            f"peak x {costs.log_bytes:,.0f} bytes",
            f"{peak / shards * costs.log_bytes / 1e6:,.2f} MB/s",
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in vars(Asked()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    parser.add_argument("--times", type=Path, default=MEASURED)
    options = vars(parser.parse_args())
    costs = costs_of(load(options.pop("times")))
    print("| | reckoned from | |\n| --- | --- | ---: |")
    for what, how, much in plan(Asked(**options), costs):
        print(f"| {what} | {how} | {much} |")


if __name__ == "__main__":
    main()
