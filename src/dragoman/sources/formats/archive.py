"""Zip containers of office documents and books, read under limits on size and time."""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from dragoman.core.errors import InputError

MOST_BYTES = 256 * 2**20
"""Most unpacked bytes that are read of one file."""
MOST_MEMBERS = 20_000
SECONDS = 120.0
_CHUNK = 1 << 16
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Ways to pack that the formats use. Python unpacks others without a limit: 1 kB of bzip2 is 600 MB."""
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
_MACROS = ("vbaproject.bin", "vbadata.xml", "basic/script-lc.xml")
"""Ends of the names of members that hold macros, in Microsoft's formats and in OpenDocument."""


class Archive:
    """An opened container; every read counts against the limits of the file."""

    def __init__(self, content: bytes, name: str) -> None:
        self.name = name
        _check_container(content, name)
        with self._reported():
            self._zip = zipfile.ZipFile(io.BytesIO(content))
        self._members = {info.filename: info for info in self._zip.infolist()}
        self._left = MOST_BYTES
        self._until = monotonic() + SECONDS
        if len(self._members) > MOST_MEMBERS:
            raise InputError(f"'{name}' holds {len(self._members):,} files.", remedy="Save it anew.")
        self._check_members()

    def __contains__(self, member: str) -> bool:
        return member in self._members

    def stream(self, member: str, *, again: bool = False) -> Iterator[bytes]:
        """The content of a member in pieces; one that is read `again` counts against the time alone."""
        if member not in self._members:
            raise InputError(f"'{self.name}' is damaged: it has no {member}.", remedy="Open it and save it anew.")
        with self._reported(), self._zip.open(self._members[member]) as opened:
            while chunk := opened.read(_CHUNK):
                self._left -= 0 if again else len(chunk)
                self.check()
                yield chunk

    def read(self, member: str) -> bytes:
        """The content of a member."""
        return b"".join(self.stream(member))

    def check(self) -> None:
        """Raise if the file has taken too much time or unpacks into too many bytes."""
        if self._left < 0:
            raise InputError(f"'{self.name}' unpacks into more than {MOST_BYTES // 2**20} MB.", remedy="Split it.")
        if monotonic() > self._until:
            raise InputError(f"'{self.name}' takes more than {SECONDS:g} s to read.", remedy="Split it.")

    def _check_members(self) -> None:
        for member, info in self._members.items():
            if info.flag_bits & 1:
                raise _protected(self.name)
            if info.compress_type not in _METHODS:
                raise InputError(f"'{self.name}' is packed in an unusual way.", remedy="Open it and save it anew.")
            if member.lower().endswith(_MACROS):
                raise InputError(
                    f"'{self.name}' contains macros, which are programs.", remedy="Save a copy without macros."
                )

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
            raise InputError(
                f"'{self.name}' is damaged: it cannot be unpacked whole.", remedy="Open it and save it anew."
            ) from error


def beside(member: str, target: str) -> str:
    """The name of a member that another member refers to by a relative path."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(member), target)).lstrip("/")


def _check_container(content: bytes, name: str) -> None:
    if content.startswith(_OLE):
        # Office wraps an encrypted document into the container of its old binary formats.
        if _ENCRYPTED_PACKAGE in content:
            raise _protected(name)
        raise InputError(f"'{name}' is in an old binary format.", remedy="Save it as .docx, .pptx or .xlsx.")


def _protected(name: str) -> InputError:
    return InputError(f"'{name}' is protected by a password.", remedy="Save a copy without the password.")
