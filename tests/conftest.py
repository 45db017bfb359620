"""What every test stands on: no network, an empty home, and, for integration tests, the real weights."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_socket import disable_socket, enable_socket, socket_allow_hosts

from dragoman.core.home import home
from dragoman.models import weights

_REAL_HOME = home()


@pytest.fixture(autouse=True)
def closed_network(request: pytest.FixtureRequest) -> Iterator[None]:
    """Unit tests open no socket; integration tests reach this machine alone, for the embedded model's listener."""
    if request.node.get_closest_marker("integration"):
        socket_allow_hosts(["127.0.0.1", "localhost"], allow_unix_socket=True)
    else:
        disable_socket(allow_unix_socket=True)
    yield
    enable_socket()


@pytest.fixture(scope="session")
def weights_home() -> Path:
    """The home of whoever runs the tests, with the real weights in it, fetched where they are not here yet."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DRAGOMAN_HOME", str(_REAL_HOME))
        for name in weights.CATALOGUE:
            weights.path(name)
    return _REAL_HOME


@pytest.fixture(autouse=True)
def own_home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """An empty home for each test; in integration tests the real weights lie in it."""
    place = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("DRAGOMAN_HOME", str(place))
    if request.node.get_closest_marker("integration"):
        real = request.getfixturevalue("weights_home") / "models"
        (place / "models").symlink_to(real, target_is_directory=True)
    return place
