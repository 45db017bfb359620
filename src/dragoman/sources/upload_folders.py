"""Folders of uploaded files: one for each tenant, user and source, named by digests; count and erase a user's files."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dragoman.core.errors import ServiceError, StoreError
from dragoman.core.private_files import make_private_folder
from dragoman.core.values import Scope, Source

FOLDER = "uploads"
_PLACES = "upload-folders.json"
_PLACE = ".place"
_GONE = ".erased-"


@dataclass(frozen=True, slots=True)
class UploadUsage:
    """A number of files and their bytes."""

    bytes: int = 0
    files: int = 0

    def __add__(self, other: UploadUsage) -> UploadUsage:
        return UploadUsage(self.bytes + other.bytes, self.files + other.files)

    def __neg__(self) -> UploadUsage:
        return UploadUsage(-self.bytes, -self.files)


class StorageUsage(Protocol):
    """Storage use counted across servers; see `stores/postgres/upload_usage`."""

    def claim(
        self, place: str, tenant: str, owner: str, more: tuple[int, int], limits: Mapping[str, int | None]
    ) -> str | None:
        """Claim bytes and files; returns the name of the exceeded limit, or `elsewhere`, if that fails."""
        ...

    def is_elsewhere(self, place: str, tenant: str, owner: str) -> bool:
        """Whether an owner has files in another place."""
        ...

    def count(self, place: str, tenant: str, held: Mapping[str, tuple[int, int]]) -> None:
        """Store a recount of a tenant's files in a place."""
        ...


class UploadFolders:
    """The uploaded files of an agent's users, wherever servers of the agent were told to keep them.

    They lie in the state folder, or in the folder of `dragoman serve --uploads`, which is noted in the state folder so
    that every command finds it. With `usage`, servers on other machines may have files too.
    """

    def __init__(self, state: Path, *, usage: StorageUsage | None = None) -> None:
        self._state = state
        self._usage = usage
        self.recount: Callable[[Path], None] | None = None
        """Called with a user's folder after it was erased, by a server that keeps count."""

    @property
    def roots(self) -> tuple[Path, ...]:
        """The state folder, and every other folder that was ever used."""
        try:
            noted = json.loads((self._state / _PLACES).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            noted = []
        return (self._state, *(Path(place) for place in noted if isinstance(place, str)))

    def use(self, root: Path) -> None:
        """Note another folder that will hold uploads."""
        root = root.resolve()
        if root in {folder.resolve() for folder in self.roots}:
            return
        make_private_folder(self._state)
        passing = self._state / f".{_PLACES}-{secrets.token_hex(8)}"
        passing.write_text(json.dumps([*(str(folder) for folder in self.roots[1:]), str(root)]), encoding="utf-8")
        passing.chmod(0o600)
        passing.replace(self._state / _PLACES)

    def count(self, scope: Scope) -> int:
        """The number of a user's uploaded files on this machine."""
        return sum(counted(user_folder(root, scope)).files for root in self.roots)

    def check(self, scope: Scope) -> None:
        """Raise an error if a user's files are on another server, which alone can delete them."""
        if self._usage is None:
            return
        tenant, owner = user_folder(self._state, scope).parts[-2:]
        usage = self._usage
        if all(usage.is_elsewhere(_known_place(root / FOLDER), tenant, owner) for root in self.roots):
            raise elsewhere()

    def erase(self, scope: Scope) -> int:
        """Delete a user's uploads; returns the number of files."""
        erased = 0
        for root in self.roots:
            folder = user_folder(root, scope)
            for gone in folder.parent.glob(f"{_GONE}{folder.name}-*"):  # left by a deletion that was killed
                shutil.rmtree(gone, ignore_errors=True)
            if folder.exists():
                erased += counted(folder).files
                _erase(folder)
                self._note_erased(folder)
        return erased

    def _note_erased(self, folder: Path) -> None:
        if self.recount is not None:
            self.recount(folder)
        elif self._usage is not None:
            held = {entry.name: counted(entry) for entry in folder.parent.iterdir() if entry.is_dir()}
            amounts = {name: (amount.bytes, amount.files) for name, amount in held.items() if name[0] != "."}
            self._usage.count(_known_place(folder.parent.parent), folder.parent.name, amounts)


def user_folder(state: Path, scope: Scope) -> Path:
    """Folder of a user's uploads, or of a tenant's shared ones; ids are hashed, so none can be a path."""
    return state / FOLDER / _digest(scope.tenant) / (_digest(scope.user) if scope.user else "shared")


def source_folder(state: Path, scope: Scope, source: Source) -> Path:
    """Root folder of the caller's uploads into a source; the files are in `uploads` below it."""
    return user_folder(state, source.scope(scope)) / _digest(source.name)


def counted(folder: Path) -> UploadUsage:
    """Count the files below a folder; hidden ones are being written or deleted."""
    bytes_, files = 0, 0
    for path, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            if not name.startswith("."):
                try:
                    bytes_ += os.stat(os.path.join(path, name)).st_size  # noqa: PTH116, PTH118 - many of them
                    files += 1
                except OSError:
                    continue  # gone meanwhile
    return UploadUsage(bytes_, files)


def erased_folders(state: Path) -> list[Path]:
    """Folders whose deletion was interrupted."""
    return list((state / FOLDER).glob(f"*/{_GONE}*"))


def staged_notes(state: Path) -> list[Path]:
    """Files that `place_id` and `UploadFolders.use` write before they rename them; a kill leaves them behind."""
    return [*(state / FOLDER).glob(f"{_PLACE}-*"), *state.glob(f".{_PLACES}-*")]


def place_id(uploads: Path) -> str:
    """The id of a shared folder, stored in a hidden file inside it, so that it survives a move."""
    file = uploads / _PLACE
    if not file.exists():
        uploads.mkdir(parents=True, exist_ok=True, mode=0o700)
        passing = uploads / f"{_PLACE}-{secrets.token_hex(8)}"
        passing.write_text(secrets.token_hex(16), encoding="ascii")
        with suppress(FileExistsError):
            os.link(passing, file)  # whoever comes first names it
        passing.unlink()
    return file.read_text(encoding="ascii")


def elsewhere() -> ServiceError:
    """The error for files that another server has."""
    return ServiceError(
        "The uploaded files lie with another server, and this one does not see them. Nothing was changed.",
        remedy="Ask again, until that one answers; whoever runs the servers lets them share one folder (--uploads).",
        code="elsewhere",
    )


def _known_place(uploads: Path) -> str:
    """The id of a folder, or one that no folder has if nothing was ever uploaded into it."""
    return place_id(uploads) if (uploads / _PLACE).exists() else ""


def _erase(folder: Path) -> None:
    """Delete a folder: moved away first, so that an upload into it that is under way fails as a whole."""
    gone = folder.with_name(f"{_GONE}{folder.name}-{secrets.token_hex(8)}")
    try:
        folder.rename(gone)
        shutil.rmtree(gone)
    except FileNotFoundError:
        return  # somebody else was first
    except OSError as error:
        with suppress(OSError):
            gone.rename(folder)  # listed again, so that it can be deleted again
        raise StoreError(
            f"Uploaded files cannot be removed: {error.strerror}.", remedy="Check the folder's permissions."
        ) from error


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
