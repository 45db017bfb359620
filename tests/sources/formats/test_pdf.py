import io

import pytest
from pypdf import PdfReader, PdfWriter

from dragoman.core.errors import InputError
from dragoman.sources.formats.pdf import read


def encrypted(content, password):
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(content)))
    writer.encrypt(user_password=password, owner_password="owner", algorithm="AES-256")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_text_comes_page_by_page_with_its_number(make_pdf):
    document = read(make_pdf(["The ferry leaves at nine."], [], ["It costs 3.50 (one way)."]), "time_table.pdf")
    assert document.title == "Time table"
    assert [(section.meta["page"], section.blocks[0].text) for section in document.sections] == [
        ("1", "The ferry leaves at nine."),
        ("3", "It costs 3.50 (one way)."),
    ]


def test_words_broken_at_line_ends_are_mended(make_pdf):
    content = make_pdf(["The ferry leaves from the northern quay every sin-", "gle morning at nine and returns."])
    (block,) = read(content, "a.pdf").sections[0].blocks
    assert block.text == "The ferry leaves from the northern quay every single morning at nine and returns."


def test_title_in_the_file_is_used(make_pdf):
    assert read(make_pdf(["x"], title="Ferry handbook"), "a.pdf").title == "Ferry handbook"


def test_password_is_named_as_the_reason(make_pdf):
    with pytest.raises(InputError, match=r"'a.pdf' is protected by a password\. Save a copy"):
        read(encrypted(make_pdf(["secret"]), "hush"), "a.pdf")


def test_file_locked_only_against_editing_is_read(make_pdf):
    assert read(encrypted(make_pdf(["open"]), ""), "a.pdf").sections[0].blocks[0].text == "open"


def test_pages_without_text_are_named_as_the_reason(make_pdf):
    with pytest.raises(InputError, match=r"no text layer on its 2 pages.*OCR"):
        read(make_pdf([], []), "a.pdf")


@pytest.mark.parametrize("cut", [10, 200, 400])
def test_damaged_file_is_an_input_error(make_pdf, cut):
    with pytest.raises(InputError):
        read(make_pdf(["text"])[:cut], "a.pdf")


def test_something_else_named_pdf_is_an_input_error():
    with pytest.raises(InputError, match="cannot be read as a PDF"):
        read(b"just text", "a.pdf")
