import pytest

from dragoman.core.errors import InputError
from dragoman.sources.formats.epub import read

_CONTAINER = '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>'


def book(make_zip, chapters, **members):
    items = "".join(
        f'<item id="c{i}" href="{name}" media-type="application/xhtml+xml"/>' for i, name in enumerate(chapters)
    )
    spine = "".join(f'<itemref idref="c{i}"/>' for i in reversed(range(len(chapters))))
    package = (
        '<package xmlns:dc="dc"><metadata><dc:title>Harbour book</dc:title></metadata>'
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    inner = {f"OPS/{name.replace('%20', ' ')}": content for name, content in chapters.items()}
    return make_zip({"META-INF/container.xml": _CONTAINER, "OPS/book.opf": package, **inner, **members})


def test_chapters_come_in_the_order_of_the_spine(make_zip):
    content = book(make_zip, {"text/two%20b.xhtml": "<h1>Two</h1><p>It returns.</p>", "one.xhtml": "<p>It leaves.</p>"})
    document = read(content, "a.epub")
    assert document.title == "Harbour book"
    assert [(section.headings, section.blocks[0].text, section.meta) for section in document.sections] == [
        ((), "It leaves.", {"chapter": "1"}),
        (("Two",), "It returns.", {"chapter": "2"}),
    ]


def test_a_bad_chapter_is_reported_and_the_others_are_read(make_zip):
    document = read(book(make_zip, {"a.xhtml": "<p>good</p>", "b.xhtml": b"\x00\x01"}), "a.epub")
    assert [section.blocks[0].text for section in document.sections] == ["good"]
    assert [place for place, _ in document.failed] == ["chapter 1"]


def test_a_protected_book_is_refused(make_zip):
    lock = '<encryption><EncryptedData><CipherReference URI="OPS/a.xhtml"/></EncryptedData></encryption>'
    with pytest.raises(InputError, match="protected against copying"):
        read(book(make_zip, {"a.xhtml": "<p>x</p>"}, **{"META-INF/encryption.xml": lock}), "a.epub")


def test_hidden_fonts_do_not_matter(make_zip):
    lock = '<encryption><EncryptedData><CipherReference URI="OPS/font.otf"/></EncryptedData></encryption>'
    content = book(make_zip, {"a.xhtml": "<p>x</p>"}, **{"META-INF/encryption.xml": lock})
    assert read(content, "a.epub").sections
