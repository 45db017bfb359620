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
