import pytest

from dragoman.core.errors import InputError
from dragoman.sources.formats.markdown import front_matter, read


def blocks(text):
    return [
        (section.headings, block.kind, block.text)
        for section in read(text.encode(), "a.md").sections
        for block in section.blocks
    ]


def test_headings_make_a_path():
    assert blocks("intro\n\n# Ferry\n\none\n\n## Prices\n\ntwo\n\n### Old\n\nthree\n\n## Times\n\nfour\n") == [
        ((), "text", "intro"),
        (("Ferry",), "text", "one"),
        (("Ferry", "Prices"), "text", "two"),
        (("Ferry", "Prices", "Old"), "text", "three"),
        (("Ferry", "Times"), "text", "four"),
    ]


def test_skipped_heading_levels_keep_the_path_right():
    assert [headings for headings, _, _ in blocks("# A\n#### B\nx\n## C\ny\n")] == [("A", "B"), ("A", "C")]


def test_same_heading_twice_makes_two_sections():
    assert len(read(b"## A\none\n## A\ntwo\n", "a.md").sections) == 2


def test_heading_with_nothing_under_it_is_kept_as_text():
    assert blocks("# Rules\n## No dogs\n## No bikes\n") == [
        (("Rules",), "text", "No dogs"),
        (("Rules",), "text", "No bikes"),
    ]


def test_emphasis_links_images_and_breaks_become_plain_text():
    text = "Take **the** *blue* [boat](http://x.example), `now`\nor ![a tram](t.png)<br>~~never~~.  \nGo &amp; see.\n"
    assert blocks(text) == [((), "text", "Take the blue boat, now or a tram never. Go & see.")]


def test_wrapped_chinese_is_joined_without_spaces():
    assert blocks("渡轮每天\n九点开。\n") == [((), "text", "渡轮每天九点开。")]


def test_lists_keep_numbers_nesting_and_second_paragraphs():
    text = "- one\n\n  more of one\n  - inner\n- two\n\n3. third\n4. fourth\n"
    assert [(kind, line) for _, kind, line in blocks(text)] == [
        ("line", "- one more of one"),
        ("line", "  - inner"),
        ("line", "- two"),
        ("line", "3. third"),
        ("line", "4. fourth"),
    ]


def test_item_with_an_id_loses_the_mark_and_the_bullet():
    (section,) = read(b"- I keep the ferry desk. {#ferry}\n- I like *tea*. {#tea-2}\n- plain {x}\n", "a.md").sections
    assert [(block.id, block.text) for block in section.blocks] == [
        ("ferry", "I keep the ferry desk."),
        ("tea-2", "I like tea."),
        (None, "- plain {x}"),
    ]


def test_id_on_an_empty_item_is_an_error():
    with pytest.raises(InputError, match="'ferry' stands on an empty line"):
        read(b"- {#ferry}\n", "a.md")


def test_mark_at_a_heading_is_removed():
    assert blocks("## Prices {#prices}\nx\n")[0][0] == ("Prices",)


def test_table_rows_carry_the_names_of_their_columns():
    text = "| Ticket | Price |\n|---|--:|\n| Adult | **3.50** |\n| Child | |\n| Dog | a \\| b |\n"
    assert [line for _, _, line in blocks(text)] == [
        "- Ticket: Adult; Price: 3.50",
        "- Ticket: Child",
        "- Ticket: Dog; Price: a | b",
    ]


def test_a_line_without_bars_right_after_a_table_is_no_row_of_it():
    text = "| Who | Price |\n|---|---|\n| Adults | 6 |\nChildren under six go free.\nDogs too.\n"
    rows = [(kind, said) for _, kind, said in blocks(text)]
    assert rows[-1] == ("text", "Children under six go free. Dogs too.")
    assert [said for _, said in rows[:-1]] == ["- Who: Adults; Price: 6"]


def test_text_after_a_table_is_a_paragraph():
    assert blocks("| A |\n|---|\n| 1 |\n\nafter\n")[-1] == ((), "text", "after")


def test_code_keeps_its_lines():
    assert blocks("```sh\nmake\n  chat\n```\n") == [((), "code", "make\n  chat")]


def test_code_inside_an_item_follows_the_item():
    assert [(kind, line) for _, kind, line in blocks("- run\n\n  ```\n  make\n  ```\n- next\n")] == [
        ("line", "- run"),
        ("code", "make"),
        ("line", "- next"),
    ]


def test_html_is_stripped_and_comments_are_dropped():
    assert blocks("<div>kept <b>text</b></div>\n\n<!-- secret -->\n\n<script>x()</script>\n\nend\n") == [
        ((), "text", "kept text"),
        ((), "text", "end"),
    ]


