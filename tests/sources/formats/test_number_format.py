import pytest

from dragoman.sources.formats.number_format import number_format


@pytest.mark.parametrize(
    ("code", "number", "shown"),
    [
        ('"CHF" #,##0.00', 1200, "CHF 1,200.00"),
        ("_-[$€-2] * #,##0.00_-;-[$€-2] * #,##0.00_-", 4.5, "€ 4.50"),
        ("[$€-407]#,##0", 30, "€30"),
        ('0" min"', 20, "20 min"),
        ("0.00", -2.5, "-2.50"),
        ('"$"#,##0.00_);("$"#,##0.00)', 3, "$3.00"),
        ("0", 12.34, "12.34"),
    ],
)
def test_a_number_is_shown_as_its_cell_shows_it(code, number, shown):
    assert number_format(code).shown(number) == shown


@pytest.mark.parametrize("code", ["General", "@", "0.00E+00", "# ?/?", "0,,", "0.0%", "yyyy-mm-dd", "", "[h]:mm"])
def test_formats_of_other_values_are_left_alone(code):
    assert number_format(code) is None
