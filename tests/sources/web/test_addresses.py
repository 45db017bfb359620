import socket

import pytest

from dragoman.core.errors import InputError
from dragoman.sources.web import is_address
from dragoman.sources.web.addresses import PublicBackend, check_url, public_address

pytestmark = pytest.mark.trust


def resolving(monkeypatch, *addresses):
    rows = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80)) for address in addresses]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: rows)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "192.168.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "::1",
        "fe80::1%eth0",
        "fc00::1",
        "::ffff:10.0.0.1",
        "2002:7f00:1::",
        "64:ff9b::7f00:1",
        "64:ff9b:1::a00:1",
        "::7f00:1",
        "fec0::1",
    ],
)
def test_private_addresses_are_refused(monkeypatch, address):
    resolving(monkeypatch, address)
    with pytest.raises(InputError, match="private address"):
        public_address("example.org", 80)
    if "169.254" not in address and "fe80" not in address:
        assert public_address("example.org", 80, allow_private=True) == address


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::",
        "fe80::1%eth0",
        "fd00:ec2::254",
    ],
)
def test_addresses_where_machines_keep_credentials_are_never_read(monkeypatch, address):
    """Not even for one's own network, whose pages may redirect there."""
    resolving(monkeypatch, "10.0.0.1", address)
    with pytest.raises(InputError, match="link-local"):
        public_address("example.org", 80, allow_private=True)


def test_one_private_address_among_public_ones_is_enough(monkeypatch):
    resolving(monkeypatch, "93.184.215.14", "10.0.0.1")
    with pytest.raises(InputError, match=r"10\.0\.0\.1"):
        public_address("example.org", 80)


def test_the_checked_address_is_the_one_that_is_connected_to(monkeypatch):
    """A name that resolves to another address a moment later gains nothing."""
    resolving(monkeypatch, "93.184.215.14")
    connected = []
    monkeypatch.setattr("httpcore.SyncBackend.connect_tcp", lambda self, host, *_: connected.append(host))
    PublicBackend().connect_tcp("example.org", 80)
    assert connected == ["93.184.215.14"]


def test_a_public_address_behind_a_translator_is_public(monkeypatch):
    resolving(monkeypatch, "64:ff9b::5db8:d70e")
    assert public_address("example.org", 80)


def test_international_addresses_become_ascii():
    assert check_url("http://bücher.example/Straße nach Bern?q=ü") == (
        "http://xn--bcher-kva.example/Stra%C3%9Fe%20nach%20Bern?q=%C3%BC"
    )


@pytest.mark.parametrize(
    "url",
    [
        *("file:///etc/passwd", "ftp://a.org/", "https://", "http://[", "gopher://a"),
        *("http://a.org:99999/", "http://a.org:b/", "http://a.org:0/", "http://[::1/x", "http://ä..org/"),
    ],
)
def test_other_addresses_are_refused(url):
    with pytest.raises(InputError):
        check_url(url)


def test_passwords_in_addresses_are_refused_and_not_repeated():
    with pytest.raises(InputError) as caught:
        check_url("https://ana:secret@a.org/")
    assert "secret" not in str(caught.value)


def test_addresses_are_told_from_paths():
    assert is_address("https://a.org") and is_address("git+https://a.org/x")
    assert is_address("ftp://a.org/x") and is_address("FILE:///etc/hosts"), "refused as addresses, and others go on"
    assert not is_address("notes/https") and not is_address("C:/notes")
