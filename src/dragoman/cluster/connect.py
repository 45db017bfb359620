"""Connect to a Ray cluster, or start one on this machine; refuse incompatible nodes before any work."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from secrets import token_hex
from time import monotonic, sleep
from typing import Any

from dragoman.cluster.build import build, differences
from dragoman.cluster.ray_workers import RayWorkers
from dragoman.core.environment import cores
from dragoman.core.errors import ConfigError, DragomanError, MissingExtraError, WorkersError

log = logging.getLogger("dragoman.cluster")
LOCAL, CLIENT = "local", "ray://"
_QUIET = {
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_TQDM_PATCH_PRINT": "0",
}
"""Keeps Ray's own output off the terminal; its usage reports are off in `core/environment.py`."""
_AUTH_MODE, _AUTH_TOKENS = "RAY_AUTH_MODE", ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
_REACH_SECONDS = 5.0
_NODE_SECONDS = 120.0
_GONE_SECONDS = 10.0
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5)
"""How a gRPC client begins: the preface of HTTP/2 and an empty SETTINGS frame; a server answers in kind."""
_SETTINGS = 4


@contextmanager
def ray_workers(address: str) -> Iterator[RayWorkers]:
    """The workers at an address: `host:6379` from a node of the cluster, `ray://host:10001` from anywhere, `local` for
    a cluster of its own of the cores of this machine."""
    place = _place(address)
    ray = _imported()
    if place is not None:
        _reach(address, *place)
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    with _own_token() if address == LOCAL else nullcontext():
        _connect(ray, address)
        try:
            if place is not None and not _asks_for_token(place[0]):
                log.warning(
                    "The cluster at %s asks nobody for a token: whoever reaches its ports can run code on it, and here "
                    "through what it answers. Start it with RAY_AUTH_MODE=token (docs/howto/ray.md).",
                    address,
                )
            _refuse_unlike(ray)
            yield RayWorkers(ray)
        finally:
            ray.shutdown()


@contextmanager
def _own_token() -> Iterator[None]:
    """A token for a local cluster, deleted with it: Ray would store one in the user's home, readable for all."""
    if os.environ.keys() & {_AUTH_MODE, *_AUTH_TOKENS}:
        yield  # whoever set it knows why
        return
    os.environ[_AUTH_TOKENS[0]] = token_hex(32)  # the mode is Ray's to set: it looked for one when it was imported
    try:
        yield
    finally:
        for name in (_AUTH_MODE, _AUTH_TOKENS[0]):
            os.environ.pop(name, None)


def _asks_for_token(host: str) -> bool:
    """Whether a cluster that let us in asked for a token, or can be reached by this machine alone."""
    return os.environ.get(_AUTH_MODE) == "token" or host in ("localhost", "127.0.0.1", "::1")


def _place(address: str) -> tuple[str, int] | None:
    """The host and the port of an address; None where there is none yet."""
    if address == LOCAL:
        return None
    host, mark, port = address.removeprefix(CLIENT).rpartition(":")
    if not (mark and host and port.isdigit() and 0 < int(port) < 65536) or "/" in host:
        raise ConfigError(
            f"'{address}' is no address of a Ray cluster.",
            remedy="Give host:6379 on a node of it, ray://host:10001 from elsewhere, or local.",
        )
    return host.strip("[]"), int(port)


def _imported() -> Any:
    try:
        import ray
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "--ray needs Ray, which is not installed.", remedy="Run: pip install 'dragoman[ray]'", extra="ray"
        ) from error
    return ray


def _reach(address: str, host: str, port: int) -> None:
    """Whether a Ray server answers; Ray's own client would wait for minutes."""
    try:
        with socket.create_connection((host, port), timeout=_REACH_SECONDS) as line:
            if os.environ.get("RAY_USE_TLS", "0") == "1":
                return  # it speaks only to who knows its certificate
            line.settimeout(_REACH_SECONDS)
            line.sendall(_HELLO)
            answer = line.recv(9)
    except OSError as error:
        raise _unreachable(address, error.strerror or str(error)) from error
    if len(answer) < 4 or answer[3] != _SETTINGS:
        raise _unreachable(address, "what listens there is not Ray")


