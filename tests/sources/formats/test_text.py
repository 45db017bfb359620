import codecs

import pytest

from dragoman.core.errors import InputError
from dragoman.sources.formats.text import read


def texts(document):
    return [block.text for section in document.sections for block in section.blocks]


@pytest.mark.parametrize(
    "content",
    [
        "Grüße, 世界 🙂".encode(),
        "Grüße, 世界 🙂".encode("utf-8-sig"),
        "Grüße, 世界 🙂".encode("utf-16"),
        codecs.BOM_UTF16_BE + "Grüße, 世界 🙂".encode("utf-16-be"),
        "Grüße, 世界 🙂".encode("utf-32"),
    ],
)
def test_unicode_encodings_are_known_by_their_mark(content):
    assert texts(read(content, "a.txt")) == ["Grüße, 世界 🙂"]


def test_wrong_byte_is_named_with_its_place_and_the_remedy():
    with pytest.raises(InputError, match=r"byte 0xfc at 9 \(line 2\)\. Save it as UTF-8"):
        read(b"first\n gr" + b"\xfc\xdfe", "a.txt")


def test_nul_byte_means_a_binary_file():
    with pytest.raises(InputError, match=r"binary file: it holds a NUL byte at 3"):
        read(b"abc\x00def", "a.txt")


def test_paragraphs_end_at_blank_lines_and_wrapped_lines_are_joined():
    wrapped = b"The ferry leaves from the north quay every morning\nat nine, and returns before dark."
    content = wrapped + b"\r\n \r\nSecond paragraph."
    assert texts(read(content, "a.txt")) == [
        "The ferry leaves from the north quay every morning at nine, and returns before dark.",
        "Second paragraph.",
    ]


def test_wrapped_chinese_is_joined_without_spaces():
    line = "渡轮每天早上九点从北码头出发，" * 2
    assert texts(read(f"{line}\n天黑之前回来。".encode(), "a.txt")) == [f"{line}天黑之前回来。"]


def test_short_lines_stand_for_themselves():
    assert texts(read(b"Monday 9-5\nTuesday 9-4\nWednesday closed", "a.txt")) == [
        "Monday 9-5",
        "Tuesday 9-4",
        "Wednesday closed",
    ]


def test_list_items_keep_their_numbers_and_their_wrapped_lines():
    blocks = read(b"Bring:\n* a coat\n  and boots\n2. a map", "a.txt").sections[0].blocks
    assert [(block.kind, block.text) for block in blocks] == [
        ("text", "Bring:"),
        ("line", "- a coat and boots"),
        ("line", "2. a map"),
    ]


def test_control_characters_are_taken_out():
    assert texts(read(b"\x1b[31mred\x07 alert\x1b[0m", "a.txt")) == ["[31mred alert[0m"]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("opening-hours_2.txt", "Opening hours 2"),
        ("2024-05-01.txt", "2024-05-01"),
        ("渡轮.txt", "渡轮"),
        ("README", "README"),
    ],
)
def test_title_comes_from_the_file_name(name, title):
    assert read(b"text", name).title == title


@pytest.mark.parametrize(("content", "kind"), [(b"%PDF-1.4\n", "a PDF"), (b"{\\rtf1 Hello}", "RTF")])
def test_a_document_of_another_kind_is_not_read_as_text(content, kind):
    with pytest.raises(InputError, match=kind):
        read(content, "notes.txt")
