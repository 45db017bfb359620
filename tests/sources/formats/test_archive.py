"""Containers made to harm or that cannot be opened: each is refused with a reason."""

import io
import zipfile

import pytest

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
