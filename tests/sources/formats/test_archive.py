"""Containers made to harm or that cannot be opened: each is refused with a reason."""

import io
import zipfile

import pytest
from tests.effort import assert_linear

from dragoman.core.errors import InputError
from dragoman.sources.files import parse
from dragoman.sources.formats import archive, xml_events
from dragoman.sources.formats.docx import read

pytestmark = pytest.mark.trust


def test_a_password_is_named_as_the_reason():
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500)
    with pytest.raises(InputError, match=r"'a.docx' is protected by a password\. Save a copy"):
        read(ole + "EncryptedPackage".encode("utf-16-le"), "a.docx")
    with pytest.raises(InputError, match="old binary format"):
        read(ole, "a.docx")


def test_a_zip_with_a_password_is_refused(make_word):
    content = bytearray(make_word("<w:p/>"))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = content.find(mark)
        content[place + offset] |= 1
    with pytest.raises(InputError, match="password"):
        read(bytes(content), "a.docx")


@pytest.mark.parametrize("member", ["word/vbaProject.bin", "xl/VBAPROJECT.BIN", "Basic/script-lc.xml"])
def test_macros_are_refused(make_zip, member):
    with pytest.raises(InputError, match=r"contains macros.*without macros"):
        read(make_zip({member: b"x"}), "a.docx")


def test_a_small_file_that_unpacks_without_end_is_refused(make_word, monkeypatch):
    monkeypatch.setattr(archive, "MOST_BYTES", 2**20)
    content = make_word("<w:p><w:r><w:t>" + "ha " * 2**20 + "</w:t></w:r></w:p>")
    assert len(content) < 20_000
    with pytest.raises(InputError, match="unpacks into more than 1 MB"):
        read(content, "a.docx")


def test_a_file_that_takes_too_long_is_given_up(make_word, monkeypatch):
    monkeypatch.setattr(archive, "SECONDS", -1.0)
    with pytest.raises(InputError, match="takes more than"):
        read(make_word("<w:p/>"), "a.docx")


def test_a_file_that_nests_without_end_is_refused(make_word):
    with pytest.raises(InputError, match="levels deep"):
        read(make_word("<w:sdt>" * 300 + "</w:sdt>" * 300), "a.docx")


def test_entities_are_refused(make_zip, make_word):
    bomb = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><x>&b;</x>'
    with zipfile.ZipFile(io.BytesIO(make_word("<w:p/>"))) as sound:
        members = {name: sound.read(name) for name in sound.namelist()} | {"word/document.xml": bomb}
    with pytest.raises(InputError, match="entities"):
        read(make_zip(members), "a.docx")


def test_too_many_members_are_refused(make_zip, monkeypatch):
    monkeypatch.setattr(archive, "MOST_MEMBERS", 2)
    with pytest.raises(InputError, match="holds 3 files"):
        read(make_zip({"a": "", "b": "", "c": ""}), "a.docx")


@pytest.mark.parametrize("suffix", ["docx", "pptx", "xlsx", "odt", "epub"])
def test_damaged_files_and_other_files_are_input_errors(suffix, make_word, make_zip):
    content = make_word("<w:p><w:r><w:t>text</w:t></w:r></w:p>")
    for wrong in (content[:-30], content[:200], b"no zip", make_zip({"a": "b"})):
        with pytest.raises(InputError):
            parse(wrong, f"a.{suffix}")


def test_wrong_xml_names_its_place(make_word):
    with pytest.raises(InputError, match=r"word/document.xml, line 1: mismatched tag"):
        read(make_word("<w:p></w:r>"), "a.docx")


def test_references_that_lead_out_of_the_file_are_left_out(make_zip):
    links = (
        '<Relationships><Relationship Id="a" Type="x/image" Target="https://example.org/a" TargetMode="External"/>'
        '<Relationship Id="b" Type="x/styles" Target="../styles.xml"/></Relationships>'
    )
    opened = archive.Archive(make_zip({"word/_rels/document.xml.rels": links}), "a.docx")
    found = xml_events.relations(opened, "word/document.xml")
    assert found == {"b": xml_events.PackageRelation("styles", "styles.xml")}


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_ways_of_packing_that_unpack_without_a_limit_are_refused(method):
    """Python unpacks a piece of bzip2 or LZMA whole: 1 kB became 600 MB of memory before any limit was looked at."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as made:
        made.writestr("word/document.xml", " " * 2**20)
    for suffix in ("docx", "pptx", "xlsx", "odt", "epub"):
        with pytest.raises(InputError, match="packed in an unusual way"):
            parse(packed.getvalue(), f"a.{suffix}")


@pytest.mark.parametrize("number", ["²", "٣", "9" * 5000, "-1", "1e9", ""])
def test_numbers_in_attributes_may_be_anything(number, make_word, make_zip):
    paragraph = f'<w:p><w:pPr><w:outlineLvl w:val="{number}"/><w:numPr><w:ilvl w:val="{number}"/></w:numPr></w:pPr>'
    table = f'<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="{number}"/></w:tcPr>{paragraph}'
    word = f"{paragraph}<w:r><w:t>text</w:t></w:r></w:p>{table}<w:r><w:t>cell</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
    assert parse(make_word(word), "a.docx").sections
    cell = f'<t:table-cell t:number-columns-repeated="{number}"><t:p>x</t:p></t:table-cell>'
    rows = f"<t:table><t:table-row>{cell}</t:table-row></t:table>"
    body = f'<d xmlns:t="t"><t:h t:outline-level="{number}">Head</t:h><t:p>text</t:p>{rows}</d>'
    assert parse(make_zip({"content.xml": body}), "a.odt").sections
    link = '<Relationships><Relationship Id="r1" Type="x/{kind}" Target="{place}"/></Relationships>'
    names = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    sheet = f'<c r="A1" t="s" s="{number}"><v>{number}</v></c><c r="B1"><v>2</v></c>'
    book = {
        "_rels/.rels": link.format(kind="officeDocument", place="xl/workbook.xml"),
        "xl/workbook.xml": f'<workbook {names}><sheets><sheet name="S" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": link.format(kind="worksheet", place="s.xml"),
        "xl/s.xml": f"<worksheet><row>{sheet}</row></worksheet>",
    }
    assert parse(make_zip(book), "a.xlsx").sections
    assert parse(f'<ol start="{number}"><li>one</ol>'.encode(), "a.html").sections


def test_lists_of_a_word_file_are_counted_in_linear_time(make_zip, make_word):
    with zipfile.ZipFile(io.BytesIO(make_word("<w:p><w:r><w:t>text</w:t></w:r></w:p>"))) as sound:
        members = {name: sound.read(name) for name in sound.namelist()}
    links = '<Relationships><Relationship Id="n" Type="x/numbering" Target="numbering.xml"/></Relationships>'
    members["word/_rels/document.xml.rels"] = links

    def read_lists(count):
        levels = "".join(f'<lvl ilvl="{n}"><numFmt val="decimal"/></lvl>' for n in range(count))
        lists = "".join(f'<num numId="{n}"><abstractNumId val="0"/></num>' for n in range(count))
        numbering = f'<numbering><abstractNum abstractNumId="0">{levels}</abstractNum>{lists}</numbering>'
        assert read(make_zip({**members, "word/numbering.xml": numbering}), "a.docx").sections

    assert_linear(read_lists, 20_000)
