import json

import pytest

from dragoman.core.errors import InputError
from dragoman.sources.document import LONGEST_ID
from dragoman.sources.formats.jsonl import MOST_LISTED, read


def test_fields_of_a_line_become_those_of_the_block():
    content = (
        '{"text": "渡轮九点开", "id": 7, "title": "T", "parent": "p", "meta": {"year": 2024, "by": "Li"}}\n'.encode()
    )
    (block,) = read(content, "a.jsonl").sections[0].blocks
    assert (block.text, block.id, block.title, block.parent) == ("渡轮九点开", "7", "T", "p")
    assert block.meta == {"year": "2024", "by": "Li"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("not json", "not JSON"),
        ("[1]", "no JSON object"),
        ('{"txt": "a"}', "'text' is missing"),
        ('{"text": "  "}', "'text' is missing, empty"),
        ('{"text": 5}', "no string"),
        ('{"text": "a", "id": [1]}', "'id' is neither"),
        ('{"text": "a", "id": true}', "'id' is neither"),
        (f'{{"text": "a", "id": "{"x" * 513}"}}', "'id' has 513 characters; there may be 512"),
        (f'{{"text": "a", "parent": "{"x" * 3000}"}}', "'parent' has 3,000 characters"),
        ('{"text": "a", "meta": 3}', "'meta' is no JSON object"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_bad_line_is_reported_with_its_number_while_the_others_go_in(line, reason):
    document = read(f'{{"text": "good"}}\n\n{line}\n{{"text": "also good"}}'.encode(), "a.jsonl")
    assert [block.text for block in document.sections[0].blocks] == ["good", "also good"]
    ((place, why),) = document.failed
    assert place == "line 3"
    assert reason in why


def test_repeated_id_is_reported_with_both_lines():
    document = read(b'{"text": "a", "id": "x"}\n{"text": "b", "id": "x"}\n', "a.jsonl")
    assert document.failed == (("line 2", "The id 'x' is taken by line 1. Give another."),)


def test_file_without_a_usable_line_is_an_error_that_shows_the_first():
    with pytest.raises(InputError, match=r"no usable line\. line 1: This is not JSON"):
        read(b"{\n}\n", "a.jsonl")


def test_lone_surrogates_and_control_characters_are_taken_out():
    (block,) = read(b'{"text": "a\\ud800b\\u0000c"}', "a.jsonl").sections[0].blocks
    assert block.text == "a\ufffdbc"


def test_longest_id_and_parent_and_any_title_go_in():
    name = "渡" * LONGEST_ID
    line = json.dumps({"text": "a", "id": name, "parent": name, "title": "t" * 3000})
    (block,) = read(line.encode(), "a.jsonl").sections[0].blocks
    assert (block.id, block.parent, block.title) == (name, name, "t" * 3000)


@pytest.mark.trust
def test_of_very_many_bad_lines_the_first_are_listed_and_the_others_counted():
    document = read(b'{"text": "good"}\n' + b"x\n" * 250_000, "a.jsonl")
    assert len(document.failed) == MOST_LISTED + 1
    assert document.failed[0] == ("line 2", "This is not JSON: Expecting value. Put one JSON object on a line.")
    assert document.failed[-1] == ("other lines", f"{250_000 - MOST_LISTED:,} more cannot be used.")
