"""Small files made to fill a disk: what is repeated with every text is short, and what still unfolds is refused."""

from __future__ import annotations

import json

import pytest

from dragoman.core.errors import InputError
from dragoman.core.values import Scope, Source
from dragoman.sources import allowance
from dragoman.sources.allowance import Allowance
from dragoman.sources.document import LONGEST_NAME, short
from dragoman.sources.files import parse
from dragoman.sources.ingest import ingest
from dragoman.sources.passages import cut

pytestmark = pytest.mark.trust

SCOPE = Scope("t", "ana")
LONG = "word " * 2_000 + "end"
TABLES = {
    "a.csv": f"{LONG},B\n" + "1,2\n" * 2_000,
    "a.md": f"| {LONG} | B |\n|---|---|\n" + "| 1 | 2 |\n" * 2_000,
    "a.html": f"<table><tr><th>{LONG}<th>B</tr>" + "<tr><td>1<td>2" * 2_000 + "</table>",
}


def blocks(name, text):
    return [block.text for section in parse(text.encode(), name).sections for block in section.blocks]


@pytest.mark.parametrize("name", TABLES)
def test_a_long_column_name_is_cut_in_rows_and_stands_whole_once(name):
    found = blocks(name, TABLES[name])
    assert sum(map(len, found)) < 30 * len(TABLES[name])
    assert max(map(len, found[1:])) < LONGEST_NAME + 20
    assert found[1].endswith("…: 1; B: 2")
    assert found[0] == f"{LONG}; B"


@pytest.mark.parametrize("name", ["a.md", "a.html"])
def test_a_long_heading_is_cut_in_paths_and_stands_whole_once(name):
    start = f"# {LONG}\n" if name == "a.md" else f"<h1>{LONG}</h1>"
    part = "## x\n\none\n\n" if name == "a.md" else "<h2>x</h2><p>one"
    text = start + part * 300
    document = parse(text.encode(), name)
    assert document.sections[0].blocks[0].text == LONG
    passages = cut(document, "DOCS", name)
    assert all(len(passage.indexed) < 3 * LONGEST_NAME for passage in passages[-300:])
    assert passages[-1].headings == (short(LONG), "x")
    assert passages[-1].title == short(LONG)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", f"---\ntitle: {LONG}\n---\none\n"),
        ("a.html", f"<title>{LONG}</title><p>one"),
        ("a.jsonl", json.dumps({"text": "one", "title": LONG})),
    ],
)
def test_a_long_title_is_cut(name, text):
    (passage,) = cut(parse(text.encode(), name), "DOCS", name)
    assert passage.title == short(LONG)


def test_a_row_headed_at_its_side_keeps_its_head_whole():
    assert blocks("a.html", f"<table><tr><th>{LONG}<td>yes</table>") == [f"- {LONG}: yes"]


def test_names_are_cut_at_a_word_where_there_is_one():
    assert short("a name") == "a name"
    assert short("x" * LONGEST_NAME) == "x" * LONGEST_NAME
    assert short("x" * 201) == "x" * 199 + "…"
    assert short("渡" * 300) == "渡" * 199 + "…"
    assert short("four " * 100) == ("four " * 40).strip() + "…"
    assert short("a " + "x" * 300) == "a " + "x" * 197 + "…"


NAMES = [f"{i} {'x' * 150}" for i in range(100)]
WIDE = {
    "a.csv": ",".join(NAMES) + "\n" + (",".join("1" * 100) + "\n") * 300,
    "a.md": f"|{'|'.join(NAMES)}|\n|{'-|' * 100}\n" + f"|{'1|' * 100}\n" * 300,
    "a.html": f"<table><tr><th>{'<th>'.join(NAMES)}</tr>{('<tr>' + '<td>1' * 100) * 300}</table>",
}


@pytest.mark.parametrize("name", WIDE)
def test_a_table_that_unfolds_to_many_times_its_size_is_refused_on_the_way(name, monkeypatch):
    assert parse(WIDE[name].encode(), name).sections  # there is so much that any file may give
    monkeypatch.setattr(allowance, "FREE", 1_000_000)
    monkeypatch.setattr(allowance, "MOST_WIDE", 1_000_000)
    with pytest.raises(InputError, match=rf"'{name}' unfolds into more than .* characters\. Shorten"):
        parse(WIDE[name].encode(), name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "".join(f"{'#' * i} {'word ' * 39}\n" for i in range(1, 6)) + "###### x\none\n" * 2_000),
        ("a.jsonl", json.dumps({"text": "word " * 20_000, "meta": {"note": "x" * 100_000}})),
    ],
)
def test_headings_and_meta_repeated_with_too_many_passages_are_refused(
    name, text, monkeypatch, tmp_path, store, encoder
):
    monkeypatch.setattr(allowance, "FREE", 1_000_000)
    monkeypatch.setattr(allowance, "MOST_WIDE", 1_000_000)
    (tmp_path / name).write_text(text)
    (tmp_path / "other.md").write_text("fine")
    report = ingest(store, encoder, Source("DOCS"), [tmp_path], scope=SCOPE, base=tmp_path)
    assert [failure.path for failure in report.failed] == [name]
    assert "unfolds into more than" in report.failed[0].reason
    assert report.added == 1


def test_a_large_file_may_give_more_than_a_small_one(monkeypatch):
    monkeypatch.setattr(allowance, "FREE", 10)
    Allowance(b"12", "a").take("x" * allowance.WIDE, "x" * allowance.WIDE)
    with pytest.raises(InputError):
        Allowance(b"12", "a").take("x" * allowance.WIDE * 2 + "x")
    monkeypatch.setattr(allowance, "MOST_WIDE", 20)
    Allowance(b"1234", "a").take("x" * allowance.A_BYTE * 4)
    with pytest.raises(InputError):
        Allowance(b"1234", "a").take("x" * allowance.A_BYTE * 4 + "x")


def test_a_wide_survey_of_short_answers_is_read():
    names = [f"satisfaction_with_service_{number}" for number in range(50)]
    rows = [",".join(str((row + column) % 5 + 1) for column in range(50)) for row in range(12_000)]
    content = "\n".join((",".join(names), *rows)).encode()
    allowance = Allowance(content, "survey.csv")
    for _ in rows:
        allowance.take("; ".join(f"{name}: 1" for name in names))
