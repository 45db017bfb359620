"""The date of a document: metadata and front matter first, the time of the file last."""

from __future__ import annotations

import os
from io import BytesIO
from zipfile import ZipFile

import pytest

from dragoman.core.values import Passage, Scope, Source
from dragoman.models.scripted import ScriptedEncoder
from dragoman.sources.dates import day_of, passage_date, stated_date
from dragoman.sources.ingest import ingest
from dragoman.stores.in_memory import InMemoryStore

SCOPE = Scope("acme", "ana")


def office(text):
    file = BytesIO()
    with ZipFile(file, "w") as archive:
        archive.writestr("docProps/core.xml", text)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "day"),
    [
        ("a.md", b"---\ntitle: Ferry\ndate: 2026-05-03\n---\nText", "2026-05-03"),
        ("a.md", b"---\ndate: 2024-01-01\nupdated: 2026-05-03\n---\nText", "2026-05-03"),
        ("a.md", b"---\ndate: 2026-02-30\n---\nText", ""),
        ("a.md", b"The notice of 2026-05-03.", ""),
        ("a.html", b'<meta property="article:modified_time" content="2026-05-03T10:00:00Z"><p>x', "2026-05-03"),
        ("a.html", b'<meta name="viewport" content="2026-05-03"><p>x', ""),
        ("a.eml", b"From: a@b.c\nDate: Sun, 3 May 2026 10:00:00 +0200\n\nx", "2026-05-03"),
        ("a.eml", b"From: a@b.c\nDate: yesterday\n\nx", ""),
        ("a.pdf", b"%PDF-1.4 /CreationDate (D:20240101) /ModDate (D:20260503120000)", "2026-05-03"),
        ("a.docx", office('<dcterms:modified xsi:type="x">2026-05-03T10:00:00Z</dcterms:modified>'), "2026-05-03"),
        ("a.docx", b"no archive", ""),
        ("a.txt", b"2026-05-03", ""),
    ],
)
def test_a_file_states_its_date(name, content, day):
    assert stated_date(content, name) == day


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026/5/3", "2026-05-03"),
        ("2026年5月3日", "2026-05-03"),
        ("3 May", ""),
        ("2026-13-01 2026-05-03", "2026-05-03"),
    ],
)
def test_a_day_is_read_year_first(text, day):
    assert day_of(text) == day


def test_passages_carry_the_date_of_their_document_or_of_its_file(tmp_path):
    store = InMemoryStore()
    (tmp_path / "dated.md").write_text("---\ndate: 2026-05-03\n---\nThe ferry leaves at nine.")
    (tmp_path / "plain.md").write_text("The ferry leaves at ten.")
    (tmp_path / "rows.jsonl").write_text('{"text": "The ferry leaves at noon.", "meta": {"date": "2020-02-29"}}')
    for name in ("dated.md", "plain.md", "rows.jsonl"):
        os.utime(tmp_path / name, (1_700_000_000, 1_700_000_000))  # 14 November 2023
    ingest(store, ScriptedEncoder(), Source("NOTES"), [tmp_path], scope=SCOPE, base=tmp_path)
    rows = {row.origin: row for row in store.passages(SCOPE.shared, "NOTES")}
    days = {origin: passage_date(store, SCOPE.shared, row) for origin, row in rows.items()}
    assert days == {"dated.md": "2026-05-03", "plain.md": "2023-11-14", "rows.jsonl": "2020-02-29"}
    assert "date" not in rows["plain.md"].meta  # touching a file writes none of its passages again


def test_a_passage_of_no_file_has_no_date():
    assert passage_date(InMemoryStore(), SCOPE, Passage("p", "NOTES", "x")) == ""
