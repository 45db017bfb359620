import io

import pytest

from dragoman.sources.formats.docx import read


def paragraph(text, properties=""):
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def row(*cells):
    return "<w:tr>" + "".join(f"<w:tc>{cell}</w:tc>" for cell in cells) + "</w:tr>"


def texts(document):
    return [(section.headings, block.text) for section in document.sections for block in section.blocks]


def test_headings_come_from_styles_their_bases_and_outline_levels(make_word):
    styles = (
        '<w:style w:styleId="T"><w:name w:val="Title"/></w:style>'
        '<w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>'
        '<w:style w:styleId="Own"><w:name w:val="My style"/><w:basedOn w:val="H1"/></w:style>'
    )
    body = (
        paragraph("Handbook", '<w:pStyle w:val="T"/>')
        + paragraph("Fares", '<w:pStyle w:val="Own"/>')
        + paragraph("Dogs", '<w:outlineLvl w:val="1"/>')
        + paragraph("Dogs travel free.")
    )
    document = read(make_word(body, styles=styles), "a.docx")
    assert document.title == "Handbook"
    assert texts(document) == [(("Fares", "Dogs"), "Dogs travel free.")]


def test_rows_name_their_columns_and_merged_cells_repeat(make_word):
    merged = '<w:tcPr><w:vMerge w:val="{}"/></w:tcPr>'
    body = (
        "<w:tbl>"
        + row(paragraph("Day"), paragraph("From"))
        + row(merged.format("restart") + paragraph("Monday"), paragraph("9:00"))
        + row(merged.format("continue") + paragraph(""), paragraph("12:00"))
        + "</w:tbl>"
    )
    assert texts(read(make_word(body), "a.docx")) == [
        ((), "- Day: Monday; From: 9:00"),
        ((), "- Day: Monday; From: 12:00"),
    ]


def test_wide_cells_keep_the_columns_after_them_in_place(make_word):
    wide = '<w:tcPr><w:gridSpan w:val="2"/></w:tcPr>'
    body = (
        "<w:tbl>"
        + row(paragraph("a"), paragraph("b"), paragraph("c"))
        + row(wide + paragraph("both"), paragraph("last"))
        + "</w:tbl>"
    )
    assert texts(read(make_word(body), "a.docx")) == [((), "- a: both; c: last")]


def test_lists_count_where_they_are_numbered(make_word):
    numbering = (
        '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl>'
        '<w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>'
        '<w:num w:numId="7"><w:abstractNumId w:val="0"/></w:num>'
    )
    item = '<w:numPr><w:ilvl w:val="{}"/><w:numId w:val="7"/></w:numPr>'
    body = "".join(paragraph(text, item.format(depth)) for text, depth in (("Buy", 0), ("cash", 1), ("Board", 0)))
    assert texts(read(make_word(body, numbering=numbering), "a.docx")) == [
        ((), "1. Buy"),
        ((), "  - cash"),
        ((), "2. Board"),
    ]


def test_pages_are_kept_from_where_word_recorded_them(make_word):
    page = "<w:p><w:r><w:lastRenderedPageBreak/><w:t>{}</w:t></w:r></w:p>"
    document = read(make_word(paragraph("one") + page.format("two") + page.format("three")), "a.docx")
    assert [block.meta.get("page") for block in document.sections[0].blocks] == [None, "2", "3"]


def test_deleted_text_field_codes_and_fallbacks_are_left_out_and_notes_follow(make_word):
    body = (
        "<w:p><w:r><w:t>The boat</w:t></w:r><w:del><w:r><w:delText> sinks</w:delText></w:r></w:del>"
        "<w:r><w:instrText>PAGE</w:instrText><w:t> leaves.</w:t><w:footnoteReference w:id='2'/></w:r>"
        "<AlternateContent><Fallback><w:t>twice</w:t></Fallback></AlternateContent></w:p>"
    )
    notes = '<w:footnote w:id="2"><w:p><w:r><w:t>Not on Sundays.</w:t></w:r></w:p></w:footnote>'
    assert texts(read(make_word(body, footnotes=notes), "a.docx")) == [
        ((), "The boat leaves."),
        ((), "Not on Sundays."),
    ]


def test_a_file_of_python_docx_is_read():
    docx = pytest.importorskip("docx")
    made = docx.Document()
    made.add_heading("Ferry handbook", 0)
    made.add_heading("Fares", 1)
    made.add_paragraph("Adults", style="List Bullet")
    made.add_paragraph("Buy a ticket", style="List Number")
    table = made.add_table(rows=2, cols=2)
    for i, cells in enumerate((("Day", "From"), ("Monday", "9:00"))):
        for j, cell in enumerate(cells):
            table.cell(i, j).text = cell
    out = io.BytesIO()
    made.save(out)
    document = read(out.getvalue(), "a.docx")
    assert document.title == "Ferry handbook"
    assert texts(document) == [
        (("Fares",), "- Adults"),
        (("Fares",), "1. Buy a ticket"),
        (("Fares",), "- Day: Monday; From: 9:00"),
    ]


def test_headers_of_two_rows_and_cells_as_wide_as_the_table(make_word):
    wide = '<w:tcPr><w:gridSpan w:val="2"/></w:tcPr>'
    whole = '<w:tcPr><w:gridSpan w:val="3"/></w:tcPr>'
    body = (
        "<w:tbl>"
        + row(whole + paragraph("Fees of 2027"))
        + row(paragraph("Course"), wide + paragraph("Members"))
        + row(paragraph(""), paragraph("Single"), paragraph("Year"))
        + row(whole + paragraph("In the water"))
        + row(paragraph("Swimming"), paragraph("18"), paragraph("700"))
        + "</w:tbl>"
    )
    assert texts(read(make_word(body), "a.docx")) == [
        ((), "Fees of 2027"),
        ((), "In the water"),
        ((), "- Course: Swimming; Members Single: 18; Members Year: 700"),
    ]


def test_a_short_paragraph_in_bold_is_a_heading_and_breaks_part_points(make_word):
    bold = "<w:p><w:r><w:rPr><w:b/></w:rPr><w:t>{}</w:t></w:r>{}</w:p>"
    plain = '<w:r><w:rPr><w:b w:val="0"/></w:rPr><w:t> shoes.</w:t></w:r>'
    body = (
        bold.format("House rules:", "")
        + "<w:p><w:r><w:t>1. No shoes.</w:t><w:br/><w:t>2. No dogs.</w:t></w:r></w:p>"
        + bold.format("No", plain)
    )
    assert texts(read(make_word(body), "a.docx")) == [
        (("House rules",), "1. No shoes."),
        (("House rules",), "2. No dogs."),
        (("House rules",), "No shoes."),
    ]