def test_front_matter_gives_title_parent_and_id():
    document = read(b'---\ntitle: "The ferry"\nparent: ferry\nid: doc-1\ntags: [a, b]\n---\n# Other\ntext\n', "a.md")
    assert (document.title, document.parent, document.id) == ("The ferry", "ferry", "doc-1")
    assert [section.headings for section in document.sections] == [("Other",)]


def test_title_is_the_first_main_heading_else_the_file_name():
    assert read(b"## Minor\nx\n# Main\ny\n", "some_file.md").title == "Main"
    assert read(b"## Minor\nx\n", "some_file.md").title == "Some file"


@pytest.mark.parametrize("text", ["---\nno end\n", "---\n\njust a rule\n\n---\nmore\n", "text\n---\ntitle: x\n---\n"])
def test_rules_of_dashes_are_no_front_matter(text):
    assert front_matter(text) == ({}, text)


def test_front_matter_survives_windows_line_ends():
    assert read(b"\xef\xbb\xbf---\r\ntitle: T\r\n---\r\ntext\r\n", "a.md").title == "T"


def test_a_sentence_right_below_a_list_is_no_part_of_its_last_item():
    text = "- Friday: 8:00 to 16:00\n- Saturday: 9:00 to 12:00\nClosed on Sundays.\n"
    assert [(kind, line) for _, kind, line in blocks(text)] == [
        ("line", "- Friday: 8:00 to 16:00"),
        ("line", "- Saturday: 9:00 to 12:00"),
        ("text", "Closed on Sundays."),
    ]
    assert [line for _, _, line in blocks("1. 毛巾\n2. 保险卡\n周日休息。\n")][-1] == "周日休息。"


@pytest.mark.parametrize(
    "text",
    [
        "- Ask at the desk for\na towel.\n",
        "- The swimming course takes place every Wednesday evening in the\nRosen school.\n",
        "- Ask at the desk for\n  Maria.\n",
    ],
)
def test_a_wrapped_item_stays_whole(text):
    assert len(blocks(text)) == 1


def test_code_keeps_lines_that_look_like_lists():
    assert blocks("```\n- a\nB\n• c\n```\n") == [((), "code", "- a\nB\n• c")]


def test_bullets_of_other_programs_make_lists():
    assert [line for _, _, line in blocks("• a towel\n• a cap\n")] == ["- a towel", "- a cap"]


def test_a_line_in_bold_above_text_is_a_heading():
    text = "## Prices\n\nx\n\n**Parking:**\nSix places.\n\n**Rooms**\n\ny\n\n**Never** run.\n\n**Do not run.**\n"
    text += "\n## End\nz\n"
    assert [(headings, line) for headings, _, line in blocks(text)] == [
        (("Prices",), "x"),
        (("Prices", "Parking"), "Six places."),
        (("Prices", "Rooms"), "y"),
        (("Prices", "Rooms"), "Never run."),
        (("Prices", "Rooms"), "Do not run."),
        (("End",), "z"),
    ]


def test_headings_and_column_names_lose_their_colon():
    assert blocks("## Hours:\n\n| Day: | Open |\n|---|---|\n| Monday | 9 |\n") == [
        (("Hours",), "line", "- Day: Monday; Open: 9")
    ]


def test_a_row_without_a_name_goes_on_with_the_row_above():
    text = (
        "| What | Duration | Price |\n|---|---|---|\n| Massage | 30 min | 65 |\n| | 60 min | 110 |\n"
        "| **Packages** | | |\n| Ten massages | 30 min | 550 |\n| | Sum | 725 |\n"
    )
    assert [line for _, _, line in blocks(text)] == [
        "- What: Massage; Duration: 30 min; Price: 65",
        "- What: Massage; Duration: 60 min; Price: 110",
        "Packages",
        "- What: Ten massages; Duration: 30 min; Price: 550",
        "- Duration: Sum; Price: 725",
    ]


def test_points_under_a_label_carry_it():
    text = "- Dogs\n  - may wait outside\n  - Small ones:\n    - may come in\n- Bikes: downstairs\n- It is closed.\n"
    text += "  - always\n"
    assert [line for _, _, line in blocks(text)] == [
        "- Dogs: may wait outside",
        "- Dogs: Small ones: may come in",
        "- Bikes: downstairs",
        "- It is closed.",
        "  - always",
    ]


def test_labelled_lines_are_points():
    text = "## Hours\nMonday to Thursday: 8:00 to 19:00\nFriday: 8:00 to 16:00\n\nNote: a single line\nand its end.\n"
    assert [(kind, said) for _, kind, said in blocks(text)] == [
        ("line", "- Monday to Thursday: 8:00 to 19:00"),
        ("line", "- Friday: 8:00 to 16:00"),
        ("text", "Note: a single line and its end."),
    ]
    assert blocks("```\na: 1\nb: 2\n```\n") == [((), "code", "a: 1\nb: 2")]
