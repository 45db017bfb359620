"""Connections to public addresses only: a name is resolved once, checked, and that address is connected to.

A check before the connection alone would not do: the name may resolve to another address a moment later.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

import httpcore

from dragoman.core.errors import InputError

_SAFE = "/%:@!$&'()*+,;=~?-._"
"""Characters that a path or a query keeps; others are percent-encoded."""
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
"""NAT64: the last four bytes are an IPv4 address, which the gateway connects to."""
_NOT_PUBLIC = tuple(
    map(ipaddress.ip_network, ("::/96", "64:ff9b:1::/48", "fec0::/10", "5f00::/16", "192.0.0.0/24", "192.88.99.0/24"))
)
"""Networks that `is_global` of some Python versions takes for public, and that no public site has."""

_LINK_LOCAL = tuple(map(ipaddress.ip_network, ("169.254.0.0/16", "fe80::/10", "fd00:ec2::/32")))
"""Where hosts of virtual machines answer with credentials; no network keeps its pages there."""


def check_url(url: str) -> str:
    """The URL in ASCII and without its fragment; raises for one that is not of the web, or that holds a password."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InputError(f"'{url}' is not a URL.", remedy="Give one such as https://example.org/page.") from error
    if parts.scheme not in ("http", "https") or not host:
        raise InputError(f"'{url}' is not a URL of the web.", remedy="Give one such as https://example.org/page.")
    if parts.username or parts.password:
        raise InputError("A URL holds a user name or password.", remedy="Remove it; pages behind a login are not read.")
    if port == 0:
        raise InputError(f"'{url}' is not a URL: it names the port 0.", remedy="Check the address.")
    path, query = quote(parts.path or "/", safe=_SAFE), quote(parts.query, safe=_SAFE)
    return parts._replace(fragment="", netloc=_ascii_host(parts, url), path=path, query=query).geturl()


def _ascii_host(parts: SplitResult, url: str) -> str:
    """The host and port of a URL, an international name in the form that name servers know."""
    if parts.netloc.isascii():
        return parts.netloc
    try:
        host = (parts.hostname or "").encode("idna").decode("ascii")
    except UnicodeError as error:
        raise InputError(f"'{url}' names no host that exists.", remedy="Check the address.") from error
    return host if parts.port is None else f"{host}:{parts.port}"


def public_address(host: str, port: int, *, allow_private: bool = False) -> str:
    """An IP address of a host; raises if any of its addresses is not public.

    With `allow_private` those of private networks are taken, but link-local ones are not.
    """
    try:
        rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise InputError(f"The host '{host}' cannot be found.", remedy="Check the address.") from error
    addresses = list(dict.fromkeys(str(row[4][0]) for row in rows))
    private = [text for text in addresses if not _is_public(text)]
    if private and not allow_private:
        raise InputError(
            f"The host '{host}' has the private address {private[0]}.",
            remedy="With --allow-private, addresses of your own network are read too.",
        )
    if any(_is_link_local(text) for text in addresses):
        raise InputError(f"The host '{host}' has a link-local address.", remedy="Pages are not read from there.")
    return addresses[0]


def _is_public(text: str) -> bool:
    address, mapped = _parsed(text)
    if mapped is None and any(address in network for network in _NOT_PUBLIC):
        return False
    return address.is_global and not address.is_multicast and (mapped is None or _is_public(str(mapped)))


def _is_link_local(text: str) -> bool:
    address, mapped = _parsed(text)
    return any((mapped or address) in network for network in _LINK_LOCAL)


def _parsed(text: str) -> tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, ipaddress.IPv4Address | None]:
    """An address, and the IPv4 address that it carries, if it carries one."""
    address = ipaddress.ip_address(text.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None)
    if address in _TRANSLATED:
        mapped = ipaddress.IPv4Address(address.packed[-4:])
    return address, mapped


class PublicBackend(httpcore.SyncBackend):
    """Network backend of httpcore that connects to checked addresses; TLS still verifies the host's name."""

    def __init__(self, *, allow_private: bool = False) -> None:
        super().__init__()
        self._allow_private = allow_private

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the checked address of a host."""
        checked = public_address(host, port, allow_private=self._allow_private)
        return super().connect_tcp(checked, port, timeout, local_address, socket_options)

    def connect_unix_socket(self, path: str, *args: Any, **options: Any) -> httpcore.NetworkStream:
        """Refused: no page of the web is behind one."""
        raise InputError("A page of the web is not behind a socket file.", remedy="Check the address.")
