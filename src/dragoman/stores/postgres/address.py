"""Address of a PostgreSQL server: a URL, or an environment variable that holds it; shown without secrets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dragoman.core.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from types import ModuleType

FROM_ENVIRONMENT = "env:"
SCHEMES = ("postgresql://", "postgres://")
_SHOWN = ("host", "port", "dbname", "user")


def is_postgres(place: str) -> bool:
    """Whether a command-line place is a server, not a file."""
    return place.startswith((*SCHEMES, FROM_ENVIRONMENT))


def require_psycopg() -> ModuleType:
    """The driver; raises with the install command if it is missing."""
    try:
        import pgvector.psycopg
        import psycopg
        import psycopg_pool
    except ImportError as error:
        raise MissingExtraError(
            "The PostgreSQL store needs the extra 'postgres'.", remedy="pip install 'dragoman[postgres]'"
        ) from error
    assert pgvector.psycopg and psycopg_pool
    return psycopg


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """Connection parameters; only `where`, which holds no password, may be shown."""

    where: str
    parameters: Mapping[str, str] = field(repr=False)

    def __str__(self) -> str:
        return self.where

    @classmethod
    def of(cls, url: str) -> PostgresAddress:
        """The address that a URL, a connection string or `env:NAME` means."""
        psycopg = require_psycopg()
        address = _from_environment(url) if url.startswith(FROM_ENVIRONMENT) else url
        try:
            parameters = {key: str(value) for key, value in psycopg.conninfo.conninfo_to_dict(address).items()}
        except psycopg.ProgrammingError:
            # libpq quotes the part that it could not parse, which may be the password, so its message is dropped.
            raise ConfigError(
                "The address of the PostgreSQL store cannot be read.",
                remedy="Write postgresql://USER@HOST:PORT/DATABASE; special characters in a password are %-encoded.",
            ) from None
        public = {name: parameters.get(name, "") for name in _SHOWN}
        at = f"{public['host'] or 'localhost'}{':' + public['port'] if public['port'] else ''}"
        who = f"{public['user']}@" if public["user"] else ""
        return cls(f"postgresql://{who}{at}/{public['dbname']}", parameters)


def _from_environment(url: str) -> str:
    name = url.removeprefix(FROM_ENVIRONMENT)
    address = os.environ.get(name)
    if not address:
        raise ConfigError(
            f"The environment variable '{name}', which is to hold the PostgreSQL store's address, is not set.",
            remedy=f"export {name}=postgresql://USER:PASSWORD@HOST:PORT/DATABASE",
        )
    return address
