import io

import pytest

from dragoman.sources.formats.pptx import read

pptx = pytest.importorskip("pptx")


def saved(presentation):
    out = io.BytesIO()
    presentation.save(out)
    return out.getvalue()


def test_slides_are_sections_with_titles_numbers_bullets_and_notes():
    made = pptx.Presentation()
    slide = made.slides.add_slide(made.slide_layouts[1])
    slide.shapes.title.text = "Fares"
    frame = slide.placeholders[1].text_frame
    frame.text = "Adults pay 5 euros"
    second = frame.add_paragraph()
    second.text, second.level = "Groups pay less", 1
    slide.notes_slide.notes_text_frame.text = "Mention the dogs."
    document = read(saved(made), "a.pptx")
    (section,) = document.sections
    assert (document.title, section.headings, section.meta) == ("Fares", ("Fares",), {"page": "1"})
    assert [block.text for block in section.blocks] == [
        "- Adults pay 5 euros",
        "  - Groups pay less",
        "- Mention the dogs.",
    ]


def test_tables_name_their_columns_and_slides_keep_their_order():
    made = pptx.Presentation()
    for title in ("First", "Second"):
        made.slides.add_slide(made.slide_layouts[5]).shapes.title.text = title
    table = made.slides[1].shapes.add_table(3, 2, 0, 0, 100, 100).table
    for i, cells in enumerate((("Day", "Ferry"), ("Monday", "9:00"), ("Tuesday", "10:00"))):
        for j, cell in enumerate(cells):
            table.cell(i, j).text = cell
    document = read(saved(made), "a.pptx")
    assert [section.headings for section in document.sections] == [("First",), ("Second",)]
    assert [block.text for block in document.sections[1].blocks] == [
        "- Day: Monday; Ferry: 9:00",
        "- Day: Tuesday; Ferry: 10:00",
    ]
