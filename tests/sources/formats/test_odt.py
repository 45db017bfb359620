import pytest

from dragoman.core.errors import InputError
from dragoman.sources.formats.odt import read

_NAMES = 'xmlns:o="o" xmlns:t="t" xmlns:b="b"'


def odt(make_zip, body, **members):
    content = f"<o:document {_NAMES}><o:body>{body}</o:body></o:document>"
    return make_zip({"content.xml": content, **members})


def texts(document):
    return [(section.headings, block.text) for section in document.sections for block in section.blocks]


def test_headings_lists_notes_and_pages_are_kept(make_zip):
    body = (
        '<t:p t:style-name="Title">Handbook</t:p><t:h t:outline-level="2">Fares</t:h>'
        "<t:p>Adults<t:note><t:note-citation>1</t:note-citation><t:note-body><t:p>From 12 on.</t:p></t:note-body>"
        "</t:note> pay<t:s/>five euros.</t:p><t:soft-page-break/>"
        "<t:list><t:list-item><t:p>dogs</t:p><t:list><t:list-item><t:p>small ones</t:p></t:list-item></t:list>"
        "</t:list-item></t:list><t:tracked-changes><t:p>deleted</t:p></t:tracked-changes>"
    )
    document = read(odt(make_zip, body), "a.odt")
    assert document.title == "Handbook"
    assert texts(document) == [
        (("Fares",), "Adults pay five euros."),
        (("Fares",), "From 12 on."),
        (("Fares",), "- dogs"),
        (("Fares",), "  - small ones"),
    ]
    assert document.sections[0].blocks[2].meta == {"page": "2"}


def test_rows_name_their_columns_and_repeats_are_limited(make_zip):
    cell = "<b:table-cell><t:p>{}</t:p></b:table-cell>"
    filler = '<b:table-cell b:number-columns-repeated="16000000"/>'
    body = (
        "<b:table><b:table-header-rows><b:table-row>"
        + cell.format("Day")
        + cell.format("From")
        + "</b:table-row></b:table-header-rows><b:table-row>"
        + cell.format("Monday")
        + cell.format("9:00")
        + filler
        + "</b:table-row></b:table>"
    )
    assert texts(read(odt(make_zip, body), "a.odt")) == [((), "- Day: Monday; From: 9:00")]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ('<m:file-entry m:full-path="content.xml"><m:encryption-data/></m:file-entry>', "password"),
        ('<m:file-entry m:full-path="Scripts/python/a.py"/>', "macros"),
    ],
)
def test_encrypted_files_and_scripts_are_refused(make_zip, entry, reason):
    manifest = f'<m:manifest xmlns:m="m">{entry}</m:manifest>'
    with pytest.raises(InputError, match=reason):
        read(odt(make_zip, "<t:p>x</t:p>", **{"META-INF/manifest.xml": manifest}), "a.odt")


def test_a_wide_cell_covers_the_columns_beside_it(make_zip):
    def row(*cells):
        return f"<b:table-row>{''.join(cells)}</b:table-row>"

    def cell(text, columns=1):
        covered = "<b:covered-table-cell/>" * (columns - 1)
        return f'<b:table-cell b:number-columns-spanned="{columns}"><t:p>{text}</t:p></b:table-cell>{covered}'

    body = (
        "<b:table>"
        + row(cell("Day"), cell("Morning"), cell("Evening"))
        + row(cell("Monday"), cell("9"), cell("18"))
        + row(cell("Sunday"), cell("closed", 2))
        + "</b:table>"
    )
    assert texts(read(odt(make_zip, body), "a.odt")) == [
        ((), "- Day: Monday; Morning: 9; Evening: 18"),
        ((), "- Day: Sunday; Morning: closed"),
    ]
