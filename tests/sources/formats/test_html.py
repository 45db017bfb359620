import pytest

from dragoman.core.errors import InputError
from dragoman.sources.formats.html import read


def blocks(text):
    return [(s.headings, b.kind, b.text) for s in read(text.encode(), "a.html").sections for b in s.blocks]


def test_scripts_styles_navigation_and_footers_are_dropped():
    page = (
        "<html><head><style>p{}</style></head><body><nav>Home</nav><script>x()</script>"
        "<p>kept</p><noscript>no</noscript><footer>© us</footer></body></html>"
    )
    assert blocks(page) == [((), "text", "kept")]


def test_headings_make_a_path_and_inline_marks_stay_in_their_paragraph():
    page = (
        "<h1>Ferry <em>desk</em></h1><div>One <b>two</b><a href=x>three</a></div>"
        "<section><h2>Prices</h2>Loose text<p>next"
    )
    assert blocks(page) == [
        (("Ferry desk",), "text", "One twothree"),
        (("Ferry desk", "Prices"), "text", "Loose text"),
        (("Ferry desk", "Prices"), "text", "next"),
    ]


def test_lists_keep_numbers_and_nesting():
    page = "<ul><li>one<ul><li>inner</li></ul></li><li><p>two</p></li></ul><ol start=3><li>third<li>fourth</ol>"
    assert [(kind, line) for _, kind, line in blocks(page)] == [
        ("line", "- one"),
        ("line", "  - inner"),
        ("line", "- two"),
        ("line", "3. third"),
        ("line", "4. fourth"),
    ]


def test_table_rows_carry_the_names_of_their_columns():
    page = (
        "<table><caption>Fares</caption><thead><tr><th>Ticket</th><th>Price</th></tr></thead>"
        "<tr><td>Adult</td><td>3.50</td></tr><tr><td>Child</td><td></td></tr></table>"
    )
    assert [line for _, _, line in blocks(page)] == ["Fares", "- Ticket: Adult; Price: 3.50", "- Ticket: Child"]


def test_rows_headed_at_their_side_are_pairs():
    assert [
        line
        for _, _, line in blocks("<table><tr><th>Opens</th><td>9</td></tr><tr><th>Closes</th><td>5</td></tr></table>")
    ] == [
        "- Opens: 9",
        "- Closes: 5",
    ]


def test_title_element_wins_over_the_first_heading():
    assert read(b"<title> The\n quay </title><h1>Ferry</h1><p>x", "a.html").title == "The quay"
    assert read(b"<h1>Ferry</h1><p>x", "a.html").title == "Ferry"
    assert read(b"<p>x", "north_quay.html").title == "North quay"


def test_preformatted_text_keeps_its_lines():
    assert blocks("<pre>a\n  b</pre>") == [((), "code", "a\n  b")]


def test_declared_encoding_is_believed():
    page = '<meta charset="gb2312"><p>渡轮九点开</p>'.encode("gb18030")
    assert read(page, "a.html").sections[0].blocks[0].text == "渡轮九点开"


def test_undeclared_wrong_bytes_are_an_error():
    with pytest.raises(InputError, match="Save it as UTF-8"):
        read("<p>渡轮</p>".encode("gb18030"), "a.html")


def test_unknown_declared_encoding_falls_back_to_utf8():
    assert read('<meta charset="nonsense-9"><p>渡轮</p>'.encode(), "a.html").sections[0].blocks[0].text == "渡轮"


def test_deep_nesting_does_not_exhaust_the_stack():
    assert blocks("<div>" * 5000 + "deep") == [((), "text", "deep")]


def test_broken_markup_still_gives_its_text():
    assert blocks("<p>one<p>two</b></div><li>three")[:2] == [((), "text", "one"), ((), "text", "two")]


