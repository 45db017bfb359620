"""Connecting: what is refused, in whose words, and what is left behind."""

from __future__ import annotations

import builtins
import os
import sys
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from dragoman.cli.app import app
from dragoman.cli.terminal.ray_option import without_ray
from dragoman.cluster import connect
from dragoman.cluster.build import build
from dragoman.core.errors import ConfigError, MissingExtraError, WorkersError


class Line:
    """What answers at a port."""

    def __init__(self, answer):
        self.answer = answer
        self.sent = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def settimeout(self, seconds):
        pass

    def sendall(self, sent):
        self.sent += sent

    def recv(self, most):
        return self.answer[:most]


class Strategy:
    def __init__(self, node, soft):
        self.node = node


@pytest.fixture
def ray(monkeypatch):
    """A Ray to connect to: `made` is what each node is made of, `fails` what connecting to it gives."""
    calls = []

    def init(**options):
        calls.append(options)
        if module.fails:
            raise module.fails

    def remote(**options):
        return lambda _: SimpleNamespace(
            options=lambda scheduling_strategy: SimpleNamespace(remote=lambda: scheduling_strategy.node)
        )

    class RayError(Exception):
        pass

    def get(node, timeout):
        if isinstance(module.made[node], Exception):
            raise module.made[node]
        return module.made[node]

    module = SimpleNamespace(
        made={"10.0.0.1": dict(build())},
        fails=None,
        cpus=1.0,
        calls=calls,
        closed=0,
        init=init,
        remote=remote,
        get=get,
        exceptions=SimpleNamespace(RayError=RayError),
        nodes=lambda: [
            {"Alive": True, "NodeManagerAddress": name, "NodeID": name, "Resources": {"CPU": module.cpus}}
            for name in module.made
        ],
        shutdown=lambda: setattr(module, "closed", module.closed + 1),
    )
    monkeypatch.setitem(sys.modules, "ray", module)
    strategies = SimpleNamespace(NodeAffinitySchedulingStrategy=Strategy)
    monkeypatch.setitem(sys.modules, "ray.util", SimpleNamespace(scheduling_strategies=strategies))
    monkeypatch.setitem(sys.modules, "ray.util.scheduling_strategies", strategies)
    for name in connect._QUIET:
        monkeypatch.setenv(name, "0")
    for name in (connect._AUTH_MODE, *connect._AUTH_TOKENS):
        monkeypatch.delenv(name, raising=False)
    return module


@pytest.fixture
def port(monkeypatch):
    """What answers wherever one connects."""

    def answer(what):
        def connected(place, timeout):
            if isinstance(what, Exception):
                raise what
            return Line(what)

        monkeypatch.setattr(connect.socket, "create_connection", connected)

    return answer


def use(address):
    with connect.ray_workers(address):
        pytest.fail("It began.")


SETTINGS = bytes(3) + b"\x04" + bytes(5)


@pytest.mark.parametrize("address", ["", "host", "host:", ":6379", "host:99999", "host:port", "http://host:6379/x"])
def test_what_is_no_address_is_refused(ray, address):
    with pytest.raises(ConfigError, match=r"no address of a Ray cluster.*host:6379"):
        use(address)


def test_without_ray_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def absent(name, *given, **named):
        if name == "ray":
            raise ModuleNotFoundError("No module named 'ray'", name="ray")
        return real(name, *given, **named)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(MissingExtraError, match=r"pip install 'dragoman\[ray\]'"):
        use("local")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "Connection refused"),
        (TimeoutError("timed out"), "timed out"),
        (OSError(-2, "Name or service not known"), "not known"),
        (b"HTTP/1.1 400 Bad Request", "not Ray"),
        (b"", "not Ray"),
    ],
)
def test_where_no_ray_is_it_is_told_at_once(ray, port, answer, why):
    port(answer)
    with pytest.raises(WorkersError, match=rf"'10\.0\.0\.9:6379'.*{why}.*ray start --head"):
        use("10.0.0.9:6379")
    assert ray.calls == []


@pytest.mark.parametrize("address", ["10.0.0.1:6379", "ray://10.0.0.1:10001"])
def test_a_cluster_that_fits_is_used_and_left(ray, port, address):
    port(SETTINGS)
    with connect.ray_workers(address) as workers:
        assert not workers.here
        assert ray.closed == 0
    assert ray.calls[0]["address"] == address
    assert "num_cpus" not in ray.calls[0]
    assert ray.closed == 1


@pytest.mark.trust
@pytest.mark.parametrize(
    ("address", "mode", "is_told"),
    [
        ("10.0.0.1:6379", "", True),
        ("ray://10.0.0.1:10001", "", True),
        ("10.0.0.1:6379", "token", False),
        ("127.0.0.1:6379", "", False),
    ],
)
def test_a_cluster_that_asks_for_no_token_is_said_to_be_open(ray, port, monkeypatch, caplog, address, mode, is_told):
    port(SETTINGS)
    if mode:
        monkeypatch.setenv("RAY_AUTH_MODE", mode)
    with caplog.at_level("WARNING", "dragoman.cluster"), connect.ray_workers(address):
        assert ("asks nobody for a token" in caplog.text) == is_told


