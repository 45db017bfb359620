"""A unified part by an agent's names of its sources."""

from pathlib import Path

import pytest

from dragoman.core.errors import ConfigError
from dragoman.core.tokens import Token
from dragoman.models.calibration import Logistic
from dragoman.models.part import Head, Part
from dragoman.models.unified.source_names import rename_part
from dragoman.models.unified.token_spelling import Spelling

SPELLING = Spelling(
    "reserved", {Token("acting", "USER"): (4,), Token("acting", "NULL"): (5,), Token("indicator", "SOURCE"): (6,)}
)
PART = Part(
    Path("a-part"),
    "unified",
    {"similarity": Head(("similar",), {"similar": Logistic(1.0, 0.0), "USER": Logistic(2.0, 1.0)})},
    {
        "shape": {"sources": ["PERSONA", "USER"], "window": 9},
        "spelling": SPELLING.to_json(),
        "offsets": {"context": {"": 0.5, "PERSONA>USER": 1.0}},
        "end": 1,
    },
)


def test_tokens_offsets_and_calibrations_go_by_the_new_name():
    found = rename_part(PART, {"USER": "MEMORY"})
    assert found.options["shape"] == {"sources": ["PERSONA", "MEMORY"], "window": 9}
    assert Spelling.from_json(found.options["spelling"]).ids == {
        Token("acting", "MEMORY"): (4,),
        Token("acting", "NULL"): (5,),
        Token("indicator", "SOURCE"): (6,),
    }
    assert found.options["offsets"] == {"context": {"": 0.5, "PERSONA>MEMORY": 1.0}}
    assert found.heads["similarity"].calibrations == {"similar": Logistic(1.0, 0.0), "MEMORY": Logistic(2.0, 1.0)}
    assert found.options["end"] == 1 and PART.options["shape"]["sources"] == ["PERSONA", "USER"]


def test_two_may_change_places_and_no_names_change_nothing():
    found = rename_part(PART, {"USER": "PERSONA", "PERSONA": "USER"})
    assert found.options["shape"]["sources"] == ["USER", "PERSONA"]
    assert found.options["offsets"]["context"] == {"": 0.5, "USER>PERSONA": 1.0}
    assert rename_part(PART, {}) is PART


@pytest.mark.parametrize(
    ("names", "wrong"), [({"MEMORY": "USER"}, "it knows no MEMORY"), ({"USER": "PERSONA"}, "would have one name")]
)
def test_names_that_fit_no_source_or_two_are_refused(names, wrong):
    with pytest.raises(ConfigError, match=wrong):
        rename_part(PART, names)
