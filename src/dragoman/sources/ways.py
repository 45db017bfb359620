"""The two ways by which files come to a source: read where they lie, or uploaded to a server.

Both name their files from a folder of their own, so that one name may be a file of each. Neither is to remove or to
replace what came the other way.
"""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePath
from typing import Literal, TypeAlias

from dragoman.core.values import Scope, Source

Way: TypeAlias = Literal["ingested", "uploaded"]


def uploads_folder(scope: Scope, source: Source) -> PurePath:
    """Where a server keeps what was uploaded to a source, below its state; digests, so that no id can be a path."""
    whose = _digest(scope.user) if scope.user else "shared"
    return PurePath("uploads", _digest(scope.tenant), whose, _digest(source.name))


def way_of(base: Path, scope: Scope, source: Source) -> Way:
    """How the files below a folder came. A server may have moved its state, so only the end of the path counts."""
    place = uploads_folder(scope, source).parts
    return "uploaded" if base.parts[-len(place) :] == place else "ingested"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