@pytest.mark.trust
@pytest.mark.parametrize(
    "charset", ["punycode", "base64", "zlib", "hex", "rot13", "undefined", "idna", "utf-7", "unicode_escape", "utf-16"]
)
def test_a_charset_that_no_page_is_written_in_counts_as_none(charset):
    page = f'<meta charset="{charset}"><p>渡轮 a-b</p>'.encode()
    assert read(page, "a.html").sections[0].blocks[0].text == "渡轮 a-b"


@pytest.mark.parametrize(
    ("charset", "encoding", "text"),
    [
        ("UTF8", "utf-8", "渡轮"),
        ("windows-1251", "cp1251", "Паром"),
        ("KOI8-R", "koi8-r", "Паром"),
        ("iso-8859-15", "iso8859-15", "5 €"),
        ("latin1", "cp1252", "5 € – gut"),
        ("GBK", "gb18030", "渡轮"),
        ("big5", "big5", "渡輪"),
        ("Shift_JIS", "shift_jis", "船は九時"),
        ("x-sjis", "cp932", "船は九時"),
        ("euc-jp", "euc_jp", "船は九時"),
        ("iso-2022-jp", "iso2022_jp", "船は九時"),
        ("ks_c_5601-1987", "euc_kr", "배는 아홉 시"),
        ("macintosh", "mac-roman", "école"),
    ],
)
def test_charsets_of_the_web_are_known_by_their_usual_names(charset, encoding, text):
    page = f'<meta charset="{charset}"><p>{text}</p>'.encode(encoding)
    assert read(page, "a.html").sections[0].blocks[0].text == text


def test_bytes_that_are_not_of_the_declared_charset_are_an_error():
    with pytest.raises(InputError, match=r"is not EUC_JP: byte 0xff at 26 \(line 1\)"):
        read(b"<meta charset='euc-jp'><p>\xff", "a.html")


def test_merged_cells_stand_in_each_of_their_rows_and_columns():
    page = (
        "<table><tr><th rowspan=2>Room</th><th colspan=2>Half day</th><th rowspan=2>Day</th></tr>"
        "<tr><th>Weekday</th><th>Weekend</th></tr>"
        "<tr><td colspan=4>Ground floor</td></tr>"
        "<tr><td rowspan=2>Gym</td><td>120</td><td>140</td><td rowspan=2>220</td></tr><tr><td>90</td><td>95</td></tr>"
        "</table>"
    )
    assert [line for _, _, line in blocks(page)] == [
        "Ground floor",
        "- Room: Gym; Half day Weekday: 120; Half day Weekend: 140; Day: 220",
        "- Room: Gym; Half day Weekday: 90; Half day Weekend: 95; Day: 220",
    ]


def test_an_empty_corner_still_leaves_a_header():
    page = (
        "<table><tr><td></td><td>Adults</td><td>2027</td></tr><tr><td>Massage</td><td>65</td><td>70</td></tr></table>"
    )
    assert [line for _, _, line in blocks(page)] == ["- Massage; Adults: 65; 2027: 70"]


def test_points_after_line_breaks_are_a_list():
    assert [(kind, line) for _, kind, line in blocks("<p>Rules:<br>1. No shoes<br>2. No dogs</p><p>a<br>b</p>")] == [
        ("text", "Rules:"),
        ("line", "1. No shoes"),
        ("line", "2. No dogs"),
        ("text", "a b"),
    ]


def test_a_paragraph_in_bold_is_a_heading():
    page = "<h2>Prices</h2><p>x</p><p><b>Parking:</b></p><p>Six places.</p><p><b>Never</b> run.</p>"
    assert [(headings, line) for headings, _, line in blocks(page)] == [
        (("Prices",), "x"),
        (("Prices", "Parking"), "Six places."),
        (("Prices", "Parking"), "Never run."),
    ]


def test_spans_of_a_few_bytes_do_not_unfold_without_end():
    page = "<table><tr>" + "<td rowspan=99999 colspan=1000>a" * 50 + "</tr>" + "<tr><td>b" * 20_000 + "</table>"
    assert sum(len(line) for _, _, line in blocks(page)) < 1_000_000
