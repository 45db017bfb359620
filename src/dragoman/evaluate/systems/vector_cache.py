"""Disk cache of passage vectors: a corpus is encoded once for all experiments.

They lie in one SQLite file under the home folder, by what makes an encoder what it is and by the text's hash. It is a
cache: where it cannot be read or written, the encoder works as if it were not there; what is damaged is begun anew.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from hashlib import blake2b, file_digest
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any, TypeVar

from dragoman.core.environment import home
from dragoman.core.protocols import Encoder
from dragoman.models.part import FILE as PART
from dragoman.stores.sqlite.transaction import transaction

if TYPE_CHECKING:
    import apsw

    from dragoman.core.protocols import FloatArray

T = TypeVar("T")
log = logging.getLogger(__name__)
FILE = "vectors.db"
MOST_BYTES = 1 << 30
_FORMAT = 2
"""Raised where an encoder gives other vectors than before: those of 1 depended on what was read beside a text."""
_BUSY_MILLISECONDS = 10_000
_AT_ONCE = 500
_AFTER = 0.9
"""How full the file is after the oldest were let go."""
_CHUNK = 2048
"""Texts that are encoded before they are written: what a kill loses."""


def kept_vectors(
    encoder: Encoder, table: Mapping[str, Any], *, agent: Path | None = None, folder: Path | None = None
) -> Encoder:
    """Wrap an encoder with the disk cache if its weights can be identified; otherwise return the encoder itself.

    `agent` is the folder beside which its weights may lie, `folder` where the vectors are kept.
    """
    weights = table.get("weights")
    if not isinstance(weights, str):
        return encoder
    return KeptVectors(encoder, lambda: identity(table, weights, agent=agent), folder=folder)


def identity(table: Mapping[str, Any], weights: str, *, agent: Path | None = None) -> bytes:
    """Identity of an encoder: kind, options and the hashes of its weights."""
    place = _place(weights, agent)
    digest = blake2b(json.dumps(dict(table), sort_keys=True, default=str).encode(), digest_size=16)
    for file in _files(place):
        if not file.name.startswith("."):  # marks of ours beside the weights say nothing of them
            digest.update(file.name.encode())
            with file.open("rb") as opened:
                digest.update(file_digest(opened, "sha256").digest())
    return digest.digest()


def _place(weights: str, agent: Path | None) -> Path:
    """The path of weights in the order in which encoders search: as given, beside the agent, in the catalogue."""
    from dragoman.models import weights as catalogue

    own = Path(weights).expanduser()
    beside = agent / own if agent is not None else own
    for place in (own, beside):
        if (place / PART).is_file():
            return place
    return beside if not own.exists() and beside.exists() else catalogue.path(weights)


def _files(place: Path) -> list[Path]:
    """The files that identify weights; a trained part records the hashes of its own."""
    if place.is_file():
        return [place]
    if (place / PART).is_file():
        return [place / PART]
    inside = (path for path in place.rglob("*") if path.is_file())
    return sorted(path for path in inside if not any(part[0] == "." for part in path.relative_to(place).parts))


class KeptVectors:
    """An encoder that returns cached vectors of texts that any process encoded before.

    The file holds at most `most_bytes`: the vectors that were not used for longest go first.
    """

    def __init__(
        self,
        encoder: Encoder,
        weights: Callable[[], bytes],
        *,
        folder: Path | None = None,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._encoder = encoder
        self._weights = weights
        self._folder = folder
        self._most_bytes = most_bytes
        self._identity: bytes | None = None

    @property
    def dimensions(self) -> int:
        return self._encoder.dimensions

    @property
    def file(self) -> Path:
        return (self._folder or home() / "cache") / FILE

    def encode(self, texts: Sequence[str]) -> FloatArray:
        import numpy as np

        if not texts:
            return self._encoder.encode(texts)
        if self._identity is None:
            self._identity = self._weights()
        keys = [_key(self._identity, text) for text in texts]
        places: dict[bytes, list[int]] = {}
        for place, key in enumerate(keys):
            places.setdefault(key, []).append(place)
        vectors: FloatArray = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        cached = self._read(list(places))
        for key, blob in cached.items():
            vectors[places[key]] = np.frombuffer(blob, dtype="<f4")
        missing = [key for key in places if key not in cached]
        for start in range(0, len(missing), _CHUNK):
            chunk = missing[start : start + _CHUNK]
            fresh = self._encoder.encode([texts[places[key][0]] for key in chunk])
            for key, vector in zip(chunk, fresh, strict=True):
                vectors[places[key]] = vector
            self._write({key: vector.astype("<f4").tobytes() for key, vector in zip(chunk, fresh, strict=True)})
        return vectors

    def __getattr__(self, name: str) -> Any:  # warm_up, forget: whatever the encoder has
        if name == "_encoder":
            raise AttributeError(name)
        return getattr(self._encoder, name)

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        size, today = 4 * self.dimensions, _today()

        def read(database: apsw.Connection) -> dict[bytes, bytes]:
            vectors: dict[bytes, bytes] = {}
            old: list[bytes] = []
            for start in range(0, len(keys), _AT_ONCE):
                chunk = keys[start : start + _AT_ONCE]
                marks = ",".join("?" * len(chunk))
                for key, vector, used in database.execute(f"SELECT * FROM vectors WHERE key IN ({marks})", chunk):
                    if len(vector) == size:
                        vectors[key] = vector
                        old += [key] if used < today else []
            if old:
                with database:
                    database.executemany("UPDATE vectors SET used = ? WHERE key = ?", ((today, key) for key in old))
            return vectors

        return self._tried(read) or {}

    def _write(self, fresh: Mapping[bytes, bytes]) -> None:
        today = _today()

        def write(database: apsw.Connection) -> None:
            with database:
                rows = ((key, vector, today) for key, vector in fresh.items())
                database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
                held = _bytes(database)
                if held > self._most_bytes:
                    [(count,)] = database.execute("SELECT count(*) FROM vectors")
                    excess = round(count * (1 - _AFTER * self._most_bytes / held))
                    oldest = "SELECT key FROM vectors ORDER BY used, rowid LIMIT ?"
                    database.execute(f"DELETE FROM vectors WHERE key IN ({oldest})", (excess,))

        self._tried(write)

    def _tried(self, work: Callable[[apsw.Connection], T]) -> T | None:
        """The result of an operation on the cache file; None if it fails. A damaged file is replaced next time."""
        import apsw

        try:
            with closing(self._opened()) as database:
                return work(database)
        except (apsw.NotADBError, apsw.CorruptError) as error:
            log.warning("The kept vectors in %s are damaged and are begun anew: %s", self.file, error)
            with suppress(OSError):
                for name in (FILE, f"{FILE}-wal", f"{FILE}-shm"):
                    self.file.with_name(name).unlink(missing_ok=True)
        except (apsw.Error, OSError) as error:
            log.info("Vectors are not kept in %s: %s", self.file, error)
        return None

    def _opened(self) -> apsw.Connection:
        import apsw

        self.file.parent.mkdir(parents=True, exist_ok=True)
        database = apsw.Connection(str(self.file))
        try:
            database.set_busy_timeout(_BUSY_MILLISECONDS)
            if _version(database) != _FORMAT:
                with suppress(apsw.BusyError):  # another process is doing the same
                    database.execute("PRAGMA journal_mode = WAL")
                with transaction(database):
                    if _version(database) != _FORMAT:  # nobody else was quicker
                        database.execute("DROP TABLE IF EXISTS vectors")
                        database.execute("CREATE TABLE vectors (key BLOB PRIMARY KEY, vector BLOB, used INTEGER)")
                        database.execute(f"PRAGMA user_version = {_FORMAT}")
            database.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            database.close()
            raise
        return database


def _version(database: apsw.Connection) -> int:
    [(version,)] = database.execute("PRAGMA user_version")
    return int(version)


def _bytes(database: apsw.Connection) -> int:
    """The size of the rows in bytes, without free pages."""
    [(size,)] = database.execute("PRAGMA page_size")
    [(pages,)] = database.execute("PRAGMA page_count")
    [(free,)] = database.execute("PRAGMA freelist_count")
    return int(size * (pages - free))


def _key(identity: bytes, text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), key=identity, digest_size=16).digest()


def _today() -> int:
    return int(time() // 86_400)
