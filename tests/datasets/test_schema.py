"""The JSON Schema file says what the loader checks."""

from __future__ import annotations

import json

import pytest

from dragoman.core.errors import InputError
from dragoman.core.values import Passage
from dragoman.datasets.schema import (
    SCHEMA_FILE,
    ExampleRow,
    HeaderRow,
    PassageRow,
    SetRow,
    SourceRow,
    TurnRow,
    meant,
    parse,
    passage_row,
    schema_text,
)

ROWS = {row.__name__: row for row in (ExampleRow, HeaderRow, PassageRow, SetRow, SourceRow, TurnRow)}


def test_schema_file_is_what_the_rows_say():
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text(), "write schema_text() into turns.schema.json"


@pytest.mark.parametrize("name", ROWS)
def test_schema_file_knows_the_keys_of_every_row(name):
    """Against the file itself, not what made it: keys, required ones, and that no other is allowed."""
    stored = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))["$defs"][name]
    row = ROWS[name]
    assert set(stored["properties"]) == set(row.model_fields)
    assert set(stored.get("required", [])) == {key for key, field in row.model_fields.items() if field.is_required()}
    assert stored["additionalProperties"] is False


def test_schema_asks_for_a_turn_or_a_header():
    stored = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    assert [entry["$ref"].rpartition("/")[2] for entry in stored["oneOf"]] == ["ExampleRow", "HeaderRow"]


def test_many_faults_are_cut_short():
    with pytest.raises(InputError, match=r"; and 2 more\.$"):
        parse(ExampleRow, b'{"a": 1, "b": 2, "c": 3}')


def test_a_long_value_is_cut_short():
    with pytest.raises(InputError) as caught:
        parse(ExampleRow, json.dumps({"dialogue": ["x" * 500], "context": []}).encode())
    assert len(str(caught.value)) < 160


def test_half_a_character_is_refused():
    with pytest.raises(InputError, match="not whole, valid JSON"):
        parse(TurnRow, b'{"speaker": "user", "text": "\\ud800"}')


def test_suggestion_minds_no_case():
    assert meant("persona", ["PERSONA", "FAQ"]) == " (did you mean 'PERSONA'? known: PERSONA, FAQ)"
    assert meant("x", []) == " (known: none)"


def test_passage_and_row_say_the_same():
    passage = Passage("i", "S", "t", "title", ("h", "k"), "p", 3, "o.md", {"a": "b"})
    line = json.dumps(passage_row(passage)).encode()
    assert parse(PassageRow, line).passage() == passage
    assert passage_row(Passage("i", "S", "t")) == {"id": "i", "source": "S", "text": "t"}
