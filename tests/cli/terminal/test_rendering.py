"""How replies and traces look."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from dragoman.cli.terminal import rendering
from dragoman.cli.terminal.messages import printable
from dragoman.cli.terminal.reply_output import print_why
from dragoman.core.errors import InputError
from dragoman.core.trace import Note, Refinement, Reply, Retrieval, Trace
from dragoman.core.values import NULL_PLAN, Draft, Evidence, Learned, Passage, Plan, Verdict

FERRY = Evidence(Passage("f", "DOCUMENTS", "34 francs", origin="documents/ferry.md"), 0.91)
SAID = Evidence(Passage("m", "MEMORY", "I am vegetarian"), 0.4)
OPEN = Verdict(True, 0.9)


def reply(plan=NULL_PLAN, evidence=(), *notes, verdict=OPEN):
    return Reply("text", verdict, plan, evidence, Trace(notes))


def shown(table) -> str:
    console = Console(file=io.StringIO(), width=120)
    console.print(table)
    return console.file.getvalue()


def test_why_line_names_route_place_relevance_and_seconds():
    plan = Plan((("PERSONA",), ("MEMORY", "DOCUMENTS")))
    notes = (Note("gate", "g", 0.25, OPEN), Note("planner", "p", 0.15, plan))
    line = rendering.why_line(reply(plan, (SAID, FERRY), *notes))
    assert line == "PERSONA > MEMORY + DOCUMENTS · ferry.md · relevance 0.91 · 0.4 s"


def test_why_line_prefers_the_evidence_that_was_quoted():
    drafted = Note("reader", "r", 0.05, Draft("text", quoted=("m",)))
    assert "· MEMORY · relevance 0.40 · 50 ms" in rendering.why_line(
        reply(Plan((("MEMORY",),)), (FERRY, SAID), drafted)
    )


def test_why_line_of_a_set_phrase_credits_no_evidence():
    said = Note("reader", "r", 0.05, Draft("I don't know.", method="said"))
    assert rendering.why_line(reply(Plan((("A",),)), (FERRY,), said)) == "A · nothing that answers it · 50 ms"


def test_a_fact_without_a_file_is_placed_in_its_source():
    told = Passage("m", "MEMORY", "I am vegetarian", title="what I eat")
    assert rendering.place(told) == "MEMORY"


def test_why_line_of_a_closed_gate_and_of_an_empty_search():
    assert (
        rendering.why_line(reply(verdict=Verdict(False, 0.1, "small talk"))) == "nothing looked up · small talk · 0 ms"
    )
    assert rendering.why_line(reply(Plan((("A",),)))) == "A · nothing found · 0 ms"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Verdict(False, 0.12, "thanks"), ("answer without looking (thanks)", "0.12")),
        (Plan(), ("no source",)),
        (Plan((("A",), ("B",)), {"A": 0.3, "B": 0.7, "C": 0.9}), ("A > B", "0.70")),
        (Retrieval(("A", "B"), (FERRY,), "how much"), ("1 from A + B (“how much”)", "0.91")),
        (Retrieval(("A",), (), "", ("A: gone.",)), ("0 from A; A: gone.", "")),
        (
            Draft("t", 0.5, "quoted", notes={"overlap": 0.25, "why": "loop"}),
            ("quoted (overlap 0.25, why loop)", "0.50"),
        ),
        (Refinement((("x", 0.2), ("y", 0.6)), (("x", "z"),), (), Draft("t")), ("replaced x by z", "0.20")),
        (Refinement((("x", 0.2),), (), (), Draft("t")), ("kept", "0.20")),
        (Learned(added=(SAID.passage,), forgotten=(SAID.passage,)), ("remembered 1, deleted 1",)),
    ],
)
def test_trace_table_puts_every_kind_of_decision_into_words(value, words):
    table = shown(rendering.trace_table(Trace((Note("gate", "component.v1", 0.1234, value),))))
    for word in (*words, "component.v1", "0.123"):
        assert word in table


def test_why_begins_with_what_decided_and_repeats_nothing_of_it_in_the_table():
    notes = {"rule": "Under 27 pay half.", "fact": "I am 24.", "decision": "yes", "by": "code", "reason": "age 24 < 27"}
    draft = Draft("Yes.", 0.9, "composed", ("f", "m"), notes=notes)
    console = Console(file=io.StringIO(), width=160)
    print_why(reply(Plan((("DOCUMENTS",),)), (FERRY, SAID), Note("reader", "r", 0.1, draft)), console)
    text = console.file.getvalue()
    assert text.splitlines()[:3] == [
        "You told me: I am 24.",
        "The documents say: Under 27 pay half. (ferry.md)",
        "So: Yes (age 24 < 27)",
    ]
    assert text.count("pay half") == text.count("I am 24") == 1


def test_explanation_follows_the_last_draft_and_is_empty_for_quotations():
    quoted = Note("reader", "r", 0.1, Draft("34 francs", method="quoted", quoted=("f",)))
    assert rendering.explanation_text(reply(NULL_PLAN, (FERRY,), quoted)) == []
    refined = Refinement((), (), (), Draft("No.", notes={"rule": "No dogs.", "decision": "no"}))
    assert rendering.explanation_text(reply(NULL_PLAN, (), quoted, Note("refiner", "r", 0.1, refined))) == [
        "The documents say: No dogs.",
        "So: No",
    ]


def test_evidence_is_listed_best_first():
    table = shown(rendering.evidence_table((SAID, FERRY)))
    assert table.index("34 francs") < table.index("vegetarian")


def test_document_text_is_never_read_as_markup():
    passage = Passage("p", "A", "[bold]not markup[/bold] :smile: [/]")
    assert "[bold]not markup[/bold] :smile: [/]" in shown(rendering.evidence_table((Evidence(passage, 0.5),)))


def test_printable_drops_escapes_and_keeps_text():
    assert printable("a\x1b[31m\x07b\x9b\r\n\tç 你⛴️") == "a[31mb\n\tç 你⛴️"


def test_one_line_folds_and_cuts():
    assert rendering.one_line(" a\n b  c ") == "a b c"
    assert rendering.one_line("abcdefgh", 5) == "abcd…"


def test_error_text_has_the_remedy_on_its_own_line():
    assert rendering.error_text(InputError("Bad.", remedy="Mend it.")) == "Error: Bad.\n       Mend it."
    assert rendering.error_text(InputError("Bad.")) == "Error: Bad."
