"""The simulator against closed forms: M/M/1, Erlang's C, M/D/1, Little's law, and what bounds a closed system."""

from __future__ import annotations

import importlib.util
import sys
from math import factorial
from pathlib import Path

import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "serving" / "simulate.py"
spec = importlib.util.spec_from_file_location("simulate_benchmark", FILE)
simulated = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = simulated
spec.loader.exec_module(simulated)
Setting, Times, simulate = simulated.Setting, simulated.Times, simulated.simulate


def mean(figures):
    return sum(figures.seconds) / len(figures.seconds)


def erlang_c(servers, load):
    """The share of those who come and have to wait, where `load` servers are busy on average."""
    waiting = load**servers / factorial(servers) * servers / (servers - load)
    return waiting / (sum(load**k / factorial(k) for k in range(servers)) + waiting)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_one_server_waits_as_m_m_1(load):
    """Mean time in the system: s / (1 - rho)."""
    setting = Setting(rate=load * 1000, cores=1, places=10**6)
    figures = simulate(Times(server=0.001), setting, seconds=25, warm=3)
    assert mean(figures) == pytest.approx(0.001 / (1 - load), rel=0.08)
    assert figures.turns == pytest.approx(load * 1000, rel=0.03)


@pytest.mark.parametrize(("cores", "load"), [(2, 1.4), (4, 3.2)])
def test_several_cores_wait_as_erlang_says(cores, load):
    """M/M/c: s + C(c, a) s / (c - a); the work is the database's, which no interpreter holds up."""
    setting = Setting(rate=load * 1000, cores=cores, apart=True, connections=10**6, places=10**6)
    figures = simulate(Times(server=0.0, database=0.001), setting, seconds=15, warm=3)
    wanted = 0.001 + erlang_c(cores, load) * 0.001 / (cores - load)
    assert mean(figures) == pytest.approx(wanted, rel=0.08)


def test_work_that_always_takes_as_long_waits_half_as_long():
    """M/D/1, Pollaczek and Khinchine: s + rho s / (2 (1 - rho))."""
    setting = Setting(rate=700, cores=1, places=10**6, spread="none")
    figures = simulate(Times(server=0.001), setting, seconds=25, warm=3)
    assert mean(figures) == pytest.approx(0.001 + 0.7 * 0.001 / (2 * 0.3), rel=0.08)


def test_erlangs_c_by_hand():
    """Two servers, one busy on average: C = (1/2 * 2) / (1 + 1 + 1) = 1/3."""
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3)


def test_clients_that_wait_keep_littles_law():
    """Clients = turns a second x mean time."""
    figures = simulate(Times(server=0.002, database=0.001, client=0.0005), Setting(clients=12), seconds=20)
    assert figures.turns * mean(figures) == pytest.approx(12, rel=0.03)


@pytest.mark.parametrize(
    ("setting", "times", "most"),
    [
        (Setting(replicas=4, cores=2), Times(server=0.002), 1000),  # two cores, 2 ms each
        (Setting(replicas=1, cores=8), Times(server=0.002), 500),  # one interpreter
        (Setting(replicas=2, cores=8, connections=1), Times(server=0.0, disk=0.01), 200),  # two connections
        (Setting(replicas=2, places=4, cores=8, model=0.1), Times(server=0.0), 80),  # eight places
        (Setting(replicas=3, dialogues=2, model=0.1, cores=8), Times(server=0.0), 20),  # two dialogues in order
    ],
)
def test_what_is_scarce_bounds_the_turns(setting, times, most):
    figures = simulate(times, setting, seconds=8)
    assert most * 0.9 <= figures.turns <= most * 1.02


def test_machines_of_their_own_do_not_share_cores():
    times = Times(server=0.002, database=0.0001)
    shared, apart = (simulate(times, Setting(replicas=4, cores=2, apart=apart), seconds=4) for apart in (False, True))
    assert apart.turns > 1.8 * shared.turns


def test_the_same_seed_gives_the_same_figures():
    one, two, other = (simulate(Times(), Setting(), seconds=1, seed=seed) for seed in (3, 3, 4))
    assert one.seconds == two.seconds != other.seconds


def test_a_dialogue_that_changes_its_server_waits_for_the_handover():
    """Two servers, one dialogue: every other turn waits, so that a turn takes 10 ms + 20 ms / 2 on average."""
    setting = Setting(replicas=2, dialogues=1, model=0.01, cores=8)
    figures = simulate(Times(server=0.0, handover=0.02), setting, seconds=30)
    assert figures.turns == pytest.approx(1 / 0.02, rel=0.05)
    assert simulate(Times(server=0.0), setting, seconds=20).turns == pytest.approx(100, rel=0.05)
