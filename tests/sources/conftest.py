"""An encoder of no weight, a store that counts writes, and a maker of small PDFs."""

import hashlib
import zlib
from functools import partial

import numpy as np
import pytest

from dragoman.stores.in_memory import InMemoryStore


class CountingEncoder:
    """Unit vectors from hashes; keeps the texts it was given, and can be told to stop in the middle."""

    dimensions = 8

    def __init__(self):
        self.texts = []
        self.stop_after = None
        self.error = KeyboardInterrupt

    def encode(self, texts):
        if self.stop_after is not None and len(self.texts) + len(texts) > self.stop_after:
            raise self.error
        self.texts.extend(texts)
        rows = [np.frombuffer(hashlib.sha256(text.encode()).digest(), dtype=np.uint8)[:8] + 1.0 for text in texts]
        array = np.array(rows, dtype=np.float32).reshape(len(texts), 8)
        return array / np.linalg.norm(array, axis=1, keepdims=True)


class CountingStore(InMemoryStore):
    """Counts the calls that write, and can fail at any of them. It offers no transaction over several of them."""

    switch = None

    def __init__(self):
        super().__init__()
        self.writes = []
        self.fail_at = None
        self.error = KeyboardInterrupt

    def _write_call(self, name):
        if self.fail_at is not None and len(self.writes) >= self.fail_at:
            raise self.error
        self.writes.append(name)

    def put(self, scope, passages, vectors=None):
        self._write_call("put")
        return super().put(scope, passages, vectors)

    def remove(self, scope, ids):
        self._write_call("remove")
        return super().remove(scope, ids)

    def keep(self, scope, key, value):
        self._write_call("keep")
        super().keep(scope, key, value)


class SwitchingStore(CountingStore):
    """Writes passages, deletions and notes of a file in one call, as databases do."""

    def switch(self, scope, passages, vectors=None, *, remove=(), notes=None):
        self._write_call("switch")
        return InMemoryStore.switch(_Uncounted(self), scope, passages, vectors, remove=remove, notes=notes)


class _Uncounted:
    """The writes of a store within a transaction, which are not counted one by one."""

    def __init__(self, store):
        self._store = store
        self._lock = store._lock

    def __getattr__(self, name):
        return partial(getattr(InMemoryStore, name), self._store)


@pytest.fixture
def encoder():
    return CountingEncoder()


@pytest.fixture
def store():
    return CountingStore()


@pytest.fixture(params=[CountingStore, SwitchingStore], ids=["by steps", "by transactions"])
def make_store(request):
    return request.param


@pytest.fixture
def make_encoder():
    return CountingEncoder


def pdf_bytes(*pages, title=None):
    """A PDF with one list of lines a page; an empty list is a page without text."""
    count = len(pages)
    objects = {
        1: b"<< /Type /Catalog /Pages 2 0 R >>",
        2: b"<< /Type /Pages /Count %d /Kids [%s] >>"
        % (count, b" ".join(b"%d 0 R" % (4 + 2 * i) for i in range(count))),
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    }
    for i, lines in enumerate(pages):
        shown = b" T* ".join(
            b"(%s) Tj" % line.replace("(", "\\(").replace(")", "\\)").encode("cp1252") for line in lines
        )
        stream = zlib.compress(b"BT /F1 12 Tf 14 TL 50 800 Td %s ET" % shown if lines else b"")
        objects[4 + 2 * i] = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] "
            b"/Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>" % (5 + 2 * i)
        )
        objects[5 + 2 * i] = b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(stream), stream)
    info = b""
    if title:
        objects[4 + 2 * count] = b"<< /Title (%s) >>" % title.encode()
        info = b" /Info %d 0 R" % (4 + 2 * count)
    body, offsets = b"%PDF-1.4\n", []
    for number in sorted(objects):
        offsets.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, objects[number])
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    trailer = b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R%s >>\nstartxref\n%d\n%%%%EOF\n"
    return body + trailer % (size, table, size, info, len(body))


@pytest.fixture
def make_pdf():
    return pdf_bytes
