"""A job that somebody else brings to a Ray cluster: the cluster of one command lets no stranger in."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.trust,
    pytest.mark.slow,
    pytest.mark.integration,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray"),
]

OWNER = """
import json, os, sys
from dragoman.cluster import ray_workers
with ray_workers("local") as workers:
    import ray
    address, token = ray.get_runtime_context().gcs_address, os.environ["RAY_AUTH_TOKEN"]
    print(json.dumps({"address": address, "token": token}), flush=True)
    sys.stdin.readline()
    print("alive" if ray.get(ray.remote(lambda: 6 * 7).remote(), timeout=300) == 42 else "dead", flush=True)
"""
STRANGER = """
import sys
import ray
ray.init(address=sys.argv[1], log_to_driver=False)
path = sys.argv[2]  # read here: a worker has a command line of its own
def planted():
    open(path, "w").write("was here")
ray.get(ray.remote(num_cpus=0)(planted).remote(), timeout=300)
print("in", flush=True)
"""
UNNAMED = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_ADDRESS")


@pytest.fixture
def cluster():
    """A cluster as `--ray local` starts it: its address, its token, and the process that holds it."""
    environment = {name: value for name, value in os.environ.items() if name not in UNNAMED}
    command = [sys.executable, "-c", OWNER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, env={**environment, "DRAGOMAN_CORES": "1"}, **pipes) as process:
        try:
            yield process, json.loads(process.stdout.readline())
        finally:
            process.stdin.close()
            process.wait(300)


def visit(address, home, planted, **variables):
    """Somebody else on this machine, who brings a job of their own."""
    environment = {name: value for name, value in os.environ.items() if name not in UNNAMED}
    environment |= {"HOME": str(home), **variables}
    command = [sys.executable, "-c", STRANGER, address, str(planted)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=900, check=False)


def test_a_job_without_the_token_runs_nothing_on_the_cluster_of_a_command(cluster, tmp_path):
    process, found = cluster
    planted = tmp_path / "planted"
    for variables in ({}, {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}):
        visited = visit(found["address"], tmp_path, planted, **variables)
        assert visited.returncode != 0 and "in" not in visited.stdout.split(), variables
        assert not planted.exists(), variables
    owner = visit(found["address"], tmp_path, planted, RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=found["token"])
    assert "in" in owner.stdout.split(), owner.stderr[-500:]  # the token opens: the refusals were due to it
    assert planted.exists()
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline().strip() == "alive", "who was refused did no harm"
