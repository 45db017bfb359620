import datetime
import io

import pytest

from dragoman.core.errors import InputError
from dragoman.sources.formats import xlsx
from dragoman.sources.formats.xlsx import read


def rows(*lines):
    return "".join(
        "<row>" + "".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in cells) + "</row>"
        for cells in lines
    )


def texts(document):
    return [(section.headings, block.text) for section in document.sections for block in section.blocks]


def test_rows_are_records_under_the_first_row_with_two_values(make_excel):
    content = make_excel(
        ("Fares", "", rows(["Fares of 2026"], ["who", "price"], ["Adults", "5"], ["", ""], ["Dogs", "0"]))
    )
    document = read(content, "a.xlsx")
    assert texts(document) == [
        (("Fares",), "Fares of 2026"),
        (("Fares",), "who: Adults; price: 5"),
        (("Fares",), "who: Dogs; price: 0"),
    ]
    assert {block.kind for section in document.sections for block in section.blocks} == {"record"}


def test_cells_are_placed_by_their_references_and_shared_strings(make_excel):
    sheet = (
        '<row><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row>'
        '<row><c r="C2"><v>0.30000000000000004</v></c></row><row><c r="A3" t="e"><v>#N/A</v></c></row>'
    )
    assert texts(read(make_excel(("S", "", sheet), strings=("day", "price")), "a.xlsx")) == [(("S",), "price: 0.3")]


def test_hidden_sheets_are_left_out(make_excel):
    content = make_excel(
        ("Seen", "", rows(["a", "b"], ["1", "2"])), ("Hidden", 'state="hidden"', rows(["a", "b"], ["3", "4"]))
    )
    assert texts(read(content, "a.xlsx")) == [(("Seen",), "a: 1; b: 2")]


def test_a_sheet_of_too_many_rows_is_refused(make_excel, monkeypatch):
    monkeypatch.setattr(xlsx, "MOST_ROWS", 100)
    content = make_excel(("Log", "", rows(["a", "b"], *[["1", "2"]] * 101)))
    with pytest.raises(InputError, match=r"'a.xlsx' has more than 100 rows\. Split it"):
        read(content, "a.xlsx")


def test_a_file_of_openpyxl_shows_dates_percentages_and_truth():
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Fares"
    sheet.append(["who", "price", "since", "share", "open", "seen"])
    sheet.append(["Adults", 5.5, datetime.date(2026, 1, 2), 0.25, True, datetime.datetime(2026, 1, 2, 9, 30)])
    sheet["D2"].number_format = "0%"
    out = io.BytesIO()
    book.save(out)
    assert texts(read(out.getvalue(), "a.xlsx")) == [
        (("Fares",), "who: Adults; price: 5.5; since: 2026-01-02; share: 25%; open: yes; seen: 2026-01-02 09:30")
    ]


@pytest.mark.slow
def test_a_million_rows_are_refused_within_seconds(make_excel):
    content = make_excel(("Log", "", rows(["a", "b"]) + rows(["1", "2"]) * 1_000_000))
    with pytest.raises(InputError, match="200,000 rows"):
        read(content, "a.xlsx")


def workbook(fill):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "Rooms"
    fill(book.active)
    out = io.BytesIO()
    book.save(out)
    return [text for _, text in texts(read(out.getvalue(), "a.xlsx"))]


def test_merged_cells_name_columns_and_repeat_down():
    def fill(sheet):
        sheet["A1"] = "Rooms, from 1 March 2027"
        sheet.append([])
        sheet.append(["Room", "Half day", None, "Full day"])
        sheet.append([None, "Weekday", "Weekend", None])
        sheet.append(["Ground floor"])
        sheet.append(["Gym", 120, 140, 220])
        sheet.append([None, 90, 95, 150])
        for cells in ("A1:D1", "A3:A4", "B3:C3", "D3:D4", "A5:D5", "A6:A7"):
            sheet.merge_cells(cells)

    assert workbook(fill) == [
        "Rooms, from 1 March 2027",
        "Ground floor",
        "Room: Gym; Half day Weekday: 120; Half day Weekend: 140; Full day: 220",
        "Room: Gym; Half day Weekday: 90; Half day Weekend: 95; Full day: 150",
    ]


def test_prices_are_shown_with_their_currency():
    def fill(sheet):
        sheet.append(["Item", "Price"])
        sheet.append(["Ball", 9.9])
        sheet.append(["Room", 1234.5])
        sheet.append(["Mat", -3])
        sheet["B2"].number_format = "[$CHF-807] #,##0.00;[Red]-[$CHF-807] #,##0.00"
        sheet["B3"].number_format = '#,##0.00\\ "€"'
        sheet["B4"].number_format = "0"

    assert workbook(fill) == ["Item: Ball; Price: CHF 9.90", "Item: Room; Price: 1,234.50 €", "Item: Mat; Price: -3"]
