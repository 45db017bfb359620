import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.errors import InputError
from dragoman.sources.document import LONGEST_ID, Document, DocumentBlock, Section
from dragoman.sources.files import parse
from dragoman.sources.passages import LIMIT, cut, weight


def passages(text, name="guide.md"):
    return cut(parse(text.encode(), name), "DOCS", name)


def sentence(number, words=12):
    return " ".join([f"Fact {number} says", *["something"] * (words - 4), "here."])


def test_passage_keeps_title_headings_position_origin_and_parent():
    first, second = passages("---\nparent: ferry\n---\n# Quay\none\n## Prices\ntwo\n")
    assert (first.title, first.headings, first.position, first.parent) == ("Quay", ("Quay",), 0, "ferry")
    assert (second.title, second.headings, second.position, second.origin) == (
        "Quay",
        ("Quay", "Prices"),
        1,
        "guide.md",
    )
    assert second.indexed == "Quay > Prices\ntwo"


def test_what_names_a_passage_holds_no_control_characters():
    named = passages("A ticket costs 3 francs.", name="\x1b[31mred\u202e\x07\nticket.txt")[0]
    assert named.title == "[31mred ticket"
    section = Section((DocumentBlock("A ticket costs 3 francs."),), headings=("Fares\x1b[2J",))
    told = cut(Document("Quay\x07\n\x1bfares", (section,)), "DOCS", "a.eml")[0]
    assert (told.title, told.headings) == ("Quay fares", ("Fares[2J",))


def test_short_paragraphs_are_joined_up_to_the_limit():
    text = "\n\n".join(sentence(i, 50) for i in range(4))
    assert [passage.text.count("Fact") for passage in passages(text)] == [2, 2]


def test_no_passage_crosses_a_heading():
    assert [passage.text for passage in passages("## A\none\n## B\ntwo\n## B\nthree\n")] == ["one", "two", "three"]


def test_long_paragraph_is_split_at_sentence_ends_into_even_parts():
    text = " ".join(sentence(i) for i in range(25))  # 300 words
    cuts = passages(text)
    assert len(cuts) == 3
    assert all(passage.text.startswith("Fact") and passage.text.endswith("here.") for passage in cuts)
    assert all(80 <= weight(passage.text) <= LIMIT * 1.25 for passage in cuts)
    assert " ".join(passage.text for passage in cuts) == text


def test_long_chinese_paragraph_is_split_at_sentence_ends():
    cuts = passages("渡轮每天早上九点从北码头出发。" * 40)  # 600 characters
    assert len(cuts) == 3
    assert all(passage.text.endswith("。") and len(passage.text) <= 250 for passage in cuts)


def test_sentence_without_an_end_is_split_between_words():
    cuts = passages("word " * 1000)
    assert all(weight(passage.text) <= LIMIT * 1.25 for passage in cuts)
    assert sum(len(passage.text.split()) for passage in cuts) == 1000


def test_megabyte_without_a_space_is_split():
    assert max(len(passage.text) for passage in passages("x" * 1_000_000, "a.txt")) <= 1500


def test_code_is_split_at_line_ends():
    cuts = passages("```\n" + "\n".join(f"  call({i}) or stop now" for i in range(100)) + "\n```\n")
    assert len(cuts) > 1
    assert all(line.strip().endswith("now") for passage in cuts for line in passage.text.split("\n"))


def test_list_items_stay_lines_and_marked_ones_stand_alone():
    texts = [(passage.id, passage.text) for passage in passages("We sell:\n\n- bread\n- eggs\n- tea {#tea}\n- milk\n")]
    assert [text for _, text in texts] == ["We sell:\n\n- bread\n- eggs", "tea", "- milk"]
    assert texts[1][0] == "tea"


def test_long_text_under_an_id_keeps_it_for_its_first_part():
    ids = [passage.id for passage in passages("- " + " ".join(sentence(i) for i in range(25)) + " {#long}\n")]
    assert ids == ["long", "long/2", "long/3"]


def test_front_matter_id_names_the_first_passage():
    ids = [passage.id for passage in passages("---\nid: quay\n---\n## A\none\n## B\ntwo\n")]
    assert ids[0] == "quay" != ids[1]


def test_id_used_twice_in_a_file_is_an_error():
    with pytest.raises(InputError, match=r"'tea' is used twice in 'guide.md'"):
        passages("- a {#tea}\n- b {#tea}\n")


@pytest.mark.parametrize("text", ["---\nid: {0}\n---\na\n", "---\nparent: {0}\n---\na\n", "- a {{#{0}}}\n"])
def test_id_or_parent_that_no_index_could_hold_is_an_error(text):
    assert passages(text.format("x" * LONGEST_ID))
    with pytest.raises(InputError, match=r"in 'guide.md' has 3,000 characters; there may be 512"):
        passages(text.format("x" * 3000))


def test_rows_are_known_by_their_content_so_that_a_new_one_changes_no_other_id():
    before = {passage.text: passage.id for passage in passages("A,B\n1,2\n3,4\n1,2\n", "a.csv")}
    after = {passage.text: passage.id for passage in passages("A,B\n0,0\n1,2\n3,4\n1,2\n", "a.csv")}
    assert len(passages("A,B\n1,2\n3,4\n1,2\n", "a.csv")) == 3
    assert before.items() <= after.items()


def test_page_numbers_reach_the_passages(make_pdf):
    document = parse(make_pdf(["one"], ["two"]), "a.pdf")
    assert [(p.meta["page"], p.text) for p in cut(document, "DOCS", "a.pdf")] == [("1", "one"), ("2", "two")]


SECTIONS = st.lists(
    st.tuples(st.sampled_from("ABC"), st.lists(st.integers(1, 9), min_size=1, max_size=3)), min_size=2, max_size=5
)


def document(sections):
    return Document(
        "T",
        tuple(
            Section(tuple(DocumentBlock(sentence(n, 70)) for n in numbers), (f"{i}", name))
            for i, (name, numbers) in enumerate(sections)
        ),
    )


@given(SECTIONS, st.data())
def test_editing_one_section_changes_no_id_of_the_others(sections, data):
    edited = data.draw(st.integers(0, len(sections) - 1))
    changed = [
        (name, [*numbers, 1, 2]) if i == edited else (name, numbers) for i, (name, numbers) in enumerate(sections)
    ]
    before = {p.id: p.text for p in cut(document(sections), "S", "f") if p.headings[0] != str(edited)}
    after = {p.id: p.text for p in cut(document(changed), "S", "f") if p.headings[0] != str(edited)}
    assert before == after


@given(SECTIONS)
def test_ids_are_unique_and_the_same_every_time(sections):
    first, second = cut(document(sections), "S", "f"), cut(document(sections), "S", "f")
    assert first == second
    assert len({passage.id for passage in first}) == len(first)


def test_ids_differ_between_sources_and_origins():
    made = document([("A", [1])])
    assert len({cut(made, source, origin)[0].id for source in ("S", "R") for origin in ("f", "g")}) == 4


def test_statements_about_somebody_are_kept_apart():
    found = cut(parse(b"# Me\n\n- I bake bread.\n- I was born in May.\n", "persona.md"), "PERSONA", "p", apart=True)
    assert [passage.text for passage in found] == ["I bake bread.", "I was born in May."]
