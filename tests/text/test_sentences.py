import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.effort import assert_linear

from dragoman.text.sentences import sentences


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Smith paid 3.50 francs.",
        "The desk opens at 9.30 a.m. on weekdays.",
        "We open 9 a.m. Monday to Friday.",
        "J. R. R. Tolkien wrote it.",
        "See https://example.org/a.b?c=1.2 for more.",
        "See example.org/find?Name=Li and Node.Js too.",
        "Write to ferry@quay.example.org today.",
        "Bring fruit, e.g. Apples from the market.",
        "Take bus No. 5 to St. Mary's.",
        "Version 2.0.1 costs $3.50, i.e. 3.20 euros.",
        "They came on 5 Jan. 2024.",
        "The U.S. Navy left.",
        "“Really?” she asked.",
        "Mr. and Mrs. Li live at 4 Quay Rd. North.",
        "A line that is wrapped\nby an editor stays whole.",
        "no end",
        "It is 1.5 km (approx. 1 mile) away.",
    ],
)
def test_one_sentence_stays_one(text):
    assert sentences(text) == (text,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "It opens at 9.30 a.m. Tickets cost 3.50. Ask us!",
            ("It opens at 9.30 a.m.", "Tickets cost 3.50.", "Ask us!"),
        ),
        ("I was born in 1990. Now I sail.", ("I was born in 1990.", "Now I sail.")),
        ("No. I do not like it.", ("No.", "I do not like it.")),
        ("Take tram B. It runs daily.", ("Take tram B.", "It runs daily.")),
        ("Walk down Quay St. The shop is red.", ("Walk down Quay St.", "The shop is red.")),
        ("Bread, eggs, etc. We sell them.", ("Bread, eggs, etc.", "We sell them.")),
        ("He said “Go.” Then he left.", ("He said “Go.”", "Then he left.")),
        ("(See p. 4.) Go on.", ("(See p. 4.)", "Go on.")),
        ("What?! Really... Yes.", ("What?!", "Really...", "Yes.")),
        ("Are you in? 5 seats are left.", ("Are you in?", "5 seats are left.")),
        ("Hello!My name is Tom.I like tea.", ("Hello!", "My name is Tom.", "I like tea.")),
        ("Visit www.quay.example. Then call.", ("Visit www.quay.example.", "Then call.")),
    ],
)
def test_english_sentences_are_cut_at_their_ends(text, expected):
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我住在北京。你呢？我很好！", ("我住在北京。", "你呢？", "我很好！")),
        ("他说：“走吧。”然后走了。", ("他说：“走吧。”", "然后走了。")),
        ("「好的！」她笑了；天黑了。", ("「好的！」", "她笑了；", "天黑了。")),
        ("门票3.50元。九点开门", ("门票3.50元。", "九点开门")),
        ("我不知道他在哪里……也许在家。", ("我不知道他在哪里……", "也许在家。")),
        ("我……我不知道。", ("我……我不知道。",)),
        ("真的吗？！当然。", ("真的吗？！", "当然。")),
        ("好吗?好!走", ("好吗?", "好!", "走")),
        ("他用 Python 3.11 写。很快。", ("他用 Python 3.11 写。", "很快。")),
    ],
)
def test_chinese_sentences_are_cut_with_their_closing_quotes(text, expected):
    assert sentences(text) == expected


def test_lines_of_a_list_are_sentences_of_their_own_without_bullets():
    text = "We sell:\n- Bread. Fresh daily\n* Eggs\n  • Milk\n1. First. Then wait.\n2) Second"
    assert sentences(text) == (
        "We sell:",
        "Bread.",
        "Fresh daily",
        "Eggs",
        "Milk",
        "1. First.",
        "Then wait.",
        "2) Second",
    )


def test_headings_are_sentences_of_their_own():
    assert sentences("# Hours\nWe open at nine.") == ("Hours", "We open at nine.")
    assert sentences("Opening hours\nThe museum opens at nine.") == ("Opening hours", "The museum opens at nine.")
    assert sentences("开放时间\n博物馆九点开门。") == ("开放时间", "博物馆九点开门。")


def test_blank_line_ends_a_sentence():
    assert sentences("one thing\n\nanother thing") == ("one thing", "another thing")


def test_text_without_sentences_gives_none():
    assert sentences("") == sentences(" \n\t ") == ()


@given(st.text(alphabet=st.sampled_from("aB1 .!?…。；“”\"')\n-#我。,é🙂")))
def test_sentences_are_stripped_pieces_of_the_text_in_order(text):
    position = 0
    for sentence in sentences(text):
        assert sentence == sentence.strip() != ""
        position = text.index(sentence, position) + len(sentence)


@given(st.text())
def test_no_letter_or_digit_is_lost(text):
    def kept(parts):
        return [char for char in "".join(parts) if char.isalnum()]

    assert kept(sentences(text)) == kept([text])


@pytest.mark.parametrize("space", [" ", "\n"])
def test_a_megabyte_in_one_paragraph_is_cut_in_linear_time(space):
    assert len(sentences(f"The ferry leaves at nine.{space}" * 40_000)) == 40_000
    assert_linear(lambda count: sentences(f"The ferry leaves at nine.{space}" * count), 40_000)
