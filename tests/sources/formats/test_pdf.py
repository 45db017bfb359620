import io

import pytest
from pypdf import PdfReader, PdfWriter
from pypdf.errors import DependencyError
from pypdf.generic import DictionaryObject, NameObject, StreamObject

from dragoman.core.errors import InputError
from dragoman.sources.formats import pdf
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


def test_sentences_over_several_lines_stay_whole_under_a_heading(make_pdf):
    """A text layer has no blank lines: a heading stands right above its paragraph, and paragraphs above each other."""
    lines = [
        "Night ferries",
        "There is little to eat on board. The night ferry to Osprey Island leaves at",
        "23:40 from the long pier, and bicycles travel on the lower deck for 3 francs",
        "each.",
        "In winter the boat stays in the harbour. Tickets are sold in the hall at the",
        "end of the pier.",
        "- Bring a blanket.",
        "- Dogs sleep outside.",
    ]
    (section,) = read(make_pdf(lines), "a.pdf").sections
    assert section.headings == ("Night ferries",)
    assert [block.text for block in section.blocks] == [
        "There is little to eat on board. The night ferry to Osprey Island leaves at 23:40 from the long pier, and "
        "bicycles travel on the lower deck for 3 francs each.",
        "In winter the boat stays in the harbour. Tickets are sold in the hall at the end of the pier.",
        "- Bring a blanket.",
        "- Dogs sleep outside.",
    ]


def test_short_lines_below_each_other_are_no_headings(make_pdf):
    lines = ["Aftercare", "First week", "Keep the leg up.", "Prices:", "Massage", "Cold", "Both are for adults."]
    document = read(make_pdf(lines, ["Keep it dry.", "Ask us", "Call us."]), "a.pdf")
    assert document.title == "Aftercare"
    assert [(section.headings, [block.text for block in section.blocks]) for section in document.sections] == [
        ((), ["Aftercare"]),
        (("First week",), ["Keep the leg up.", "Prices:", "Massage", "Cold", "Both are for adults."]),
        (("First week",), ["Keep it dry."]),
        (("Ask us",), ["Call us."]),
    ]


def test_title_in_the_file_is_used(make_pdf):
    assert read(make_pdf(["x"], title="Ferry handbook"), "a.pdf").title == "Ferry handbook"


def laughing(levels):
    """A PDF of forms that draw ten forms each: a few bytes, and ten to the number of levels pieces of text."""
    writer = PdfWriter()
    page = writer.add_blank_page(9, 9)

    def drawing(inner):
        return DictionaryObject({NameObject("/XObject"): DictionaryObject({NameObject("/X"): inner})})

    def form(content, resources):
        made = StreamObject()
        made.set_data(content)
        made.update({NameObject("/Subtype"): NameObject("/Form"), NameObject("/Resources"): resources})
        return writer._add_object(made)

    inner = form(b"BT (ha ) Tj ET", DictionaryObject())
    for _ in range(levels):
        inner = form(b"/X Do " * 10, drawing(inner))
    page[NameObject("/Resources")] = drawing(inner)
    page[NameObject("/Contents")] = form(b"/X Do", DictionaryObject())
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_a_file_that_unfolds_without_end_is_given_up(monkeypatch, caplog):
    monkeypatch.setattr(pdf, "SECONDS", 0.2)
    with pytest.raises(InputError, match="unfolds without end"):
        read(laughing(9), "a.pdf")


def test_a_file_with_more_text_than_anybody_reads_is_given_up(monkeypatch, make_pdf):
    monkeypatch.setattr(pdf, "MOST_CHARACTERS", 10)
    assert read(make_pdf(["short"]), "a.pdf").sections
    with pytest.raises(InputError, match="unfolds without end"):
        read(make_pdf(["long enough"], ["and more"]), "a.pdf")


def test_password_is_named_as_the_reason(make_pdf):
    with pytest.raises(InputError, match=r"'a.pdf' is protected by a password\. Save a copy"):
        read(encrypted(make_pdf(["secret"]), "hush"), "a.pdf")


def test_file_locked_only_against_editing_is_read(make_pdf):
    assert read(encrypted(make_pdf(["open"]), ""), "a.pdf").sections[0].blocks[0].text == "open"


def test_without_cryptography_an_encrypted_file_says_what_to_install(make_pdf, monkeypatch):
    def refuse(*_, **__):
        raise DependencyError("cryptography>=3.1 is required for AES algorithm")

    content = encrypted(make_pdf(["open"]), "")
    monkeypatch.setattr("pypdf._encryption.CryptAES.decrypt", refuse)
    monkeypatch.setattr("pypdf._encryption.Encryption.verify", refuse)
    with pytest.raises(InputError, match="is encrypted") as caught:
        read(content, "a.pdf")
    assert "cryptography" in caught.value.remedy


def test_pages_without_text_are_named_as_the_reason(make_pdf):
    with pytest.raises(InputError, match=r"no text layer on its 2 pages.*OCR"):
        read(make_pdf([], []), "a.pdf")


@pytest.mark.parametrize("cut", [10, 200, 400])
def test_damaged_file_is_an_input_error(make_pdf, cut):
    with pytest.raises(InputError):
        read(make_pdf(["text"])[:cut], "a.pdf")


def test_what_is_wrong_with_a_file_is_said_in_words(make_pdf):
    whole = make_pdf(["text"])
    with pytest.raises(InputError, match="cannot be read as a PDF: its content is something else"):
        read(b"just text", "a.pdf")
    with pytest.raises(InputError, match="cannot be read as a PDF: its end is missing"):
        read(whole[:200], "a.pdf")