def test_local_is_a_cluster_of_its_own_with_all_cores(ray, monkeypatch):
    monkeypatch.setenv("DRAGOMAN_CORES", "3")
    tokens = []
    for _ in range(2):
        with connect.ray_workers("local"):
            os.environ["RAY_AUTH_MODE"] = "token"  # as Ray does
            tokens.append(os.environ["RAY_AUTH_TOKEN"])
        assert "RAY_AUTH_MODE" not in os.environ
        assert "RAY_AUTH_TOKEN" not in os.environ
    assert len(set(tokens)) == 2
    assert (ray.calls[0]["address"], ray.calls[0]["num_cpus"]) == ("local", 3)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            RuntimeError("Version mismatch: The cluster was started with:\n Ray: 2.1.0\n Python: 3.10.4\nThis process"),
            r"runs another version: Version mismatch: .* Ray: 2\.1\.0 Python: 3\.10\.4 .*the same Ray and the same",
        ),
        (ConnectionError("Failed to connect to Ray cluster"), r"does not let us in.*ray://host:10001"),
        (ImportError("Ray Client requires pip package `ray[client]`."), r"ray\[client\]"),
    ],
)
def test_what_ray_says_is_told_with_a_remedy(ray, port, error, told):
    port(SETTINGS)
    ray.fails = error
    with pytest.raises((WorkersError, MissingExtraError), match=told):
        use("10.0.0.1:6379")


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("'dragoman' is not installed there, or is older than here", "'dragoman' is not installed there"),
        ({**build(), "Dragoman": "0.0.9"}, r"Dragoman is 0\.0\.9 there, \S+ here"),
        ({**build(), "machine": "pdp11"}, r"machine is pdp11 there"),
    ],
)
def test_a_node_that_differs_is_named_and_nothing_is_done(ray, port, made, told):
    port(SETTINGS)
    ray.made["10.0.0.2"] = made
    with pytest.raises(WorkersError, match=rf"The node 10\.0\.0\.2 does not fit: {told}.*Install on every node"):
        use("10.0.0.1:6379")
    assert ray.closed == 1


def test_a_node_that_does_not_answer_is_named(ray, port, monkeypatch):
    port(SETTINGS)
    monkeypatch.setattr(connect, "_GONE_SECONDS", 0.0)
    ray.made["10.0.0.2"] = ray.exceptions.RayError("Get timed out.")
    with pytest.raises(WorkersError, match=r"10\.0\.0\.2 does not fit: Get timed out"):
        use("10.0.0.1:6379")


def test_a_node_that_dies_while_it_is_asked_is_none(ray, port, monkeypatch):
    port(SETTINGS)
    ray.made["10.0.0.2"] = ray.exceptions.RayError("The node died.")
    monkeypatch.setattr(connect, "sleep", lambda seconds: ray.made.pop("10.0.0.2"))
    with connect.ray_workers("10.0.0.1:6379") as workers:
        assert not workers.here


def test_a_token_that_was_set_is_left_as_it_is(ray, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "given")
    with connect.ray_workers("local"):
        assert os.environ["RAY_AUTH_TOKEN"] == "given"
        assert "RAY_AUTH_MODE" not in os.environ
    assert os.environ["RAY_AUTH_TOKEN"] == "given"


def test_a_cluster_without_cores_is_refused(ray, port):
    port(SETTINGS)
    ray.cpus = 0.0
    with pytest.raises(WorkersError, match=r"no node with a core.*--num-cpus 0"):
        use("10.0.0.1:6379")


def test_a_model_card_does_not_say_who_worked():
    assert without_ray(["train", "x", "--ray", "h:1", "--out", "y"]) == ["train", "x", "--out", "y"]
    assert without_ray(["--ray=local", "--rays", "--ray", "--ray", "z"]) == ["--rays", "z"]


def test_one_training_is_no_work_for_a_cluster():
    given = ["train", "gate-linear", "--data", "train=toy", "--ray", "local"]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 2
    assert "--ray belongs to --sweep" in done.output


@pytest.mark.parametrize(
    "command",
    [
        "ingest {0} --agent {0} --state {0}/state",
        "label relevance --data toy --how hard --out {0}/labels.jsonl",
        "evaluate --data toy --out {0}/run",
        "train gate-linear --data train=toy --sweep train.seed=1,2 --out {0}/out",
    ],
)
def test_every_command_that_has_shards_goes_to_the_cluster_first(ray, port, tmp_path, command):
    port(ConnectionRefusedError(111, "Connection refused"))
    (tmp_path / "agent.toml").write_text('[models.encoder]\nkind = "hashing"\n[[sources]]\nname = "DOCUMENTS"\n')
    before = sorted(tmp_path.iterdir())
    done = CliRunner().invoke(app, [*command.format(tmp_path).split(), "--ray", "10.0.0.9:6379"])
    assert isinstance(done.exception, WorkersError), done.output
    assert sorted(tmp_path.iterdir()) == before