def _unreachable(address: str, why: str) -> WorkersError:
    return WorkersError(
        f"No Ray cluster can be reached at '{address}': {why}.",
        remedy="Check that its head runs (ray start --head) and that the port is open: 6379 for a node of the cluster, "
        "10001 after ray:// from elsewhere. Or give --ray local.",
        address=address,
    )


def _connect(ray: Any, address: str) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    here: dict[str, Any] = {"num_cpus": cores(), "include_dashboard": False} if address == LOCAL else {}
    try:
        ray.init(address=address, **here, **quiet)
    except (ConnectionError, RuntimeError, ValueError, ImportError, OSError, AssertionError) as error:
        raise _refused(address, error) from error


def _refused(address: str, error: Exception) -> DragomanError:
    message = " ".join(str(error).split())
    if "ersion mismatch" in message or "versions" in message:
        return WorkersError(
            f"The cluster at '{address}' runs another version: {message}",
            remedy="Install here, or on the cluster, the same Ray and the same Python (all three numbers of it).",
            address=address,
        )
    if "Ray Client requires" in message or "grpc" in message.lower():
        return MissingExtraError(
            f"'{address}' needs Ray's client: {message}", remedy="Run: pip install 'ray[client]'", extra="ray"
        )
    return WorkersError(
        f"The Ray cluster at '{address}' does not let us in: {type(error).__name__}: {message}",
        remedy="host:6379 works on a node of the cluster (ray start --address host:6379 makes one of this machine); "
        "from elsewhere give ray://host:10001. Where it asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN.",
        address=address,
    )


def _refuse_unlike(ray: Any) -> None:
    """Compare the fingerprint of every node: one that differs would give other results, or none."""
    asked = [(entry, _ask(ray, entry["NodeID"])) for entry in _working(ray)]
    answered = 0
    for entry, reference in asked:
        try:
            answer: Mapping[str, str] | str = ray.get(reference, timeout=_NODE_SECONDS)
        except ray.exceptions.RayError as error:
            if _is_gone(ray, entry["NodeID"]):
                continue  # the cluster took some time to notice
            message = str(error).strip().splitlines()
            answer = message[-1] if message else type(error).__name__
        answered += 1
        faults = [answer] if isinstance(answer, str) else differences(build(), answer)
        if faults:
            more = f" (and {len(faults) - 4} more)" if len(faults) > 4 else ""
            host = entry["NodeManagerAddress"]
            raise WorkersError(
                f"The node {host} does not fit: {'; '.join(faults[:4])}{more}.",
                remedy="Install on every node exactly what is installed here, extras included.",
                node=host,
            )
    if not answered:
        raise WorkersError(
            "The cluster has no node with a core to work on.",
            remedy="Start one with `ray start --address HEAD:6379`; or was the head started with --num-cpus 0?",
        )


def _working(ray: Any) -> list[Any]:
    return [entry for entry in ray.nodes() if entry["Alive"] and entry["Resources"].get("CPU", 0) >= 1]


def _is_gone(ray: Any, node_id: str) -> bool:
    """Whether the cluster reports a silent node as dead, now or within some seconds."""
    end = monotonic() + _GONE_SECONDS
    while any(entry["NodeID"] == node_id for entry in _working(ray)):
        if monotonic() > end:
            return False
        sleep(0.2)
    return True


def _ask(ray: Any, node_id: str) -> Any:
    """The fingerprint of a node, by a function that is sent as code, since the node may lack Dragoman."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    def made_of() -> Any:
        try:
            from dragoman.cluster.build import build
        except ModuleNotFoundError as error:
            return f"'{error.name}' is not installed there, or is older than here"
        return dict(build())

    there = NodeAffinitySchedulingStrategy(node_id, soft=False)
    return ray.remote(num_cpus=0, max_retries=0)(made_of).options(scheduling_strategy=there).remote()
