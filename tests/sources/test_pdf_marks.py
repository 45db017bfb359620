"""Quotes marked on a page of a PDF."""

from __future__ import annotations

import io

import pytest
from pypdf import PdfReader

from dragoman.sources.pdf_marks import PlacedText, boxes, marked

LINES = ["There is little to eat on board. The night ferry leaves", "at 23:40 from the long pier."]
QUOTE = "The night ferry leaves at 23:40 from the long pier."


def annotations(content, page):
    return [note.get_object() for note in PdfReader(io.BytesIO(content)).pages[page - 1].get("/Annots", ())]


def test_a_quote_is_marked_on_its_page_alone(make_pdf):
    content = marked(make_pdf(["The first page."], LINES), 2, [QUOTE])
    notes = annotations(content, 2)
    assert [note["/Subtype"] for note in notes] == ["/Highlight", "/Highlight"]  # one a line
    assert annotations(content, 1) == []
    left, _, right, _ = (float(number) for number in notes[0]["/Rect"])
    assert left < right


@pytest.mark.trust
def test_a_file_that_cannot_be_marked_comes_as_it_was(make_pdf):
    assert marked(b"%PDF- nonsense", 1, ["x"]) == b"%PDF- nonsense"
    content = make_pdf(["One page."])
    assert marked(content, 7, ["One page."]) == content


def test_letters_alone_are_compared():
    placed = [PlacedText("a divi-", 10.0, 700.0, 10.0), PlacedText("ded word", 10.0, 688.0, 10.0)]
    (first, second) = boxes(placed, "Divided")
    assert first[0] == pytest.approx(20.0) and first[2] == pytest.approx(40.0)
    assert second[0] == pytest.approx(10.0) and second[2] == pytest.approx(25.0)
    assert boxes(placed, "another word") == [] and boxes(placed, "?!") == []
