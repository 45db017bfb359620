"""Usage of upload folders, shared by all servers of one store: claimed in a table before a file is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.stores.postgres.database import PostgresDatabase

LIMITS = ("tenant_bytes", "tenant_files", "user_bytes", "user_files")


class PostgresStorageUsage:
    """Bytes and files by place (a folder), tenant and owner, each stored as a digest."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def claim(
        self, place: str, tenant: str, owner: str, more: tuple[int, int], limits: Mapping[str, int | None]
    ) -> str | None:
        """Count more bytes and files, or the name of the limit that leaves no room for them, or `elsewhere`."""
        placeholders = ", ".join(f"%({name})s" for name in ("place", "tenant", "owner", "bytes", "files", *LIMITS))
        sql = f'SELECT "{self._database.schema}".claim_room({placeholders})'
        values = {"place": place, "tenant": tenant, "owner": owner, "bytes": more[0], "files": more[1]}
        ((full,),) = self._database.once(sql, {**values, **{name: limits.get(name) for name in LIMITS}})
        return None if full is None else str(full)

    def is_elsewhere(self, place: str, tenant: str, owner: str) -> bool:
        """Whether an owner has files in another place."""
        sql = f"""SELECT EXISTS (SELECT FROM "{self._database.schema}".stock
            WHERE tenant = %(tenant)s AND owner = %(owner)s AND place <> %(place)s AND files > 0)"""
        ((elsewhere,),) = self._database.once(sql, {"place": place, "tenant": tenant, "owner": owner})
        return bool(elsewhere)

    def count(self, place: str, tenant: str, usage: Mapping[str, tuple[int, int]]) -> None:
        """Set the usage of a tenant's place to new counts; owners without a count have nothing there."""
        table = f'"{self._database.schema}".stock'
        sql = f"""WITH counted AS (SELECT * FROM unnest(%(owners)s::text[], %(bytes)s::bigint[], %(files)s::bigint[])
                AS c (owner, bytes, files)),
            gone AS (DELETE FROM {table} AS s WHERE s.place = %(place)s AND s.tenant = %(tenant)s
                AND s.owner <> ALL(%(owners)s::text[]))
            INSERT INTO {table} (place, tenant, owner, bytes, files)
            SELECT %(place)s, %(tenant)s, owner, bytes, files FROM counted
            ON CONFLICT (tenant, owner, place) DO UPDATE SET bytes = excluded.bytes, files = excluded.files"""
        bytes_, files = [amount[0] for amount in usage.values()], [amount[1] for amount in usage.values()]
        values = {"place": place, "tenant": tenant, "owners": list(usage), "bytes": bytes_, "files": files}
        self._database.once(sql, values)
