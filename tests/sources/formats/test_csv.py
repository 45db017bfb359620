import pytest

from dragoman.core.errors import InputError
from dragoman.sources.formats.csv import read, sniff


def rows(content):
    return [block.text for section in read(content, "a.csv").sections for block in section.blocks]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_rows_carry_the_names_of_their_columns_whatever_the_delimiter(delimiter):
    table = "Ticket,Price\nAdult,3.50\nChild,1.20\n".replace(",", delimiter)
    assert rows(table.encode()) == ["Ticket: Adult; Price: 3.50", "Ticket: Child; Price: 1.20"]


def test_commas_inside_values_do_not_win_over_semicolons():
    assert sniff("name;note\na;one, two, three\nb;four\n") == ";"


def test_decimal_commas_do_not_win_over_tabs():
    assert rows(b"Ticket\tPrice\nAdult\t3,50\nChild\t1,20\n")[0] == "Ticket: Adult; Price: 3,50"


def test_quoted_values_may_hold_delimiters_and_line_breaks():
    assert rows(b'Name,Note\n"Li, Ana","two\nlines ""quoted"""\n') == ['Name: Li, Ana; Note: two lines "quoted"']


def test_empty_cells_and_rows_are_left_out_and_extra_cells_kept():
    assert rows(b"A,B\n1,\n,\n\n1,2,3\n") == ["A: 1", "A: 1; B: 2; 3"]


def test_single_column_is_read():
    assert rows("事实\n我住在北京\n".encode()) == ["事实: 我住在北京"]


def test_each_row_is_a_record():
    (section,) = read(b"A\n1\n2\n", "a.csv").sections
    assert [block.kind for block in section.blocks] == ["record", "record"]


def test_header_alone_is_an_error():
    with pytest.raises(InputError, match="a header row and no other"):
        read(b"A,B\n", "a.csv")


def test_value_beyond_the_parsers_limit_is_an_error_with_its_line():
    with pytest.raises(InputError, match="at line 2"):
        read(b"A,B\n1," + b"x" * 200_000, "a.csv")
