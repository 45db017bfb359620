"""The receipt of an erasure: what was erased from which file, how many, and the SHA-256 of it.

A hash is of the texts, one after the other with a line feed between them, so that an earlier export can be compared.
The receipt is made before the erasure, and is stored nowhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from dragoman.core.protocols import Store
from dragoman.core.values import ASIDE, Erased, Scope, Source
from dragoman.memory.wishes import WISHES
from dragoman.sources.upload_folders import UploadFolders, user_folder


def receipt_of(
    store: Store, sources: Sequence[Source], files: UploadFolders | None, scope: Scope
) -> tuple[Erased, ...]:
    """Return the counts of an erasure by file and kind; empty kinds are left out."""
    place = Path(str(getattr(store, "where", "memory"))).name or "memory"
    entries = []
    for source in sources:
        if source.private:
            what = "facts" if source.about == "user" else f"passages of {source.name}"
            rows = [row for old in (False, True) for row in store.passages(scope, source.name, superseded=old)]
            entries.append(_entry(place, what, (row.text for row in rows)))
    entries.append(_entry(place, "standing wishes", (row.text for row in store.passages(scope, WISHES))))
    names = store.dialogues(scope)
    chats = [name for name in names if not name.startswith(ASIDE)]
    turns = [turn.text for name in chats for turn in store.dialogue(scope, name)]
    entries.append(_entry(place, f"messages of {len(chats)} chats" if len(chats) != 1 else "messages of 1 chat", turns))
    ratings = [turn.text for name in names if name.startswith(ASIDE) for turn in store.dialogue(scope, name)]
    entries.append(_entry(place, "ratings", ratings))
    for root in files.roots if files is not None else ():
        folder = user_folder(root, scope)
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if path.is_file() and not path.is_symlink():
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                entries.append(Erased(path.name, "uploaded file", 1, digest))
    return tuple(entry for entry in entries if entry.count)


def _entry(place: str, what: str, texts: Iterable[str]) -> Erased:
    listed = list(texts)
    return Erased(place, what, len(listed), hashlib.sha256("\n".join(listed).encode()).hexdigest())
