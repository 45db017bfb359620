"""Rows that were measured before stand beside new ones."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs"
OLD = """# Page

## Paper, Table 1: Plans

```sh
dragoman evaluate one --train --data a --system mine --system 'the other'
dragoman evaluate one --train --data b --system mine
```

### Set A, dev: 10 turns of 2 dialogues

| system | F1 ↑<br>n=10 | seconds ↓<br>n=10 |
|---|---:|---:|
| *trained* | | |
| mine | 60.0 ±1.0 | **0.2** |
| the other | **70.0** ±2.0 | 0.3 |

- ±: half.
- mine: As it was.
- the other: Another one.

### Set B: 4 turns of 1 dialogues

| system | F1 ↑<br>n=4 |
|---|---:|
| *trained* | |
| mine | **50.0** |

- ±: half.
"""
NEW = """
## Paper, Table 1: Plans

```sh
dragoman evaluate one --train --data a --system mine
```

### Set A, dev: 10 turns of 2 dialogues

| system | F1 ↑<br>n=10 | seconds ↓<br>n=10 | exact ↑<br>n=10 |
|---|---:|---:|---:|
| *trained* | | | |
| mine | **80.0** ±1.0 | **0.4** | **9.0** |

- ±: half.
- mine: As it is.
- Problem: a line.
"""


@pytest.fixture(scope="module")
def kept_rows():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield importlib.import_module("kept_rows")


def test_a_page_that_is_read_and_written_is_the_same(kept_rows):
    (section,) = kept_rows.read(OLD).values()
    assert "# Page\n" + kept_rows.written(section) == OLD


def test_what_is_measured_again_replaces_its_row_and_the_rest_stays(kept_rows):
    (old,), (new,) = kept_rows.read(OLD).values(), kept_rows.read(NEW).values()
    joined = kept_rows.joined(old, new)
    assert joined.commands == [
        "dragoman evaluate one --train --data a --system 'the other'",
        "dragoman evaluate one --train --data b --system mine",
        "dragoman evaluate one --train --data a --system mine",
    ]
    first, second = joined.tables.values()
    assert first.groups == {"trained": {"mine": ["80.0 ±1.0", "0.4", "9.0"], "the other": ["70.0 ±2.0", "0.3", ""]}}
    assert first.notes == ["- ±: half.", "- mine: As it is.", "- the other: Another one.", "- Problem: a line."]
    assert second == old.tables["Set B"]
    page = kept_rows.written(joined)
    assert "| mine | **80.0** ±1.0 | 0.4 | **9.0** |\n| the other | 70.0 ±2.0 | **0.3** |  |" in page
    (again,) = kept_rows.read(page).values()
    assert again == joined


def test_rows_of_a_set_that_has_other_turns_go(kept_rows):
    (old,), (new,) = kept_rows.read(OLD).values(), kept_rows.read(NEW.replace("10 turns", "12 turns")).values()
    assert kept_rows.joined(old, new).tables["Set A, dev"] == new.tables["Set A, dev"]


def test_a_row_with_a_figure_that_is_no_column_any_more_goes(kept_rows):
    (old,), (new,) = kept_rows.read(OLD).values(), kept_rows.read(NEW.replace("seconds", "minutes")).values()
    assert kept_rows.joined(old, new).tables["Set A, dev"].groups == {"trained": {"mine": ["80.0 ±1.0", "0.4", "9.0"]}}


@pytest.mark.parametrize(("figure", "stays"), [("70.0 ±2.0 (paper 71.0)", True), ("70.0 ±2.0", False)])
def test_whose_figures_stand_beside_ours_is_told_while_they_do(kept_rows, figure, stays):
    note = "- paper: as printed there; not measured here."
    page = OLD.replace("**70.0** ±2.0", figure).replace("- mine: As it was.", f"{note}\n- mine: As it was.")
    (old,), (new,) = kept_rows.read(page).values(), kept_rows.read(NEW).values()
    assert (note in kept_rows.joined(old, new).tables["Set A, dev"].notes) is stays


def test_the_note_of_a_row_whose_name_has_a_colon_stays(kept_rows):
    page = OLD.replace("the other", "quotes: the other")
    [old], [new] = kept_rows.read(page).values(), kept_rows.read(NEW).values()
    assert "- quotes: the other: Another one." in kept_rows.joined(old, new).tables["Set A, dev"].notes
